"""The share of each load machine in a trial, and whether the machines agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.model.events.latency import Times
from dbdyno.model.events.surroundings import LoadMachine
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.result.cell import LoadMachineRound
from dbdyno.model.result.reading import ratio
from dbdyno.stats.mean_test import p_value

# Intervals shorter than this share of the longest one were cut off and are ignored.
_WHOLE = 0.5


def machine_rounds(trial: ReadTrial, rates: Sequence[float]) -> list[LoadMachineRound]:
    """Return the result of each load machine of a trial; empty if all clients ran on one machine.

    ``rates``: throughput of each machine.
    """
    load = trial.load_machines
    if load is None or len(load.machines) != len(trial.parts):
        return []
    machines = load.machines
    done = _per_client([_rates(intervals) for _, intervals in trial.parts], machines)
    times = [_medians(intervals) for _, intervals in trial.parts]
    clients, total = sum(machine.clients for machine in machines), sum(rates)
    return [
        replace(
            _round(machine, result, agreed_ns=load.agreed_ns, rate=rates[number], total=total, clients=clients),
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
    """Return the successful transactions per second by interval."""
    lengths = {interval.index: interval.end_s - interval.start_s for interval in intervals}
    usual = max(lengths.values(), default=0.0)
    return {
        interval.index: interval.ok / lengths[interval.index]
        for interval in intervals
        if lengths[interval.index] > max(0.0, _WHOLE * usual)
    }


def _per_client(rates: Sequence[Mapping[int, float]], machines: Sequence[LoadMachine]) -> list[dict[int, float]]:
    """Return the rates of each machine divided by its number of clients."""
    return [
        {index: rate / machine.clients for index, rate in each.items()}
        for each, machine in zip(rates, machines, strict=True)
    ]


def _medians(intervals: Sequence[Interval]) -> dict[int, float]:
    return {interval.index: interval.service_ms.p50 for interval in intervals if interval.service_ms is not None}


def _differences(figures: Sequence[Mapping[int, float]], number: int) -> list[float]:
    """Return the relative difference of a machine from the mean of the others, in each interval that all have.

    Disturbances that affect all machines in an interval cancel out.
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
    return p_value(_differences(figures, number))


def _time_ratio(times: Sequence[Mapping[int, float]], number: int) -> float | None:
    found = _differences(times, number)
    return 1 + sum(found) / len(found) if found else None
