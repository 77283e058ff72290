"""Transcripts of `dbdyno check`, on SQLite and on the servers that are installed here."""

import re
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.answers import Loaded
from dbdyno.runtime.worker import ask
from fresh_data import fresh_data
from installed_servers import servers

CHECKS = {"sqlite": 14, "postgresql": 27, "mysql": 29}


def lines_of(out: str) -> dict[str, str]:
    """How each check ended, by its name."""
    found = re.findall(r"^(ok|failed|not applicable) {2,}(.+)$", out, re.MULTILINE)
    return {name: answer for answer, name in found}


def test_sqlite_does_what_is_asked_of_it(cli: Cli) -> None:
    out = cli("check", "sqlite:?journal_mode=wal")
    lines = lines_of(out)
    assert len(lines) == CHECKS["sqlite"]
    assert set(lines.values()) == {"ok"}
    assert lines["a failure in a transaction is rolled back"] == "ok"
    assert out.splitlines()[-1] == f"{CHECKS['sqlite']} checks: {CHECKS['sqlite']} ok"
    assert cli.left_behind() == []


def test_a_check_that_fails_says_what_was_seen_and_ends_with_1(cli: Cli) -> None:
    out = cli("check", "sqlite:?query_only=on", code=1)
    lines = lines_of(out)
    assert lines["values come back as they were sent"] == "failed"
    assert "attempt to write a readonly database" in out
    assert "the number of values must match the parameters" in lines
    assert re.search(r"^14 checks: .*[1-9]\d* failed", out, re.MULTILINE)


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
def test_a_server_that_is_started_for_it(server_cli: Cli, engine: str) -> None:
    if not find_installations(engine):
        pytest.skip(f"there is no {engine} server here")
    lines = lines_of(server_cli("check", f"{engine}:"))
    assert len(lines) == CHECKS[engine]
    assert set(lines.values()) == {"ok"}
    assert servers(server_cli) == []
    assert server_cli.left_behind() == []


def test_what_a_system_has_not_got_is_told_apart(server_cli: Cli) -> None:
    if not find_installations("mongodb"):
        pytest.skip("there is no mongodb server here")
    out = server_cli("check", "mongodb:")
    lines = lines_of(out)
    assert "failed" not in lines.values()
    assert lines["a transaction commits or rolls back"] == "not applicable"
    assert lines["each kind of response returns its rows"] == "ok"
    assert "a single server has neither transactions" in out


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
def test_a_named_server_keeps_nothing_of_it(server_cli: Cli, engine: str) -> None:
    if not find_installations(engine):
        pytest.skip(f"there is no {engine} server here")
    installation = find_installations(engine)[0]
    fresh_data(installation, server_cli.directory / "data")
    with start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server:
        host = str(server.socket).replace("/", "%2F")
        databases = server_databases(server_cli, server.data)
        lines = lines_of(server_cli("check", f"{engine}://{server.user}@{host}:{server.port}/{server.database}"))
        assert lines.pop("a database of its own is made") == "ok"
        assert {name for name, answer in lines.items() if answer != "ok"} == {
            "a password is checked",
            *(["very long values are sent and received"] if engine == "mysql" else []),
        }
        assert "failed" not in lines.values()
        assert server_databases(server_cli, server.data) == databases


def server_databases(cli: Cli, data: Path) -> set[str]:
    """The directories of databases: those of numbers on PostgreSQL, of names on MariaDB and MySQL."""
    base = data / "base"
    return {path.name for path in (base if base.is_dir() else data).iterdir() if path.is_dir()}


def test_without_the_right_to_make_databases_the_named_one_is_used_if_that_is_allowed(
    server_cli: Cli,
) -> None:
    if not find_installations("postgresql"):
        pytest.skip("there is no postgresql server here")
    installation = find_installations("postgresql")[0]
    fresh_data(installation, server_cli.directory / "data")
    with start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server:
        statements = ["create role me login", "grant create on schema public to me"]
        task = {"kind": "load", "target": target(server), "before": statements}
        ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task | {"tables": [], "after": []}}, Loaded)
        host = str(server.socket).replace("/", "%2F")
        url = f"postgresql://me@{host}:{server.port}/{server.database}"
        refused = server_cli("check", url, code=2)
        assert "no database can be made for the checks" in refused
        assert "--allow-writes" in refused
        out = server_cli("check", url, "--allow-writes")
        lines = lines_of(out)
        assert lines["a database of its own is made"] == "not applicable"
        assert "permission denied to create database" in out
        assert "failed" not in lines.values()
        assert lines["a deadlock is recognized"] == "ok"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("null:", "`dbdyno check` does not support it"),
        ("postgresql://me@127.0.0.1:1/", "no server listens there"),
        ("sqlite:?journal_mode=wall", "journal_mode"),
    ],
)
def test_what_cannot_be_checked_is_one_clear_error(cli: Cli, url: str, words: str) -> None:
    process = cli.start("check", url)
    out, errors = process.communicate(timeout=60)
    assert process.returncode in (1, 2)
    assert errors.startswith("dbdyno: ") and words in errors
    assert out == ""
