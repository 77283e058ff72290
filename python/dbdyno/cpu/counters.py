"""The counters of a count, named as in the publications of SQLite's developers."""

from collections.abc import Sequence
from typing import TypedDict

# Callgrind's events with cache simulation: instructions, data reads and writes, and misses of each in the first-level
# (1) and last-level cache (L).
EVENTS = ("Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw")

CYCLES_FORMULA = "instructions + 10 * first-level misses + 100 * last-level misses (KCachegrind's cycle estimation)"


class Counters(TypedDict):
    """Numbers of events; rates are in percent of the accesses, ``None`` without accesses."""

    i_refs: int
    i1_misses: int
    lli_misses: int
    i1_miss_rate_percent: float | None
    lli_miss_rate_percent: float | None
    d_refs: int
    d_refs_read: int
    d_refs_write: int
    d1_misses: int
    d1_misses_read: int
    d1_misses_write: int
    d1_miss_rate_percent: float | None
    lld_misses: int
    lld_misses_read: int
    lld_misses_write: int
    lld_miss_rate_percent: float | None
    ll_refs: int
    ll_misses: int
    ll_miss_rate_percent: float | None
    estimated_cycles: int


def counters(costs: Sequence[int]) -> Counters:
    """Convert costs in the order of ``EVENTS`` to named counters.

    References to the last-level cache are misses of the first level. ``estimated_cycles``: see ``CYCLES_FORMULA``.
    """
    ir, dr, dw, i1, d1r, d1w, il, dlr, dlw = costs
    ll_refs, ll_misses = i1 + d1r + d1w, il + dlr + dlw
    return {
        "i_refs": ir,
        "i1_misses": i1,
        "lli_misses": il,
        "i1_miss_rate_percent": _percent(i1, ir),
        "lli_miss_rate_percent": _percent(il, ir),
        "d_refs": dr + dw,
        "d_refs_read": dr,
        "d_refs_write": dw,
        "d1_misses": d1r + d1w,
        "d1_misses_read": d1r,
        "d1_misses_write": d1w,
        "d1_miss_rate_percent": _percent(d1r + d1w, dr + dw),
        "lld_misses": dlr + dlw,
        "lld_misses_read": dlr,
        "lld_misses_write": dlw,
        "lld_miss_rate_percent": _percent(dlr + dlw, dr + dw),
        "ll_refs": ll_refs,
        "ll_misses": ll_misses,
        "ll_miss_rate_percent": _percent(ll_misses, ir + dr + dw),
        "estimated_cycles": ir + 10 * ll_refs + 100 * ll_misses,
    }


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
