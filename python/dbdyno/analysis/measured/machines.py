"""What each load machine did of a trial, and whether they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.model.events.around import LoadMachine
from dbdyno.model.events.latency import Times
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.result.cell import LoadMachineRound
from dbdyno.model.result.reading import ratio
from dbdyno.stats.agreement import chance

# Of the usual length of an interval: one that is shorter was cut, and says too little.
_WHOLE = 0.5


def machine_rounds(trial: ReadTrial, rates: Sequence[float]) -> list[LoadMachineRound]:
    """Say what each load machine did of a trial; empty where its load came from one place.

    ``rates``: what each did in a second, in the unit of throughput.
    """
    told = trial.load_machines
    if told is None or len(told.machines) != len(trial.parts):
        return []
    machines = told.machines
    done = _of_clients([_rates(intervals) for _, intervals in trial.parts], machines)
    times = [_medians(intervals) for _, intervals in trial.parts]
    clients, total = sum(each.clients for each in machines), sum(rates)
    return [
        replace(
            _round(machine, result, agreed_ns=told.agreed_ns, rate=rates[number], total=total, clients=clients),
            rate_p=_differs(done, number),
            time_ratio=_time_ratio(times, number),
            time_p=_differs(times, number),
        )
        for number, (machine, (result, _)) in enumerate(zip(machines, trial.parts, strict=True))
    ]


def _round(
    machine: LoadMachine, result: TrialResult, *, agreed_ns: int, rate: float, total: float, clients: int
) -> LoadMachineRound:
    accounting, times = result.accounting, result.latency_ms.get("response") or result.latency_ms.get("service")
    share = ratio(rate, total)
    return LoadMachineRound(
        name=machine.name,
        host=machine.host,
        clients=machine.clients,
        issued=accounting.issued,
        ok=accounting.ok,
        failed=sum(accounting.failed.values()),
        skipped=accounting.skipped,
        in_flight=accounting.in_flight,
        throughput=rate,
        share=share,
        p99_ms=times.p99 if isinstance(times, Times) else None,
        began_ms=(result.began_ns - machine.offset_ns - agreed_ns) / 1e6 if result.began_ns else None,
        clock_ms=machine.uncertainty_ns / 1e6,
        rate_ratio=None if share is None else share * clients / machine.clients,
        rate_p=None,
        time_ratio=None,
        time_p=None,
    )


def _rates(intervals: Sequence[Interval]) -> dict[int, float]:
    """Give what ended in a second, by interval."""
    lengths = {each.index: each.end_s - each.start_s for each in intervals}
    usual = max(lengths.values(), default=0.0)
    return {
        each.index: each.ok / lengths[each.index]
        for each in intervals
        if lengths[each.index] > max(0.0, _WHOLE * usual)
    }


def _of_clients(rates: Sequence[Mapping[int, float]], machines: Sequence[LoadMachine]) -> list[dict[int, float]]:
    """Give the same for a client of each machine."""
    return [
        {index: rate / machine.clients for index, rate in each.items()}
        for each, machine in zip(rates, machines, strict=True)
    ]


def _medians(intervals: Sequence[Interval]) -> dict[int, float]:
    return {each.index: each.service_ms.p50 for each in intervals if each.service_ms is not None}


def _differences(figures: Sequence[Mapping[int, float]], number: int) -> list[float]:
    """Give by what share a machine differed from the mean of the others, in each interval that all have.

    What hit all of them in an interval cancels out.
    """
    common = set.intersection(*(set(each) for each in figures))
    found = []
    for index in sorted(common):
        others = [each[index] for other, each in enumerate(figures) if other != number]
        middle = sum(others) / len(others) if others else 0.0
        if middle > 0:
            found.append(figures[number][index] / middle - 1)
    return found


def _differs(figures: Sequence[Mapping[int, float]], number: int) -> float | None:
    return chance(_differences(figures, number))


def _time_ratio(times: Sequence[Mapping[int, float]], number: int) -> float | None:
    found = _differences(times, number)
    return 1 + sum(found) / len(found) if found else None
