"""The library that servers preload: what it counts, delays and skips of a program's calls, and of real servers'."""

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.preload import Preload, preload_library
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.reading import read_event
from dbdyno.model.events.trial import TrialResult
from fresh_data import fresh_data
from worker_tasks import trial, work

# Of the page (crates/delays/src/page.rs): what is at its beginning, and each kind of call.
ATTACHED = 8
KINDS = {"sync": 64, "read": 128, "write": 192}
CALL = struct.Struct("=IIQQQQQ")

# Calls of each kind, as a program makes them in the C library; and calls that are of none.
CALLS = {
    "os.fsync(file)": "sync",
    "os.fdatasync(file)": "sync",
    "libc.syncfs(file)": "sync",
    "libc.sync_file_range(file, ctypes.c_long(0), ctypes.c_long(0), 7)": "sync",
    "libc.sync_file_range(file, ctypes.c_long(0), ctypes.c_long(0), 2)": None,
    "memory.flush()": "sync",
    "os.pwrite(through, b'x', 0)": "sync",
    "os.pwritev(file, [b'x', b'y'], 0, os.RWF_DSYNC)": "sync",
    "os.fsync(directory)": "sync",
    "os.pwrite(file, b'x', 0)": "write",
    "os.pwritev(file, [b'x', b'y'], 0)": "write",
    "os.pwrite(instead, b'x', 0)": "write",
    "os.pread(file, 1, 0)": "read",
    "os.preadv(file, [bytearray(2)], 0)": "read",
    "os.write(pipe, b'x')": None,
    "os.write(through, b'x')": None,
    "here.send(b'x')": None,
}

PROGRAM = """
import ctypes, mmap, os, socket, sys
libc = ctypes.CDLL(None)
path, directory = sys.argv[1], os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)
file = os.open(path, os.O_RDWR | os.O_CREAT)
os.write(file, b'0' * 8192)
# A descriptor that was another file's, which flushed with each write.
through = os.open(path, os.O_RDWR | os.O_DSYNC)
os.pwrite(through, b'x', 0)
os.close(through)
instead = os.open(path, os.O_RDWR)
assert instead == through
through = os.open(path, os.O_RDWR | os.O_SYNC)
memory = mmap.mmap(file, 4096)
pipe = os.pipe()[1]
here, there = socket.socketpair()
os.fsync(file), os.pread(file, 1, 0), os.pwrite(file, b'x', 0)
print('ready', flush=True)
for line in sys.stdin:
    try:
        print(eval(line), flush=True)
    except OSError as error:
        print('error', error.errno, flush=True)
"""


class Program:
    """A program that has loaded the library, and the page that it shares with this one."""

    def __init__(self, directory: Path) -> None:
        self.preload = Preload.make(directory, None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(directory / "file")],
            env=self.preload.environment(dict(os.environ)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.said()

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def do(self, call: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(call + "\n")
        self.process.stdin.flush()
        return self.said()

    def change(self, kind: str, delay_us: int = 0, skip: bool = False) -> None:
        with self.preload.page.open("r+b") as page:
            page.seek(KINDS[kind] + 4)
            page.write(struct.pack("=IQ", int(skip), delay_us * 1000))
            page.seek(KINDS[kind])
            page.write(struct.pack("=I", 1))

    def counted(self) -> dict[str, tuple[int, int, int]]:
        """Give calls, nanoseconds in them, and nanoseconds that were added, by kind."""
        page = self.preload.page.read_bytes()
        return {kind: CALL.unpack_from(page, at)[4:] for kind, at in KINDS.items()}

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    if preload_library() is None:
        pytest.skip("the library is not built: make dev")
    program = Program(tmp_path)
    yield program
    program.end()


def test_each_call_is_of_its_kind(program: Program) -> None:
    for call in CALLS:
        program.do(call)
    assert all(counts[0] == 0 for counts in program.counted().values()), "nobody asks for it"
    for kind in KINDS:
        program.change(kind)
    for call, kind in CALLS.items():
        before = program.counted()
        assert not program.do(call).startswith("error"), call
        rise = {each: counts[0] - before[each][0] for each, counts in program.counted().items()}
        assert rise == {each: int(each == kind) for each in KINDS}, call
    assert all(own > 0 and added == 0 for _, own, added in program.counted().values())


def test_calls_are_delayed_and_what_they_give_stays(program: Program) -> None:
    wanted = {call: program.do(call) for call, kind in CALLS.items() if kind is not None}
    for kind in KINDS:
        program.change(kind, delay_us=500)
    for call, given in wanted.items():
        assert program.do(call) == given, call
    for kind, (calls, _, added) in program.counted().items():
        assert calls == list(CALLS.values()).count(kind)
        assert added >= calls * 500_000
    # EBADF, which sleeping does not hide.
    assert program.do("os.fsync(999)") == "error 9"


def test_flushes_are_skipped_and_writes_are_not(program: Program) -> None:
    program.change("sync", skip=True)
    # Were it made, it would fail.
    assert program.do("os.fsync(999)") == "None"
    assert program.do("os.pwrite(through, b'there', 100)") == "5"
    assert program.do("os.pwritev(file, [b'here'], 200, os.RWF_DSYNC)") == "4"
    assert program.do("os.pread(file, 5, 100)") == "b'there'"
    assert program.do("os.pread(file, 4, 200)") == "b'here'"
    assert program.counted()["sync"][0] == 3


def test_processes_that_split_off_are_counted_too(program: Program) -> None:
    program.change("sync")
    assert program.do("os.waitpid(os.fork() or (os.fsync(file), os._exit(0)), 0)[1]") == "0"
    assert program.counted()["sync"][0] == 1
    assert struct.unpack_from("=Q", program.preload.page.read_bytes(), ATTACHED)[0] == 1


@pytest.mark.parametrize("content", [None, b"", b"another".ljust(4096, b"\0")])
def test_without_its_file_the_library_does_nothing(tmp_path: Path, content: bytes | None) -> None:
    library = preload_library()
    if library is None:
        pytest.skip("the library is not built: make dev")
    page = tmp_path / "page"
    if content is not None:
        page.write_bytes(content)
    text = "import os, sys; f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
    text += "os.fsync(f); print(os.pwrite(f, b'x', 0), os.pread(f, 1, 0))"
    environment = {**os.environ, "LD_PRELOAD": str(library), "DBDYNO_PRELOAD_FILE": str(page)}
    command = [sys.executable, "-c", text, str(tmp_path / "f")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("1 b'x'", "")
    assert content is None or page.read_bytes() == content


def test_a_library_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDYNO_PRELOAD", str(tmp_path / "nothing.so"))
    assert preload_library() is None
    with pytest.raises(SystemFailed, match="reinstall the package"):
        Preload.make(tmp_path, None)
    assert list(tmp_path.iterdir()) == []


# Of each engine: settings with which a commit flushes, and with which data do not fit into the cache.
SERVERS: dict[str, dict[str, str]] = {
    "postgresql": {"shared_buffers": "1MB", "wal_sync_method": "fdatasync"},
    "mysql": {"innodb_buffer_pool_size": "8M", "innodb_flush_log_at_trx_commit": "1"},
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", SERVERS)
def test_a_server_s_calls_are_changed_during_a_trial(engine: str, server_cli: Cli) -> None:
    installations = find_installations(engine)
    if not installations or preload_library() is None:
        pytest.skip(f"there is no {engine} server on this machine to start, or no library")
    directory = server_cli.directory
    fresh_data(installations[0], directory / "data")
    with start_server(installations[0], directory / "data", directory, SERVERS[engine], preloaded=True) as server:
        assert server.preload is not None
        place = {"file": str(server.preload.page)}
        columns = [
            {"name": "id", "stream": 1, "fill": {"kind": "serial", "start": 1}},
            {"name": "v", "stream": 2, "fill": {"kind": "constant", "value": "x" * 400}},
        ]
        before = ["create table t (id integer primary key, v varchar(500))"]
        tables = [{"name": "t", "rows": 30000, "columns": columns}]
        assert work("load", target=target(server), before=before, tables=tables, after=[])[-1]["event"] == "loaded"

        def tried(changes: dict[str, Any], sql: str, **task: Any) -> TrialResult:
            steps = [{"do": "execute", "statement": 0, "params": [{"kind": "uniform", "low": 1, "high": 30000}]}]
            transactions = [{"name": "t", "steps": steps}]
            told = trial(target(server), changes, sql, transactions=transactions, clients=2, **task)
            assert told["event"] == "result", told
            result = read_event(told)
            assert isinstance(result, TrialResult) and result.changes is not None
            return result

        update = "update t set v = concat(v, 'y') where id = ?"
        counted = tried({"sync": {"delay_us": 0}, "server": place}, update)
        assert counted.changes is not None and counted.changes.sync is not None
        assert counted.changes.sync.calls > 0 and counted.changes.sync.added_s == 0
        assert counted.changes.sync.own_s is not None and counted.changes.sync.own_s > 0
        slow = tried({"sync": {"delay_us": 20_000}, "server": place}, update)
        assert slow.changes is not None and slow.changes.sync is not None
        assert slow.changes.sync.added_s >= slow.changes.sync.calls * 20e-3 > 0
        # Of two clients one waits for its own flush, or for the other's.
        assert slow.latency_ms["service"].p50 >= 20
        # What is skipped is not made, and the server goes on.
        skipped = tried({"sync": {"skip": True}, "server": place}, update, window={"transactions": 200})
        assert skipped.changes is not None and skipped.changes.sync is not None
        assert skipped.changes.sync.calls > 0 and not skipped.failures
        select = "select v from t where id = ?"
        read = tried({"read": {"delay_us": 3000}, "server": place}, select, window={"transactions": 100})
        assert read.changes is not None and read.changes.read is not None
        assert read.changes.read.added_s >= read.changes.read.calls * 3e-3 > 0
        assert read.changes.sync is None
        # A message to the server and its answer, of clients that share a thread.
        message = {"message": {"delay_us": 2000}}
        told = tried(message, select, threads=1)
        assert told.changes is not None and told.changes.message is not None
        assert told.changes.message.calls == 40 and told.changes.message.added_s >= 40 * 2e-3
        assert told.latency_ms["service"].p50 >= 2
        assert told.changes.message.own_s is not None and told.changes.message.own_s > 0
        # Each has a thread of its own, and opens a session for each transaction: its messages are delayed as well.
        told = tried({**message, "connect": {"delay_us": 100}}, select, threads=2, connect="per-transaction")
        assert told.changes is not None and told.changes.message is not None and told.changes.connect is not None
        assert told.changes.connect.calls == 40
        assert told.changes.message.calls >= 2 * 40
        # The trial is over, and so are its delays.
        page = server.preload.page.read_bytes()
        assert all(CALL.unpack_from(page, at)[:3] == (0, 0, 0) for at in KINDS.values())
    assert not list(directory.glob("preload-*"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", SERVERS)
def test_a_server_without_the_library_is_told(engine: str, server_cli: Cli) -> None:
    directory = server_cli.directory
    installations = find_installations(engine)
    if not installations or preload_library() is None:
        pytest.skip(f"there is no {engine} server on this machine to start, or no library")
    fresh_data(installations[0], directory / "data")
    preload = Preload.make(directory, None)
    with start_server(installations[0], directory / "data", directory, {}) as server:
        assert server.preload is None
        told = trial(target(server), {"sync": {"delay_us": 1}, "server": {"file": str(preload.page)}}, "select ?")
        assert told["event"] == "error"
        assert "no server was started with the preloaded library" in told["message"]
