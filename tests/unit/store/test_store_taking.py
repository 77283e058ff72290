"""Taking a run to go on with it: one process of several has it, on whatever machine, until it ends."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.store import RunRecord, open_store
from dbdyno.store.process import this_process
from parallel import python_environment, run_in_parallel
from synthetic import run_record

# Of another machine nothing is known but whether it holds the run.
ELSEWHERE = {"process": {"host": "elsewhere.example", "pid": 7}}


def begun(place: str, status: str = "interrupted", **options: object) -> RunRecord:
    with closing(open_store(place)) as store:
        run = store.begin_run(run_record({}, options=options))
        if status != "running":
            store.finish_run(run, status)  # type: ignore[arg-type]
        return store.run(run)


def test_one_of_several_that_read_the_same_run_takes_it(place: str) -> None:
    run = begun(place)
    does = f"""
store = open_store({place!r})
run = store.run({run.id!r})
together()
try:
    store.resume_run(run, run.options | {{"process": this_process()}})
    print("taken")
except InputError as error:
    print("under way" if "already running in process" in str(error) else error)
"""
    imports = """
from dbdyno.base.errors import InputError
from dbdyno.store import open_store
from dbdyno.store.process import this_process
"""
    assert sorted(run_in_parallel(6, imports + does)) == ["taken\n"] + ["under way\n"] * 5


def test_a_run_that_another_process_holds_is_not_held_twice_until_that_ends(place: str) -> None:
    run = begun(place, "running", **ELSEWHERE)
    script = f"""
from dbdyno.store import open_store
store = open_store({place!r})
release = store.lock_run(store.run({run.id!r}))
print("held", flush=True)
input()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=python_environment(),
    )
    with closing(open_store(place)) as store, holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=r"already running in process 7 on elsewhere\.example; wait until"):
            store.lock_run(run)
        # It has no time to say that it ends.
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        # A server notices that a connection has ended a moment later.
        while True:
            try:
                release = store.lock_run(run)
                break
            except InputError:
                pass
        with pytest.raises(InputError, match="already running"):
            store.lock_run(run)
        release()
        store.lock_run(run)()
    if "://" not in place:
        assert list(Path(place).parent.glob("*.lock")) == []


def test_a_run_that_has_changed_since_it_was_read_is_not_taken(place: str) -> None:
    run = begun(place)
    with closing(open_store(place)) as store:
        store.update_run(run.id, options={"process": this_process()})
        with pytest.raises(InputError, match="already running in process"):
            store.resume_run(run, {})
        assert store.run(run.id).options == {"process": this_process()}


def test_of_three_that_resume_a_run_one_measures(cli: Cli, small: Callable[..., str]) -> None:
    file = cli.write("small.toml", small(("rounds = 2", "rounds = 4"), ("transactions = 500", "seconds = 0.3")))
    cli.run(file)
    with closing(sqlite3.connect(cli.directory / "runs.db")) as raw, raw:
        raw.execute("DELETE FROM dbdyno_trials WHERE block > 0")
        raw.execute("UPDATE dbdyno_runs SET status = 'interrupted'")
    resuming = [cli.start("run", "--resume", "last", "--store", "runs.db") for _ in range(3)]
    ended = [(each.communicate(timeout=300), each.returncode) for each in resuming]
    refused = [errors for (_, errors), code in ended if code == 2]
    assert all("already running" in each for each in refused), ended
    # One that begins when the first has ended finds nothing to do.
    assert sum(code == 0 for _, code in ended) == 3 - len(refused) >= 1, ended
    with closing(open_store(str(cli.directory / "runs.db"))) as store:
        run = store.run("last")
        found = [(each.cell, each.block) for each in store.trials(run.id)]
    assert run.status == "done"
    assert sorted(found) == sorted((f"clients={clients}", block) for clients in (1, 2) for block in range(4))
