"""Why a number may not be what it seems: an unsettled window, a stall, two levels, other programs, a warm cache.

Each warning is one sentence with the option that would help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from dbdyno.document.cell import Cell, Round
from dbdyno.document.finding import finding
from dbdyno.document.reading import JsonObject, number
from dbdyno.document.shape import Finding
from dbdyno.engines import engine_of_product
from dbdyno.engines.url import serves_here
from dbdyno.limit import IDLE, SHORTEST_S
from dbdyno.results.rounds import Measure
from dbdyno.stats import trend, two_levels
from dbdyno.stats.rates import FEW

UNSETTLED, STALLED, TWO_LEVELS, DISTURBED = "unsettled", "stalled", "two levels", "disturbed"
"""What each kind of warning is called in its evidence; with these a run may have been slower for reasons of its own."""

# Other programs and the host: shares of one processor from which a round counts as disturbed.
_OTHERS = 0.2
_STOLEN = 0.05

# Above this share of what the client can do with an engine that does nothing, the client is part of the result.
_CLIENT = 0.5

# What is due in a time, for it to be strange that nothing is done; and the shortest that is worth a word (seconds).
_MUCH = 20
_STILL_S = 0.9

# Trials that take turns: the share of the time in which they went on into the others' turns.
_OVERRUN = 0.05

# A page cache that misses less often than this per transaction holds the data.
_MISSES = 0.01


# A sentence, and what it rests on.
_Warning = tuple[str, JsonObject] | None


def warnings(cells: Sequence[Cell], measure: Measure, *, beyond_cache: bool, waited: bool = False) -> list[Finding]:
    """Return all warnings, each with the cells it is about.

    ``beyond_cache``: the data was meant not to fit in cache; ``waited``: the run waited for a quiet machine.
    """
    checks: dict[str, Callable[[Cell], _Warning]] = {
        UNSETTLED: lambda cell: _unsettled(cell, measure),
        STALLED: lambda cell: _stood_still(cell, measure),
        "few transactions": _few,
        TWO_LEVELS: _bistable,
        "busy client": _busy_client,
        "overrun": _overran,
    }
    if beyond_cache:
        checks["fits in cache"] = _fits_in_cache
    found: list[Finding] = []
    for name, check in checks.items():
        for cell in cells:
            words, observed = check(cell) or ("", {})
            if words:
                found.append(finding(name, words, [cell["id"]], {"warning": name, **observed}))
    return [*_disturbed(cells, waited=waited), *found]


def _done(cell: Cell) -> list[Round]:
    return [each for each in cell["rounds"] if each["status"] == "done"]


def _unsettled(cell: Cell, measure: Measure) -> _Warning:
    """The level changed over the window."""
    windows = [
        [rate for interval in each["intervals"] if (rate := _rate(interval, measure)) is not None]
        for each in _done(cell)
        # What stopped it, and when, says nothing of how long it takes to settle.
        if not _standstill(each, measure)
    ]
    # The last interval is cut short by the window's end.
    change = trend([window[:-1] for window in windows])
    if change is None:
        return None
    verb = "rose" if change > 0 else "fell"
    words = (
        f"Throughput {verb} by {abs(change) * 100:.0f} % from the first to the last third of the window: it had not "
        "settled; lengthen `load.warmup` or the window."
    )
    return words, {"change": change}


def _rate(interval: dict[str, object], measure: Measure) -> float | None:
    start, end = number(interval, "start_s"), number(interval, "end_s")
    key = {"transaction": "ok", "statement": "statements", "row": "rows"}[measure.unit]
    done = number(interval, key)
    return None if start is None or end is None or done is None or end <= start else done / (end - start)


def _stood_still(cell: Cell, measure: Measure) -> _Warning:
    """For whole intervals nothing ended, where usually much does."""
    longest, rounds = 0.0, 0
    for each in _done(cell):
        stood = _standstill(each, measure)
        rounds += stood > 0.0
        longest = max(longest, stood)
    if not rounds:
        return None
    how_many = "1 round" if rounds == 1 else f"{rounds} rounds"
    words = (
        f"In {how_many} nothing at all was done for up to {longest:.0f} s: something stopped the system; see the "
        "timeline in the report, and the greatest latency."
    )
    return words, {"seconds": longest, "rounds": rounds}


def _standstill(one: Round, measure: Measure) -> float:
    """Give the longest time, in seconds, in which nothing ended though by the round's own pace much should have."""
    done, time, still, longest = 0.0, 0.0, 0.0, 0.0
    for interval in one["intervals"]:
        seconds = (number(interval, "end_s") or 0.0) - (number(interval, "start_s") or 0.0)
        rate = _rate(interval, measure)
        if rate is None or seconds <= 0:
            continue
        still = 0.0 if rate > 0 else still + seconds
        longest = max(longest, still)
        done, time = done + rate * seconds, time + seconds
    return longest if longest >= _STILL_S and done / time * longest >= _MUCH else 0.0


def _few(cell: Cell) -> _Warning:
    """A window of a given time held so few transactions that rounds differ by which of them fell into it."""
    rounds = [each for each in _done(cell) if each["ended_by"] == "seconds" and each["transactions_per_s"]]
    if not rounds:
        return None
    completed = fmean(each["completed"] for each in rounds)
    if completed >= FEW:
        return None
    per_s = fmean(each["transactions_per_s"] or 0.0 for each in rounds)
    number = f"{completed:.3g} transaction{'' if completed == 1 else 's'}"
    words = (
        f"A window held {number}: with fewer than {FEW} the figures rest on few of them; "
        f"`stop = {{ seconds = {math.ceil(FEW / per_s):,} }}` would hold as many."
    )
    return words, {"completed": completed}


def _bistable(cell: Cell) -> _Warning:
    levels = two_levels([each["throughput"] for each in _done(cell) if each["throughput"] is not None])
    if levels is None:
        return None
    words = (
        f"The rounds are of two levels, about {levels[0]:,.4g} and {levels[1]:,.4g}: the mean says which came up more "
        "often; take more rounds, and look at what differs between them."
    )
    return words, {"levels": list(levels)}


def _disturbed(cells: Sequence[Cell], *, waited: bool) -> list[Finding]:
    """Other programs, or the host of a virtual machine, took processors away: one finding for the whole run."""
    others, stolen, trials = [0.0], [0.0], 0
    hit: dict[str, int] = {}
    for cell in cells:
        here = serves_here(cell["system"]["name"])
        for each in _done(cell):
            cpu = each["cpu_percent"]
            trials += 1
            if cpu["machine"] is None or cpu["client"] is None or (each["elapsed_s"] or 0.0) < SHORTEST_S:
                continue
            stolen.append((cpu["steal"] or 0.0) / 100)
            # What a server here used that nobody started for this is not known, and no other program's.
            known = cpu["server"] is not None or not here
            others.append((cpu["machine"] - cpu["client"] - (cpu["server"] or 0.0)) / 100 if known else 0.0)
            if others[-1] >= _OTHERS or stolen[-1] >= _STOLEN:
                hit[cell["id"]] = hit.get(cell["id"], 0) + 1
    if not hit:
        return []
    parts = []
    if max(others) >= _OTHERS:
        parts.append(f"other programs used up to {max(others) * 100:.0f} % of a processor")
    if max(stolen) >= _STOLEN:
        parts.append(f"the host took up to {max(stolen) * 100:.0f} %")
    text = " and ".join(parts)
    text = f"{text[0].upper()}{text[1:]}, in {sum(hit.values())} of {trials} trials"
    text += ", though each waited for a quiet machine." if waited else "; `--wait-idle` waits for a quiet machine."
    where = list(hit) if len(hit) < len(cells) else []
    return [finding(DISTURBED, text, where, {"warning": DISTURBED, "trials": hit})]


def _overran(cell: Cell) -> _Warning:
    """What does not pause (syncs, above all) outlasted the turns, so that the cells were in one another's way."""
    overrun_s = elapsed_s = 0.0
    for each in _done(cell):
        overrun_s += number(each["turns"], "overrun_s") or 0.0
        elapsed_s += each["elapsed_s"] or 0.0
    if overrun_s <= _OVERRUN * elapsed_s:
        return None
    words = (
        f"Syncs and the like went on after their turns for {overrun_s / elapsed_s * 100:.0f} % of the time, beside "
        "other cells: longer `--turns` have less of that."
    )
    return words, {"share": overrun_s / elapsed_s}


def _busy_client(cell: Cell) -> _Warning:
    share = cell["share_of_ceiling"]["harness"]
    if share is None or share < _CLIENT or not engine_of_product(cell["system"]["engine"]).has_data:
        return None
    # Clients that had nothing to do for most of the time could have done more.
    if cell["time"] is not None and (cell["time"]["shares"].get("idle") or 0.0) >= IDLE:
        return None
    words = (
        f"The client did {share * 100:.0f} % of what it can with an engine that does nothing: the result is as much "
        "about the client; give it more threads or machines."
    )
    return words, {"share": share}


def _fits_in_cache(cell: Cell) -> _Warning:
    misses, hits = (cell["io_per_transaction"].get(name) for name in ("cache_misses", "cache_hits"))
    if misses is None or not hits or misses >= _MISSES * max(1.0, hits / 100):
        return None
    words = (
        f"The data fitted into the page cache ({hits / (hits + misses) * 100:.2f} % hits), which this experiment means "
        "it not to: lower `cache_size`, or raise the number of rows."
    )
    return words, {"hits": hits, "misses": misses}
