"""What a finding is made by, and the observations without which none of its kind is said.

An observation is what was read back or counted in the run: a plan, a row of the catalogue, a counter, a setting in
force, the matched cell that was compared. That an engine usually does something is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbdyno.document.reading import JsonObject, part, text
from dbdyno.document.shape import Finding

OBSERVATIONS: Mapping[str, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        # What was done is not the same.
        "durability contradicted": "durability observed",
        "unlike work": "unlike differences",
        "other rows": "unlike rows",
        "counts may differ": "case rules",
        "other product": "product",
        "lost updates": "sessions acknowledged counted",
        # Searches, and what was tried against them.
        "prefix scan": "plans searches",
        "recommendation": "recommendation plans comparisons",
        # What did not end well.
        "failures": "kind by_cell",
        "skipped": "skipped issued",
        "cut short": "asked done",
        "locked while upgrading": "failed statements busy_timeout",
        "locked without waiting": "failed busy_timeout",
        # Several cells together.
        "change": "ratio ci95",
        "connecting": "connecting",
        # What makes figures doubtful.
        "more commits than syncs": "device_sync syncs_per_transaction",
        "slower device": "sync_ms bytes_per_sync measured_ms",
        "outliers": "blocks",
        "unsettled": "warning change",
        "stalled": "warning seconds rounds",
        "few transactions": "warning completed",
        "two levels": "warning levels",
        "disturbed": "warning trials",
        "overrun": "warning share",
        "busy client": "warning share",
        "fits in cache": "warning hits misses",
        "unreadable data": "error",
        # What the run itself did.
        "not measured": "excluded",
        "steps left out": "steps",
        "counts vary": "reasons",
        "probe failed": "error",
        "ended": "rounds",
        "name resolution": "seconds",
        "writes allowed": "wrote_to statements",
        "one of several servers": "installed",
        "turns sync unlike": "settings",
    }.items()
}
"""By the kind of a finding, the names that its evidence has at least, each with something in it."""


class UnfoundedError(ValueError):
    """A finding was to be said of which an observation is not there. It is a mistake in the code that says it."""


def finding(kind: str, words: str, cells: Iterable[str], evidence: Mapping[str, Any]) -> Finding:
    """Make a finding of a kind in :data:`OBSERVATIONS`; ``cells``: ids, none where it is about the whole run.

    Raises UnfoundedError where the kind is not known, or its evidence lacks an observation that it rests on.
    """
    missing = _missing(kind, evidence)
    if missing:
        raise UnfoundedError(f"finding `{kind}`: {missing}; say nothing where nothing was observed")
    return {"kind": kind, "text": words, "cells": list(cells), "evidence": dict(evidence)}


def stored_finding(source: JsonObject) -> Finding | None:
    """Read a finding that a run stored; ``None`` where it names no observation, as those of early versions may not."""
    kind, words, evidence = text(source, "kind"), text(source, "text"), part(source, "evidence")
    if kind is None or words is None or _missing(kind, evidence):
        return None
    return finding(kind, words, [str(cell) for cell in source.get("cells") or []], evidence)


def _missing(kind: str, evidence: Mapping[str, Any]) -> str:
    """Say what keeps a finding from being said; empty where nothing does. A count of 0 is an observation."""
    if kind not in OBSERVATIONS:
        return "there is no such kind"
    lacking = sorted(name for name in OBSERVATIONS[kind] if evidence.get(name) in (None, "", [], (), {}))
    return f"no {' and no '.join(lacking)}" if lacking else ""
