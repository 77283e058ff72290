"""Kinds of findings, and the observations that each kind needs.

An observation is a value that the run read or counted: a plan, a catalog row, a counter, a setting in effect, the cell
of a comparison. General knowledge about an engine is not an observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.convert import evidence_json
from dbdyno.model.result.shape import Finding


class UnfoundedError(ValueError):
    """A finding lacks an observation that its kind needs: a defect in the code that makes the finding."""


@dataclass(frozen=True)
class Kind:
    """A kind of finding.

    ``name``: the value of ``Finding.kind``. ``needs``: the keys that its evidence must have, each with a value that is
    not empty. ``meaning`` and ``remedy``: a sentence each, for the reference of all kinds.
    """

    name: str
    needs: tuple[str, ...]
    meaning: str
    remedy: str

    def found(self, words: str, cells: Iterable[str], evidence: Mapping[str, Any]) -> Finding:
        """Make a finding. ``cells``: ids, empty if the finding is about the whole run.

        Raises UnfoundedError if the evidence lacks an observation that the kind needs.
        """
        missing = self.missing(evidence)
        if missing:
            lacking = f"no {' and no '.join(missing)}"
            raise UnfoundedError(f"finding `{self.name}`: {lacking}; don't report what was not observed")
        return Finding(kind=self.name, text=words, cells=list(cells), evidence=evidence_json(dict(evidence)))

    def missing(self, evidence: Mapping[str, Any]) -> list[str]:
        """Return the needed observations that are missing. A count of 0 is an observation."""
        return [name for name in sorted(self.needs) if evidence.get(name) in (None, "", [], (), {})]


class Measured(NamedTuple):
    """A cell as it was measured and as it was planned.

    ``cell``: its results. ``task``: the task of its trials' plans; ``data``: identifies the initial data, empty if
    unknown.
    """

    cell: Cell
    task: TrialTask
    data: str
