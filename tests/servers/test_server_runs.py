"""Runs on servers that dbdyno starts, and on named ones, through the installed command line."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from conftest import Cli, loading, size, those
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import start_server
from directories import server_directory
from fresh_data import fresh_data
from installed_servers import needs_ferretdb, needs_postgresql, servers
from small_experiment import CALM, DOCUMENTS, ONE, WRITE
from waiting import wait_until

Small = Callable[..., str]

DROPPED = """
setup = ["insert into t (id, v) select id, v from source", "drop table source"]
[factors]
system = ["postgresql:", "mysql:"]
[tables.source]
rows = 5
[tables.source.columns]
id = { type = "integer", fill = { serial = 1 } }
v = { type = "integer", fill = { serial = 10 } }
[tables.t]
rows = 0
[tables.t.columns]
id = { type = "integer", primary_key = true }
v = { type = "integer" }
[load]
clients = 1
stop = { transactions = 10 }
[[transactions]]
name = "read"
steps = [{ execute = "select v from t where id = 3" }]
[[check]]
name = "rows"
sql = "select count(*) from t"
equals = 5
"""

SOME = """
[[transactions]]
name = "some"
[[transactions.steps]]
params = [{ uniform = [0, 9] }]
execute.any = "select * from t where v < ?"
execute.mongodb = '{"find": "t", "filter": {"v": {"$lt": "?"}}}'
"""

LONG = ("stop = { transactions = 500 }", "stop = { seconds = 20 }")


def in_window(cli: Cli) -> bool:
    """Whether the server of a trial has the sessions of clients."""
    return bool(those(trial_servers(cli), lambda server: those(server.children(), is_session)))


def is_session(process: psutil.Process) -> bool:
    line = " ".join(process.cmdline())
    # The user, and the database.
    return line.startswith("postgres: postgres postgres ")


def trial_servers(cli: Cli) -> list[psutil.Process]:
    """Those of them that a trial is measured on: not one that is being filled."""
    return those(servers(cli), lambda each: str(cli.work) in " ".join(each.cmdline()))


@needs_postgresql
def test_a_server_is_started_measured_and_removed(server_cli: Cli, small: Small) -> None:
    file = server_cli.write("small.toml", small() + WRITE)
    document = server_cli.run(file, "--system", "postgresql:?work_mem=8MB", "--system", "sqlite:")
    assert {cell["system"]["engine"] for cell in document["cells"]} == {"PostgreSQL", "sqlite"}
    for cell in document["cells"]:
        assert all(each["issued"] == 500 * cell["factors"]["clients"] for each in cell["rounds"])
        # Two clients that write without a busy timeout get in each other's way on SQLite alone.
        assert not cell["failed"] or cell["system"]["engine"] == "sqlite"
    server = next(cell for cell in document["cells"] if cell["system"]["engine"] == "PostgreSQL")
    assert server["system"]["settings"]["work_mem"] == "8MB"
    assert server["system"]["durability"] == "power-safe"
    assert any("Index Scan" in line for lines in server["system"]["plans"].values() for line in lines)
    assert server["cpu_percent"]["server"] > 0
    assert set(server["rounds"][0]["durations"]) == {"load_s", "copy_s", "start_s", "analyze_s", "total_s"}
    assert server["bottleneck"]["resource"]
    assert server["rounds"][0]["scheduling"]["batch_threads"] == 0
    assert servers(server_cli) == []
    assert server_cli.left_behind() == []


@needs_postgresql
def test_each_trial_starts_from_the_same_rows_on_every_system(server_cli: Cli, small: Small) -> None:
    one = (("clients = [1, 2]", "clients = [1]"), ("transactions = 500", "transactions = 20"))
    text = small(*one).partition("[[transactions]]")[0] + WRITE
    text += """
[[transactions]]
name = "all"
steps = [{ execute = "select * from t where v = 3 order by s" }, { execute = "select * from log" }]
"""
    systems = ("--system", "postgresql:", "--system", "sqlite:")
    document = server_cli.run(server_cli.write("same.toml", text), *systems, "--seed", "3")
    # The same draws on the same rows: rows that a trial added would come back in the next one.
    returned = {each["rows"] for cell in document["cells"] for each in cell["rounds"] if each["block"] == 0}
    assert len(document["cells"]) == 2
    assert len(returned) == 1


@needs_postgresql
def test_indexes_lie_in_a_directory_of_their_own_and_nothing_stays_there(server_cli: Cli, small: Small) -> None:
    file = server_cli.write("long.toml", small(ONE, CALM, ("transactions = 500", "seconds = 2")))
    # Tests' own directories are closed to the server's user.
    with server_directory("dbdyno test-", mode=0o755) as directory:
        url = f"postgresql:?index_directory={quote(str(directory))}"
        asked = ("run", file, "--system", url, "--rounds", "1", "--store", "runs.db")
        process = server_cli.start(*asked, "--json", "out.json")
        wait_until(lambda: in_window(server_cli))
        # The index on the primary key of 2,000 rows.
        assert any(each.stat().st_size >= 40_000 for each in directory.rglob("*") if each.is_file())
        assert process.wait(timeout=120) == 0
        assert list(directory.iterdir()) == []
        (cell,) = json.loads((server_cli.directory / "out.json").read_text())["cells"]
        assert cell["rounds"][0]["ok"] > 0
        # Nor does any where dbdyno is killed.
        process = server_cli.start(*asked)
        wait_until(lambda: in_window(server_cli))
        assert list(directory.iterdir()) != []
        process.kill()
        wait_until(lambda: list(directory.iterdir()) == [])


@needs_postgresql
def test_many_clients_get_their_connections(server_cli: Cli, small: Small) -> None:
    text = small(("clients = [1, 2]", "clients = [200]"), ("transactions = 500", "transactions = 5"))
    document = server_cli.run(server_cli.write("many.toml", text), "--system", "postgresql:", "--rounds", "1")
    trial = document["cells"][0]["rounds"][0]
    assert trial["ok"] == 1000
    assert trial["scheduling"]["batch_threads"] == 0
    # Told to, so many take no processor away from the server, unless the machine has plenty of them.
    polite = server_cli.write("polite.toml", text.replace("[load]", "[load]\ngive_way = true"))
    told = server_cli.run(polite, "--system", "postgresql:", "--rounds", "1")["cells"][0]["rounds"][0]
    assert (told["scheduling"]["batch_threads"] > 0) == (len(os.sched_getaffinity(0)) <= 50)
    assert int(document["cells"][0]["system"]["settings"]["max_connections"]) >= 200


@needs_postgresql
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql:?shared_bufers=1MB", "shared_bufers"),
        ("postgresql:?shared_buffers=much", "shared_buffers"),
        ("postgresql:?port=7", "port"),
        ("postgresql:?index_directory=/nowhere", "no such directory: /nowhere"),
        ("postgresql:?index_directory=/tmp/it's", "quotation mark"),
        ("postgresql:?index_directory=/proc", "can't create files in /proc"),
        ("postgresql://me@127.0.0.1:1/?index_directory=/tmp", "index_directory"),
        ("postgresql://me@127.0.0.1:1/", "no server listens there"),
        ("postgresql://me@nowhere.invalid/", "nowhere.invalid"),
    ],
)
def test_what_cannot_be_is_one_clear_error(server_cli: Cli, small: Small, url: str, words: str) -> None:
    process = server_cli.start("run", server_cli.write("small.toml", small()), "--system", url, "--store", "runs.db")
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (1, 2)
    assert errors.startswith("dbdyno: ")
    assert words in errors
    assert servers(server_cli) == []


@needs_postgresql
def test_a_server_that_dies_fails_its_trial_and_the_run_goes_on(server_cli: Cli, small: Small) -> None:
    file = server_cli.write("long.toml", small(ONE, CALM, ("transactions = 500", "seconds = 4")))
    process = server_cli.start("run", file, "--system", "postgresql:", "--store", "runs.db", "--json", "out.json")
    wait_until(lambda: in_window(server_cli))
    # A session that has just begun looks like the server that it is a child of.
    all_of_it = [each.pid for each in servers(server_cli)]
    (server,) = those(servers(server_cli), lambda each: each.ppid() not in all_of_it)
    server.kill()
    process.communicate(timeout=180)
    assert process.returncode == 1
    rounds = json.loads((server_cli.directory / "out.json").read_text())["cells"][0]["rounds"]
    assert [each["status"] for each in rounds] == ["failed", "done"]
    assert "SIGKILL killed it" in rounds[0]["error"]
    assert rounds[0]["failed"].get("connection", 0) < 2000
    assert servers(server_cli) == []
    assert server_cli.left_behind() == []


@needs_postgresql
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_server_outlives_dbdyno(server_cli: Cli, small: Small, number: signal.Signals) -> None:
    file = server_cli.write("long.toml", small(ONE, CALM, LONG))
    process = server_cli.start("run", file, "--system", "postgresql:", "--store", "runs.db")
    wait_until(lambda: in_window(server_cli))
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    wait_until(lambda: servers(server_cli) == [])
    wait_until(lambda: server_cli.left_behind() == [])


@needs_postgresql
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_load_of_a_server_ends_with_the_first_ctrl_c(server_cli: Cli, small: Small, number: signal.Signals) -> None:
    file = server_cli.write("large.toml", small(ONE, ("rows = 2000", "rows = 50000000")))
    process = server_cli.start("run", file, "--system", "postgresql:", "--store", "runs.db", "--json", "out.json")
    unfinished, processes = loading(server_cli, process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert not any(each.is_running() for each in processes)
    assert servers(server_cli) == []
    assert not unfinished.exists()
    assert list(unfinished.parent.iterdir()) == []
    assert server_cli.left_behind() == []
    document = json.loads((server_cli.directory / "out.json").read_text())
    assert document["status"] == "interrupted"


@needs_postgresql
def test_a_load_of_a_named_server_ends_with_the_first_ctrl_c_and_its_databases_go(
    server_cli: Cli, small: Small
) -> None:
    installation = find_installations("postgresql")[0]
    data = server_cli.directory / "data"
    fresh_data(installation, data)
    empty = size(data)
    with start_server(installation, data, server_cli.directory, {"fsync": "off"}) as server:
        url = f"postgresql://{server.user}@{str(server.socket).replace('/', '%2F')}:{server.port}/"
        file = server_cli.write("large.toml", small(ONE, ("rows = 2000", "rows = 50000000")))
        process = server_cli.start("run", file, "--system", url, "--store", "runs.db")
        wait_until(lambda: size(data) > empty + 50_000_000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 130, errors
        query = [installation.programs["psql"], "-h", server.socket, "-p", str(server.port), "-U", server.user]
        query += ["-Atc", "select datname from pg_database where datname like 'dbdyno\\_%'", "postgres"]
        assert subprocess.run(query, capture_output=True, text=True, check=True).stdout == ""


@needs_postgresql
def test_a_named_server_gets_a_database_of_its_own_and_keeps_nothing(server_cli: Cli, small: Small) -> None:
    installation = find_installations("postgresql")[0]
    fresh_data(installation, server_cli.directory / "data")
    with start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server:
        host = str(server.socket).replace("/", "%2F")
        url = f"postgresql://{server.user}@{host}:{server.port}/"
        file = server_cli.write("small.toml", small(ONE) + WRITE)
        document = server_cli.run(file, "--system", url + "?synchronous_commit=off")
        cell = document["cells"][0]
        assert all(each["ok"] == 1000 for each in cell["rounds"])
        assert cell["system"]["settings"]["synchronous_commit"] == "off"
        psql = installation.programs["psql"]
        listed = subprocess.run(
            [psql, "-h", server.socket, "-p", str(server.port), "-U", server.user, "-lqt", "postgres"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert {line.split("|")[0].strip() for line in listed.splitlines() if line.split("|")[0].strip()} == {
            "postgres",
            "template1",
        }


def test_factors_of_other_systems_are_measured_once(server_cli: Cli) -> None:
    text = server_cli("describe", "pk-lookup", "--set", "threads=1", "--system", "postgresql:")
    assert "`cache` makes no difference to postgresql" in text
    assert 'SELECT * FROM "user" WHERE "id" = $1' in text


def test_the_systems_of_the_machine_are_listed(server_cli: Cli) -> None:
    out = server_cli("systems")
    assert "sqlite:" in out
    assert ("PostgreSQL" in out) == bool(find_installations("postgresql"))


@needs_ferretdb
def test_documents_are_measured_beside_rows(server_cli: Cli, small: Small) -> None:
    file = server_cli.write("small.toml", small(*DOCUMENTS, ("transactions = 500", "transactions = 100")) + SOME)
    document = server_cli.run(file, "--system", "mongodb:?synchronous=off", "--system", "sqlite:", "--seed", "3")
    for cell in document["cells"]:
        assert all(each["ok"] == 100 * cell["factors"]["clients"] for each in cell["rounds"])
    # The same draws on the same rows.
    returned: dict[tuple[int, int], list[int]] = {}
    for cell in document["cells"]:
        for each in cell["rounds"]:
            returned.setdefault((cell["factors"]["clients"], each["block"]), []).append(each["rows"])
            assert each["rows"] > each["statements"]
    assert len(returned) == 4 and all(one == other for one, other in returned.values())
    system = next(cell["system"] for cell in document["cells"] if cell["system"]["engine"] != "sqlite")
    assert (system["engine"], system["settings"]["synchronous"]) == ("FerretDB", "off")
    assert system["durability"] == "process-safe"
    assert any("filter" in line for lines in system["plans"].values() for line in lines)
    assert any("is FerretDB 1." in each["text"] and "not MongoDB" in each["text"] for each in document["findings"])
    assert servers(server_cli) == []
    assert server_cli.left_behind() == []


@needs_ferretdb
def test_indexes_of_documents_are_timed_as_those_of_rows(server_cli: Cli, small: Small) -> None:
    text = small(ONE, *DOCUMENTS, ("transactions = 500", "transactions = 5"))
    text += '[[tables.t.indexes]]\ncolumns = ["v"]\n'
    systems = ("--system", "mongodb:", "--system", "sqlite:", "--rounds", "1")
    loads = [cell["load"] for cell in server_cli.run(server_cli.write("small.toml", text), *systems)["cells"]]
    assert [load["rows"] for load in loads] == [100, 100]
    for load, begin in zip(loads, ('{"createIndexes": "t"', "create index"), strict=True):
        made = [each["seconds"] for each in load["steps"] if each["step"].startswith(begin)]
        assert len(made) == 1
        assert load["indexes_s"] == made[0] > 0
    assert loads[0]["other_s"] == 0


@needs_ferretdb
def test_steps_for_other_engines_are_told(server_cli: Cli) -> None:
    rows = ("--set", "rows_per_transaction=2", "--rounds", "1")
    text = (Path(__file__).parents[2] / "python/dbdyno/experiments/pk-update.toml").read_text()
    text = text.replace("100_000", "100").replace("statements = 10_000", "statements = 20").partition("[published]")[0]
    document = server_cli.run(server_cli.write("update.toml", text), "--system", "mongodb:", *rows)
    assert document["cells"][0]["rounds"][0]["statements"] == 20
    said = [each["text"] for each in document["findings"] if "Each statement was a separate" in each["text"]]
    assert said == [
        "On mongodb the steps `begin` and `commit` were omitted: the experiment has them for other engines only. "
        "Each statement was a separate transaction."
    ]


@needs_ferretdb
def test_a_ferretdb_that_dies_fails_its_trial_and_the_run_goes_on(server_cli: Cli, small: Small) -> None:
    file = server_cli.write("long.toml", small(ONE, CALM, ("transactions = 500", "seconds = 4"), *DOCUMENTS))
    process = server_cli.start("run", file, "--system", "mongodb:", "--store", "runs.db", "--json", "out.json")

    def trial() -> list[psutil.Process]:
        return those(trial_servers(server_cli), lambda each: len(each.net_connections("unix")) >= 3)

    # Two clients have connected.
    wait_until(trial)[0].kill()
    process.communicate(timeout=180)
    assert process.returncode == 1
    rounds = json.loads((server_cli.directory / "out.json").read_text())["cells"][0]["rounds"]
    assert [each["status"] for each in rounds] == ["failed", "done"]
    assert "SIGKILL killed it" in rounds[0]["error"]
    assert servers(server_cli) == []
    assert server_cli.left_behind() == []


@needs_ferretdb
def test_a_named_server_of_documents_keeps_nothing(server_cli: Cli, small: Small) -> None:
    installation = next(each for each in find_installations("mongodb") if each.product == "FerretDB")
    data = server_cli.directory / "data"
    fresh_data(installation, data)
    with start_server(installation, data, server_cli.directory, {}) as server:
        host = str(server.socket).replace("/", "%2F")
        file = server_cli.write("small.toml", small(ONE, *DOCUMENTS))
        document = server_cli.run(file, "--system", f"mongodb://{host}/?journal=true", "--rounds", "1")
        cell = document["cells"][0]
        assert all(each["ok"] == 1000 for each in cell["rounds"])
        # What FerretDB does not tell, nobody makes up.
        assert cell["system"]["durability"] == "none"
        assert [path.name for path in data.glob("dbdyno_*")] == []
        wrong = server_cli("run", file, "--system", f"mongodb://{host}/?jurnal=true", code=2)
        assert "unknown option `jurnal`" in wrong
        wrong = server_cli("run", file, "--system", f"mongodb://{host}/?maxTimeMS=long", code=2)
        assert "`maxTimeMS` must be an integer" in wrong


@needs_ferretdb
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mongodb:?synchronous=perhaps", "synchronous"),
        ("mongodb:?shared_buffers=1MB", "shared_buffers"),
        ("mongodb://127.0.0.1:1/", "no server listens there"),
    ],
)
def test_what_cannot_be_of_documents_is_one_clear_error(server_cli: Cli, small: Small, url: str, words: str) -> None:
    file = server_cli.write("small.toml", small(*DOCUMENTS))
    process = server_cli.start("run", file, "--system", url, "--store", "runs.db")
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (1, 2)
    assert errors.startswith("dbdyno: ") and words in errors


@needs_postgresql
def test_setup_can_drop_a_table(server_cli: Cli) -> None:
    file = server_cli.write("dropped.toml", f'name = "dropped"\ntitle = "A dropped table"\nrounds = 2\n{DROPPED}')
    document = server_cli.run(file)
    assert [len(cell["rounds"]) for cell in document["cells"]] == [2, 2]
