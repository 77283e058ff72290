"""Whole runs through the installed command line and the real worker."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from conftest import Cli, loading
from dbdyno.base.resources import package_path
from dbdyno.cli.experiment_source import ExperimentSource
from dbdyno.cli.run import RunCommand
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.model.run_options import RunOptions
from dbdyno.run.execute import execute
from dbdyno.run.machine import in_memory
from dbdyno.runtime.worker import Stoppable, WorkerFailed, read_events, worker_path
from dbdyno.runtime.workspace.claims import Claim
from dbdyno.store import Store, open_store
from experiment_files import result_schema
from test_processes import workers_at_work
from waiting import wait_until

Small = Callable[..., str]


def test_a_run_is_measured_stored_and_shown(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small())
    document = cli.run(path, "--seed", "7", "--report", "r.html", "--csv", "r.csv", "--markdown", "r.md")
    result_schema().validate(document)
    assert document["status"] == "done"
    assert [cell["id"] for cell in document["cells"]] == ["clients=1", "clients=2"]
    for cell in document["cells"]:
        clients = cell["factors"]["clients"]
        assert cell["system"]["version"]
        assert cell["system"]["durability"] == "power-safe"
        assert len(cell["rounds"]) == 2
        for each in cell["rounds"]:
            assert each["issued"] == each["ok"] == 500 * clients
            assert each["failed"] == {}
            # Every read finds its row, and every count gives one.
            assert each["rows"] == 500 * clients
            assert each["transactions"]["read"]["ok"] + each["transactions"]["count"]["ok"] == 500 * clients
            assert each["ended_by"] == "transactions"
        assert cell["latency_ms"]["service"]["count"] == 2 * 500 * clients
        assert cell["bottleneck"]["resource"]
    assert document["device"]["sync_per_s"] > 0
    assert document["ceiling"]["operations_per_s"] > document["cells"][0]["throughput"]["mean"]
    html = (cli.directory / "r.html").read_text()
    assert "A small table" in html
    assert (cli.directory / "r.csv").read_text().count("\n") == 5
    assert "clients" in (cli.directory / "r.md").read_text()
    shown = cli("show", document["id"], "--store", "runs.db", "--verbose")
    assert "What limits it" in shown
    assert document["id"] in cli("runs", "--store", "runs.db")
    assert cli.left_behind() == []


def test_mutexes_that_were_not_watched_are_not_said_to_be_free(cli: Cli, small: Small) -> None:
    # A window of some milliseconds mostly ends before the first slice in which they are watched.
    path = cli.write(
        "small.toml", small(("clients = [1, 2]", "clients = [2]"), ("transactions = 500", "transactions = 50"))
    )
    sampled = cli.run(path, "--rounds", "10")["cells"][0]
    assert all(each["ok"] == 100 for each in sampled["rounds"])
    assert None in [each["segments"]["mutex_wait"] for each in sampled["rounds"]]
    path = cli.write("always.toml", (cli.directory / "small.toml").read_text() + "\n[measure]\nmutexes = true\n")
    always = cli.run(path, "--rounds", "2")["cells"][0]
    assert None not in [each["segments"]["mutex_wait"] for each in always["rounds"]]
    assert always["mutex"] is not None


def test_the_same_seed_does_the_same_work(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small())
    work = []
    for _ in range(2):
        document = cli.run(path, "--seed", "7", "--rounds", "1")
        work.append([cell["rounds"][0]["transactions"] for cell in document["cells"]])
    assert work[0] == work[1]
    other = cli.run(path, "--seed", "8", "--rounds", "1")
    assert [cell["rounds"][0]["transactions"] for cell in other["cells"]] != work[0]


def test_each_trial_starts_from_the_same_rows(cli: Cli, small: Small) -> None:
    grow = (
        'steps = [{ execute = "select * from t where id = ?", params = [{ key = "t.id" }] }]',
        'steps = [{ execute = "insert into t (id, v) values (?, 1)", params = [{ next = "t.id" }] }]',
    )
    text = small(grow, ("transactions = 500", "transactions = 50"), ("clients = [1, 2]", "clients = [1]"))
    # Were a table kept from one trial to the next, its keys would be taken.
    document = cli.run(cli.write("grow.toml", text))
    assert all(each["failed"] == {} for cell in document["cells"] for each in cell["rounds"])


def test_settings_are_read_back_not_believed(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small())
    url = "sqlite:?journal_mode=wal&synchronous=normal&cache_size=123&page_size=8192"
    document = cli.run(path, "--system", url, "--rounds", "1")
    system = document["cells"][0]["system"]
    settings = system["settings"]
    assert (settings["journal_mode"], settings["synchronous"]) == ("wal", "normal")
    assert (settings["cache_size"], settings["page_size"]) == ("123", "8192")
    assert system["durability"] == "process-safe"
    assert "ENABLE_API_ARMOR" not in system["compile_options"]


@pytest.mark.skipif(in_memory(Path("/dev/shm")) is None, reason="there is no file system in memory")
def test_data_in_memory_are_not_said_to_be_safe(cli: Cli, small: Small) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        document = cli.run(cli.write("small.toml", small()), "--rounds", "1", "--dir", memory)
    system = document["cells"][0]["system"]
    assert system["durability"] == "process-safe"
    assert system["durability_because"].startswith("the data is in memory (tmpfs), regardless of the settings: ")


def test_another_build_of_the_library_is_measured(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small())
    document = cli.run(
        path, "--system", "sqlite:?library_threading=2&cflags=-O0 -DSQLITE_OMIT_LOAD_EXTENSION", "--rounds", "1"
    )
    system = document["cells"][0]["system"]
    assert system["settings"]["threadsafe"] == "2"
    assert "OMIT_LOAD_EXTENSION" in system["compile_options"]
    assert len(list((cli.directory / "cache" / "libraries").glob("*.so"))) == 1


def test_an_unsafe_combination_is_left_out_and_said(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small())
    document = cli.run(path, "--system", "sqlite:?config_threading=single", "--rounds", "1")
    assert [cell["factors"]["clients"] for cell in document["cells"]] == [1]
    assert any("would corrupt its memory" in finding["text"] for finding in document["findings"])


def test_a_run_that_ended_itself_measures_what_it_lost_when_it_goes_on(cli: Cli) -> None:
    # The third time it is called, which is the second of the first block's three rounds or so, it fails.
    script = "#!/bin/sh\necho >> calls\n[ $(wc -l < calls) -ne 3 ]\n"
    program = cli.directory / "flaky"
    program.write_text(script)
    program.chmod(0o755)
    auto = ("--rounds", "auto", "--target", "99%", "--min-rounds", "4", "--max-rounds", "6")
    lost = cli.run("--system", f"exec:{program}", *auto, code=1)
    statuses = [each["status"] for each in lost["cells"][0]["rounds"]]
    assert statuses.count("failed") == 1
    whole = cli.run("--resume", lost["id"])
    rounds = whole["cells"][0]["rounds"]
    # What it lost may have been slow enough for one round more.
    assert len(statuses) <= len(rounds) <= 6
    assert all(each["status"] == "done" for each in rounds)
    ends = [each["text"] for each in whole["findings"] if each["text"].startswith("Stopped after")]
    assert ends and all(f"after {len(rounds)} rounds" in each for each in ends[-1:])


def test_a_library_without_mutexes_serves_one_client(cli: Cli, small: Small) -> None:
    document = cli.run(
        cli.write("small.toml", small()), "--system", "sqlite:?library_threading=0&cflags=-O0", "--rounds", "1"
    )
    (cell,) = document["cells"]
    assert cell["factors"]["clients"] == 1
    assert cell["system"]["settings"]["threadsafe"] == "0"
    assert cell["rounds"][0]["ok"] == 500
    assert any("would corrupt its memory" in finding["text"] for finding in document["findings"])


def test_a_mapped_file_is_not_read_by_calls(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small(("clients = [1, 2]", "clients = [1]")))
    systems = ("--system", "sqlite:?cache_size=10", "--system", "sqlite:?cache_size=10&mmap_size=100000000")
    called, mapped = cli.run(path, *systems, "--rounds", "1")["cells"]
    assert mapped["system"]["settings"]["mmap_size"] == "100000000"
    # Each transaction still reads the 16 bytes that tell whether the file was changed.
    read = [cell["rounds"][0]["io"]["read_bytes"] for cell in (called, mapped)]
    assert read[1] < 20_000 < 1_000_000 < read[0]


def test_a_cold_file_is_read_from_the_device(cli: Cli, small: Small) -> None:
    # 20,000 rows of 200 characters are 4 MB, of which every page is wanted.
    scan = (
        'steps = [{ execute = "select * from t where id = ?", params = [{ key = "t.id" }] }]',
        'steps = [{ execute = "select sum(length(s)) from t" }]',
    )
    one = ("clients = [1, 2]", "clients = [1]")
    edits = (scan, one, ("rows = 2000", "rows = 20000"), ("weight = 3", "weight = 1000"))
    text = small(*edits, ("transactions = 500", "transactions = 1"))
    read = {}
    for state in ("warm", "cold"):
        path = cli.write(f"{state}.toml", text.replace("[load]", f'[load]\nos_cache = "{state}"'))
        (cell,) = cli.run(path, "--rounds", "1")["cells"]
        read[state] = cell["rounds"][0]["process_io"]["read_bytes"]
    if read["cold"] == 0:
        pytest.skip("the test's directory is not on a device")
    assert read["cold"] > 3_000_000 > read["warm"]


def test_a_failing_statement_fails_its_trial_and_not_the_run(cli: Cli, small: Small) -> None:
    text = small(
        ("[factors]", '[factors]\nwhich = ["t", "nowhere"]'), ("select * from t where", "select * from ${which} where")
    )
    document = cli.run(cli.write("broken.toml", text), "--rounds", "1", code=1)
    assert document["status"] == "failed"
    status = {cell["factors"]["which"]: cell["rounds"][0]["status"] for cell in document["cells"]}
    assert status == {"t": "done", "nowhere": "failed"}
    assert all("no such table: nowhere" in each["error"] for each in document["failed_trials"])
    assert cli.left_behind() == []


@pytest.mark.parametrize(
    ("system", "sql", "words"),
    [
        ("sqlite:", "select * from orders", ("no such table: orders", "--system sqlite:FILE")),
        ("sqlite:own.db", "select cuont(*) from orders", ("no such function: cuont",)),
        ("sqlite:garbage.db", "select * from orders", ("file is not a database",)),
    ],
)
def test_a_run_that_cannot_begin_is_told_once(cli: Cli, system: str, sql: str, words: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(cli.directory / "own.db")) as own:
        own.execute("create table orders (id integer primary key)")
    (cli.directory / "garbage.db").write_text("this is no database, and long enough to be one " * 20)
    file = cli.write(
        "own.toml",
        f'''
        name = "own"
        title = "own"
        factors = {{ n = [1, 2, 3] }}
        load = {{ clients = "${{n}}", stop = {{ transactions = 5 }} }}
        transactions = [{{ name = "t", steps = [{{ execute = "{sql}" }}] }}]
        ''',
    )
    process = cli.start("run", file, "--system", system, "--store", "runs.db")
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert all(each in errors for each in words), errors
    assert errors.count("dbdyno: ") == 1 and "failed" not in errors
    assert out == ""


def test_failures_are_counted_apart(cli: Cli, small: Small) -> None:
    clash = (
        'steps = [{ execute = "select * from t where id = ?", params = [{ key = "t.id" }] }]',
        'steps = [{ execute = "insert into t (id, v) values (?, 1)", params = [{ uniform = [1, 4000] }] }]',
    )
    document = cli.run(cli.write("clash.toml", small(clash, ("clients = [1, 2]", "clients = [1]"))), "--rounds", "1")
    each = document["cells"][0]["rounds"][0]
    assert each["failed"]["constraint"] > 0
    assert each["ok"] + each["failed"]["constraint"] == each["issued"] == 500
    assert "UNIQUE constraint failed: t.id" in each["failures"]["constraint"]
    assert any("they do not count towards throughput" in finding["text"] for finding in document["findings"])


def _worker_of(process_id: int) -> psutil.Process:
    (worker,) = workers_at_work(process_id, 1)
    return worker


LONG = ("stop = { transactions = 500 }", "stop = { seconds = 30 }")


def test_a_killed_worker_fails_its_trial_and_not_the_run(cli: Cli, small: Small) -> None:
    path = cli.write("long.toml", small(LONG, ("clients = [1, 2]", "clients = [2]")))
    process = cli.start("run", path, "--rounds", "1", "--store", "runs.db", "--json", "out.json")
    _worker_of(process.pid).kill()
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert "killed by signal 9" in out
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["failed_trials"][0]["kind"] == "killed"
    assert cli.left_behind() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_another_program_stops_fails_its_trial(cli: Cli, small: Small, number: signal.Signals) -> None:
    path = cli.write("long.toml", small(LONG, ("clients = [1, 2]", "clients = [2]")))
    process = cli.start("run", path, "--rounds", "1", "--store", "runs.db", "--json", "out.json")
    _worker_of(process.pid).send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert "by a signal that dbdyno did not send" in " ".join(out.split())
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["status"] == "failed"
    assert document["failed_trials"][0]["kind"] == "stopped"


def test_a_worker_that_was_suspended_fails_its_trial(cli: Cli, small: Small) -> None:
    path = cli.write("two.toml", small(("clients = [1, 2]", "clients = [2]"), (LONG[0], "stop = { seconds = 6 }")))
    process = cli.start("run", path, "--rounds", "1", "--store", "runs.db", "--json", "out.json")
    worker = _worker_of(process.pid)
    # It computes in its window only.
    wait_until(lambda: sum(worker.cpu_times()[:2]) > 0.3)
    worker.suspend()
    time.sleep(2)
    worker.resume()
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert "the worker was suspended during the trial" in " ".join(out.split())
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["failed_trials"][0]["kind"] == "suspended"


def test_a_worker_whose_parent_has_ended_does_not_begin() -> None:
    plan = {"schema": PLAN, "seed": 1, "task": {"kind": "btree", "questions": []}}

    def work(parent: int) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "DBDYNO_PARENT": str(parent)}
        return subprocess.run(
            [worker_path()], input=json.dumps(plan), env=environment, capture_output=True, text=True, check=False
        )

    assert work(os.getpid()).returncode == 0
    orphan = work(os.getppid())
    assert orphan.returncode == 1
    assert "the controller that started this worker has ended" in orphan.stdout


def test_more_clients_than_files_may_be_open_are_refused_with_the_possible_number(tmp_path: Path) -> None:
    plan = {
        "schema": PLAN,
        "seed": 1,
        "task": {
            "kind": "trial",
            "target": {"engine": "sqlite", "path": str(tmp_path / "t.db")},
            "clients": 300,
            "window": {"transactions": 1},
            "statements": [],
            "transactions": [{"name": "t", "steps": []}],
        },
    }
    command = ["sh", "-c", 'ulimit -n 256 && exec "$0"', worker_path()]
    done = subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[-1])["message"] == (
        "task.clients: 300 clients need 664 open files, and a process may have 256 (`ulimit -n`): "
        "use at most 96 clients"
    )


def test_a_worker_without_memory_says_so() -> None:
    ended = (-signal.SIGABRT, "memory allocation of 270336 bytes failed\n")
    with pytest.raises(WorkerFailed, match=r"ran out of memory \(memory allocation of 270336 bytes failed\)"):
        list(read_events([], lambda: ended, Stoppable()))


def test_ctrl_c_keeps_what_was_measured_and_resume_goes_on(cli: Cli, small: Small) -> None:
    # Long enough to be interrupted, and idle for the most part.
    calm = ("steps = [", "steps = [{ think = 5 }, ")
    path = cli.write("long.toml", small(("stop = { transactions = 500 }", "stop = { seconds = 2 }"), calm))
    process = cli.start("run", path, "--store", "runs.db", "--json", "out.json")
    worker = _worker_of(process.pid)
    worker.wait(timeout=60)
    second = _worker_of(process.pid)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert not second.is_running()
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["status"] == "interrupted"
    states = [each["status"] for cell in document["cells"] for each in cell["rounds"]]
    assert sorted(states) == ["done", "interrupted"]
    assert cli.left_behind() == []
    found = re.search(r"dbdyno run --resume (\S+)", out)
    assert found
    cli("run", "--resume", found[1], "--store", "runs.db", "--json", "out.json")
    resumed = json.loads((cli.directory / "out.json").read_text())
    assert resumed["status"] == "done"
    assert [len(cell["rounds"]) for cell in resumed["cells"]] == [2, 2]
    assert all(each["status"] == "done" for cell in resumed["cells"] for each in cell["rounds"])


@pytest.mark.parametrize("moment", ["begin_run", "finish_run"])
def test_ctrl_c_at_either_end_of_a_run_leaves_none_that_goes_on(
    cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    path = cli.write("small.toml", small())
    monkeypatch.chdir(cli.directory)
    monkeypatch.setenv("DBDYNO_CACHE", str(cli.directory / "cache"))
    kept: Callable[..., object] = getattr(Store, moment)

    def interrupted(store: Store, *arguments: object) -> object:
        if moment == "finish_run":
            os.kill(os.getpid(), signal.SIGINT)
        done = kept(store, *arguments)
        if moment == "begin_run":
            os.kill(os.getpid(), signal.SIGINT)
        return done

    monkeypatch.setattr(Store, moment, interrupted)
    store = open_store("runs.db", make=True)
    request = RunCommand(source=ExperimentSource([path]), options=RunOptions(rounds=1)).request(["dbdyno"])
    document, cut_short = execute(request, store, Console(quiet=True))
    # All was measured before the run was finished.
    expected = "interrupted" if moment == "begin_run" else "done"
    assert (document.status, cut_short) == (expected, expected == "interrupted")
    assert len([each for cell in document.cells for each in cell.rounds]) == (0 if cut_short else 2)


LARGE = ("rows = 2000", "rows = 50000000")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_load_ends_with_the_first_ctrl_c_and_nothing_of_it_stays(
    cli: Cli, small: Small, number: signal.Signals
) -> None:
    path = cli.write("large.toml", small(LARGE))
    process = cli.start("run", path, "--store", "runs.db", "--json", "out.json")
    unfinished, workers = loading(cli, process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "dbdyno: " not in errors and "Traceback" not in errors
    assert not any(worker.is_running() for worker in workers)
    assert not unfinished.exists()
    assert list((cli.directory / "cache" / "templates").iterdir()) == []
    assert cli.left_behind() == []
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["status"] == "interrupted"
    assert [each["status"] for cell in document["cells"] for each in cell["rounds"]] == ["interrupted"]


def test_a_load_that_ctrl_c_ends_leaves_what_was_measured(cli: Cli, small: Small) -> None:
    factor = ("clients = [1, 2]", "n = [1000, 50000000]")
    path = cli.write(
        "two.toml", small(factor, ("rows = 2000", 'rows = "${n}"'), ('"${clients}"', "1"), ('"clients"', '"n"'))
    )
    # The seed puts the small one first.
    process = cli.start("run", path, "--store", "runs.db", "--json", "out.json", "--seed", "1")
    loading(cli, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["status"] == "interrupted"
    rounds = {cell["factors"]["n"]: [each["status"] for each in cell["rounds"]] for cell in document["cells"]}
    assert rounds == {1000: ["done"], 50000000: ["interrupted"]}


def test_a_template_that_a_killed_run_left_unfinished_goes_with_the_next_run(cli: Cli, small: Small) -> None:
    process = cli.start("run", cli.write("large.toml", small(LARGE)), "--store", "runs.db")
    unfinished, workers = loading(cli, process)
    process.kill()
    process.communicate()
    psutil.wait_procs(workers, timeout=60)
    of_another = Claim(unfinished.parent, "other.", ".tmp")
    of_another.path.touch()
    assert unfinished.exists()
    # One that loads nothing itself.
    cli.run(cli.write("small.toml", small()), "--system", "null:", "--rounds", "1")
    assert set(unfinished.parent.iterdir()) == {of_another.path, of_another.lock_path}
    of_another.release()


def test_no_load_goes_on_without_the_laboratory(cli: Cli, small: Small) -> None:
    path = cli.write("long.toml", small(LONG))
    process = cli.start("run", path, "--store", "runs.db")
    worker = _worker_of(process.pid)
    process.kill()
    process.communicate()
    worker.wait(timeout=30)
    # It could not say that it was killed.
    assert "interrupted" in cli("runs", "--store", "runs.db")
    wait_until(lambda: cli.left_behind() == [])


def test_a_null_system_measures_the_harness(cli: Cli, small: Small) -> None:
    document = cli.run(cli.write("small.toml", small()), "--system", "null:", "--rounds", "1")
    assert [cell["rounds"][0]["ok"] for cell in document["cells"]] == [500, 1000]


@pytest.mark.parametrize("name", ["bulk-insert", "pk-update"])
def test_builtin_experiments_run(cli: Cli, name: str) -> None:
    experiment = name
    if name == "pk-update":
        # The same in all but the size of its tables, which are 400 MB.
        text = package_path("experiments", f"{name}.toml").read_text(encoding="utf-8")
        assert text.count("rows = 100_000") == 2
        experiment = cli.write(f"{name}.toml", text.replace("rows = 100_000", "rows = 10_000"))
    document = cli.run(experiment, "--rounds", "1", "--set", *_narrow(name))
    assert document["status"] == "done"
    for cell in document["cells"]:
        (each,) = cell["rounds"]
        assert each["statements"] == {"bulk-insert": 100_000, "pk-update": 10_000}[name]
        assert each["rows_changed"] == each["statements"]


def _narrow(name: str) -> list[str]:
    if name == "bulk-insert":
        return ["mode=one_transaction_text,one_transaction_prepared"]
    return ["rows_per_transaction=1000,10000"]


def test_a_full_disk_is_told(cli: Cli, small: Small, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    import subprocess

    full = tmp_path / "full"
    full.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", full], check=False, capture_output=True
    ).returncode:
        pytest.skip("this machine does not let us mount a small file system")
    try:
        cli.environment["DBDYNO_CACHE"] = str(full)
        text = cli("run", cli.write("small.toml", small(("rows = 2000", "rows = 20000"))), "--store", "runs.db", code=1)
        assert "full" in text or "no space" in text, text
        assert list((full / "templates").glob("*")) == []
    finally:
        subprocess.run(["umount", full], check=True)
