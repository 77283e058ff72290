"""Ask the worker for the effect of inserts on a B-tree: by formulas, or by simulation if keys arrive in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dbdyno.analysis.measured.keys import ANYWHERE, AT_THE_EDGE
from dbdyno.analysis.predict.series import KeySeries
from dbdyno.model.events.answers import Btree, BtreeFigures
from dbdyno.model.plan.tasks import BtreeTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask

By = Literal["formula", "simulation"]

# Figures cover at least this many inserts, and at least one in `_WINDOW_SHARE` rows, so that splits occur.
_WINDOW = 20_000
_WINDOW_SHARE = 50
# Maximum bytes of a key and a pointer in an inner page. Inner pages of a table don't contain its rows.
_KEY = 64
# Maximum rows of a simulated tree; larger ones are scaled down.
_MAX_ROWS = 3_000_000


@dataclass(frozen=True)
class TreeSetting:
    """A size in rows, with the pages of the engine's own cache and of the operating system's cache for the tree.

    ``rate``: approximate inserts per second, for effects that depend on time.
    """

    rows: float
    engine: float
    system: float
    rate: float


@dataclass(frozen=True)
class TreeAnswer:
    """The effect of an insert at one size, or the reason why it is unknown, a clause."""

    figures: BtreeFigures | None
    lacking: str = ""


def way_of(series: KeySeries) -> By:
    """Return the method by which a series is predicted."""
    return "formula" if series.keys.kind in ANYWHERE | AT_THE_EDGE else "simulation"


def depends_on_rate(series: KeySeries) -> bool:
    """Whether the effect of an insert on the tree depends on the insert rate."""
    return series.rules.checkpoint_seconds is not None or series.keys.kind == "time_blocked"


def answers(series: KeySeries, asked: Sequence[TreeSetting]) -> list[TreeAnswer]:
    """Return the effect of an insert at each place. Raises SystemFailed."""
    found = _ask([_setting(series, each) for each in asked])
    # If the log fills up before the checkpoint interval ends, the log determines the distance between checkpoints.
    sooner = [position for position, answer in enumerate(found) if _log_is_sooner(series, answer, asked[position])]
    for position, answer in zip(
        sooner, _ask([_setting(series, asked[one], by_log=True) for one in sooner]), strict=True
    ):
        found[position] = answer
    return found


def _ask(questions: Sequence[dict[str, Any]]) -> list[TreeAnswer]:
    if not questions:
        return []
    plan = WorkerPlan(task=BtreeTask(questions=questions))
    return [
        TreeAnswer(None, answer.impossible or "") if answer.report is None else TreeAnswer(answer.report.sizes[0])
        for answer in ask(plan, Btree).answers
    ]


def _log_is_sooner(series: KeySeries, answer: TreeAnswer, at: TreeSetting) -> bool:
    most, seconds = series.rules.checkpoint_log_bytes, series.rules.checkpoint_seconds
    if answer.figures is None or most is None or seconds is None:
        return False
    return answer.figures.log_bytes * seconds * at.rate > most


def _setting(series: KeySeries, at: TreeSetting, *, by_log: bool = False) -> dict[str, Any]:
    """Return the worker's question about one place."""
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
            "scale": {"by": "inserts", "most": _MAX_ROWS},
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
    # A block of time-based keys contains the keys that are inserted within its time.
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
