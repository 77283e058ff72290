"""SYNTHETIC parts of events, made by the models: what a worker would write of a trial in which little happened."""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from dbdyno.model.events.accounting import Accounting, Cycles, Few, Rate, Warmup, Whole, Work
from dbdyno.model.events.base import Part
from dbdyno.model.events.catalog import Catalog
from dbdyno.model.events.facts import Durability, Facts
from dbdyno.model.events.latency import ServiceTimes, Times
from dbdyno.model.events.machine import CpuShare, DiskActivity, Memory, ProcessIo, Scheduling
from dbdyno.model.events.observations import Io, Segments, Time
from dbdyno.model.events.trial import Interval, TrialResult


def times(median_us: float, count: int) -> Times:
    """Latencies around a median, as a worker sums them up."""
    ms = median_us / 1000
    return Times(
        p50=ms, p90=1.9 * ms, p99=3.2 * ms, p99_9=4.7 * ms, max=40 * ms, mean=1.1 * ms, count=count, at_least=[]
    )


def latency(median_us: float, count: int) -> dict[str, Any]:
    return times(median_us, count).model_dump(mode="json")


def rate_of(completed: int, clients: int, seconds: float) -> dict[str, Any]:
    """What a result says of ``completed`` transactions that took ``seconds``, each about as long as the others."""
    count = max(completed, 1)
    rate = Rate(
        many_per_s=0.0,
        few=Few(clients=0, completed=0, seconds=0.0, within=0.0, window_s=0.0),
        whole=Whole(completed=completed, seconds=seconds),
        client_s=clients * seconds,
        clients=clients,
    )
    squares = 1.2 * (clients * seconds / count) ** 2 * count
    cycles = Cycles(count=count, seconds=clients * seconds, squares=squares)
    return {"completed": completed, "rate": rate.model_dump(mode="json"), "cycles": cycles.model_dump(mode="json")}


@cache
def no_result() -> TrialResult:
    """A result of nothing: one client, one processor, one second in which nothing was done or seen."""
    fields = Segments.model_fields, Io.model_fields
    return TrialResult.model_validate(
        {
            "event": "result",
            "accounting": Accounting(issued=0, ok=0, failed={}, skipped=0, in_flight=0, retries=0),
            "failures": {},
            **rate_of(0, 1, 1.0),
            "elapsed_s": 1.0,
            "watched_s": 1.0,
            "ended_by": "transactions",
            "warmup": Warmup(seconds=0.0),
            "interleaving": None,
            "transactions": {},
            "statements": {},
            "work": Work(
                transactions=0,
                statements=0,
                rows_returned=0,
                rows_returned_squared=0.0,
                rows_changed=0,
                transactions_changing=0,
            ),
            "histograms": {},
            "operations": {"transactions": {}, "statements": {}, "controls": {}, "timed_s": 0.0},
            "latency_ms": {},
            "cpu": CpuShare(**dict.fromkeys(CpuShare.model_fields, 0.0) | {"cores": 1}),
            "server": None,
            "tiers": [],
            "scheduling": Scheduling(
                voluntary_switches=0, involuntary_switches=0, run_queue_wait_s=0.0, batch_threads=0
            ),
            "disk": None,
            "process_io": ProcessIo(read_bytes=0, write_bytes=0),
            "engine": Facts(
                engine="sqlite",
                version="3.46.0",
                source_id="synthetic",
                compile_options=[],
                settings={},
                durability=Durability(durability_class="none", because="synthetic"),
                plans={},
                passed_over={},
                catalog=Catalog(data_bytes=None, tables=[]),
                lost_updates=None,
                estimates={},
            ),
            "time": Time(client_s=1.0, cpu_s=0.0, segments=Segments(**dict.fromkeys(fields[0], 0.0))),
            "io": Io(**dict.fromkeys(fields[1], 0)),
            "mutex": None,
            "observed": None,
            "waits": None,
            "memory": Memory(peak_rss_bytes=48_000_000),
            "clock": "tsc",
        }
    )


_P = TypeVar("_P", bound=Part)


def changed(part: _P, changes: Mapping[str, Any]) -> _P:
    """A part of an event with other values, as JSON has them; of a part within it, those that are given."""
    values = part.model_dump(mode="json", exclude_unset=True)
    for name, value in changes.items():
        within = getattr(part, name, None)
        merge = isinstance(within, Part) and isinstance(value, Mapping)
        values[name] = changed(within, value).model_dump(mode="json", exclude_unset=True) if merge else value
    return type(part).model_validate(values)


def result_of(base: TrialResult | None = None, **changes: Any) -> TrialResult:
    """A result with these values, by default of nothing else."""
    return changed(no_result() if base is None else base, changes)


def as_stored(event: Part) -> dict[str, Any]:
    """An event as a worker writes it, and the store keeps it."""
    return event.model_dump(mode="json", exclude_unset=True)


def disk(**changes: float) -> DiskActivity:
    """What a device did."""
    none = dict.fromkeys(("reads", "read_bytes", "writes", "write_bytes", "flushes"), 0)
    return DiskActivity.model_validate(
        {"device": "nvme0n1", **none, "read_ms": 0.0, "write_ms": 0.0, "flush_ms": 0.0, "queue_length": 0.01, **changes}
    )


def an_interval(index: int, ok: int, cpu_percent: float = 97.0, written: float = 0.0, p50_ms: float = 0.03) -> Interval:
    """A second of a window in which so many transactions of one statement ended well."""
    return Interval(
        event="interval",
        index=index,
        start_s=float(index),
        end_s=index + 1.0,
        ok=ok,
        failed=0,
        statements=ok,
        rows=ok,
        service_ms=ServiceTimes(p50=p50_ms, p99=0.11, max=2.0),
        cpu_percent=cpu_percent,
        hottest_thread_percent=97.0,
        machine_percent=50.0,
        disk=disk(writes=3, write_bytes=int(written), write_ms=0.4),
    )
