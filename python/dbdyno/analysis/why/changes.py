"""The changes that are tried on a cell: general ones, and ones of its engine."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.bottleneck.common import IDLE
from dbdyno.analysis.why.client_keys import can_have_own_keys
from dbdyno.analysis.why.pilot import Pilot
from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.analysis.why.sizes import TAKEN, delays_us, time_name, time_words
from dbdyno.engines import engine_of
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.change import INJECTED, Change, Resource
from dbdyno.model.plan.steps import Pause, Think, flat

# Calls with a smaller share of a client's time aren't tested, since their effect would be small.
_LITTLE = 0.02

# A resource counts as used from this number of calls per transaction.
_MIN_CALLS = 1e-4


@dataclass(frozen=True)
class UntestedResource:
    """A resource without a test. ``share``: the share of the clients' time that its calls take.

    A share of ``None`` means that the resource may matter but cannot be tested.
    """

    resource: Resource
    why: str
    share: float | None


@dataclass(frozen=True)
class CandidateChanges:
    """The changes to measure, and the resources without a test."""

    changes: Sequence[Change]
    untried: Sequence[UntestedResource]


def changes_of(
    compiled: CompiledCell, pilot: Pilot, *, is_local: bool = True, socket: Mapping[str, Any] | None = None
) -> CandidateChanges:
    """Return the changes of a cell to the resources it uses, with sizes derived from its pilot.

    ``compiled``: the unchanged cell; its ``change`` lists its processors if it may not use all of them. ``is_local``:
    the system runs on this machine. ``socket``: address of the server's Unix socket in a plan, if the clients connect
    in another way.
    """
    changes: list[Change] = []
    untried: list[UntestedResource] = []
    for resource in INJECTED:
        why = _reason_to_skip(resource, pilot)
        if resource not in pilot.calls and why is None:
            continue
        if why is not None:
            untried.append(why)
            continue
        changes += _slower(resource, pilot)
    if "flush" in pilot.calls and not any(untested_resource.resource == "flush" for untested_resource in untried):
        changes.append(
            Change(
                "flush free",
                "flush",
                "free",
                "device flushes are skipped",
                injected={INJECTED["flush"]: {"skip": True}},
            )
        )
    if socket is not None and any(change.resource == "message" for change in changes):
        does = "clients connect over the server's Unix socket"
        changes.append(Change("Unix socket", "message", "free", does, address=socket))
    if is_local:
        changes += _cpu_changes(compiled.change)
    else:
        untried.append(UntestedResource("processors", f"{compiled.cell.system.host} is another machine", None))
    if pilot.idle >= IDLE and _has_think_time(compiled):
        changes.append(Change("no thinking", "thinking", "free", "clients do not pause", no_thinking=True))
    changes += _client_changes(compiled)
    changes += engine_of(compiled.cell.system.engine).changes(compiled, pilot.settings, pilot.data_bytes)
    if pilot.lock_holder and not any(change.own_files for change in changes):
        does = "clients use copies of the file, which no other program locks"
        changes.append(Change("own files", "locks", "free", does, own_files=True))
    return CandidateChanges(changes, untried)


def _has_think_time(compiled: CompiledCell) -> bool:
    steps = (step for transaction in compiled.task.transactions for step in flat(transaction.steps))
    return any(isinstance(step, Think | Pause) for step in steps)


def _reason_to_skip(resource: Resource, pilot: Pilot) -> UntestedResource | None:
    """Return the reason not to test a kind of call; None if a test is needed or the calls weren't counted."""
    calls = pilot.calls.get(resource)
    if calls is None:
        return None
    if calls.each < _MIN_CALLS:
        return UntestedResource(resource, "not used", 0.0)
    share = pilot.share(resource)
    # All other clients may wait for the client that makes the call.
    if share is not None and share * pilot.clients < _LITTLE:
        return UntestedResource(resource, f"takes {share * 100:.2g} % of a transaction's time", share)
    return None


def _slower(resource: Resource, pilot: Pilot) -> Iterator[Change]:
    calls = pilot.calls[resource]
    name = RESOURCE_NAMES[resource].name.split()[-1]
    own = None if calls.own_us is None else calls.own_us
    for us in delays_us(pilot.time_us, calls.each, pilot.room):
        yield Change(
            f"{name} +{time_name(us)}",
            resource,
            "slower",
            f"each {RESOURCE_NAMES[resource].call} takes {time_words(us)} longer",
            "delay",
            us,
            own_us=own,
            injected={INJECTED[resource]: {"delay_us": us}},
        )


def _cpu_changes(kept: Change | None) -> Iterator[Change]:
    """Yield changes with a program that competes for the CPUs, and one with an additional CPU if one is unused.

    A CPU quota is unsuitable, because it also slows down a system that waits for something else.
    """
    for share in TAKEN:
        yield Change(
            f"processors -{share * 100:g}%",
            "processors",
            "slower",
            f"another program uses {share * 100:g} % of each CPU",
            "share",
            share,
            competitor=share,
        )
    more = _unused_cpu(kept)
    if kept is not None and more is not None:
        does = "the cell may use one more CPU"
        yield Change("processors +1", "processors", "free", does, processors=(*kept.processors, more))


def _client_changes(compiled: CompiledCell) -> Iterator[Change]:
    """Yield changes to the clients: kept connections, kept prepared statements, and keys of their own."""
    load = compiled.definition.load
    if load.connect == "per-transaction":
        does = "clients keep their connections"
        yield Change("connections kept", "connect", "free", does, load={"connect": "once"})
    if load.prepare != "once":
        does = "statements are prepared once"
        kept: Mapping[str, str] = {"prepare": "once"}
        if load.connect == "once":
            yield Change("prepared once", "parsing", "free", does, load=kept)
    rows = engine_of(compiled.cell.system.engine).locks == "rows"
    if rows and load.clients > 1 and can_have_own_keys(compiled):
        does = "each client uses its own keys"
        yield Change("own keys", "locks", "free", does, own_keys=True)


def _unused_cpu(kept: Change | None) -> int | None:
    """Return the number of an available CPU that the cell may not use."""
    if kept is None or not kept.processors:
        return None
    return next((each for each in sorted(os.sched_getaffinity(0)) if each not in kept.processors), None)
