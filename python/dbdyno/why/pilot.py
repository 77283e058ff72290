"""What a cell does by itself, as a short trial shows before anything is changed: how long, and how often it calls."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dbdyno.bottleneck import held_by
from dbdyno.events.trial import TrialResult
from dbdyno.plan.change import INJECTED, Resource
from dbdyno.results.rounds import transactions_per_s


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
    they thought, and waited for a lock on the file; ``lock_holder``: the other program that held it, in words.
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

    def seen(self, resource: Resource) -> float:
        """Return which part of the clients' time the pilot saw go to a resource that clients wait for without calls."""
        return {"thinking": self.idle, "locks": self.waiting_for_lock}.get(resource, 0.0)


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
        time_us=clients / per_s * 1e6,
        clients=clients,
        calls=calls,
        settings=dict(result.engine.settings),
        data_bytes=data_bytes,
        around_s=max(total_s - result.elapsed_s, 0.0),
        completed=done,
        window_s=result.elapsed_s,
        cpu_us=result.time.cpu_s * 1e6 / max(done, 1),
        idle=result.time.segments.idle / max(result.time.client_s, 1e-9),
        waiting_for_lock=result.time.segments.file_lock_wait / max(result.time.client_s, 1e-9),
        lock_holder=held_by(result),
    )
