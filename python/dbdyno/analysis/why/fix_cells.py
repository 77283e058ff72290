"""The cells of fixes: the tested cell, once with each fix."""

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
class FixStage:
    """Fixes that are measured in the same blocks, starting with block ``first``.

    ``members``: for each combination of fixes, by its name, the names of its fixes.
    """

    first: int
    fixes: Sequence[Fix]
    members: Mapping[str, Sequence[str]]

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        return {
            "first": self.first,
            "fixes": [fix.stored() for fix in self.fixes],
            "members": {name: list(each) for name, each in self.members.items()},
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        return cls(int(stored["first"]), [Fix.read(fix) for fix in stored["fixes"]], stored["members"])


@dataclass(frozen=True)
class Planned:
    """The fixes a run measures: each alone, then promising fixes again, and their combinations.

    ``left_out``: other fixes; ``engine``: the system's; ``index_budget_bytes``: the largest size of all new indexes
    together, None without a limit.
    """

    stages: Sequence[FixStage]
    left_out: Sequence[str]
    engine: str = ""
    index_budget_bytes: int | None = None

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        return {
            "stages": [stage.stored() for stage in self.stages],
            "left_out": list(self.left_out),
            "engine": self.engine,
            "index_budget_bytes": self.index_budget_bytes,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        stages = [FixStage.read(stage) for stage in stored["stages"]]
        # Runs stored by earlier versions have neither an engine nor a budget.
        return cls(stages, list(stored["left_out"]), stored.get("engine", ""), stored.get("index_budget_bytes"))

    @property
    def fixes(self) -> list[Fix]:
        """All fixes without duplicates."""
        return list({fix.name: fix for stage in self.stages for fix in stage.fixes}.values())

    @property
    def members(self) -> dict[str, Sequence[str]]:
        """For each combination of fixes, by its name, the names of its fixes."""
        return {name: each for stage in self.stages for name, each in stage.members.items()}


def fix_cell(experiment: Experiment, cell: ResolvedCell, fix: Fix, why: Why) -> CompiledCell:
    """Return the cell with a fix. Raises InputError if the experiment doesn't support the fix."""
    change = Change(fix.level, fix.against[0], "free", fix.does, settings=fix.settings, load=fix.load)
    made = changed_cell(experiment, cell, change, why)
    writes = [StatementFacts("", statement.sql).writes for statement in made.task.statements]
    return replace(made, task=rewritten(made.task, fix, writes), added=fix.statements)
