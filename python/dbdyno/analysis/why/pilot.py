"""The pilot: a short trial of the unchanged cell that shows the time of a transaction and its calls."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dbdyno.analysis.bottleneck.common import OVERLOADED, lock_holder_name
from dbdyno.analysis.measured.rounds import transactions_per_s
from dbdyno.model.events.latency import Times
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.change import INJECTED, Resource


@dataclass(frozen=True)
class Calls:
    """Calls of one kind. ``each``: mean number per transaction; ``own_us``: time of one call, None if it is unknown.

    The time includes planted delays.
    """

    each: float
    own_us: float | None


@dataclass(frozen=True)
class Pilot:
    """Results of the pilot of a cell.

    ``time_us``: client time per transaction; ``calls``: counted calls by resource; ``settings``: settings in effect;
    ``data_bytes``: size of its tables; ``around_s``: seconds of the trial outside its window; ``completed``:
    transactions in the window of ``window_s`` seconds; ``cpu_us``: CPU time of the client threads per transaction,
    which includes the work of an embedded engine; ``idle``, ``waiting_for_lock``: fractions of the clients' time spent
    in think time and in waits for a lock on the file; ``lock_holder``: the program that held it, in words;
    ``busy``: fraction of the clients' time spent in transactions, less than 1 in an open loop that keeps up.
    In such a loop ``idle`` and ``waiting_for_lock`` are fractions of the busy time.
    """

    time_us: float
    clients: int
    calls: Mapping[Resource, Calls]
    settings: Mapping[str, str]
    data_bytes: float | None
    around_s: float
    completed: int
    window_s: float
    cpu_us: float
    idle: float = 0.0
    waiting_for_lock: float = 0.0
    lock_holder: str = ""
    busy: float = 1.0

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        return asdict(self)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        return cls(**{**stored, "calls": {name: Calls(**call) for name, call in stored["calls"].items()}})

    def share(self, resource: Resource) -> float | None:
        """Return the fraction of a client's time that calls to a resource take; None if it is unknown."""
        calls = self.calls.get(resource)
        return None if calls is None or calls.own_us is None else calls.each * calls.own_us / self.time_us

    @property
    def room(self) -> float:
        """Return the largest relative slowdown, at most 1, at which an open loop still keeps up.

        For closed loops, and for open loops that don't keep up anyway, it is 1.
        """
        if self.busy >= NEVER_IDLE:
            return 1.0
        return min(max(_BUSIEST / max(self.busy, 1e-9) - 1, _MIN_ROOM), 1.0)

    def seen(self, resource: Resource) -> float:
        """Return the fraction of the clients' time that the pilot spent waiting for a resource that has no calls."""
        return {"thinking": self.idle, "locks": self.waiting_for_lock}.get(resource, 0.0)


#: Busy fraction from which the clients of an open loop count as never idle.
NEVER_IDLE = 0.95

# The busiest that delays may make the clients of an open loop: above this fraction, arrivals wait for each other more
# than for the delays. Slowdowns below the smallest one are too small to detect.
_BUSIEST, _MIN_ROOM = 0.7, 0.2

#: Resources whose own time per call isn't counted.
ASSUMED: frozenset[Resource] = frozenset({"message", "client"})


@dataclass(frozen=True)
class Assumed:
    """Estimated microseconds per call of resources whose own time isn't counted."""

    us: Mapping[Resource, float] = field(default_factory=dict)


def read_pilot(result: TrialResult, clients: int, assumed: Assumed, data_bytes: float | None, total_s: float) -> Pilot:
    """Return the results of a pilot's trial. ``total_s``: its duration in seconds, setup included.

    Raises ``ValueError`` if no transaction completed.
    """
    per_s, _ = transactions_per_s(result.rate)
    done = result.completed
    if per_s <= 0 or done == 0:
        raise ValueError("no transaction completed in the pilot")
    counted = {} if result.changes is None else {name: change for name, change in result.changes if change is not None}
    # Calls were counted for as long as the trial was observed, which may include time around the window.
    seconds = max(result.watched_s, result.elapsed_s)
    transactions = max(per_s * seconds, 1.0)
    time_us, busy_s = _busy(result, clients, per_s)
    segments = result.time.segments
    skipped, issued = result.accounting.skipped, result.accounting.issued
    # The clients of an open loop that keeps up are idle until the next arrival.
    waits_for_clock = is_open_loop(result) and skipped < max(OVERLOADED * issued, 1)
    calls: dict[Resource, Calls] = {}
    for resource, kind in INJECTED.items():
        told = counted.get(kind)
        if told is None:
            continue
        # The time from a message to its answer is mostly the server's work.
        own_s = None if resource in ASSUMED else told.own_s
        own = own_s if own_s is not None else assumed.us.get(resource, 0.0) * told.calls / 1e6
        known = own_s is not None or resource in assumed.us or told.added_s > 0
        each = (own + told.added_s) * 1e6 / told.calls if told.calls and known else None
        calls[resource] = Calls(told.calls / transactions, each)
    return Pilot(
        time_us=time_us,
        clients=clients,
        calls=calls,
        settings=dict(result.engine.settings),
        data_bytes=data_bytes,
        around_s=max(total_s - result.elapsed_s, 0.0),
        completed=done,
        window_s=result.elapsed_s,
        cpu_us=result.time.cpu_s * 1e6 / max(done, 1),
        idle=0.0 if waits_for_clock else segments.idle / max(result.time.client_s, 1e-9),
        waiting_for_lock=segments.file_lock_wait / max(busy_s, 1e-9),
        lock_holder=lock_holder_name(result),
        busy=min(busy_s / max(result.time.client_s, 1e-9), 1.0) if is_open_loop(result) else 1.0,
    )


def is_open_loop(result: TrialResult) -> bool:
    """Whether transactions started by the clock."""
    return "response" in result.latency_ms


def _busy(result: TrialResult, clients: int, per_s: float) -> tuple[float, float]:
    """Return the client time per transaction in microseconds, and the clients' busy time in seconds."""
    service = result.latency_ms.get("service")
    if not is_open_loop(result) or not isinstance(service, Times):
        return clients / per_s * 1e6, result.time.client_s
    return service.mean * 1e3, service.mean * result.completed / 1e3
