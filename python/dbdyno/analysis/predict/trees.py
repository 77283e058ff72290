"""Asking the worker what inserts do to a B-tree: by formulas, or by simulation where keys come in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dbdyno.analysis.measured.keys import ANYWHERE, AT_THE_EDGE
from dbdyno.analysis.predict.series import KeySeries
from dbdyno.model.events.answers import Btree, BtreeFigures
from dbdyno.model.plan.cell import PLAN
from dbdyno.runtime.worker import ask

By = Literal["formula", "simulation"]

# Inserts over which figures are taken, at least; and their share of the rows, so that there are splits among them.
_WINDOW = 20_000
_WINDOW_SHARE = 50
# Bytes of a key and a pointer, at most: pages above the leaves of a table do not have its rows.
_KEY = 64
# How many rows a simulated tree should have.
_MOST_ROWS = 3_000_000


@dataclass(frozen=True)
class Place:
    """A size, in rows, with the pages that the engine's own cache and the operating system's have for the tree.

    ``rate``: about how many inserts there are a second, for what time causes.
    """

    rows: float
    engine: float
    system: float
    rate: float


@dataclass(frozen=True)
class Answer:
    """What an insert does at one size, or why that is not known, a clause."""

    figures: BtreeFigures | None
    lacking: str = ""


def way_of(series: KeySeries) -> By:
    """Tell how a series is predicted."""
    return "formula" if series.keys.kind in ANYWHERE | AT_THE_EDGE else "simulation"


def depends_on_rate(series: KeySeries) -> bool:
    """Tell whether what an insert does to the tree follows from how many there are a second."""
    return series.rules.checkpoint_seconds is not None or series.keys.kind == "time_blocked"


def answers(series: KeySeries, asked: Sequence[Place]) -> list[Answer]:
    """Ask what an insert does at each place. Raises SystemFailed."""
    found = _ask([_setting(series, each) for each in asked])
    # Where the log causes checkpoints before time does, they are as far apart as it says.
    sooner = [place for place, each in enumerate(found) if _log_is_sooner(series, each, asked[place])]
    for place, each in zip(sooner, _ask([_setting(series, asked[one], by_log=True) for one in sooner]), strict=True):
        found[place] = each
    return found


def _ask(questions: Sequence[dict[str, Any]]) -> list[Answer]:
    if not questions:
        return []
    plan = {"schema": PLAN, "seed": 1, "task": {"kind": "btree", "questions": list(questions)}}
    return [
        Answer(None, each.impossible or "") if each.report is None else Answer(each.report.sizes[0])
        for each in ask(plan, Btree).answers
    ]


def _log_is_sooner(series: KeySeries, found: Answer, at: Place) -> bool:
    most, seconds = series.rules.checkpoint_log_bytes, series.rules.checkpoint_seconds
    if found.figures is None or most is None or seconds is None:
        return False
    return found.figures.log_bytes * seconds * at.rate > most


def _setting(series: KeySeries, at: Place, *, by_log: bool = False) -> dict[str, Any]:
    """Give the question about one place."""
    rules, by = series.rules, way_of(series)
    rows, engine, system = max(1, round(at.rows)), max(16, round(at.engine)), max(0, round(at.system))
    window = max(_WINDOW, rows // _WINDOW_SHARE)
    return {
        "by": by,
        "setting": {
            "tree": {
                "page_bytes": rules.page_bytes,
                "leaf_bytes": rules.leaf_bytes,
                "entry_bytes": series.entry_bytes,
                "fanout": max(4, rules.leaf_bytes // _inner_entry(series)),
                "split": dict(rules.split),
                "other_pages": series.other_pages,
            },
            "keys": _keys(series, at.rate),
            "start": {"way": "empty"},
            "cache": {"pages": engine, "policy": dict(rules.policy), "system_pages": system},
            "checkpoints": _checkpoints(series, at.rate, by_log=by_log),
            "log": {"record_bytes": series.record_bytes, "image_bytes": series.image_bytes},
            "commit_every": int(rules.commits_log_pages),
            "sizes": [rows],
            "window": window,
            "seed": 1,
            "scale": {"by": "inserts", "most": _MOST_ROWS},
        },
    }


def _inner_entry(series: KeySeries) -> int:
    return series.entry_bytes if series.index else min(series.entry_bytes, _KEY)


def _keys(series: KeySeries, rate: float) -> dict[str, Any]:
    keys = series.keys
    if keys.kind in ANYWHERE:
        return {"order": "random"}
    if keys.kind in AT_THE_EDGE:
        return {"order": "ordered"}
    # Those that count seconds have as many keys in a block as come within it.
    block = keys.block * rate if keys.kind == "time_blocked" else keys.block
    return {"order": "blocked", "block": max(1, round(block)), "count": keys.prefixes}


def _checkpoints(series: KeySeries, rate: float, *, by_log: bool) -> dict[str, Any] | None:
    rules = series.rules
    flush = "fuzzy" if rules.fuzzy else "sharp"
    if rules.checkpoint_seconds is not None and not by_log:
        return {"every": {"in": "inserts", "inserts": max(1, round(rules.checkpoint_seconds * rate))}, "flush": flush}
    if rules.checkpoint_log_bytes is None:
        return None
    distance = max(round(rules.checkpoint_log_bytes), round(series.record_bytes) + 1)
    return {"every": {"in": "log", "bytes": distance}, "flush": flush}
