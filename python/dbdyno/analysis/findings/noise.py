"""Disturbances: other programs, stalls, and windows that didn't settle."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.bottleneck.common import MIN_WINDOW_S
from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.measured.metrics import done, is_open_loop
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.engines.url import serves_here
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding
from dbdyno.stats import trend
from dbdyno.stats.stability import thirds

# A stall lasts at least _STILL_S seconds, and at least _MUCH units were due in that time.
_MUCH = 20

_STILL_S = 0.9


def rate_of_interval(interval: JsonObject, measure: Measure) -> float | None:
    """Return the rate of an interval per second, in the experiment's unit; None if the interval has no length."""
    seconds = float(interval["end_s"] - interval["start_s"])
    key = {"transaction": "ok", "statement": "statements", "row": "rows"}[measure.unit]
    return interval[key] / seconds if seconds > 0 else None


def stall(one: Round, measure: Measure) -> float:
    """Return the longest time in seconds in which nothing completed, although the round's rate implies many."""
    done, time, still, longest = 0.0, 0.0, 0.0, 0.0
    for interval in one.intervals:
        seconds = interval["end_s"] - interval["start_s"]
        rate = rate_of_interval(interval, measure)
        if rate is None:
            continue
        still = 0.0 if rate > 0 else still + seconds
        longest = max(longest, still)
        done, time = done + rate * seconds, time + seconds
    return longest if longest >= _STILL_S and done / time * longest >= _MUCH else 0.0


# A round is disturbed if other programs or the host take at least this share of one CPU.
_OTHERS = 0.2

_STOLEN = 0.05


@finding(
    "disturbed",
    needs=("warning", "trials"),
    meaning="Other programs, or the host of a virtual machine, used CPU time during trials.",
    remedy="Use `--wait-idle` to wait for an idle machine, and stop other programs.",
)
def disturbed(material: Material) -> list[Finding]:
    """Report CPU time taken by other programs or the host of a virtual machine: one finding for the whole run."""
    options = material.run.options
    others, stolen, trials = [0.0], [0.0], 0
    hit: dict[str, int] = {}
    for cell in material.cells:
        here = serves_here(cell.system.name)
        for round_ in done(cell):
            cpu = round_.cpu_percent
            trials += 1
            if cpu.machine is None or cpu.client is None or (round_.elapsed_s or 0.0) < MIN_WINDOW_S:
                continue
            stolen.append((cpu.steal or 0.0) / 100)
            # The CPU time of a user's server on this machine is unknown, and it is not another program.
            known = cpu.server is not None or not here
            others.append((cpu.machine - cpu.client - (cpu.server or 0.0)) / 100 if known else 0.0)
            if others[-1] >= _OTHERS or stolen[-1] >= _STOLEN:
                hit[cell.id] = hit.get(cell.id, 0) + 1
    if not hit:
        return []
    parts = []
    if max(others) >= _OTHERS:
        parts.append(f"other programs used up to {max(others) * 100:.0f} % of one CPU")
    if max(stolen) >= _STOLEN:
        parts.append(f"the host took up to {max(stolen) * 100:.0f} %")
    text = " and ".join(parts)
    text = f"{text[0].upper()}{text[1:]} in {sum(hit.values())} of {trials} trials"
    if options.get("wait_idle"):
        text += ", although each trial waited for an idle machine."
    else:
        # dbdyno can't wait for the load machines of a cluster.
        text += ". Use `--wait-idle` to wait for an idle machine." if options.get("cluster") is None else "."
    where = list(hit) if len(hit) < len(material.cells) else []
    return [disturbed.found(text, where, {"warning": disturbed.name, "trials": hit})]


def _change(cell: Cell, measure: Measure) -> tuple[str, JsonObject] | None:
    # Exclude rounds with a stall: it says nothing about the time to settle.
    rounds = [round_ for round_ in done(cell) if not stall(round_, measure)]
    # Exclude the last interval, which the end of the window cuts short.
    windows = [
        [rate for interval in one.intervals if (rate := rate_of_interval(interval, measure)) is not None][:-1]
        for one in rounds
    ]
    change = trend(windows, [_cut(round_, is_open_loop(cell)) for round_ in rounds])
    if change is None:
        return None
    verb = "rose" if change > 0 else "fell"
    words = (
        f"Throughput {verb} by {abs(change) * 100:.0f} % from the first to the last third of the window, so it had not "
        "settled. Lengthen `load.warmup` or the window."
    )
    return words, {"change": change}


def _cut(one: Round, is_open: bool) -> float:
    """Return the share by which the counts of a window's thirds may differ at a constant rate.

    Clients with equal transaction times complete them together, so a third contains one transaction more per client or
    not.
    """
    fewest = min(thirds([float(interval["ok"]) for interval in one.intervals[:-1]]))
    together = 1 if is_open else int(one.window.get("clients") or 1)
    return together / fewest if fewest else 0.0


@finding(
    "unsettled",
    needs=("warning", "change"),
    meaning="Throughput changed from the first to the last third of the window.",
    remedy="Lengthen `load.warmup` or the window.",
)
def unsettled(material: Material) -> Iterator[Finding]:
    """Report cells whose throughput changed during the window."""
    for cell in material.cells:
        said = _change(cell, material.measure)
        if said is not None:
            words, observed = said
            yield unsettled.found(words, [cell.id], {"warning": unsettled.name, **observed})


def _stood_still(cell: Cell, measure: Measure) -> tuple[str, JsonObject] | None:
    longest, rounds = 0.0, 0
    for round_ in done(cell):
        stood = stall(round_, measure)
        rounds += stood > 0.0
        longest = max(longest, stood)
    if not rounds:
        return None
    how_many = "1 round" if rounds == 1 else f"{rounds} rounds"
    words = (
        f"No transaction completed for up to {longest:.0f} s in {how_many}. Something stalled the system: see the "
        "timeline in the report and the maximum latency."
    )
    return words, {"seconds": longest, "rounds": rounds}


@finding(
    "stalled",
    needs=("warning", "seconds", "rounds"),
    meaning="No transaction completed for about a second or longer, although many were due.",
    remedy="Look at the timeline and the maximum latency for what stalled the system.",
)
def stalled(material: Material) -> Iterator[Finding]:
    """Report cells in which nothing completed for a while."""
    for cell in material.cells:
        said = _stood_still(cell, material.measure)
        if said is not None:
            words, observed = said
            yield stalled.found(words, [cell.id], {"warning": stalled.name, **observed})
