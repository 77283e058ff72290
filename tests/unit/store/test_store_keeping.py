"""A store that is lost while a run goes on: what was measured is kept on this machine, and comes to the store later."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from conftest import Cli
from dbdyno.base.errors import StoreError
from dbdyno.store import Store, TrialRecord, local_copy, open_store, response_timeout
from dbdyno.store.local_copy import LocalCopyStore
from dbdyno.store.process import this_process
from parallel import python_environment
from synthetic import run_record
from team_database import INSTALLED, TeamServer

# A server is started.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED, reason="there is no PostgreSQL server here"),
]

Telling = list[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own directory; gives where runs are kept in it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "dbdyno" / "unsent"


@pytest.fixture
def url(team: TeamServer) -> str:
    return team.empty()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        yield opened


def kept_files(home: Path) -> list[str]:
    return [str(each) for each in sorted(home.glob("*"))]


def trial(block: int) -> TrialRecord:
    return TrialRecord(cell="a", block=block, position=0, status="done", result={"ok": block})


def blocks(store: Store, run_id: str) -> list[int]:
    return [each.block for each in store.trials(run_id)]


def begun(kept: LocalCopyStore) -> str:
    return kept.begin_run(run_record({}, options={"process": this_process()}))


def test_nothing_is_left_of_a_run_that_the_store_has(store: Store, home: Path) -> None:
    told: Telling = []
    with local_copy.open_with_local_copy(store, told.append) as kept:
        run_id = begun(kept)
        kept.add_trial(run_id, trial(0))
        kept.update_run(run_id, device={"sync_us": 5.0})
        assert len(list(home.glob("*.db"))) == 1
        kept.finish_run(run_id, "done", [{"kind": "ended"}])
        assert kept.run(run_id) == store.run(run_id)
    assert (told, store.unsent, kept_files(home)) == ([], {}, [])
    assert (store.run(run_id).status, blocks(store, run_id)) == ("done", [0])


def test_a_run_goes_on_without_its_store_and_is_copied_later(
    store: Store, home: Path, team: TeamServer, url: str
) -> None:
    told: Telling = []
    with local_copy.open_with_local_copy(store, told.append) as kept:
        run_id = begun(kept)
        kept.add_trial(run_id, trial(0))
        team.lose(url)
        for block in (1, 2):
            kept.add_trial(run_id, trial(block))
        kept.update_run(run_id, device={"sync_us": 5.0})
        assert blocks(kept, run_id) == [0, 1, 2]
        kept.finish_run(run_id, "done", [{"kind": "ended"}])
        known = kept.run(run_id)
    (lost,) = told
    assert lost.startswith(f"store {store.location}: ") and lost.endswith("Results are stored on this machine for now")
    (unsent,) = store.unsent.values()
    (file,) = kept_files(home)
    assert unsent.location == file
    command = shlex.join(["dbdyno", "store", "copy", file, store.location])
    assert str(unsent.why).splitlines()[1] == f"Run {run_id} is stored in {file}. To copy it later: {command}"
    assert Path(file).parent.stat().st_mode & 0o777 == 0o700
    team.find(url)
    assert blocks(store, run_id) == [0]
    subprocess.run([Path(sys.executable).parent / "dbdyno", *shlex.split(command)[1:]], check=True)
    assert (store.run(run_id), blocks(store, run_id)) == (known, [0, 1, 2])


def test_a_store_that_is_there_again_gets_what_it_missed(
    store: Store, home: Path, team: TeamServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_copy, "_RETRY_INTERVAL_S", 0.0)
    told: Telling = []
    with local_copy.open_with_local_copy(store, told.append) as kept:
        run_id = begun(kept)
        team.lose(url)
        for block in (0, 1):
            kept.add_trial(run_id, trial(block))
        team.find(url)
        kept.add_trial(run_id, trial(2))
        assert blocks(store, run_id) == [0, 1, 2]
        kept.add_trial(run_id, trial(3))
        assert blocks(store, run_id) == [0, 1, 2, 3]
        kept.finish_run(run_id, "done")
    assert [each.partition(": ")[2] for each in told][1:] == [
        f"available again; all results of run {run_id} are stored"
    ]
    assert (store.unsent, kept_files(home)) == ({}, [])


def test_a_run_goes_on_where_the_server_stands_still(
    home: Path, team: TeamServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kernel acknowledges what is sent, so that nothing but time tells."""
    monkeypatch.setattr(response_timeout, "RESPONSE_TIMEOUT_S", 1.0)
    told: Telling = []
    store = open_store(f"{url}&connect_timeout=2")
    with closing(store), local_copy.open_with_local_copy(store, told.append) as kept:
        run_id = begun(kept)
        kept.add_trial(run_id, trial(0))
        first = psutil.Process(team.server.pid)
        standing = [first, *first.children(recursive=True)]
        try:
            for each in standing:
                each.suspend()
            kept.add_trial(run_id, trial(1))
            assert len(told) == 1 and "Results are stored on this machine for now" in told[0]
        finally:
            for each in standing:
                each.resume()
        kept.finish_run(run_id, "done")
        assert blocks(store, run_id) == [0, 1]
    assert (store.unsent, kept_files(home)) == ({}, [])


def test_the_next_run_brings_what_is_left(store: Store, home: Path, team: TeamServer, url: str) -> None:
    with local_copy.open_with_local_copy(store, lambda _: None) as kept:
        run_id = begun(kept)
        team.lose(url)
        kept.add_trial(run_id, trial(0))
        kept.finish_run(run_id, "done")
    team.find(url)
    told: Telling = []
    with closing(open_store(team.empty())) as other, local_copy.open_with_local_copy(other, told.append):
        assert len(kept_files(home)) == 1
    with local_copy.open_with_local_copy(store, told.append):
        assert kept_files(home) == []
    assert told == [f"store {store.location}: copied run {run_id}, which was stored on this machine"]
    assert (store.run(run_id).status, blocks(store, run_id)) == ("done", [0])


def test_what_a_killed_run_left_is_brought_and_that_of_a_running_one_stays(
    store: Store, home: Path, url: str, team: TeamServer
) -> None:
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_store_keeping import begun, trial
from dbdyno.store import local_copy, open_store
with local_copy.open_with_local_copy(open_store({url!r}), print) as kept:
    run_id = begun(kept)
    kept.add_trial(run_id, trial(0))
    print("lose", flush=True)
    sys.stdin.readline()
    kept.add_trial(run_id, trial(1))
    print("lost", flush=True)
    sys.stdin.readline()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", script], env=python_environment(), **pipes)
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == "lose\n"
    team.lose(url)
    process.stdin.write("go\n")
    process.stdin.flush()
    assert "Results are stored" in process.stdout.readline()
    assert process.stdout.readline() == "lost\n"
    team.find(url)
    with local_copy.open_with_local_copy(store, lambda _: None):
        assert len(list(home.glob("*.db"))) == 1
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    with local_copy.open_with_local_copy(store, lambda _: None):
        assert kept_files(home) == []
    run = store.run("last")
    assert (run.status, blocks(store, run.id)) == ("interrupted", [0, 1])


def test_a_run_that_goes_on_is_kept_whole(store: Store, home: Path, team: TeamServer, url: str) -> None:
    run_id = store.begin_run(run_record({}, options={"process": this_process()}))
    store.add_trial(run_id, trial(0))
    with local_copy.open_with_local_copy(store, lambda _: None) as kept:
        kept.start_copy(run_id)
        team.lose(url)
        kept.add_trial(run_id, trial(1))
        kept.finish_run(run_id, "done")
    team.find(url)
    with closing(open_store(store.unsent[run_id].location)) as here:
        assert blocks(here, run_id) == [0, 1]


def test_a_machine_without_room_leaves_the_store_alone(store: Store, home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("no directory")
    told: Telling = []
    with local_copy.open_with_local_copy(store, told.append) as kept:
        run_id = begun(kept)
        kept.add_trial(run_id, trial(0))
        kept.finish_run(run_id, "done")
    assert len(told) == 1 and told[0].startswith("could not create a local copy of the run")
    assert (store.run(run_id).status, blocks(store, run_id)) == ("done", [0])


def test_a_full_device_has_the_run_kept_elsewhere(tmp_path: Path, home: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", full], check=False, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        with closing(open_store(str(full / "runs.db"))) as store:
            told: Telling = []
            with local_copy.open_with_local_copy(store, told.append) as kept:
                run_id = begun(kept)
                kept.add_trial(run_id, trial(0))
                assert kept_files(home) == []
                for block in range(1, 4):
                    kept.add_trial(run_id, TrialRecord(**large(block)))
                kept.finish_run(run_id, "done")
                assert blocks(kept, run_id) == [0, 1, 2, 3]
            assert len(told) == 1 and "full; free some disk space" in told[0]
            place = store.unsent[run_id].location
            assert kept_files(home) == [place]
            with closing(open_store(place)) as here:
                assert (here.run(run_id).status, blocks(here, run_id)) == ("done", [0, 1, 2, 3])
            subprocess.run(["mount", "-o", "remount,size=9m", full], check=True)
            with local_copy.open_with_local_copy(store, told.append):
                assert kept_files(home) == []
            assert (store.run(run_id).status, blocks(store, run_id)) == ("done", [0, 1, 2, 3])
    finally:
        subprocess.run(["umount", full], check=True)


def large(block: int) -> dict[str, object]:
    return {"cell": "a", "block": block, "position": 0, "status": "done", "result": {"text": "x" * 700_000}}


def await_a_trial(store: Store, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while process.poll() is None and not any(each.done for each in store.runs()):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_gate_judges_without_its_store(
    cli: Cli, home: Path, team: TeamServer, url: str, store: Store, small: Callable[..., str]
) -> None:
    file = cli.write("small.toml", small(("clients = [1, 2]", "clients = [1]")))
    process = cli.start("gate", file, "--against", file, "--rounds", "12", "--interleave", "none", "--store", url)
    await_a_trial(store, process)
    team.lose(url)
    out, errors = process.communicate(timeout=300)
    assert "Results are stored on this machine for now" in errors, out + errors
    codes = {"pass": 1, "regression": 3, "not settled": 1}
    assert [code for verdict, code in codes.items() if f"gate: {verdict}" in out] == [process.returncode], out + errors
    command = (out + errors).rpartition("To copy it later: dbdyno ")[2].splitlines()[0]
    team.find(url)
    cli(*shlex.split(command))
    assert [each.done for each in store.runs()] == [24]


def test_a_run_says_it_and_ends_with_the_command_that_copies_it(
    cli: Cli, home: Path, team: TeamServer, url: str, store: Store, small: Callable[..., str]
) -> None:
    file = cli.write("small.toml", small(("rounds = 2", "rounds = 12"), ("transactions = 500", "transactions = 100")))
    process = cli.start("run", file, "--store", url, "--json", "out.json")
    await_a_trial(store, process)
    team.lose(url)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 1, out + errors
    assert "Results are stored on this machine for now" in errors
    document = json.loads((cli.directory / "out.json").read_text())
    assert [len(cell["rounds"]) for cell in document["cells"]] == [12, 12]
    assert document["status"] == "done"
    assert f"\ndbdyno: store {store.location}: " in errors
    command = errors.rstrip().rpartition("To copy it later: dbdyno ")[2]
    team.find(url)
    assert len(store.trials(document["id"])) < 24
    cli(*shlex.split(command))
    cli("show", document["id"], "--store", url, "--json", "copied.json")
    assert (cli.directory / "copied.json").read_bytes() == (cli.directory / "out.json").read_bytes()
    assert document["id"] in cli("runs", "--store", url)


def test_a_store_that_is_lost_at_the_beginning_is_an_error(cli: Cli, team: TeamServer, url: str) -> None:
    team.lose(url)
    process = cli.start("run", "pk-lookup", "--store", url)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith("dbdyno: store postgresql://") and "not currently accepting connections" in errors


def test_a_run_that_cannot_be_begun_is_no_run(store: Store, home: Path, team: TeamServer, url: str) -> None:
    with local_copy.open_with_local_copy(store, lambda _: None) as kept:
        team.lose(url)
        with pytest.raises(StoreError, match="not currently accepting"):
            begun(kept)
    assert (store.unsent, kept_files(home)) == ({}, [])
