"""Managed servers, on those that are installed here: they start, take settings, and leave nothing behind."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from conftest import those
from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.server.data import create_data
from dbdyno.engines.server.installations import Installation, find_installations
from dbdyno.engines.server.managed import Served, target
from dbdyno.engines.server.server import Server, start_server
from dbdyno.model.events.answers import FactsRead
from dbdyno.runtime.supervisor.shared_memory import segments
from dbdyno.runtime.worker import ask
from directories import server_directory
from waiting import eventually

# Servers are started.
pytestmark = pytest.mark.slow

# Of each engine: a setting, and how the server says it.
SETTINGS = {
    "postgresql": {"shared_buffers": ("64MB", "64MB"), "synchronous_commit": ("off", "off")},
    "mysql": {"innodb_buffer_pool_size": ("64M", "67108864"), "sync-binlog": ("5", "5"), "log_bin": ("bin", "ON")},
    "mongodb": {
        "synchronous": ("normal", "normal"),
        "journal_mode": ("DELETE", "delete"),
        "cache_size": ("-64000", "-64000"),
    },
}

# What no server takes: an unknown name, wrong values, one it would change with a mere warning, and dbdyno's own.
WRONG = {
    "postgresql": [("no_such_setting", "1"), ("shared_buffers", "lots"), ("work_mem", "1"), ("port", "1")],
    "mysql": [
        ("no_such_setting", "1"),
        ("sql_mode", "NONSENSE"),
        ("innodb_flush_log_at_trx_commit", "7"),
        ("default_storage_engine", "NONSENSE"),
        ("datadir", "/tmp"),
    ],
    "mongodb": [("no_such_setting", "1"), ("synchronous", "NONSENSE"), ("cache_size", "1)&x=("), ("dbpath", "/tmp")],
}

# Seconds for a server to end after dbdyno was killed.
END_S = 30.0


class Place:
    """An engine's installation, and directories for it: one with fresh data."""

    def __init__(self, installation: Installation, work: Path) -> None:
        self.installation = installation
        self.work = work
        self.data = work / "data"
        create_data(installation, self.data)

    def start(self, **settings: str) -> Server:
        return start_server(self.installation, self.data, self.work, settings)

    def left(self) -> list[str]:
        """What lies beside the data."""
        return sorted(path.name for path in self.work.iterdir() if path != self.data)


@pytest.fixture(scope="module", params=["postgresql", "mysql", "mongodb"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    installations = find_installations(request.param)
    # What is set here is FerretDB's.
    installations = [each for each in installations if each.product != "MongoDB"]
    if not installations:
        pytest.skip(f"there is no server of the kind {request.param} here")
    # One may run as another user, who must be able to enter.
    with server_directory() as directory:
        yield Place(installations[0], directory)


def facts(server: Server) -> dict[str, Any]:
    """What the server says of itself to a worker."""
    task = {"kind": "inspect", "target": target(server)}
    found = ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task}, FactsRead)
    return found.engine.model_dump(mode="json")


def gone(*pids: int) -> bool:
    return not any(psutil.pid_exists(pid) for pid in pids)


def test_a_disk_without_room_for_data_is_told(place: Place) -> None:
    if place.installation.engine == "mongodb":
        pytest.skip("it makes its data when it first starts")
    full = place.work / "full"
    full.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "none", full], check=False, capture_output=True
    )
    if mounted.returncode:
        full.rmdir()
        pytest.skip("mounting a small file system needs root, and a machine that lets it")
    try:
        with pytest.raises(SystemFailed, match=r"could not create data in .*; only \d MB are free there"):
            create_data(place.installation, full / "data")
        assert list(full.iterdir()) == []
    finally:
        subprocess.run(["umount", full], check=True)
        full.rmdir()


def test_answers_as_what_it_is(place: Place) -> None:
    with place.start() as server:
        said = facts(server)
        assert server.alive()
        assert (said["engine"], said["version"]) == (place.installation.product, place.installation.version)
        assert said["durability"]["class"] == "power-safe"


def test_takes_settings(place: Place) -> None:
    settings = SETTINGS[place.installation.engine]
    with place.start(**{name: value for name, (value, _) in settings.items()}) as server:
        said = facts(server)["settings"]
        assert {name: said[name.replace("-", "_")] for name in settings} == {
            name: shown for name, (_, shown) in settings.items()
        }


def test_refuses_what_is_no_setting(place: Place) -> None:
    for name, value in WRONG[place.installation.engine]:
        with pytest.raises(InputError, match=name) as raised:
            place.start(**{name: value}).stop()
        assert "Traceback" not in str(raised.value) and len(str(raised.value)) < 500, raised.value
        assert place.left() == []


def test_stopping_leaves_data_and_nothing_else(place: Place) -> None:
    server = place.start()
    family = [server.pid, *(each.pid for each in psutil.Process(server.pid).children(recursive=True))]
    assert place.left() != [] and server.log.exists()
    assert server.stop()
    assert gone(*family) and not server.alive()
    assert place.left() == []
    # Its data are whole.
    with place.start() as again:
        assert facts(again)["version"] == place.installation.version


def test_listens_on_its_socket_only(place: Place) -> None:
    with place.start() as server:
        tree = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        others = those(tree, lambda each: any(one.family != socket.AF_UNIX for one in each.net_connections("all")))
        assert others == []
        path = server.socket if server.socket.is_socket() else next(server.socket.glob(".s.*[0-9]"))
        assert path.parent.stat().st_mode & 0o077 == 0


def test_gets_nothing_of_the_environment_that_is_not_for_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=1GB")
    with place.start() as server:
        first = psutil.Process(server.pid)
        names = {name for each in (first, *first.children(recursive=True)) for name in each.environ()}
    known = {"PATH", "HOME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "LD_PRELOAD", "LANG", "LC_ALL"}
    # PostgreSQL sets what begins with PG itself.
    assert {name for name in names - known if not name.startswith("PG")} == set()
    assert "PGOPTIONS" not in names


def test_its_end_is_noticed_and_told(place: Place) -> None:
    server = place.start()
    family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    held = [each for process in family for each in segments(process.pid) if isinstance(each, str)]
    os.kill(server.pid, signal.SIGKILL)
    assert eventually(lambda: not server.alive(), END_S)
    assert not server.stop()
    assert place.left() == []
    # Shared memory of a killed server would stay for as long as the machine runs.
    assert [path for path in held if Path(path).exists()] == []


def test_an_end_under_way_is_waited_for_where_a_trial_failed(place: Place) -> None:
    with place.start() as server:
        ready = Served(target(server), server=server)
        assert ready.trouble(lost=True) is None
        assert ready.trouble(lost=False) is None
        # Its clients hear of it before its process is over.
        killing = threading.Timer(0.5, server.kill)
        killing.start()
        assert "SIGKILL killed it" in str(ready.trouble(lost=True))
        killing.join()


def test_waiting_for_its_end_can_be_cut_short(place: Place) -> None:
    server = place.start()
    # It would not end within the time it is given.
    psutil.Process(server.pid).suspend()
    cut = threading.Timer(0.3, server.kill)
    cut.start()
    assert not server.stop(300.0)
    cut.join()
    assert not server.alive()
    assert place.left() == []


def test_damaged_data_are_told(place: Place) -> None:
    with server_directory() as directory:
        data = directory / "data"
        data.mkdir()
        (data / "PG_VERSION").write_text("nonsense\n")
        (data / "ibdata1").write_bytes(b"nonsense" * 1000)
        (data / "dbdyno.sqlite").write_bytes(b"nonsense" * 1000)
        with pytest.raises(SystemFailed, match="does not start"):
            start_server(place.installation, data, directory, {}).stop()


def test_what_is_held_is_held_until_nothing_of_the_server_is_left(place: Place) -> None:
    read, held = os.pipe()
    server = start_server(place.installation, place.data, place.work, {}, held=held)
    os.close(held)
    with os.fdopen(read, "rb") as end:
        assert select.select([end], [], [], 0) == ([], [], [])
        server.stop()
        assert select.select([end], [], [], END_S) == ([end], [], [])
        assert end.read() == b""


KILLED = """
import sys, time
from pathlib import Path
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import start_server

installation = find_installations(sys.argv[1])[0]
server = start_server(installation, Path(sys.argv[2]), Path(sys.argv[3]), {}, remove=[Path(sys.argv[2])])
print(server.pid, flush=True)
time.sleep(600)
"""


def test_nothing_outlives_a_laboratory_that_is_killed(place: Place, tmp_path: Path) -> None:
    with server_directory() as directory:
        data = directory / "data"
        create_data(place.installation, data)
        command = [sys.executable, "-c", KILLED, place.installation.engine, data, directory]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as laboratory:
            assert laboratory.stdout is not None
            server = int(laboratory.stdout.readline())
            family = [each.pid for each in psutil.Process(laboratory.pid).children(recursive=True)]
            assert server in family
            laboratory.kill()
        assert eventually(lambda: gone(*family), END_S)
        assert eventually(lambda: list(directory.iterdir()) == [], END_S)
