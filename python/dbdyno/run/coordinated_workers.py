"""Workers whose trials start each phase at the same time."""

import json
import queue
import threading
import time
from collections.abc import Iterator, Sequence

from dbdyno.model.events.answers import Phase, Ready
from dbdyno.model.events.reading import ReceivedEvent
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import TrialPlan
from dbdyno.run.worker_places import Coordinated, Here, WorkerHost
from dbdyno.runtime.worker import WorkerFailed


class CoordinatedWorkers:
    """Workers that run one plan each. Iterate over their events; the workers end with the iteration."""

    def __init__(
        self,
        plans: Sequence[TrialPlan],
        timeout_s: float | None,
        paddings: Sequence[int],
        host: WorkerHost | None = None,
        patience_s: float | None = None,
    ) -> None:
        """Start the workers. ``paddings``: of their environments, see :class:`dbdyno.runtime.worker.Worker`.

        ``host``: where they run, by default this machine. ``patience_s``: seconds that warm workers wait for late
        workers, which are then killed. Raises WorkerFailed if one cannot be started elsewhere.
        """
        self._host: WorkerHost = Here() if host is None else host
        self._workers: list[Coordinated] = []
        self._patience_s = patience_s
        self._interleaved = any(plan.task.interleaving is not None for plan in plans)
        #: Numbers of the running workers, and of workers that were too late for the window.
        self.at_work: set[int] = set(range(len(plans)))
        self.late: set[int] = set()
        try:
            for number, (plan, padding) in enumerate(zip(plans, paddings, strict=True)):
                self._workers.append(self._host.worker(number, plan, timeout_s, padding))
        except BaseException:
            self.kill()
            raise

    def timed_out(self, number: int) -> bool:
        """Whether a worker exceeded its time limit."""
        return self._workers[number].timed_out

    def stop(self) -> None:
        """Ask all workers to end their windows now."""
        for worker in self._workers:
            worker.stop()

    def kill(self) -> None:
        """Kill all workers."""
        for worker in self._workers:
            worker.kill()

    def __iter__(self) -> Iterator[tuple[int | None, ReceivedEvent | WorkerFailed]]:
        """Yield each worker's events with its number, and the reason if a worker failed.

        A ``phase`` that starts for all workers is yielded once, without a number. Workers that have ended are not
        waited for.
        """
        events: queue.Queue[tuple[int, ReceivedEvent | WorkerFailed | None]] = queue.Queue()
        listeners = [
            threading.Thread(target=_listen, args=(number, worker, events), daemon=True)
            for number, worker in enumerate(self._workers)
        ]
        for listener in listeners:
            listener.start()
        try:
            yield from self._events(events)
        finally:
            self.kill()
            for listener in listeners:
                listener.join()

    def _events(
        self, events: "queue.Queue[tuple[int, ReceivedEvent | WorkerFailed | None]]"
    ) -> Iterator[tuple[int | None, ReceivedEvent | WorkerFailed]]:
        ready: set[int] = set()
        measured: set[int] = set()
        phase, begun = "", False
        deadline: float | None = None
        while self.at_work:
            try:
                number, event = events.get(timeout=None if deadline is None else max(deadline - time.monotonic(), 0.0))
            except queue.Empty:
                self._leave_behind(self.at_work - ready)
            else:
                if number in self.late:
                    continue
                if event is None:
                    self.at_work.discard(number)
                elif isinstance(event, WorkerFailed):
                    self.at_work.discard(number)
                    yield number, event
                elif isinstance(event.event, Ready):
                    ready.add(number)
                    phase = event.event.phase
                    if deadline is None and self._patience_s is not None and phase == "window":
                        deadline = time.monotonic() + self._patience_s
                else:
                    if isinstance(event.event, TrialResult):
                        measured.add(number)
                    yield number, event
            if ready and ready >= self.at_work:
                begins = Phase(event="phase", phase=phase)
                yield None, ReceivedEvent(begins, begins.model_dump(mode="json"))
                self._start(ready)
                ready, deadline = set(), None
                begun = phase == "window"
            if begun and self._interleaved and len(self.at_work - measured) == 1:
                # The last worker no longer has to alternate with others.
                self._workers[min(self.at_work - measured)].send(json.dumps({"alone": True}))
                begun = False

    def _leave_behind(self, numbers: set[int]) -> None:
        for number in numbers:
            self._workers[number].kill()
        self.at_work -= numbers
        self.late |= numbers

    def _start(self, numbers: set[int]) -> None:
        for number, at in self._host.moments(numbers).items():
            self._workers[number].send(json.dumps({"start_ns": at}))


def _listen(
    number: int, worker: Coordinated, events: "queue.Queue[tuple[int, ReceivedEvent | WorkerFailed | None]]"
) -> None:
    try:
        for event in worker:
            events.put((number, event))
        events.put((number, None))
    except WorkerFailed as failure:
        events.put((number, failure))
    except BaseException as error:  # report every error, because the iteration waits for it
        events.put((number, WorkerFailed(f"listening to a worker: {error}", "worker")))
        raise
