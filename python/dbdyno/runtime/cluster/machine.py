"""One load machine, as it is seen from here, and a worker on it."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dbdyno.model.events.reading import Heard
from dbdyno.runtime.cluster.clocks import Offset, measure_offset
from dbdyno.runtime.cluster.library import part
from dbdyno.runtime.cluster.node import masked
from dbdyno.runtime.worker import EndsInTime, JsonObject, WorkerFailed, events_in

LOST = "load machine"
"""The kind of error of a trial that lost a machine."""

# Seconds. A call waits so long for news of a worker; one that is not answered so much later never will be.
_POLL_S = 1.0
_SILENT_S = 20.0


class MachineLost(WorkerFailed):
    """A load machine does not answer any more."""

    def __init__(self, name: str, why: str) -> None:
        """``name``: of the machine; ``why``: a clause."""
        super().__init__(f"load machine {name} was lost: {why}", LOST)


class Machine:
    """A load machine. Each call to it raises MachineLost where it does not answer."""

    def __init__(self, ray: Any, actor: Any, number: int, node: str) -> None:
        """``actor``: a :class:`dbdyno.runtime.cluster.node.LoadMachine` in Ray; ``node``: the address of Ray's node."""
        self._ray = ray
        self.actor = actor
        self.node = node
        self.name = f"{number + 1} ({node})"
        self.facts: dict[str, Any] = {}
        self.lost = False

    def call(self, method: str, *arguments: Any, within_s: float = _SILENT_S) -> Any:
        """Have the machine do something, and give what comes of it. Raises MachineLost."""
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


class RemoteWorker(EndsInTime):
    """A worker on a load machine, used like one here."""

    def __init__(self, machine: Machine, plan: JsonObject, timeout_s: float | None, padding: int) -> None:
        """Start it. Raises MachineLost."""
        super().__init__()
        self._machine = machine
        self._ended: tuple[int, str] | None = None
        # A plan may hold a password. Arguments of Ray's calls never do: it goes under a pad that the machine has made.
        text = json.dumps(plan).encode()
        self._name, pad = machine.call("pad", len(text))
        machine.call("start", self._name, masked(text, pad), padding)
        self.limit(timeout_s)

    @property
    def alive(self) -> bool:
        """Whether it has not been heard to have ended."""
        return self._ended is None

    def __iter__(self) -> Iterator[Heard]:
        """Give the events as they come. Raises WorkerFailed, MachineLost where its machine no longer answers."""
        try:
            yield from events_in(self._lines(), lambda: self._ended or (0, ""), self)
        finally:
            self._cancel()
            self.kill()

    def tell(self, line: str) -> None:
        """Write it a line. Whether its machine is still there is found when it is listened to."""
        self._send("tell", self._name, line)

    def kill(self) -> None:
        """End it at once."""
        if self.alive:
            self._send("end", self._name, at_once=True)

    def _ask(self) -> None:
        self._send("end", self._name, at_once=False)

    def _send(self, method: str, *arguments: Any, **named: Any) -> None:
        # Nobody waits for what comes of it: a signal handler calls this too.
        with suppress(Exception):
            getattr(self._machine.actor, method).remote(*arguments, **named)

    def _lines(self) -> Iterator[str]:
        seen = 0
        while self._ended is None:
            lines, ended = self._machine.call("heard", self._name, seen, _POLL_S, within_s=_POLL_S + _SILENT_S)
            seen += len(lines)
            yield from lines
            self._ended = ended
