"""The cells of fixes: the one that was asked about, once with each fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from dbdyno.analysis.why.cells import Why, changed_cell
from dbdyno.analysis.why.rewrite import rewritten
from dbdyno.engines.fixes import StatementFacts
from dbdyno.experiment import Experiment
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.model.plan.change import Change
from dbdyno.model.plan.fix import Fix


@dataclass(frozen=True)
class Stage:
    """Fixes that are measured in the same blocks, from the block ``first`` on.

    ``members``: by the name of each that is several together, their names.
    """

    first: int
    fixes: Sequence[Fix]
    members: Mapping[str, Sequence[str]]

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        return {
            "first": self.first,
            "fixes": [each.stored() for each in self.fixes],
            "members": {name: list(each) for name, each in self.members.items()},
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        return cls(int(stored["first"]), [Fix.read(each) for each in stored["fixes"]], stored["members"])


@dataclass(frozen=True)
class Planned:
    """What of fixes a run measures: each alone, then those that helped together; ``left_out``: those it does not."""

    stages: Sequence[Stage]
    left_out: Sequence[str]

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        return {"stages": [each.stored() for each in self.stages], "left_out": list(self.left_out)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        return cls([Stage.read(each) for each in stored["stages"]], list(stored["left_out"]))

    @property
    def fixes(self) -> list[Fix]:
        """All of them, each once."""
        return list({each.name: each for stage in self.stages for each in stage.fixes}.values())

    @property
    def members(self) -> dict[str, Sequence[str]]:
        """By the name of each that is several together, their names."""
        return {name: each for stage in self.stages for name, each in stage.members.items()}


def fix_cell(experiment: Experiment, cell: ResolvedCell, fix: Fix, why: Why) -> CompiledCell:
    """Give a cell with a fix. Raises InputError where the experiment cannot be measured with it."""
    change = Change(fix.level, fix.against[0], "free", fix.does, settings=fix.settings, load=fix.load)
    made = changed_cell(experiment, cell, change, why)
    writes = [StatementFacts("", str(each["sql"])).writes for each in made.trial.get("statements", [])]
    return replace(made, trial=rewritten(made.trial, fix, writes), added=fix.statements)
