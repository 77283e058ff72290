"""The web application on real databases: what a request does, and how each limit is told that it meets."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest

from dbdyno.base.errors import SystemFailed
from dbdyno.engines import engine_of
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.web.application import application, find_application
from dbdyno.engines.web.databases import database_url
from dbdyno.engines.web.server import WebServer, start_web_server
from dbdyno.model.events.answers import Answer, Loaded
from dbdyno.runtime.worker import ask
from waiting import eventually
from web_database import CODES, web_database

# Servers are started.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_application() is None, reason="the web application is not built: make webapp"),
]

Reply = tuple[int, dict[str, Any]]


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBDYNO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mysql"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    if request.param != "sqlite" and not find_installations(request.param):
        pytest.skip(f"there is no server of the kind {request.param} here")
    url = f"{request.param}:" + ("?journal_mode=wal" if request.param == "sqlite" else "")
    with web_database(url, tmp_path_factory.mktemp("database")) as target:
        yield target


@contextlib.contextmanager
def serving(database: dict[str, Any], work: Path, *options: str) -> Iterator[WebServer]:
    with start_web_server(application(), database_url(database), work, options) as server:
        yield server


def connect(server: WebServer) -> http.client.HTTPConnection:
    host, _, port = server.address.rpartition(":")
    return http.client.HTTPConnection(host, int(port), timeout=60)


def get(server: WebServer, path: str, **query: str | int) -> Reply:
    with contextlib.closing(connect(server)) as connection:
        connection.request("GET", path + ("?" + urlencode(query) if query else ""))
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


def login(server: WebServer, user: int = 1, **more: str | int) -> Reply:
    return get(server, "/login", user_name=f"user{user}", password=f"Secret{user}", **more)


def refused(server: WebServer) -> dict[str, int]:
    counts: dict[str, int] = get(server, "/stats")[1]["refused"]
    return {reason: count for reason, count in counts.items() if count}


def change(database: dict[str, Any], statement: str) -> None:
    """Run a statement on the database beside the application."""
    target = database | ({"pragmas": [], "file_pragmas": []} if database["engine"] == "sqlite" else {})
    task = {"kind": "load", "target": target, "before": [], "tables": [], "after": [statement]}
    ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task}, Loaded)


def values(database: dict[str, Any], table: str, column: str) -> list[Any]:
    """The values of a column, by another way than the application's."""
    question = engine_of(database["engine"]).sample(table, column, 1000)
    task = {"kind": "ask", "target": database, "sql": question}
    answer = ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task}, Answer).answer
    return json.loads(answer) if answer else []


@pytest.mark.parametrize("persistent", ["on", "off"])
def test_a_request_does_what_it_asks_for(database: dict[str, Any], tmp_path: Path, persistent: str) -> None:
    with serving(database, tmp_path, "--persistent", persistent) as server:
        before = login(server, 7)[1]["user"]["logins"]
        status, reply = login(server, 7, update=1, prefix="10011")
        assert (status, reply["updated"]) == (200, 1)
        assert [each["code"] for each in reply["codes"]] == [str(100110 + i) for i in range(10)]
        status, reply = login(server, 7)
        assert (status, reply["updated"], reply["codes"]) == (200, 0, [])
        assert reply["user"] == {"id": 7, "user_name": "user7", "logins": before + 1}
        assert len(login(server, 7, prefix="1")[1]["codes"]) == CODES
        assert login(server, 7, prefix="99")[1]["codes"] == []
        opened = get(server, "/stats")[1]["connections_opened"]
        # One to see that the database is there, and one for each request that needs it.
        assert opened == (1 if persistent == "on" else 6)


def test_each_login_is_written_down(database: dict[str, Any], tmp_path: Path) -> None:
    change(database, "delete from login_log")
    with serving(database, tmp_path) as server:
        for user in (3, 3, 4):
            assert login(server, user)[0] == 200
        assert login(server, 5, prefix="x")[0] == 400
        assert get(server, "/login", user_name="user6", password="wrong")[0] == 401
    assert sorted(values(database, "login_log", "user_name")) == ["user3", "user3", "user4"]
    assert set(values(database, "login_log", "ip_address")) == {"127.0.0.1"}


@pytest.mark.parametrize("password", ["secret1", "Secret1 ", "Secret2", "", "' or '1'='1"])
def test_a_wrong_password_is_refused(database: dict[str, Any], tmp_path: Path, password: str) -> None:
    with serving(database, tmp_path) as server:
        status, reply = get(server, "/login", user_name="user1", password=password)
        assert (status, reply["error"]) == (401, "wrong-password")
        assert get(server, "/login", user_name="USER1", password="Secret1")[0] == 401
        assert refused(server) == {"wrong-password": 2}


def test_a_form_is_taken_as_a_query_is(database: dict[str, Any], tmp_path: Path) -> None:
    with serving(database, tmp_path) as server, contextlib.closing(connect(server)) as connection:
        form = urlencode({"user_name": "user2", "password": "Secret2", "prefix": "100000"})
        for _ in range(2):
            connection.request("POST", "/login", form, {"content-type": "application/x-www-form-urlencoded"})
            reply = connection.getresponse()
            body = json.loads(reply.read())
            assert (reply.status, len(body["codes"])) == (200, 1)
        connection.request("GET", "/nothing")
        assert connection.getresponse().status == 404


def test_health_says_what_is_behind(database: dict[str, Any], tmp_path: Path) -> None:
    with serving(database, tmp_path, "--threads", "1", "--backlog", "16", "--pool", "3") as server:
        status, reply = get(server, "/health")
        said = server.said
        assert (status, reply["version"]) == (200, said["database"]["version"])
        assert said["database"]["engine"] == database["engine"]
        assert (said["threads"], said["backlog"], said["pool"], said["persistent"]) == (1, 16, 3, True)
        assert said["pid"] == server.pid


def at_once(server: WebServer, requests: int, **more: str | int) -> list[Reply]:
    """Send requests at the same time, each on a connection of its own."""
    replies: list[Reply] = []
    connections = [connect(server) for _ in range(requests)]
    for connection in connections:
        connection.connect()

    def send(connection: http.client.HTTPConnection) -> None:
        connection.request("GET", "/login?" + urlencode({"user_name": "user1", "password": "Secret1", **more}))
        reply = connection.getresponse()
        replies.append((reply.status, json.loads(reply.read())))

    threads = [threading.Thread(target=send, args=(connection,)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connection in connections:
        connection.close()
    return replies


def test_a_pool_that_is_used_up_says_so(database: dict[str, Any], tmp_path: Path) -> None:
    with serving(database, tmp_path, "--pool", "1", "--wait-ms", "0") as server:
        statuses: set[int] = set()

        def seen() -> bool:
            replies = at_once(server, 30, prefix="1")
            statuses.update(status for status, _ in replies)
            return any(status == 503 for status, _ in replies)

        assert eventually(seen)
        assert statuses == {200, 503}
        assert set(refused(server)) == {"pool-exhausted"}
        # And it goes on.
        assert login(server)[0] == 200


def test_an_error_of_the_database_is_no_limit(database: dict[str, Any], tmp_path: Path) -> None:
    with serving(database, tmp_path) as server:
        change(database, "alter table login_log rename to elsewhere")
        try:
            status, reply = login(server)
            assert (status, reply["error"]) == (500, "database-error")
            assert "login_log" in reply["message"]
        finally:
            change(database, "alter table elsewhere rename to login_log")
        assert login(server)[0] == 200


def test_it_does_not_begin_without_its_database(tmp_path: Path) -> None:
    with pytest.raises(SystemFailed, match=r"the web server does not start: .*database-unreachable"):
        start_web_server(application(), f"sqlite:{tmp_path}/missing.db", tmp_path)
    with pytest.raises(SystemFailed, match=r"`mongodb` is no database: write sqlite:FILE"):
        start_web_server(application(), "mongodb://localhost/", tmp_path)
    assert list(tmp_path.iterdir()) == []


def small_server(engine: str, most: int, directory: Path) -> contextlib.AbstractContextManager[dict[str, Any]]:
    if not find_installations(engine):
        pytest.skip(f"there is no server of the kind {engine} here")
    return web_database(f"{engine}:?max_connections={most}", directory)


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
@pytest.mark.parametrize("persistent", ["on", "off"])
def test_a_server_with_20_connections_is_told(engine: str, persistent: str, tmp_path: Path) -> None:
    with small_server(engine, 20, tmp_path) as database:
        options = ("--persistent", persistent, "--pool", "60")
        with serving(database, tmp_path, *options) as server:
            replies: list[Reply] = []

            def met() -> bool:
                replies.extend(at_once(server, 60, prefix="1"))
                return any(reply.get("error") == "too-many-connections" for _, reply in replies)

            assert eventually(met)
            assert {status for status, _ in replies} == {200, 503}
            # Where so many connect at once, the queue of the server's socket may be full as well.
            limits = {reply["error"]: reply for status, reply in replies if status == 503}
            assert limits.keys() <= {"too-many-connections", "backlog-full"}
            limit = limits["too-many-connections"]
            assert "max_connections of the database" in limit["lifted_by"]
            assert login(server)[0] == 200


@pytest.mark.parametrize("engine", ["sqlite", "postgresql", "mysql"])
def test_a_limit_of_64_open_files_is_told(engine: str, tmp_path: Path) -> None:
    if engine != "sqlite" and not find_installations(engine):
        pytest.skip(f"there is no server of the kind {engine} here")
    options = ("--open-files", "64", "--persistent", "off", "--threads", "2")
    with web_database(f"{engine}:", tmp_path) as database, serving(database, tmp_path, *options) as server:
        assert server.said["open_files"] == 64
        host, _, port = server.address.rpartition(":")
        with contextlib.ExitStack() as held:
            # Browsers that keep their connections open, until one is answered that there is no room.
            for _ in range(80):
                client = held.enter_context(socket.create_connection((host, int(port)), timeout=60))
                client.sendall(b"GET /stats HTTP/1.1\r\nhost: web\r\n\r\n")
                head, _, body = client.recv(4096).partition(b"\r\n\r\n")
                if b" 503 " in head:
                    break
            assert json.loads(body)["error"] == "too-many-open-files"
            assert "ulimit -n" in json.loads(body)["lifted_by"]
        # Those are gone, and there is room again.
        assert eventually(lambda: login(server)[0] == 200)

        def told() -> bool:
            # The login's own connections may still be open, so that this request is refused as well.
            status, answer = get(server, "/stats")
            return status == 200 and answer["refused"]["too-many-open-files"] >= 1

        assert eventually(told)


def test_a_request_ends_before_the_server_does(database: dict[str, Any], tmp_path: Path) -> None:
    with serving(database, tmp_path) as server, contextlib.closing(connect(server)) as connection:
        connection.request("GET", "/health")
        connection.getresponse().read()
        # A connection that is kept and at rest holds nothing up.
        assert server.stop()
        assert not server.alive()
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("web-")] == []


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    with web_database("sqlite:", tmp_path) as database:
        command = [str(application()), "--listen", "127.0.0.1:0", "--with-parent"]
        environment = {**os.environ, "DATABASE_URL": database_url(database)}
        # The input is closed.
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdin is not None
            assert json.loads(process.stdout.readline())["pid"] == process.pid
            process.stdin.close()
            assert process.wait(60) == 0
        # The parent is killed, and what it holds open of the input stays.
        starting = f"import subprocess, time; subprocess.Popen({command!r}); time.sleep(600)"
        with subprocess.Popen(
            [sys.executable, "-c", starting], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as parent:
            assert parent.stdout is not None
            child = psutil.Process(json.loads(parent.stdout.readline())["pid"])
            parent.kill()
            ended, _ = psutil.wait_procs([child], timeout=60)
            assert ended == [child] or not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_hashing_takes_the_web_servers_time(tmp_path: Path) -> None:
    used = []
    with web_database("sqlite:", tmp_path) as database:
        for rounds in ("0", "1000000"):
            with serving(database, tmp_path, "--hash-rounds", rounds) as server:
                for _ in range(3):
                    assert login(server)[0] == 200
                used.append(sum(psutil.Process(server.pid).cpu_times()[:2]))
    # The same requests, and a million rounds more for each. The system counts CPU time in steps of 10 ms.
    assert used[1] > used[0] + 0.1


def test_it_is_gone_after_its_keeper_was_killed(tmp_path: Path) -> None:
    with web_database("sqlite:", tmp_path) as database, serving(database, tmp_path) as server:
        process = psutil.Process(server.pid)
        psutil.Process(server.pid).parent().kill()  # type: ignore[union-attr]
        assert eventually(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)


def test_a_password_is_in_no_process_list(tmp_path: Path) -> None:
    with web_database("sqlite:", tmp_path) as database, serving(database, tmp_path) as server:
        assert database["path"] not in " ".join(psutil.Process(server.pid).cmdline())
