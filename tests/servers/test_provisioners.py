"""Provisioners: what a run keeps ready, and that nothing of it is left behind."""

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.server.installations import Installation, find_installations
from dbdyno.engines.server.managed import ManagedProvisioner
from dbdyno.engines.server.server import start_server
from dbdyno.engines.sqlite.provisioner import SqliteProvisioner
from dbdyno.engines.url import parse_url
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.model.events.answers import Answer
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.run import runner
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.trial import Trial
from dbdyno.runtime.worker import ask, worker_path
from fresh_data import fresh_data
from installed_servers import needs_ferretdb, needs_mysql, needs_postgresql
from small_experiment import DOCUMENTS

Small = Callable[..., str]

READING = """
name = "reading"
title = "Reads"
rounds = 1
[load]
stop = { transactions = 5 }
[[transactions]]
name = "read"
steps = [{ begin = BEGIN }, { execute = "select 1" }, { commit = true }]
"""


def compiled(text: str, url: str) -> CompiledCell:
    """The first cell of an experiment on a system."""
    experiment = make_experiment(parse(text, "small.toml", Path()))
    return compile_cell(experiment, make_cells(experiment, systems=[parse_url(url)]).cells[0])


@needs_postgresql
def test_the_directory_goes_although_a_database_cannot_be_removed(
    server_cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    installation = find_installations("postgresql")[0]
    fresh_data(installation, server_cli.directory / "data")
    provisioners = Provisioners(server_cli.directory)
    with start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server:
        host = str(server.socket).replace("/", "%2F")
        cell = compiled(small(), f"postgresql://{server.user}@{host}:{server.port}/")
        with provisioners.of(cell).ready(cell, 0) as ready:
            assert ready.target["database"] != "postgres"
    assert provisioners.workspace.path.is_dir()
    # The server is gone, and with it the way to drop what was made on it.
    with pytest.raises(SystemFailed):
        provisioners.close()
    assert not provisioners.workspace.path.exists()


@needs_postgresql
def test_what_a_server_refuses_is_an_error_before_the_first_trial(
    server_cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    with Provisioners() as provisioners:
        for setting, words in (
            ("max_connections=3", "max_connections: .* rejects `3`: superuser_reserved_connections"),
            ("no_such_setting=1", "no_such_setting: .* rejects `1`: unrecognized configuration parameter"),
        ):
            cell = compiled(small(), f"postgresql:?{setting}")
            with pytest.raises(InputError, match=words):
                provisioners.of(cell).check(cell)
        cell = compiled(small(), "postgresql:?work_mem=1MB")
        provisioners.of(cell).check(cell)
        # Nothing of the servers is left.
        assert list(provisioners.workspace.path.iterdir()) == []


@needs_mysql
def test_a_storage_engine_that_a_server_lacks_is_an_error_before_the_first_trial(
    server_cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    # RocksDB is a plugin, which may be there.
    lacking = "no_such_engine"
    cell = compiled(small(), "mysql:?engine=rocksdb&sort_buffer_size=1M")
    cell = replace(cell, cell=replace(cell.cell, settings=replace(cell.settings, storage_engine=lacking)))
    with Provisioners() as provisioners:
        with pytest.raises(InputError, match=f"doesn't have the storage engine `{lacking}`"):
            provisioners.of(cell).check(cell)
        wrong = compiled(small(), "mysql:?engine=innodb&no_such_setting=1")
        with pytest.raises(InputError, match="no_such_setting"):
            provisioners.of(wrong).check(wrong)


# Of each engine: what its sessions refuse with the server's words, and what they take.
REFUSED = {
    "postgresql": {
        "wrok_mem=1": "unrecognized configuration parameter",
        "work_mem=lots": "invalid value for parameter",
        "max_connections=5": "cannot be changed",
    },
    "mysql": {
        "no_such=1": "Unknown system variable",
        "sort_buffer_size=lots": "Incorrect argument type",
        "max_connections=5": "is a GLOBAL variable",
    },
}
TAKEN = {"postgresql": "work_mem=2MB", "mysql": "sort_buffer_size=1M&tmp_table_size=16k"}


@pytest.mark.parametrize(
    "engine", [pytest.param("postgresql", marks=needs_postgresql), pytest.param("mysql", marks=needs_mysql)]
)
def test_what_a_session_refuses_is_bad_input(
    server_cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    installation = find_installations(engine)[0]
    fresh_data(installation, server_cli.directory / "data")
    with (
        start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server,
        Provisioners(server_cli.directory) as provisioners,
    ):
        url = f"{engine}://{server.user}@{str(server.socket).replace('/', '%2F')}:{server.port}/"
        for setting, words in REFUSED[engine].items():
            cell = compiled(small(), f"{url}?{setting}")
            with pytest.raises(InputError, match=f"the server rejects the settings: .*{words}"):
                provisioners.of(cell).check(cell)
        cell = compiled(small(), f"{url}?{TAKEN[engine]}")
        provisioners.of(cell).check(cell)
        if engine == "mysql":
            other = replace(cell.settings, storage_engine="no_such_engine")
            cell = replace(cell, cell=replace(cell.cell, settings=other))
            with pytest.raises(InputError, match="Unknown storage engine"):
                provisioners.of(cell).check(cell)
    # Without a server it is not the settings.
    cell = compiled(small(), f"{url}?{TAKEN[engine]}")
    with Provisioners(server_cli.directory) as provisioners, pytest.raises(SystemFailed):
        provisioners.of(cell).check(cell)


# Whether a server has analyzed `t` since it was started, and what nearly no two samples of it have in common.
ANALYZED = {
    "PostgreSQL": "select last_analyze > pg_postmaster_start_time() from pg_stat_user_tables where relname = 't'",
    "MariaDB": "select variable_value from information_schema.global_status where variable_name = 'com_analyze'",
}
SAMPLE = "select string_agg(correlation::text, ' ') from pg_stats where tablename = 't'"


def answers(cell: CompiledCell, question: str, **session: str) -> list[str | None]:
    """What the servers of two trials in a row answer. ``session``: settings of the one who asks."""
    found = []
    with Provisioners() as provisioners:
        for block in range(2):
            with provisioners.of(cell).ready(cell, block) as ready:
                assert "analyze_s" in ready.durations
                target = ready.target | {"session": list(session.items())}
                task = {"kind": "ask", "target": target, "sql": question}
                found.append(ask({"schema": PLAN, "seed": 1, "task": task}, Answer).answer)
    return found


@pytest.mark.parametrize(
    ("engine", "product", "limit", "setup"),
    [
        pytest.param("postgresql", "PostgreSQL", "statement_timeout", "vacuum analyze", marks=needs_postgresql),
        pytest.param("mysql", "MariaDB", "max_statement_time", "analyze table t", marks=needs_mysql),
    ],
)
def test_each_trial_begins_with_new_statistics(
    server_cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch, engine: str, product: str, limit: str, setup: str
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    if find_installations(engine)[0].product != product:
        pytest.skip(f"no {product} is started here")
    # What ends long statements does not end dbdyno's own.
    cell = compiled(small(), f"{engine}:?{limit}=1")
    assert answers(cell, ANALYZED[product], **{limit: "0"}) == ["1", "1"]
    # What the experiment says of statistics itself holds.
    cell = compiled(f'setup = [{{ {engine} = "{setup}" }}]\n{small()}', f"{engine}:")
    assert answers(cell, ANALYZED[product]) == ["0", "0"]


@needs_postgresql
def test_each_trial_has_a_sample_of_its_own(server_cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    # 300 of the table's 2,000 rows.
    first, second = answers(compiled(small(), "postgresql:?default_statistics_target=1"), SAMPLE)
    assert first != second
    # Of all rows there is one sample.
    first, second = answers(compiled(small(), "postgresql:"), SAMPLE)
    assert first == second is not None


def test_settings_that_were_tried_are_not_tried_again(
    tmp_path: Path, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", str(tmp_path))
    tried: list[dict[str, str]] = []
    server = Installation("postgresql", "PostgreSQL", "15.1", {"postgres": Path("postgres")})
    monkeypatch.setattr(ManagedProvisioner, "_installation", lambda *_: server)
    monkeypatch.setattr(ManagedProvisioner, "_room", lambda *_: None)
    monkeypatch.setattr(ManagedProvisioner, "_try", lambda _self, _server, parameters: tried.append(dict(parameters)))
    with Provisioners() as provisioners:
        for url in ("postgresql:", "postgresql:?work_mem=1MB", "postgresql:?work_mem=2MB", "postgresql:?work_mem=1MB"):
            cell = compiled(small(), url)
            provisioners.of(cell).check(cell)
    assert tried == [{"work_mem": "1MB"}, {"work_mem": "2MB"}]


@needs_ferretdb
def test_a_server_is_asked_for_its_version_once(server_cli: Cli, small: Small) -> None:
    installation = next(each for each in find_installations("mongodb") if each.product == "FerretDB")
    asked = server_cli.directory / "asked"
    program = server_cli.directory / "wrapped"
    program.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] && echo asked >> {shlex.quote(str(asked))}\n'
        f'exec {shlex.quote(str(installation.programs["ferretdb"]))} "$@"\n'
    )
    program.chmod(0o755)
    asked.touch()
    server_cli.environment["DBDYNO_FERRETDB"] = str(program)
    file = server_cli.write("small.toml", small(*DOCUMENTS, ("transactions = 500", "transactions = 5")))
    document = server_cli.run(file, "--system", "mongodb:")
    assert [len(cell["rounds"]) for cell in document["cells"]] == [2, 2]
    # As what it may be, MongoDB and FerretDB.
    assert asked.read_text().splitlines() == ["asked", "asked"]


@pytest.mark.parametrize(
    ("begin", "shares"),
    [('"deferred"', True), ('"immediate"', False), ('"exclusive"', False)],
)
def test_transactions_that_lock_a_file_have_it_alone(begin: str, shares: bool) -> None:
    text = READING.replace("BEGIN", begin)
    cell = compiled(text, "sqlite:")
    with Provisioners() as provisioners:
        provisioner = provisioners.of(cell)
        assert isinstance(provisioner, SqliteProvisioner)
        assert provisioner.can_share_file(cell) is shares


def test_a_system_that_is_not_ready_is_left_before_the_next_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []

    def fail(_: Trial, stack: ExitStack, *__: object) -> None:
        # The settings of a trial may be wrong when its server has been started.
        stack.callback(left.append, len(left))

    monkeypatch.setattr(runner, "_prepare_system", fail)
    trial = Mock(request=None, kind=None)
    with runner.KeptSystem(Mock(), Mock(), Mock()) as kept:
        kept.measure(trial)
        assert left == [0]
        kept.measure(trial)
    assert left == [0, 1]


def test_a_library_is_looked_at_once(tmp_path: Path, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", str(tmp_path))
    log, worker = tmp_path / "log", tmp_path / "worker"
    worker.write_text(
        f'#!/bin/sh\necho started >> {shlex.quote(str(log))}\nexec {shlex.quote(str(worker_path()))} "$@"\n'
    )
    worker.chmod(0o755)
    monkeypatch.setenv("DBDYNO_WORKER", str(worker))
    with Provisioners() as provisioners:
        for url in ("sqlite:", "sqlite:?journal_mode=wal", "sqlite:?synchronous=off"):
            cell = compiled(small(), url)
            provisioners.of(cell).check(cell)
    assert log.read_text().splitlines() == ["started"]
