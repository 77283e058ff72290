"""Logins through a web tier, by the command line: what is stored of its tiers, and of the limits that it meets."""

import contextlib
import os
import shutil
from typing import Any

import pytest

from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.web.application import find_application
from dbdyno.store import open_store
from web_database import TABLES

pytestmark = pytest.mark.skipif(find_application() is None, reason="the web application is not built: make webapp")

LOGIN = """{ set = "row", value = { row_of = "users" } }, { request = "GET /login", name = "login", \
query = { user_name = "{user}", password = "{password}" }, params = { \
user = { key = "users.user_name", row = { variable = "row" } }, \
password = { key = "users.password", row = { variable = "row" } } } }"""


def needs(engine: str) -> None:
    if not find_installations(engine):
        pytest.skip(f"there is no server of the kind {engine} here")


def logins(cli: Cli, url: str, clients: int, *more: str) -> dict[str, Any]:
    """Run logins for a second, and give the document."""
    text = TABLES.replace('{ execute = "select count(*) from users" }', LOGIN)
    text = text.replace("clients = 1", f"clients = {clients}")
    text = text.replace("stop = { transactions = 1 }", "stop = { seconds = 1 }")
    cli.write("web.toml", text)
    return cli.run("web.toml", "--rounds", "1", "--system", url, *more)


def found(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in document["findings"] if each["kind"] == kind]


def test_the_cpu_of_each_tier_is_told_apart(server_cli: Cli) -> None:
    needs("postgresql")
    document = logins(server_cli, "web:?database=postgresql", 4)
    (cell,) = document["cells"]
    assert cell["rounds"][0]["failed"] == {}
    # What is compared is what is behind, and by what it survives.
    assert cell["system"]["version"].startswith("PostgreSQL ")
    assert (cell["system"]["engine"], cell["system"]["durability"]) == ("web", "power-safe")
    assert cell["system"]["settings"]["db.fsync"] == "on"
    tiers = cell["cpu_percent"]["tiers"]
    assert set(tiers) == {"web 1", "database"} and all(used > 0 for used in tiers.values())
    # The two are read one after the other.
    assert cell["cpu_percent"]["server"] == pytest.approx(sum(tiers.values()), abs=20)


def test_two_web_servers_share_the_requests(server_cli: Cli) -> None:
    if shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin") is None:
        pytest.skip("haproxy is not installed")
    document = logins(server_cli, "web:?database=sqlite&db.journal_mode=wal&servers=2", 4)
    tiers = document["cells"][0]["cpu_percent"]["tiers"]
    assert set(tiers) == {"proxy", "web 1", "web 2"} and all(used > 0 for used in tiers.values())


def test_the_load_keeps_to_its_processors(server_cli: Cli) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("there is one processor")
    asked = f"load={allowed[-1]},web={allowed[0]}"
    url = "web:?database=sqlite&db.journal_mode=wal"
    document = logins(server_cli, url, 4, "--processors", asked)
    used = document["cells"][0]["cpu_percent"]
    assert used["processors"] == {"web 1": [allowed[0]], "load": [allowed[-1]]}
    # What the worker itself was allowed, and what the machine has.
    with contextlib.closing(open_store(str(server_cli.directory / "runs.db"), make=False)) as store:
        (trial,) = store.trials(document["id"])
    assert trial.result is not None
    assert (trial.result["cpu"]["cores"], used["cores"]) == (1, len(allowed))


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
def test_max_connections_is_met_and_told_with_what_lifts_it(server_cli: Cli, engine: str) -> None:
    needs(engine)
    url = f"web:?database={engine}&db.max_connections=20&pool=60"
    document = logins(server_cli, url, 40)
    (limit,) = found(document, "limit met")
    assert limit["evidence"]["limit"] == "too-many-connections"
    assert "the database's `max_connections`" in limit["text"]
    assert document["cells"][0]["throughput"]["mean"] > 0
    # With room for all of them it is not met.
    document = logins(server_cli, f"web:?database={engine}&db.max_connections=100&pool=60", 40)
    assert found(document, "limit met") == []


def test_open_files_are_used_up_and_that_is_told(server_cli: Cli) -> None:
    document = logins(server_cli, "web:?database=sqlite&db.journal_mode=wal&open_files=64", 30)
    (limit,) = found(document, "limit met")
    assert limit["evidence"]["limit"] == "too-many-open-files"
    assert "the web tier's `open_files` (`ulimit -n`)" in limit["text"]


def test_what_survives_less_is_not_compared_with_what_survives_more(server_cli: Cli) -> None:
    urls = "web:?database=sqlite&db.synchronous=full", "web:?database=sqlite&db.synchronous=off"
    document = logins(server_cli, urls[0], 2, "--system", urls[1])
    assert {cell["system"]["durability"] for cell in document["cells"]} == {"power-safe", "process-safe"}
    (unlike,) = found(document, "not comparable")
    assert unlike["evidence"]["not_comparable"] == "durability"


def test_a_setting_that_is_none_is_one_clear_error(server_cli: Cli) -> None:
    server_cli.write("web.toml", TABLES.replace('{ execute = "select count(*) from users" }', LOGIN))
    said = server_cli("run", "web.toml", "--system", "web:?database=sqlite&servers=2&proxy=squid", code=2)
    assert "unknown proxy `squid`" in said
    said = server_cli("run", "web.toml", "--system", "web://host/", code=2)
    assert "write `http://host/`" in said
