"""SYNTHETIC cells with what judging looks at and no more. No number made here was measured anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.convert import from_json

_T = TypeVar("_T")


def some(kind: type[_T], **values: Any) -> _T:
    """A part of a result with these values, of which nothing else is known."""
    made = from_json(kind, {})
    for name, value in values.items():
        setattr(made, name, value)
    return made


def change(made: _T, **changes: Any) -> _T:
    """Give a part of a result other values, as JSON has them."""
    converted = from_json(type(made), changes)
    for name in changes:
        setattr(made, name, getattr(converted, name))
    return made


def cell(name: str, values: Sequence[float | None], factors: dict[str, Any] | None = None, **changes: Any) -> Cell:
    """A cell with these throughputs, a block each (None: the trial failed), with what judging looks at and no more.

    ``changes``: of each round; ``system`` and ``durability`` are the cell's.
    """
    system, durability = changes.pop("system", "sqlite:"), changes.pop("durability", None)
    made = {
        "id": name,
        "system": {"name": system, "engine": system.partition(":")[0], "durability": durability},
        "factors": factors or {"cell": name},
        "throughput": {"mean": sum(each or 0.0 for each in values) / len(values), "ci95": None, "unit": "1/s"},
        "latency_ms": {},
        "observed": changes.pop("observed", {"contradiction": "", "syncs_per_commit": None, "backlog": {}}),
        "share_of_ceiling": {"harness": None, "device_sync": None, "device_read": None},
        "time": None,
        "cpu_percent": {"cores": None},
        "bottleneck": None,
        "rows_per_transaction": None,
        "rows_standard_error": None,
        "rows_differ": {},
        "rounds": [_round(block, value, **changes) for block, value in enumerate(values)],
    }
    return from_json(Cell, made)


def a_round(block: int, throughput: float | None, **changes: Any) -> Round:
    """A round of a thousand transactions, of which nothing is known but how fast they were."""
    return from_json(Round, _round(block, throughput, **changes))


def _round(block: int, throughput: float | None, **changes: Any) -> dict[str, Any]:
    basis = {"time_s": 1.0, "count": 0, "seconds": 0.0, "squares": 0.0, "resolution": 0.0, "other": 1.0}
    return {
        "block": block,
        "status": "failed" if throughput is None else "done",
        "throughput": throughput,
        "transactions_per_s": throughput,
        "rate": basis | changes.pop("rate", {}),
        "issued": 1000,
        "completed": 1000,
        "statements": 1000,
        "skipped": 0,
        "failed": {},
        "failures": {},
        "peak_rss_bytes": None,
        "rows_changed": 0,
        "transactions_changing": 0,
        "statements_by_name": {},
        "io": {},
        "disk": {"device": None},
        "flushes": {},
        "segments": {},
        "client_s": None,
        "observed": {},
        "interleaving": {},
        "elapsed_s": 1.0,
        "window": {"clients": 1},
        "latency_ms": {},
        "durations": {"total_s": 3.0},
        "intervals": [],
        **changes,
    }
