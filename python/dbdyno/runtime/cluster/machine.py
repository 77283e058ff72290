"""The controller's side of a load machine and of a worker on it."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dbdyno.model.events.reading import ReceivedEvent
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.cluster.clocks import Offset, measure_offset
from dbdyno.runtime.cluster.library import part
from dbdyno.runtime.cluster.node import masked
from dbdyno.runtime.worker import Stoppable, WorkerFailed, plan_text, read_events

LOST = "load machine"
"""The kind of error of a trial that lost a machine."""

# Seconds that a call waits for a worker's output, and seconds without an answer after which a machine counts as lost.
_POLL_S = 1.0
_SILENT_S = 20.0


class MachineLost(WorkerFailed):
    """A load machine no longer answers."""

    def __init__(self, name: str, why: str) -> None:
        """``name``: the machine's. ``why``: the reason, a clause."""
        super().__init__(f"load machine {name} was lost: {why}", LOST)


class Machine:
    """A load machine. Every call raises MachineLost if the machine doesn't answer."""

    def __init__(self, ray: Any, actor: Any, number: int, node: str) -> None:
        """``actor``: a :class:`dbdyno.runtime.cluster.node.LoadMachine` in Ray; ``node``: the address of Ray's node."""
        self._ray = ray
        self.actor = actor
        self.node = node
        self.name = f"{number + 1} ({node})"
        self.facts: dict[str, Any] = {}
        self.lost = False

    def call(self, method: str, *arguments: Any, within_s: float = _SILENT_S) -> Any:
        """Call a method of the actor and return its result. Raises MachineLost."""
        errors = part("exceptions")
        try:
            return self._ray.get(getattr(self.actor, method).remote(*arguments), timeout=within_s)
        except errors.GetTimeoutError:
            why = f"it has not answered for {within_s:g} s"
        except errors.RayTaskError as error:
            why = str(error.cause)
        except (errors.RayError, ConnectionError) as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        self.lost = True
        raise MachineLost(self.name, why)

    def offset(self) -> Offset:
        """Measure how far its clock is ahead of this machine's."""
        return measure_offset(time.monotonic_ns, lambda: int(self.call("clock_ns")))


class RemoteWorker(Stoppable):
    """A worker on a load machine, with the interface of :class:`dbdyno.runtime.worker.Worker`."""

    def __init__(self, machine: Machine, plan: WorkerPlan[Any], timeout_s: float | None, padding: int) -> None:
        """Start it. Raises MachineLost."""
        super().__init__()
        self._machine = machine
        self._ended: tuple[int, str] | None = None
        # A plan can contain a password, and Ray may store or log the arguments of calls. So it is sent encrypted with
        # a one-time pad that the machine generated.
        text = plan_text(plan).encode()
        self._name, pad = machine.call("pad", len(text))
        machine.call("start", self._name, masked(text, pad), padding)
        self.limit(timeout_s)

    @property
    def alive(self) -> bool:
        """Whether the machine has not yet reported its end."""
        return self._ended is None

    def __iter__(self) -> Iterator[ReceivedEvent]:
        """Yield the events. Raises WorkerFailed, and MachineLost if the machine no longer answers."""
        try:
            yield from read_events(self._lines(), lambda: self._ended or (0, ""), self)
        finally:
            self._cancel()
            self.kill()

    def send(self, line: str) -> None:
        """Write a line to its standard input. A lost machine is only noticed when reading its events."""
        self._send("send", self._name, line)

    def kill(self) -> None:
        """Kill it."""
        if self.alive:
            self._send("end", self._name, at_once=True)

    def _request_stop(self) -> None:
        self._send("end", self._name, at_once=False)

    def _send(self, method: str, *arguments: Any, **named: Any) -> None:
        # Signal handlers call this, so it must not wait for the result.
        with suppress(Exception):
            getattr(self._machine.actor, method).remote(*arguments, **named)

    def _lines(self) -> Iterator[str]:
        seen = 0
        while self._ended is None:
            lines, ended = self._machine.call("read_output", self._name, seen, _POLL_S, within_s=_POLL_S + _SILENT_S)
            seen += len(lines)
            yield from lines
            self._ended = ended
