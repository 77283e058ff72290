"""What a cell does by itself, as a short trial shows before anything is changed: how long, and how often it calls."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dbdyno.analysis.bottleneck.common import OVERLOADED, held_by
from dbdyno.analysis.measured.rounds import transactions_per_s
from dbdyno.model.events.latency import Times
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.change import INJECTED, Resource


@dataclass(frozen=True)
class Calls:
    """Calls of one kind. ``each``: in a transaction, on average; ``own_us``: what one takes, where it is known.

    It has in it what was planted.
    """

    each: float
    own_us: float | None


@dataclass(frozen=True)
class Pilot:
    """What the pilot of a cell showed.

    ``time_us``: a transaction's, of a client; ``calls``: by resource, those that were counted; ``settings``: in force;
    ``data_bytes``: that its tables take; ``around_s``: seconds of a trial beside its window; ``completed``:
    transactions in a window of ``window_s``; ``cpu_us``: what the clients' threads computed in a transaction, of an
    embedded engine the engine's work among it; ``idle``, ``waiting_for_lock``: shares of the clients' time in which
    they thought, and waited for a lock on the file; ``lock_holder``: the other program that held it, in words;
    ``busy``: the share of the clients' time in which they had a transaction, less than 1 in an open loop that keeps up.
    There ``idle`` and ``waiting_for_lock`` are shares of that time.
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
        return cls(**{**stored, "calls": {name: Calls(**each) for name, each in stored["calls"].items()}})

    def share(self, resource: Resource) -> float | None:
        """Return which part of a client's time calls take by themselves; None where that is not known."""
        calls = self.calls.get(resource)
        return None if calls is None or calls.own_us is None else calls.each * calls.own_us / self.time_us

    @property
    def room(self) -> float:
        """Return by which share of their time transactions may take longer, 1 at most, so that an open loop keeps up.

        Of a closed loop, and of an open one that does not keep up anyway, it is 1.
        """
        if self.busy >= NEVER_IDLE:
            return 1.0
        return min(max(_BUSIEST / max(self.busy, 1e-9) - 1, _LEAST_ROOM), 1.0)

    def seen(self, resource: Resource) -> float:
        """Return which part of the clients' time the pilot saw go to a resource that clients wait for without calls."""
        return {"thinking": self.idle, "locks": self.waiting_for_lock}.get(resource, 0.0)


#: Of the clients' time in transactions: from which share on clients never wait for the clock.
NEVER_IDLE = 0.95

# How busy delays may make the clients of an open loop: beyond that arrivals wait for one another more than for the
# delays. Smaller changes than the least do not show.
_BUSIEST, _LEAST_ROOM = 0.7, 0.2

#: Resources of whose calls no counter tells what they take by themselves.
ASSUMED: frozenset[Resource] = frozenset({"message", "client"})


@dataclass(frozen=True)
class Assumed:
    """What calls take of which no counter tells, in microseconds, by resource."""

    us: Mapping[Resource, float] = field(default_factory=dict)


def read_pilot(result: TrialResult, clients: int, assumed: Assumed, data_bytes: float | None, total_s: float) -> Pilot:
    """Say what a pilot's trial showed; ``total_s``: seconds that all of it took.

    ``ValueError`` where no transaction ended.
    """
    per_s, _ = transactions_per_s(result.rate)
    done = result.completed
    if per_s <= 0 or done == 0:
        raise ValueError("no transaction ended in the pilot")
    counted = {} if result.changes is None else {name: each for name, each in result.changes if each is not None}
    # What was counted was so around the window, too, as far as it was watched.
    seconds = max(result.watched_s, result.elapsed_s)
    transactions = max(per_s * seconds, 1.0)
    time_us, busy_s = _busy(result, clients, per_s)
    segments = result.time.segments
    skipped, issued = result.accounting.skipped, result.accounting.issued
    # The clients of an open loop that keeps up are idle because the clock has them wait.
    waits_for_clock = is_open_loop(result) and skipped < max(OVERLOADED * issued, 1)
    calls: dict[Resource, Calls] = {}
    for resource, kind in INJECTED.items():
        told = counted.get(kind)
        if told is None:
            continue
        # What a message takes until its answer comes is for the most part the server's work.
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
        lock_holder=held_by(result),
        busy=min(busy_s / max(result.time.client_s, 1e-9), 1.0) if is_open_loop(result) else 1.0,
    )


def is_open_loop(result: TrialResult) -> bool:
    """Whether transactions started by the clock."""
    return "response" in result.latency_ms


def _busy(result: TrialResult, clients: int, per_s: float) -> tuple[float, float]:
    """Return what a transaction takes of a client in microseconds, and the seconds that clients had transactions."""
    service = result.latency_ms.get("service")
    if not is_open_loop(result) or not isinstance(service, Times):
        return clients / per_s * 1e6, result.time.client_s
    return service.mean * 1e3, service.mean * result.completed / 1e3
