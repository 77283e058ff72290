"""Count the instructions of a cell's transactions under callgrind. Unlike times, the counts have almost no noise."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.model.events.surroundings import Counting
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import Closed, Record, Warmup, Window
from dbdyno.model.plan.worker_plan import TrialPlan
from dbdyno.runtime.worker import Worker, WorkerFailed
from dbdyno.runtime.workspace.interruption import Interruption

# Number of statements to count, after a warm-up. They run about 50 times slower under Valgrind.
_STATEMENTS = 2000
_WARMUP_STATEMENTS = 200

_TIMEOUT_S = 900.0


def check_counting(compiled: CompiledCell) -> None:
    """Raise InputError if instructions cannot be counted on this machine or for this cell's system."""
    engine = compiled.cell.system.engine
    if not engine_of(engine).in_worker:
        problem = f"`{engine}` does not run inside the worker"
        raise InputError("--instructions", problem, "use `sqlite:`")
    if shutil.which("valgrind") is None:
        raise InputError("--instructions", "valgrind is not installed", "install it, e.g. `apt install valgrind`")


def count_instructions(plan: TrialPlan, timed: TrialResult, interrupted: Interruption) -> Counting:
    """Run a trial's plan with one client under callgrind and return the counts of its window.

    ``timed``: the result of the timed trial, which has the number of statements per transaction.

    ``instructions``: of the client's thread within the window, including the worker's overhead (about 200 per
    transaction); ``accounting`` and ``work``: as in the worker's result. The same plan on the same data and programs
    gives the same count, except for code that depends on the time of day. Raises TrialFailed and SystemFailed.
    """
    with tempfile.TemporaryDirectory(prefix="dbdyno-") as directory:
        out = Path(directory) / "callgrind.out"
        callgrind = ["valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={out}"]
        statements = timed.work.statements / max(timed.completed, 1)
        worker = Worker(counted_plan(plan, statements), _TIMEOUT_S, under=callgrind)
        with interrupted.forward_to(worker):
            results = [received.event for received in worker if isinstance(received.event, TrialResult)]
        if worker.timed_out:
            raise WorkerFailed(f"counting instructions took longer than {_TIMEOUT_S:g} s", "timeout")
        if not results:
            raise WorkerFailed("counting instructions failed without a result")
        return Counting(instructions=_total(out), accounting=results[0].accounting, work=results[0].work)


def counted_plan(plan: TrialPlan, statements: float) -> TrialPlan:
    """Return a trial's plan for counting: one client, a number of statements, no time measurement.

    ``statements``: per transaction, on average.
    """
    task = replace(
        plan.task,
        clients=1,
        interleaving=None,
        arrival=Closed(),
        beside=(),
        warmup=Warmup(transactions=int(_WARMUP_STATEMENTS / max(statements, 1))),
        window=Window(statements=_STATEMENTS, transactions=plan.task.window.transactions),
        record=Record(operations=False, io=False, mutexes=False, interval_ms=3_600_000),
    )
    return plan.with_task(task)


def _total(out: Path) -> int:
    try:
        lines = out.read_text(encoding="utf-8", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(("totals:", "summary:")))
    except (OSError, StopIteration, IndexError, ValueError) as error:
        raise SystemFailed("valgrind wrote no count of instructions: is it 3.19 or newer?") from error
