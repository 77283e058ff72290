"""Search for the highest rate at which an objective holds. Each window of a configuration's search is a trial."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.analysis.measured.derived import derived
from dbdyno.analysis.measured.rounds import Measure, build_round
from dbdyno.analysis.slo.conclude import CLOSED, OFFERED, window_of
from dbdyno.analysis.slo.decide import metric_value
from dbdyno.analysis.slo.search import Probe, Search
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.base.numbers import figure
from dbdyno.engines import engine_of
from dbdyno.experiment import Experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import SINGLE, cell_id, factors_of
from dbdyno.experiment.factors import SYSTEM
from dbdyno.experiment.substitute import references
from dbdyno.model.experiment.levels import Level
from dbdyno.model.experiment.load import Open, Stop, Warmup
from dbdyno.model.experiment.objective import QUANTILES, Objective
from dbdyno.model.limits import MAX_RATE
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.run.cell_designs import describe_cells
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.runner import KeptSystem, measure
from dbdyno.run.trial import Plan, Trial, Watcher
from dbdyno.store import Store, TrialRecord

BUDGET_S = 60.0
"""Seconds of a search if no budget is given."""

MIN_PROBE_S = 1.0
"""Minimum seconds of a search."""

# Length of a window: shares of the budget, and a multiple of the response time's limit, so that queues settle.
_OF_BUDGET, _MAX_OF_BUDGET, _TIMES_LIMIT = 1 / 40, 1 / 20, 30
_MIN_WINDOW_S, _MIN_WARMUP_S, _WARMUP_TIMES_LIMIT = 0.5, 0.3, 10

# Number of requests above the percentile that a window should have, at half the closed loop's throughput.
_BEYOND = 2

# Share of the budget reserved for reading and showing the result.
_AFTERWARDS = 0.08

# Assumed seconds of a trial outside window and warm-up, until one has been timed.
_AROUND_S = 0.4


@dataclass(frozen=True)
class Slo:
    """The objective of a search, and its budget. ``budget_s``: None for the usual time per configuration."""

    objective: Objective
    budget_s: float | None = None

    def seconds(self, configurations: int) -> float:
        """Return the seconds of all searches together."""
        return BUDGET_S * configurations if self.budget_s is None else self.budget_s


def search_estimate(slo: Slo, count: int) -> str:
    """Print the objective and the duration of a search."""
    each = f" for each of {count} configurations" if count > 1 else ""
    return f"the highest rate that holds {slo.objective}{each}: at most {slo.seconds(count):.0f} s"


def configurations(experiment: Experiment, cells: Sequence[ResolvedCell]) -> list[ResolvedCell]:
    """Return one cell per configuration; cells that differ only in arrivals count as one. Raises InputError."""
    place = experiment.location
    if OFFERED in experiment.factors:
        raise InputError(place, f"the search calls a factor `{OFFERED}` itself", "rename the experiment's factor")
    if experiment.head.growth is not None:
        raise InputError("--slo", f"{place} grows a table from trial to trial", "use an experiment of one size")
    used: dict[str, set[bool]] = {}
    for location, name in references(experiment.document):
        used.setdefault(name.partition(".")[0], set()).add(location[:2] == ("load", "arrival"))
    factors = {name: factor for name, factor in factors_of(experiment).items() if used.get(name) != {True}}
    found: dict[str, ResolvedCell] = {}
    for cell in cells:
        if engine_of(cell.system.engine).runs_programs:
            raise InputError(
                "--slo", f"{cell.system.name} is a program, which doesn't support arrivals", "name a system"
            )
        levels = {name: level for name, level in cell.levels.items() if name in factors or name == SYSTEM}
        name = cell_id(factors, levels)
        found.setdefault(name, replace(cell, id=name, levels=levels))
    return list(found.values())


def closed_loop(experiment: Experiment, cell: ResolvedCell, slo: Slo, budget_s: float) -> CompiledCell:
    """Return the closed-loop cell that starts a search and measures the highest throughput."""
    return _cell(experiment, cell, None, max(budget_s * _OF_BUDGET, _MIN_WINDOW_S), _warmup_s(slo.objective, budget_s))


def offered(experiment: Experiment, cell: ResolvedCell, rate: float, window_s: float, warmup_s: float) -> CompiledCell:
    """Return a configuration as an open loop at a rate, in requests per second."""
    return _cell(experiment, cell, rate, window_s, warmup_s)


def _cell(
    experiment: Experiment, cell: ResolvedCell, rate: float | None, window_s: float, warmup_s: float
) -> CompiledCell:
    load = cell.definition.load
    gaps = load.arrival.gaps if load.arrival is not None else "poisson"
    # The rate distinguishes the cells.
    value: int | float | str = CLOSED if rate is None else int(rate) if rate.is_integer() else rate
    level = Level.of(value)
    changed = {
        "arrival": None if rate is None else Open(rate=rate, gaps=gaps),
        "stop": Stop(seconds=window_s),
        "warmup": Warmup(seconds=warmup_s),
    }
    definition = cell.definition.model_copy(update={"load": load.model_copy(update=changed)})
    rest = "" if cell.id == SINGLE else f",{cell.id}"
    named = {OFFERED: level, **cell.levels}
    made = replace(cell, id=f"{OFFERED}={level.name}{rest}", levels=named, definition=definition)
    return compile_cell(experiment, made)


def _warmup_s(objective: Objective, budget_s: float) -> float:
    limit = _limit_s(objective)
    return min(max(_MIN_WARMUP_S, _WARMUP_TIMES_LIMIT * limit), budget_s * _OF_BUDGET)


def _window_s(objective: Objective, budget_s: float, capacity: float | None) -> float:
    beyond = min(1 - QUANTILES.get(clause.metric, 0.9) for clause in objective.clauses)
    wanted = [_MIN_WINDOW_S, budget_s * _OF_BUDGET, _TIMES_LIMIT * _limit_s(objective)]
    wanted += [] if capacity is None else [2 * _BEYOND / beyond / capacity]
    return round(min(max(wanted), budget_s * _MAX_OF_BUDGET), 2)


def _limit_s(objective: Objective) -> float:
    """Return the longest response time that the objective limits, in seconds."""
    return max((clause.limit / 1e3 for clause in objective.clauses if not clause.is_share), default=0.0)


class Searcher:
    """Carries out the searches of a run. Each trial is stored when it ends."""

    def __init__(
        self,
        experiment: Experiment,
        searched: Sequence[ResolvedCell],
        slo: Slo,
        *,
        plan: Plan,
        store: Store,
        provisioners: Provisioners,
        console: Console,
    ) -> None:
        """``searched``: the configurations."""
        self._experiment = experiment
        self._searched = searched
        self._slo = slo
        self._plan = plan
        self._store = store
        self._provisioners = provisioners
        self._interrupted = provisioners.interrupted
        self._shown = Progress(console)
        self._planned: dict[str, Any] = dict(store.run(plan.run_id).design["slo"])

    def measure(self) -> None:
        """Search for each configuration's highest rate within its share of the budget. Raises DbdynoError."""
        ends = self._plan.began + (1 - _AFTERWARDS) * self._slo.seconds(len(self._searched))
        for position, cell in enumerate(self._searched):
            if self._interrupted:
                return
            now = time.monotonic()
            if position and now >= ends:
                self._shown.says(f"{cell.id}: not measured, since the budget is over")
                continue
            until = now + max(ends - now, 0.0) / (len(self._searched) - position)
            with ExitStack() as stack:
                kept = None
                if engine_of(cell.system.engine).is_server:
                    kept = stack.enter_context(KeptSystem(self._provisioners, self._shown, self._interrupted))
                _ConfigurationSearch(self, cell, kept).search(until)

    def trial(self, compiled: CompiledCell, block: int, kept: KeptSystem | None) -> TrialRecord:
        """Measure one window and store it."""
        self._shown.trials(block, [compiled.cell])
        trial = Trial(compiled, block, block, self._plan)
        if kept is not None:
            record = kept.measure(trial)
        else:
            (record,) = measure([trial], self._provisioners, self._shown, self._interrupted)
        self._store.add_trial(self._plan.run_id, record)
        if record.status == "done":
            self._plan.done[record.cell, record.block] = replace(record, intervals=[], parts=[])
        return record

    def keep(self, compiled: CompiledCell, configuration: int, **changed: Any) -> None:
        """Store the design of a cell before it is measured, and the state of the searches."""
        run = self._store.run(self._plan.run_id)
        searches = [dict(search) for search in self._planned["searches"]]
        cells, factors = run.design["cells"], run.design["factors"]
        if compiled.cell.id not in searches[configuration]["cells"]:
            searches[configuration]["cells"] = [*searches[configuration]["cells"], compiled.cell.id]
        if all(cell["id"] != compiled.cell.id for cell in cells):
            cells = [*cells, *describe_cells([compiled])]
            level = compiled.cell.factors[OFFERED]
            factors = factors | {OFFERED: list(dict.fromkeys([*factors.get(OFFERED, []), level]))}
        self._planned |= {"searches": searches, **changed}
        design = run.design | {"cells": cells, "factors": factors, "slo": self._planned}
        self._store.update_run(run.id, design=design)


class _ConfigurationSearch:
    def __init__(self, searcher: Searcher, cell: ResolvedCell, kept: KeptSystem | None) -> None:
        self._searcher = searcher
        self._cell = cell
        self._kept = kept
        self._slo = searcher._slo
        self._made: dict[float, CompiledCell] = {}
        self._blocks: dict[str, int] = {}

    def search(self, until: float) -> None:
        """Measure windows until the search is decided or the time is over. ``until``: monotonic time in seconds."""
        budget_s = max(until - time.monotonic(), 1.0)
        position = self._searcher._searched.index(self._cell)
        pilot = closed_loop(self._searcher._experiment, self._cell, self._slo, budget_s)
        self._searcher.keep(pilot, position)
        record = self._searcher.trial(pilot, 0, self._kept)
        capacity = _rate_of(record)
        if self._searcher._interrupted:
            return
        outcome = f"no result: {record.error}" if capacity is None else f"{figure(capacity)}/s"
        self._searcher._shown.says(f"closed loop: {outcome}")
        # A closed loop overloads a short accept queue at once, which an open loop does not.
        if capacity is None and "listeners" not in record.around:
            return
        objective = self._slo.objective
        window_s, warmup_s = _window_s(objective, budget_s, capacity), _warmup_s(objective, budget_s)
        search = Search(objective, capacity, MAX_RATE, window_s)
        spent: list[float] = []
        while not self._searcher._interrupted:
            each_s = sum(spent) / len(spent) if spent else window_s + warmup_s + _AROUND_S
            probe = search.next(int((until - time.monotonic()) / each_s))
            if probe is None:
                return
            began = time.monotonic()
            self._measure(search, probe, window_s, warmup_s, position)
            spent.append(time.monotonic() - began)

    def _measure(self, search: Search, probe: Probe, window_s: float, warmup_s: float, position: int) -> None:
        compiled = self._made.get(probe.rate)
        if compiled is None:
            compiled = offered(self._searcher._experiment, self._cell, probe.rate, window_s, warmup_s)
            self._made[probe.rate] = compiled
        name = compiled.cell.id
        block = self._blocks.get(name, 0)
        self._blocks[name] = block + 1
        approach = self._searcher._planned["approach"]
        if not probe.confirms:
            approach = approach | {name: block + 1}
        if not block or not probe.confirms:
            self._searcher.keep(compiled, position, approach=approach, window_s=window_s)
        record = self._searcher.trial(compiled, block, self._kept)
        if record.status == "interrupted":
            return
        (read,) = derived([record])
        window = window_of(build_round(read, Measure("transaction", "")), self._slo.objective, window_s)
        search.add(probe, window)
        values = [
            f"{clause.metric} {clause.value(value)}"
            for clause in self._slo.objective.clauses
            if (value := metric_value(clause, [window])) is not None
        ]
        verdict = f" · {search.verdict(probe.rate)}" if probe.confirms else ""
        self._searcher._shown.says(f"{figure(probe.rate)}/s: {', '.join(values)}{verdict}")


def _rate_of(record: TrialRecord) -> float | None:
    if record.status != "done":
        return None
    (read,) = derived([record])
    return build_round(read, Measure("transaction", "")).transactions_per_s or None


class Progress(Watcher):
    """Shows one line per window of a search."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def says(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, style="dim", soft_wrap=True)
