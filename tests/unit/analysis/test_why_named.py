"""`dbdyno why` of a server that runs already: its Unix socket in the place of TCP, and where it runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest

from authenticated import ENGINES, Place
from conftest import Cli
from dbdyno.engines import engine_of
from dbdyno.engines.server.local import runs_here, unix_socket
from dbdyno.engines.server.socket_queries import SocketQueries
from dbdyno.engines.url import parse_url
from dbdyno.store import open_store
from experiment_files import HEAD, LOAD, READ, TABLE

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates")


def questions(engine: str) -> SocketQueries:
    found: SocketQueries | None = getattr(engine_of(engine), "socket_queries", None)
    assert found is not None
    return found


@pytest.mark.slow
@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_on_tcp_is_tried_over_its_socket(
    server_cli: Cli, make_place: Callable[[str], Place], engine: str
) -> None:
    place = make_place(engine)
    with place.start("server", demanded=False) as server:
        assert unix_socket(place.over_tcp(server), questions(engine)) == {"host": str(server.socket)}
        encrypted = place.over_tcp(server, tls={"mode": "require", "roots": None})
        assert unix_socket(encrypted, questions(engine)) == {"host": str(server.socket), "tls": None}
        assert unix_socket(place.over_tcp(server, user="nobody"), questions(engine)) is None
        assert unix_socket(place.over_tcp(server, host=str(server.socket)), questions(engine)) is None
        url = f"{engine}://{place.login}@127.0.0.1:{server.port}/"
        server_cli.write(
            "small.toml", 'dialect = "sqlite"\n' + HEAD + TABLE + LOAD.replace("seconds = 1", "seconds = 0.2") + READ
        )
        brief = ("--rounds", "1", "--budget", "5s", "--store", "w.db", "--json", "why.json")
        out = server_cli("why", "./small.toml", "--system", url, *brief)
    document = json.loads((server_cli.directory / "why.json").read_text())
    found = {each["resource"]: each for each in document["why"]["resources"]}
    (free,) = [test for test in found["message"]["tests"] if test["kind"] == "free"]
    assert [each["change"] for each in free["changes"]] == ["Unix socket"]
    assert free["changes"][0]["rate"] > 0
    assert found["processors"]["tests"], "it runs on this machine"
    assert "Unix socket" in out
    store = open_store(str(server_cli.directory / "w.db"))
    trials = store.trials(store.run("last").id)
    hosts = {each.cell.split(",")[0]: each.plan["task"]["target"]["host"] for each in trials}
    assert {cell for cell, host in hosts.items() if host != "127.0.0.1"} == {"change=Unix socket"}
    assert hosts["change=Unix socket"] == str(server.socket)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES[:1])
def test_another_server_at_the_socket_is_not_taken(make_place: Callable[[str], Place], engine: str) -> None:
    place = make_place(engine)
    with place.start(None, demanded=False) as server:
        usual = questions(engine)
        target = place.over_tcp(server)
        # Each session answers something else, as another server would.
        other = SocketQueries(place=usual.place, identity="select pg_backend_pid()::text", file=usual.file)
        assert unix_socket(target, other) is None
        # Who may not see where the socket is has the usual places.
        unsaid = SocketQueries("select null::text", usual.identity, (str(server.socket),), usual.file)
        assert unix_socket(target, unsaid) == {"host": str(server.socket)}
        assert unix_socket(target, SocketQueries("select 'here'", usual.identity, ("/",), usual.file)) is None


@pytest.mark.parametrize(
    ("host", "here"),
    [
        (None, True),
        ("/run/postgresql", True),
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.0.1.1", True),
        ("[::1]", True),
        ("192.0.2.1", False),
        ("db.invalid", False),
    ],
)
def test_this_machine_is_told_from_others(host: str | None, here: bool) -> None:
    assert runs_here(host) is here


def test_what_runs_in_the_worker_runs_here() -> None:
    assert runs_here(parse_url("sqlite:").host)
    assert not runs_here(parse_url("postgresql://192.0.2.1/db").host)
    assert not runs_here(parse_url("http://192.0.2.1:8080/").host)
