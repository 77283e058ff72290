"""Opening a store that is no regular file, that can only be read, or that this process has open already."""

import errno
import json
import os
import re
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import URL

from conftest import Cli
from dbdyno.base.errors import InputError, StoreError
from dbdyno.report.export import check_writable, write_text
from dbdyno.store import Store, TrialRecord, open_store, pool
from parallel import python_environment
from synthetic import run_record
from test_store_versions import STORES


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    # The path of a socket has 107 bytes at most.
    with closing(socket.socket(socket.AF_UNIX)) as made:
        os.chdir(path.parent)
        made.bind(path.name)


SPECIAL: dict[str, Callable[[Path], None]] = {
    "a FIFO": make_fifo,
    "a socket": make_socket,
    "a directory": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.fixture(params=SPECIAL)
def special(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "special"
    SPECIAL[request.param](path)
    return path, request.param


@pytest.mark.parametrize("make", [True, False])
def test_what_is_no_regular_file_is_no_store(special: tuple[Path, str], make: bool) -> None:
    path, kind = special
    with pytest.raises(
        StoreError, match=rf"^store {path}: is {kind}, not a file; give the path of a file with --store$"
    ):
        open_store(str(path), make=make)


def test_what_lies_beside_a_store_must_be_a_file(tmp_path: Path) -> None:
    open_store(str(tmp_path / "runs.db")).close()
    os.mkfifo(tmp_path / "runs.db-wal")
    with pytest.raises(StoreError, match=r"runs\.db-wal: is a FIFO"):
        open_store(str(tmp_path / "runs.db"))


def test_a_command_is_told_of_a_fifo_before_it_measures(cli: Cli, small: Callable[..., str]) -> None:
    os.mkfifo(cli.directory / "fifo")
    file = cli.write("small.toml", small())
    for command in (("run", file), ("runs",), ("show",), ("history", "small"), ("store", "copy", "fifo", "new.db")):
        where = () if command[0] == "store" else ("--store", "fifo")
        assert "fifo: is a FIFO, not a file" in cli.start(*command, *where).communicate(timeout=60)[1]
    assert "--json fifo: is a FIFO; give the name of a file" in cli("run", file, "--json", "fifo", code=2)


def test_what_is_no_regular_file_is_not_written_over(special: tuple[Path, str]) -> None:
    path, kind = special
    with pytest.raises(InputError, match=rf"^--json {path}: is {kind}; give the name of a file"):
        check_writable(path, "--json")


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """Make a directory a file system that cannot be written."""
    for arguments in (["--bind", directory, directory], ["-o", "remount,ro,bind", directory]):
        if subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode != 0:
            subprocess.run(["umount", directory], check=False, capture_output=True)
            pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", directory], check=True)


def closed(path: Path) -> None:
    """A store in the mode in which SQLite leaves it."""
    with closing(open_store(str(path))) as store:
        store.add_trial(store.begin_run(run_record({})), TrialRecord(cell="a", block=0, position=0, status="done"))


def copied_while_open(path: Path, ends: tuple[str, ...]) -> None:
    """A store of which the last trial is in its log alone."""
    other = path.with_name("open.db")
    closed(other)
    with closing(open_store(str(other))) as store:
        run = store.run("last")
        with closing(sqlite3.connect(other)) as reader:
            # Whoever reads keeps the log from being emptied.
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM dbdyno_runs").fetchall()
            store.add_trial(run.id, TrialRecord(cell="a", block=1, position=0, status="done"))
            for end in ends:
                shutil.copyfile(f"{other}{end}", f"{path}{end}")


@pytest.mark.parametrize(("code", "hints"), [(errno.ENOSPC, True), (errno.EACCES, False), (errno.EIO, False)])
def test_free_space_is_suggested_only_for_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, hints: bool
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(pool, "_copy", fail)
    path = tmp_path / "runs.db"
    with pytest.raises(StoreError, match="cannot be copied to read it") as raised:
        pool._open_copy(URL.create("sqlite", database=str(path)), path)
    assert ("free some space" in str(raised.value)) is hints


def of_version_2(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript((STORES / "version-2-sqlite.sql").read_text())


def with_a_journal(path: Path) -> None:
    """A store as it is left by a process that was killed while it wrote, without a log."""
    closed(path)
    script = f"""
import os, signal, sqlite3
raw = sqlite3.connect({str(path)!r})
raw.execute("PRAGMA journal_mode = delete")
raw.execute("PRAGMA cache_size = 1")
raw.execute("PRAGMA cache_spill = 1")
raw.execute("BEGIN")
raw.execute("UPDATE dbdyno_runs SET definition = hex(zeroblob(1000000)), status = 'failed'")
raw.execute("CREATE TABLE t AS SELECT randomblob(100000)")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, env=python_environment()).returncode == -9
    assert Path(f"{path}-journal").stat().st_size > 0


@pytest.mark.parametrize(
    ("left", "trials"),
    [
        (closed, [1]),
        (lambda path: copied_while_open(path, ("", "-wal")), [2]),
        (lambda path: copied_while_open(path, ("", "-wal", "-shm")), [2]),
        (with_a_journal, [1]),
        (of_version_2, [2, 4]),
    ],
    ids=["closed", "log", "log and index", "journal", "older"],
)
def test_a_store_that_can_only_be_read_is_read(tmp_path: Path, left: Callable[[Path], None], trials: list[int]) -> None:
    directory = tmp_path / "read-only"
    directory.mkdir()
    path = directory / "runs.db"
    left(path)
    before = {each.name: each.read_bytes() for each in directory.iterdir()}
    with read_only(directory):
        with closing(open_store(str(path), make=False)) as store:
            assert sorted(each.done for each in store.runs()) == trials
            assert store.run("last").status in ("running", "done")
            with pytest.raises(StoreError, match=rf"^store {path}: read-only; give a writable path"):
                store.set_baseline("main", store.run("last").id)
        with pytest.raises(StoreError, match="read-only"):
            open_store(str(path))
    assert {each.name: each.read_bytes() for each in directory.iterdir()} == before


def test_commands_show_what_can_only_be_read_and_measure_nothing_for_it(cli: Cli, small: Callable[..., str]) -> None:
    (cli.directory / "ro").mkdir()
    file = cli.write("small.toml", small())
    ids = [re.search(r"run (\S+) is stored", cli("run", file, "--store", "ro/runs.db")) for _ in range(2)]
    first, second = (each[1] for each in ids if each)
    with read_only(cli.directory / "ro"):
        assert second in cli("runs", "--store", "ro/runs.db")
        assert "clients=1" in cli("show", first, "--store", "ro/runs.db")
        assert "clients=1" in cli("compare", first, second, "--store", "ro/runs.db")
        assert "2 runs" in cli("history", "small", "--store", "ro/runs.db")
        for command in (("run", file), ("run", "--resume", "last"), ("baseline", "main", "last")):
            out, errors = cli.start(*command, "--store", "ro/runs.db").communicate(timeout=60)
            assert "store ro/runs.db: read-only; give a writable path with --store" in errors
            assert not out


def locks_on(path: Path) -> list[str]:
    """The kernel's locks of this process on a file."""
    inode = f":{path.stat().st_ino}"
    lines = Path("/proc/locks").read_text().splitlines()
    return [line.split(":", 1)[1] for line in lines if inode in line and f" {os.getpid()} " in line]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the kernel does not list its locks here")
def test_to_open_a_store_again_drops_none_of_its_locks(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(open_store(str(path))) as store:
        run = store.begin_run(run_record({}))
        with store.reading() as connection:
            connection.exec_driver_sql("SELECT * FROM dbdyno_runs").all()
            held = locks_on(path)
            for again in (str(path), f"sqlite:///{path}", str(tmp_path / "." / "runs.db")):
                with closing(open_store(again)) as other:
                    assert shares(other, store) and other.is_same(store)
                    assert other.run(run).id == run
            assert held and locks_on(path) == held
        # Those that remain have their connections.
        store.finish_run(run, "done")
    assert [each.name for each in tmp_path.iterdir()] == ["runs.db"]


def shares(one: Store, other: Store) -> bool:
    return one._pool is other._pool


def test_a_file_in_the_place_of_another_is_another_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(open_store(str(path))) as store:
        store.begin_run(run_record({}))
        for each in tmp_path.iterdir():
            each.unlink()
        with closing(open_store(str(path))) as new:
            assert not shares(new, store) and new.runs() == []


def test_a_pipe_that_is_read_gets_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    check_writable(path, "--json")
    write_text(path, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode), "it is not replaced"
    reader, writer = os.pipe()
    write_text(f"/dev/fd/{writer}", "more")
    assert os.read(reader, 10) == b"more"
    os.close(reader)
    os.close(writer)


def test_dev_stdout_is_the_standard_output(cli: Cli, small: Callable[..., str]) -> None:
    cli.run(cli.write("small.toml", small()), "--rounds", "1")
    shown = cli("show", "--store", "runs.db", "--json", "/dev/stdout")
    assert json.loads(shown)["experiment"] == "small"


def test_threads_that_open_and_close_a_store_share_it_to_the_end(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    open_store(path).close()

    def use(_: int) -> int:
        with closing(open_store(path)) as store:
            return len(store.runs())

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(use, range(200))) == 0
    assert pool._POOLS == {}


def test_a_store_whose_file_is_removed_while_it_is_opened_is_not_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = pool._open

    def then_remove(url: URL, *, make: bool) -> pool.Pool:
        opened = really(url, make=make)
        Path(url.database or "").unlink()
        return opened

    monkeypatch.setattr(pool, "_open", then_remove)
    with closing(open_store(str(tmp_path / "a.db"))) as one, closing(open_store(str(tmp_path / "b.db"))) as other:
        assert not shares(one, other)


@pytest.mark.parametrize("ends", [("", "-wal"), ("", "-wal", "-shm")])
def test_a_copy_of_a_store_that_is_being_written_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: tuple[str, ...]
) -> None:
    path, copy = tmp_path / "runs.db", tmp_path / "copy.db"
    copied_while_open(path, ends)
    really, left = shutil.copyfile, [1, 1]

    def while_written(source: str, target: str) -> None:
        really(source, target)
        if left:
            os.utime(path, ns=(left.pop(), len(left)))

    monkeypatch.setattr(shutil, "copyfile", while_written)
    pool._copy(path, copy)
    with closing(sqlite3.connect(copy)) as found:
        assert found.execute("SELECT count(*) FROM dbdyno_trials").fetchone() == (2,)
        assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not left or "-shm" in ends
    monkeypatch.setattr(shutil, "copyfile", lambda *_: os.utime(path))
    if "-shm" not in ends:
        with pytest.raises(StoreError, match="another process writes to it"):
            pool._copy(path, copy)
