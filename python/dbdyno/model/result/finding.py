"""What a finding is made by: its kind, and the observations without which none of its kind is said.

An observation is what was read back or counted in the run: a plan, a row of the catalogue, a counter, a setting in
force, the matched cell that was compared. That an engine usually does something is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dbdyno.model.result.cell import Cell, JsonObject
from dbdyno.model.result.shape import Finding


class UnfoundedError(ValueError):
    """A finding was to be said of which an observation is not there. It is a defect of the code that says it."""


@dataclass(frozen=True)
class Kind:
    """A kind of finding.

    ``needs``: the keys that its evidence must have, each with a value that is not empty. ``meaning`` and ``remedy``: a
    sentence each, for the reference of all kinds.
    """

    name: str
    needs: tuple[str, ...]
    meaning: str
    remedy: str

    def found(self, words: str, cells: Iterable[str], evidence: Mapping[str, Any]) -> Finding:
        """Make a finding; ``cells``: ids, none where it is about the whole run.

        Raises UnfoundedError where its evidence lacks an observation that it rests on.
        """
        missing = self.missing(evidence)
        if missing:
            lacking = f"no {' and no '.join(missing)}"
            raise UnfoundedError(f"finding `{self.name}`: {lacking}; say nothing where nothing was observed")
        return {"kind": self.name, "text": words, "cells": list(cells), "evidence": dict(evidence)}

    def missing(self, evidence: Mapping[str, Any]) -> list[str]:
        """Name what keeps it from being said. A count of 0 is an observation."""
        return [name for name in sorted(self.needs) if evidence.get(name) in (None, "", [], (), {})]


class Measured(NamedTuple):
    """A cell as it was measured and as it was planned.

    ``task``: of the plan of its trials; ``data``: what tells the data that they began with from others, empty where
    that is not known.
    """

    cell: Cell
    task: JsonObject
    data: str
