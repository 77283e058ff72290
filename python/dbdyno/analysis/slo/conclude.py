"""Conclude from the stored windows of a search: the interval of the highest rate, and the limit above it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile

import numpy as np

from dbdyno.analysis.answer.short import named, short_systems
from dbdyno.analysis.bottleneck.common import CLIENT
from dbdyno.analysis.measured.cell_groups import varied
from dbdyno.analysis.measured.histograms import Histogram
from dbdyno.analysis.measured.metrics import done, failing
from dbdyno.analysis.slo.decide import Window, broken, decide, metric_value
from dbdyno.analysis.slo.search import bounds_of, estimate
from dbdyno.base.numbers import figure, percent
from dbdyno.model.experiment.objective import Clause, Objective, read_objective
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.reading import JsonObject, count, number, objects, part, text
from dbdyno.model.result.slo import LimitingResource, Slo, SloClause, SloProbe, SloSearch

OFFERED = "offered"
"""The factor whose levels are the rates of a search."""

CLOSED = "closed"
"""The level of the closed loop that a search begins with."""

# Bottlenecks that do not name a resource.
_SAYS_NOTHING = frozenset({"offered load", "number of clients", "unclear"})
_DISTURBED = "disturbed machine"

# Trials up to this multiple of a rate show what gives way there first: far above it, something else may.
_NEAR = 2.0

_GIVES_WAY = {
    "file lock": "waiting for the lock on the database file",
    "lock": "waiting for locks",
    "device sync": "waiting for the device to sync",
    "disk flush": "waiting for the disk to flush",
    "mutex": "waiting for a mutex inside the engine",
    "CPU": "the CPU",
    "failures": "requests fail, which",
    _DISTURBED: "the machine, which other programs use,",
    CLIENT: "the load machine's own CPU",
}


def window_of(round_: Round, objective: Objective, window_s: float) -> Window:
    """Return the requests of a round. In a round without a result, all requests count as failed."""
    response = round_.histograms.get("response")
    if response is None:
        return Window(np.empty(0), np.empty(0, np.int64), max(round_.issued, 1))
    values, counts = Histogram(response).points()
    failed = sum(round_.failed.values())
    return Window(values / 1e6, counts, failed, _skipped(round_, failed, grace_ms(objective, window_s)))


def grace_ms(objective: Objective, window_s: float) -> float:
    """Return the milliseconds that a request may have waited at a window's end without counting as skipped."""
    times = [clause.limit for clause in objective.clauses if not clause.is_share]
    return min([*times, 10 * window_s])


def _skipped(round_: Round, failed: int, grace: float) -> int:
    """Return the number of skipped arrivals that had waited longer than ``grace`` milliseconds."""
    waited = round_.histograms.get("at_least")
    if not round_.skipped or waited is None:
        return round_.skipped
    values, counts = Histogram(waited).points()
    beyond = int(counts[values / 1e6 > grace].sum())
    # The histogram also contains the times of failed requests, so count the skipped ones in proportion.
    total = failed + round_.skipped
    return min(round_.skipped, round(beyond * round_.skipped / total))


def conclude(planned: JsonObject, cells: Sequence[Cell], label: str) -> Slo:
    """Return the results of a run's searches. ``planned``: ``slo`` of its design; ``label``: the name of requests.

    For an unfinished run, they contain what is known so far.
    """
    objective = read_objective(text(planned, "objective") or "", "slo")
    window_s = number(planned, "window_s") or 1.0
    approach = part(planned, "approach")
    by_id = {cell.id: cell for cell in cells}
    systems = short_systems(list(dict.fromkeys(cell.system.name for cell in cells)))
    searches = []
    for search in objects(planned.get("searches")):
        own = [by_id[name] for name in search.get("cells", ()) if name in by_id]
        if own:
            searches.append(
                _search(own, objective, window_s, approach, name=_name(own[0], cells, systems), label=label)
            )
    return Slo(
        objective=str(objective),
        clauses=[SloClause(metric=clause.metric, limit=clause.limit) for clause in objective.clauses],
        budget_s=number(planned, "budget_s") or 0.0,
        window_s=window_s,
        searches=searches,
    )


def _name(cell: Cell, cells: Sequence[Cell], systems: Mapping[str, str]) -> str:
    levels = {name: cell.factors.get(name) for name in varied(cells) if name != OFFERED}
    return named(levels, systems) or systems.get(cell.system.name) or str(cell.system.engine or "")


def _search(
    cells: Sequence[Cell], objective: Objective, window_s: float, approach: JsonObject, *, name: str, label: str
) -> SloSearch:
    pilot, *probed = cells
    carries = next((round_.transactions_per_s for round_ in done(pilot) if round_.transactions_per_s), None)
    windows: dict[float, list[Window]] = {}
    probes: list[SloProbe] = []
    at: dict[float, Cell] = {}
    for cell in sorted(probed, key=_rate):
        every = [window_of(round_, objective, window_s) for round_ in cell.rounds if round_.status != "interrupted"]
        first = count(approach, cell.id) or 0
        windows[_rate(cell)] = every[first:]
        at[_rate(cell)] = cell
        probes.append(_probe(cell, objective, every[:first], every[first:]))
    bounds = bounds_of({probe.rate: probe.verdict for probe in probes})
    low, high = bounds.low, bounds.high
    above = [at[rate] for rate in sorted(at) if high is not None and high <= rate <= high * _NEAR]
    search: SloSearch = SloSearch(
        configuration=name,
        levels={key: value for key, value in pilot.factors.items() if key != OFFERED},
        status="open" if low is None or high is None else "found",
        carries=carries,
        rate=None,
        low=low,
        high=high,
        gives_way=_gives_way(above, pilot if not carries or (high and high >= carries / _NEAR) else None),
        probes=probes,
        text=[],
    )
    if low is not None and high is not None:
        search.rate = estimate(objective, low, high, windows[low], windows[high])
    lowest = probes[0].rate if probes else None
    if not probes and carries is None and _is_measured(pilot):
        search.status = "failed"
    if low is None and high is not None and high == lowest and carries and high <= carries * NOTHING_QUEUES:
        search.status = "none"
    elif search.gives_way is not None and search.gives_way.resource == CLIENT and low is not None:
        # The load machine cannot offer more, so the system's own limit is unknown.
        search.status, search.rate = "client", None
    clause = broken(objective, windows[high]) if high is not None else objective.clauses[0]
    value = metric_value(clause, windows[high]) if high is not None else None
    fresh = windows[high] if high is not None else []
    if _is_measured(pilot):
        search.text = _sentences(search, objective, clause, value, fresh=fresh, pilot=pilot, label=label)
    else:
        search.text = [f"{name} was not measured within the time budget; use a longer --budget."]
    return search


NOTHING_QUEUES = 1 / 16
"""The share of the closed loop's throughput up to which requests hardly ever wait for each other."""


def _is_measured(pilot: Cell) -> bool:
    return any(round_.status != "interrupted" for round_ in pilot.rounds)


def _rate(cell: Cell) -> float:
    return float(cell.factors[OFFERED])


def _probe(cell: Cell, objective: Objective, approach: list[Window], fresh: list[Window]) -> SloProbe:
    shown = fresh or approach
    due = sum(window.due for window in shown)
    values: dict[str, float | None] = {}
    for clause in objective.clauses:
        value = metric_value(clause, shown)
        values[clause.metric] = value if value is not None and math.isfinite(value) else None
    return SloProbe(
        cell=cell.id,
        rate=_rate(cell),
        windows=len(fresh),
        approach=len(approach),
        due=due,
        failed=sum(window.failed for window in shown) / due if due else None,
        values=values,
        verdict=decide(objective, fresh).verdict,
    )


def _seems(probe: SloProbe, objective: Objective) -> bool:
    """Whether the measured values at a rate are within all limits, however few requests there were."""
    values = [(probe.values[clause.metric], clause.limit) for clause in objective.clauses]
    return probe.due > 0 and all(value is not None and value < limit for value, limit in values)


def _seeming(probes: Sequence[SloProbe], objective: Objective) -> float | None:
    """Return the highest rate that seems to hold, as all lower rates do; None if even the lowest fails."""
    rates = [probe.rate for probe in takewhile(lambda slo_probe: _seems(slo_probe, objective), probes)]
    return rates[-1] if rates else None


def _unshown(probes: Sequence[SloProbe]) -> str:
    """Name the reason for an open search: windows that disagree, or too few requests."""
    apart = [probe for probe in probes if probe.verdict == "undecided" and probe.windows > 1 and probe.due >= _MANY]
    if not apart:
        return "Too few requests were measured"
    return f"Windows of one rate differ too much ({figure(apart[0].rate)}/s)"


# Number of requests at a rate that is enough for a percentile if windows agree.
_MANY = 1000


def _gives_way(above: Sequence[Cell], pilot: Cell | None) -> LimitingResource | None:
    """Return the bottleneck of the trials above the limit, the nearest first, otherwise that of the closed loop."""
    cells = [*above, *([pilot] if pilot is not None else [])]
    for cell in cells:
        full = [listener for one in cell.rounds for listener in one.listeners if listener.dropped]
        if full:
            dropped, backlog = sum(listener.dropped for listener in full), max(listener.backlog for listener in full)
            return LimitingResource(
                resource="the accept queue",
                evidence=f"it holds {backlog:,}, and the kernel dropped {dropped:,} connections",
                advice="raise the backlog that the server requests (listen(2)), up to `net.core.somaxconn`",
                rate=None if cell is pilot else _rate(cell),
            )
    for ignored in (_SAYS_NOTHING | {_DISTURBED}, _SAYS_NOTHING):
        for cell in cells:
            bottleneck = cell.bottleneck
            if bottleneck is None or bottleneck.resource in ignored:
                continue
            return LimitingResource(
                resource=bottleneck.resource,
                evidence=bottleneck.evidence,
                advice=bottleneck.advice,
                rate=None if cell is pilot else _rate(cell),
            )
    return None


def _lost(pilot: Cell) -> str:
    """Name the share of failed requests in the closed loop; empty below 1 %."""
    share = failing(pilot)
    return f", {percent(share)} of requests failed" if share >= _FAILING else ""


_FAILING = 0.01


def gives_way_words(resource: str) -> str:
    """Name what gives way, as the subject of a sentence."""
    return _GIVES_WAY.get(resource, f"the {resource}" if not resource.startswith("the ") else resource)


def _sentences(
    search: SloSearch,
    objective: Objective,
    clause: Clause,
    value: float | None,
    *,
    fresh: Sequence[Window],
    pilot: Cell,
    label: str,
) -> list[str]:
    """Return the sentences of one search: the answer, and the closed loop's throughput."""
    name, unit = search.configuration, f"{label}/s"
    low, high, carries = search.low, search.high, search.carries
    if search.status == "failed":
        error = next((round_.error for round_ in pilot.rounds if round_.error), None)
        full = search.gives_way
        because = "" if full is None else f"; {gives_way_words(full.resource)}: {full.evidence}"
        return [f"{name} has no result: {error or 'no request succeeded'}{because}."]
    seen = ""
    if high is not None and value is not None:
        what = {"failed": "failed", "skipped": "of requests did not start in time"}.get(clause.metric, clause.metric)
        if clause.is_share:
            seen = f"{clause.value(value)} {what} at {figure(high)}/s"
        elif math.isfinite(value):
            seen = f"{what} {clause.value(value)} at {figure(high)}/s"
        else:
            lost = sum(window.failed for window in fresh), sum(window.skipped for window in fresh)
            words = "failed" if lost[0] > lost[1] else "did not start in time"
            due = max(sum(window.due for window in fresh), 1)
            seen = f"{percent(sum(lost) / due)} of requests {words} at {figure(high)}/s"
    way = "" if search.gives_way is None else gives_way_words(search.gives_way.resource)
    if not way and high is not None and carries is not None and high >= carries / _NEAR:
        way = "the system's capacity"
    shown = f"{way} gives way first ({seen})" if way else seen
    most = [] if carries is None else [f"{name} serves at most {figure(carries)} {unit} (closed loop{_lost(pilot)})."]
    match search.status:
        case "found":
            said = f"{name} holds {objective} up to {figure(search.rate)} {unit} [{figure(low)}, {figure(high)}]; "
            said += f"above it, {shown}."
        case "client":
            said = f"{name} holds {objective} up to at least {figure(low)} {unit}, the most that this load machine "
            said += f"can offer ({seen})."
        case "none":
            said = f"{name} does not hold {objective} at any rate: {seen}, where requests hardly wait for each other."
        case _ if low is not None:
            said = (
                f"{name} holds {objective} up to at least {figure(low)} {unit}; no measured rate clearly violates it."
            )
        case _ if high is not None:
            said = f"{name} does not hold {objective} at {figure(high)} {unit}; there, {shown}. "
            seems = _seeming(search.probes, objective)
            said += f"It seems to hold at {figure(seems)}/s. " if seems else ""
            said += f"{_unshown(search.probes)} to prove a rate at which it holds: use a longer --budget."
        case _:
            said = f"{name}: no rate clearly holds or violates {objective}; use a longer --budget."
    return [said, *most]
