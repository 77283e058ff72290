"""The progress of a run: one changing line on a terminal, otherwise one line per cell and later periodic lines."""

import time
from collections.abc import Sequence

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from dbdyno.analysis.measured.rounds import Measure
from dbdyno.base.console import Console
from dbdyno.base.numbers import duration, figure
from dbdyno.experiment.design import SINGLE
from dbdyno.model.events.trial import Interval
from dbdyno.model.plan.cell import Cell
from dbdyno.run.trial import Watcher
from dbdyno.stats import Stopping
from dbdyno.store import TrialRecord

# Without a terminal: minimum seconds between lines, after each cell has had a line.
_QUIET_S = 10.0


class Display(Watcher):
    """Shows round, cell, live throughput and time left. Use it as a context."""

    def __init__(
        self, console: Console, *, trials: int, rounds: int, measure: Measure, stopping: Stopping | None = None
    ) -> None:
        """``trials``: number left to measure; ``stopping``: the rule that may end the run earlier."""
        self._stopping = stopping
        self._console = console
        self._rounds = rounds
        self._measure = measure
        self._trials = trials
        self._done = 0
        self._began = time.monotonic()
        self._first_trial: float | None = None
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._what = ""
        self._shown = ""
        self._names: dict[str, str] = {}
        self._named: set[str] = set()
        self._said: float | None = None
        # Interleaved trials that are still running.
        self._together = 0
        # Throughput of each load machine in its last interval, by number.
        self._of_machines: dict[int, float] = {}
        if console.is_terminal:
            columns = (BarColumn(24), TextColumn("{task.description}", markup=False))
            self._progress = Progress(*columns, console=console, transient=True)
            self._task = self._progress.add_task("", total=trials)

    def __enter__(self) -> "Display":
        """Start the display."""
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the display."""
        if self._progress is not None:
            self._progress.stop()

    def note(self, text: str) -> None:
        """Show a note that is not about a trial on the progress line; without a terminal, show nothing."""
        self._update(text)

    def loading(self, _cell: Cell) -> None:
        """Show that the tables of a cell are created or copied."""
        self._update(f"{self._what} · preparing its tables")

    def trials(self, block: int, cells: Sequence[Cell]) -> None:
        """Show that a trial begins, or several interleaved ones."""
        if self._first_trial is None:
            self._first_trial = time.monotonic()
        self._what = self._round(block)
        self._names |= {cell.id: _name(cell) for cell in cells}
        self._what += self._names[cells[0].id] if len(cells) == 1 else f"{len(cells)} cells interleaved"
        self._shown = cells[0].id
        self._together = len(cells) if len(cells) > 1 else 0
        self._of_machines = {}
        self._update(self._what)

    def interval(self, cell: Cell, event: Interval) -> None:
        """Show an interval of a trial. If trials are interleaved, show the throughput of the first one."""
        if cell.id != self._shown:
            return
        rate = self._rate(event)
        if rate is not None:
            failed = f", {event.failed:,} failed" if event.failed else ""
            self._update(f"{self._what} · {rate:,.0f} {self._measure.rate}{self._shares()}{failed}")

    def machine(self, number: int, machines: int, event: Interval) -> None:
        """Remember the throughput of one load machine, to show it next to the throughput of all machines."""
        rate = self._rate(event)
        if rate is not None:
            self._of_machines = {each: self._of_machines.get(each, 0.0) for each in range(machines)} | {number: rate}

    def _rate(self, event: Interval) -> float | None:
        seconds = event.end_s - event.start_s
        count = event.ok if self._measure.unit == "transaction" else event.statements
        return count / seconds * self._measure.seconds if seconds > 0 else None

    def _shares(self) -> str:
        if not self._of_machines:
            return ""
        each = " + ".join(f"{self._of_machines[number]:,.0f}" for number in sorted(self._of_machines))
        return f" = {each} of {len(self._of_machines)} load machines"

    def trial_ended(self, record: TrialRecord, throughput: float | None) -> None:
        """Show that a trial has ended and is stored, with its ``throughput`` if it succeeded."""
        self._done += 1
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)
            return
        if self._together:
            # Interleaved trials end together, so one line is for all.
            self._together -= 1
            if record.status == "done":
                if not self._together and self._may_say():
                    self._console.print(self._what + self._left(), soft_wrap=True)
                return
        if record.status == "done" and record.cell in self._named:
            if self._may_say():
                self._console.print(self._round(record.block).removesuffix(" · ") + self._left(), soft_wrap=True)
            return
        self._named.add(record.cell)
        text = f"{self._round(record.block)}{self._names.get(record.cell, record.cell)} · "
        if throughput is not None:
            text += f"{figure(throughput)} {self._measure.rate}"
        else:
            text += f"{record.status}: {record.error}"
        self._console.print(text + self._left(), soft_wrap=True)

    def _round(self, block: int) -> str:
        return f"round {block + 1}/{self._rounds} · "

    def _may_say(self) -> bool:
        """Whether enough time has passed since the last line; rounds take some seconds, and a run has up to 30."""
        now = time.monotonic()
        if self._said is not None and now - self._said < _QUIET_S:
            return False
        self._said = now
        return True

    def _update(self, text: str) -> None:
        if self._progress is None or self._task is None:
            return
        self._progress.update(self._task, description=text + self._left())

    def _left(self) -> str:
        """Estimate the remaining time from the elapsed time."""
        if not self._done or self._done >= self._trials:
            return ""
        now = time.monotonic()
        each_s = (now - (self._first_trial or now)) / self._done
        seconds = each_s * (self._trials - self._done)
        if self._stopping is None:
            # Tables are created in the first round only, so its duration predicts nothing.
            if self._done < min(self._trials / self._rounds, self._trials / 2):
                return ""
            return f" · {duration(seconds)} left"
        if self._stopping.budget_s is not None:
            kept_s = each_s * (self._trials / self._rounds * self._stopping.kept - self._done)
            seconds = min(seconds, max(self._stopping.budget_s - (now - self._began), kept_s, 0.0))
        return f" · at most {duration(seconds)} left"


def _name(cell: Cell) -> str:
    return cell.system.name if cell.id == SINGLE else cell.id
