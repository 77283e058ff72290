"""The changes that are tried on a cell: those that are no engine's, and those that its engine has."""

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
from dbdyno.model.plan.steps import flat

# Of a client's time: calls that take no more of it by themselves are not tried, since it could not matter much.
_LITTLE = 0.02

# Calls are used where a transaction makes at least so many.
_FEWEST = 1e-4


@dataclass(frozen=True)
class Untried:
    """A resource that has no test. ``share``: which part of the clients' time its calls take, 0 where it has none.

    ``None``: it cannot be tested, and may matter.
    """

    resource: Resource
    why: str
    share: float | None


@dataclass(frozen=True)
class Tried:
    """The changes to measure, and what is known without a test."""

    changes: Sequence[Change]
    untried: Sequence[Untried]


def changes_of(
    compiled: CompiledCell, pilot: Pilot, *, here: bool = True, socket: Mapping[str, Any] | None = None
) -> Tried:
    """Give the changes of a cell: of a size that its pilot tells, for what it uses.

    ``compiled``: the cell as it is; that its processors are a part of those there are, its ``change`` says. ``here``:
    its system runs on this machine. ``socket``: by what a plan names its Unix socket, where clients use another way.
    """
    changes: list[Change] = []
    untried: list[Untried] = []
    for resource in INJECTED:
        why = _needless(resource, pilot)
        if resource not in pilot.calls and why is None:
            continue
        if why is not None:
            untried.append(why)
            continue
        changes += _slower(resource, pilot)
    if "flush" in pilot.calls and not any(each.resource == "flush" for each in untried):
        changes.append(
            Change(
                "flush free",
                "flush",
                "free",
                "flushes of the device are left out",
                injected={INJECTED["flush"]: {"skip": True}},
            )
        )
    if socket is not None and any(each.resource == "message" for each in changes):
        does = "clients connect over the server's Unix socket"
        changes.append(Change("Unix socket", "message", "free", does, address=socket))
    if here:
        changes += _processors(compiled.change)
    else:
        untried.append(Untried("processors", f"{compiled.cell.system.host} is another machine", None))
    if pilot.idle >= IDLE and _thinks(compiled):
        changes.append(Change("no thinking", "thinking", "free", "clients do not think", no_thinking=True))
    changes += _of_clients(compiled)
    changes += engine_of(compiled.cell.system.engine).changes(compiled, pilot.settings, pilot.data_bytes)
    if pilot.lock_holder and not any(each.own_files for each in changes):
        does = "clients work on copies of the file, which no other program locks"
        changes.append(Change("own files", "locks", "free", does, own_files=True))
    return Tried(changes, untried)


def _thinks(compiled: CompiledCell) -> bool:
    steps = [each for transaction in compiled.trial["transactions"] for each in flat(transaction["steps"])]
    return any(each["do"] in ("think", "pause") for each in steps)


def _needless(resource: Resource, pilot: Pilot) -> Untried | None:
    """Say why a kind of call needs no test; None where it needs one, or nothing is known of it."""
    calls = pilot.calls.get(resource)
    if calls is None:
        return None
    if calls.each < _FEWEST:
        return Untried(resource, "not used", 0.0)
    share = pilot.share(resource)
    # While one client calls, all others may wait for it.
    if share is not None and share * pilot.clients < _LITTLE:
        return Untried(resource, f"takes {share * 100:.2g} % of a transaction's time", share)
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


def _processors(kept: Change | None) -> Iterator[Change]:
    """Give programs that compete for the processors, and one processor more where there is one that is not used.

    A limit to what a system may compute would not do: it slows a system down that waits for something else as well.
    """
    for share in TAKEN:
        yield Change(
            f"processors -{share * 100:g}%",
            "processors",
            "slower",
            f"another program takes {share * 100:g} % of each processor",
            "share",
            share,
            competitor=share,
        )
    more = _further(kept)
    if kept is not None and more is not None:
        does = "one processor more may be used"
        yield Change("processors +1", "processors", "free", does, processors=(*kept.processors, more))


def _of_clients(compiled: CompiledCell) -> Iterator[Change]:
    """Give what clients could do otherwise: keep what they prepare and their connections, and their keys apart."""
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
        does = "each client has keys that no other one has"
        yield Change("own keys", "locks", "free", does, own_keys=True)


def _further(kept: Change | None) -> int | None:
    """Give a processor that the cell may not use, and could."""
    if kept is None or not kept.processors:
        return None
    return next((each for each in sorted(os.sched_getaffinity(0)) if each not in kept.processors), None)
