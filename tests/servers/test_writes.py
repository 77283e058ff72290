"""Nobody's data is written to unasked: what writes is read from the engine, and refused where dbdyno made no tables."""

import json
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.engines.files import database_file
from dbdyno.engines.files.database_file import SideFiles, TrialFile
from dbdyno.engines.server.installations import Installation, find_installations
from dbdyno.engines.server.server import Server, start_server
from dbdyno.engines.writes import writing_transactions
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.workspace.interruption import Interruption
from directories import server_directory
from fresh_data import fresh_data
from installed_servers import needs_ferretdb, needs_mysql, needs_postgresql
from measured_indexes import measured_indexes
from test_provisioners import compiled

HEAD = 'name = "mine"\ntitle = "On tables of my own"\nrounds = 1\n[load]\nstop = { transactions = 3 }\n'
NEVER = '[load]\nprepare = "never"\n'
OWN_TABLE = "[tables.t]\nrows = 4\ncolumns = { id = { type = 'integer', primary_key = true, fill = { serial = 1 } } }\n"


def transaction(*statements: str, name: str = "x", params: str = "", own: str = "") -> str:
    """A transaction; ``own``: the engine whose own the statements are."""

    def text(sql: str) -> str:
        return f'{{ any = "select 1", {own} = {json.dumps(sql)} }}' if own else json.dumps(sql)

    steps = ", ".join(f"{{ execute = {text(each)}{params} }}" for each in statements)
    return f'[[transactions]]\nname = "{name}"\nsteps = [{steps}]\n'


class Served:
    """A server with a user's table in it, and its own client."""

    def __init__(self, installation: Installation, server: Server, client: list[str]) -> None:
        self.installation = installation
        self.server = server
        self._client = client

    def sql(self, text: str, database: str | None = None) -> str:
        database = database or self.server.database
        done = subprocess.run([*self._client, database], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @property
    def url(self) -> str:
        host = str(self.server.socket).replace("/", "%2F")
        return f"{self.installation.engine}://{self.server.user}@{host}:{self.server.port}/{self.server.database}"

    def rows(self) -> str:
        return self.sql("select count(*), sum(v) from users")


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with server_directory(mode=0o755) as made:
        yield made


def serve(directory: Path, engine: str | Installation, client: Callable[[Server], list[str]]) -> Iterator[Served]:
    installation = find_installations(engine)[0] if isinstance(engine, str) else engine
    data = directory / installation.product
    fresh_data(installation, data)
    with start_server(installation, data, directory, {}) as server:
        yield Served(installation, server, client(server))


@pytest.fixture(scope="module")
def postgresql(directory: Path) -> Iterator[Served]:
    program = str(find_installations("postgresql")[0].programs["psql"])
    for served in serve(
        directory,
        "postgresql",
        lambda it: [program, "-qAt", "-h", str(it.socket), "-p", str(it.port), "-U", it.user, "-v", "ON_ERROR_STOP=1"],
    ):
        served.sql(
            "create table users (id serial primary key, v int); insert into users (v) values (1), (2), (3);"
            "create function quiet() returns int language sql as 'insert into users (v) values (9) returning id';"
            "create function write_seven() returns int language sql as 'insert into users (v) values (7) returning id';"
            "create function on_seven(x int) returns int language plpgsql stable as"
            " $$ begin if x = 7 then perform write_seven(); end if; return x; end $$;"
        )
        yield served


@pytest.fixture(scope="module")
def mysql(directory: Path) -> Iterator[Served]:
    for served in serve(directory, "mysql", lambda it: ["mariadb", "-N", "-S", str(it.socket), "-u", it.user]):
        served.sql(
            "create table users (id int primary key auto_increment, v int); insert into users (v) values (1), (2), (3);"
            "create table old (id int) engine=MyISAM; create database app; create table app.users like users;"
            "insert into app.users (v) values (1), (2); create sequence numbers;\ndelimiter //\n"
            "create function quiet() returns int modifies sql data begin insert into users (v) values (9); return 1;"
            " end//\ncreate procedure loud() begin insert into users (v) values (9); end//\n"
        )
        yield served


@pytest.fixture
def provisioners(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provisioners]:
    monkeypatch.setenv("DBDYNO_CACHE", cli.environment["DBDYNO_CACHE"])
    with Provisioners() as made:
        yield made


def check(provisioners: Provisioners, cell: CompiledCell) -> str | None:
    """The words with which a cell is refused, if it is."""
    try:
        provisioners.of(cell).check(cell)
    except InputError as error:
        return str(error)
    return None


READ_ONLY_POSTGRESQL = [
    "select * from users",
    "begin",
    "commit",
    "set work_mem = '8MB'",
    "explain insert into users (v) values (1)",
    "select pg_sleep(0)",
    "values (1)",
    "with a as (select 1) select * from a",
]

WRITING_POSTGRESQL = [
    "insert into users (v) values (1)",
    "update users set v = v + 1",
    "delete from users",
    "with gone as (delete from users returning id) select count(*) from gone",
    "select quiet()",
    "select nextval('users_id_seq')",
    "select setval('users_id_seq', 100)",
    "select * from users for update",
    "select lo_create(0)",
    "select * into other from users",
    "create table other (x int)",
    "truncate users",
    "analyze users",
    "vacuum users",
    "alter system set work_mem = '5MB'",
    "explain analyze delete from users",
    "do $$ begin delete from users; end $$",
    "copy users from program 'echo 1'",
    "commit; delete from users",
    "select 1; delete from users",
    "set default_transaction_read_only = off",
    "select set_config('default_transaction_read_only', 'off', false)",
    "begin read write",
    # What a transaction that only reads does not hold, and is not asked about.
    "copy users to '/nowhere/users.csv'",
    "copy users\nto'/nowhere/users.csv'",
    "copy users to program 'true'",
    "select pg_stat_reset()",
    "select pg_reload_conf()",
]


@needs_postgresql
def test_statements_that_write_are_refused_before_anything_runs(provisioners: Provisioners, postgresql: Served) -> None:
    before = postgresql.rows()
    for sql in READ_ONLY_POSTGRESQL:
        assert check(provisioners, compiled(HEAD + transaction(sql, own="postgresql"), postgresql.url)) is None, sql
    for sql in WRITING_POSTGRESQL:
        said = check(provisioners, compiled(HEAD + transaction("select 1", sql, own="postgresql"), postgresql.url))
        assert said is not None, sql
        assert " ".join(sql.split())[:60] in said
        assert postgresql.url in said
        assert "--allow-writes" in said
    for sql, error in [
        ("select nam from users", 'column "nam" does not exist (42703)'),
        (
            "select * from dblink('', 'delete from users') as t(id int)",
            "function dblink(unknown, unknown) does not exist",
        ),
    ]:
        said = str(check(provisioners, compiled(HEAD + transaction(sql, own="postgresql"), postgresql.url)))
        assert f"the server does not accept `{sql}`: {error}" in said
        assert "--allow-writes" not in said
    # An earlier statement may make a table.
    missing = compiled(HEAD + transaction("select * from nowhere", own="postgresql"), postgresql.url)
    said = str(check(provisioners, missing))
    assert 'relation "nowhere" does not exist (42P01)' in said
    assert "--allow-writes" in said
    assert postgresql.rows() == before
    assert postgresql.sql("select count(*) from pg_class where relname = 'other'") == "0"
    assert postgresql.sql("select last_value from users_id_seq") == "3"


@needs_postgresql
def test_values_in_the_text_and_captured_ones_are_those_of_a_trial(
    provisioners: Provisioners, postgresql: Served
) -> None:
    text = HEAD.replace("[load]\n", NEVER)
    insert = transaction("insert into users (v) values (?)", params=", params = [{ uniform = [1, 2] }]")
    assert "`insert` is not a read" in str(check(provisioners, compiled(text + insert, postgresql.url))).lower()
    # As a parameter, the value could not be prepared.
    interval = (
        '[[transactions]]\nname = "x"\nsteps = [{ execute = { any = "select ?", postgresql = "select interval ?" }'
    )
    interval += ", params = [{ pick = ['1 day'] }] }]\n"
    assert check(provisioners, compiled(text + interval, postgresql.url)) is None
    captured = """[[transactions]]
name = "captured"
steps = [
    { execute = "select id from users order by id limit 1", into = ["id"] },
    { execute = "select 1 / (case when id = ? then 1 else 0 end) from users limit 1", params = [{ variable = "id" }] },
]
"""
    # Nothing is executed: without the captured id, the second would divide by zero.
    assert check(provisioners, compiled(HEAD + captured, postgresql.url)) is None


@needs_postgresql
def test_what_only_some_values_write_the_server_refuses(cli: Cli, postgresql: Served) -> None:
    """No sample tells what a function does with other values, so that the sessions of the trial may only read."""
    before = postgresql.rows()
    once = '{ set = "n", value = { serial = 1 } }, '
    text = HEAD.replace("transactions = 3", "transactions = 10") + transaction("select on_seven(?)").replace(
        "steps = [{ ", f"steps = [{once}{{ "
    ).replace('(?)" }', '(?)", params = [{ variable = "n" }] }')
    refused = cli("run", cli.write("mine.toml", text), "--system", postgresql.url, "--store", "runs.db", code=2)
    assert "writes for some of its values" in refused and "(25006)" in refused and "--allow-writes" in refused
    assert postgresql.rows() == before


@needs_postgresql
def test_a_run_writes_where_that_is_allowed_and_says_so(cli: Cli, postgresql: Served) -> None:
    before = postgresql.rows()
    update = "update users set v = v where id = 1"
    file = cli.write("mine.toml", HEAD + transaction(update, own="postgresql"))
    said = cli("run", file, "--system", postgresql.url, "--store", "runs.db", code=2)
    assert f"`{update}` writes (`update` is not a read)" in said
    assert "contains no runs" in cli("show", "--store", "runs.db", code=2)
    document = cli.run(file, "--system", postgresql.url, "--allow-writes")
    assert document["cells"][0]["rounds"][0]["ok"] == 3
    assert document["options"]["allow_writes"] is True
    told = next(each for each in document["findings"] if "--allow-writes" in each["text"])
    assert update in told["text"]
    assert told["evidence"]["statements"][0]["statement"] == update
    assert postgresql.rows() == before
    # What only reads is not said to write, whatever is allowed.
    file = cli.write("mine.toml", HEAD + transaction("select * from users"))
    document = cli.run(file, "--system", postgresql.url, "--allow-writes")
    assert not any("--allow-writes" in each["text"] for each in document["findings"])


READ_ONLY_MYSQL = [
    "select * from users",
    "start transaction",
    "commit",
    "show tables",
    "select sleep(0)",
    "explain select * from users",
    "select count(*) from app.users",
]

WRITING_MYSQL = [
    "insert into users (v) values (1)",
    "insert into users (v) values (1) returning id",
    "update users set v = v + 1",
    "replace into users values (1, 2)",
    "insert into old values (1)",
    "insert into app.users (v) values (1)",
    "select quiet()",
    "call loud()",
    "select nextval(numbers)",
    "create table other (x int)",
    "drop table if exists users",
    "truncate users",
    "set global max_connections = 99",
    "analyze table users",
    "optimize table users",
    "flush tables",
    "load data infile '/etc/hostname' into table old",
    "select 1 into outfile 'written'",
    "start transaction read write",
    # What a transaction that only reads does not hold, and is not asked about.
    "select v from users limit 1 into dumpfile 'written'",
]


@needs_mysql
def test_mariadb_statements_that_write_are_refused(provisioners: Provisioners, mysql: Served) -> None:
    before, connections = mysql.rows(), mysql.sql("select @@global.max_connections")
    for sql in READ_ONLY_MYSQL:
        assert check(provisioners, compiled(HEAD + transaction(sql, own="mysql"), mysql.url)) is None, sql
    for sql in WRITING_MYSQL:
        said = check(provisioners, compiled(HEAD + transaction(sql, own="mysql"), mysql.url))
        assert said is not None, sql
        assert sql[:60] in said
        assert "--allow-writes" in said
    missing = compiled(HEAD + transaction("select * from nowhere", own="mysql"), mysql.url)
    said = str(check(provisioners, missing))
    assert "nowhere' doesn't exist" in said
    assert "--allow-writes" in said
    for sql in ["select nam from users", "selct * from users", "select 'open"]:
        said = str(check(provisioners, compiled(HEAD + transaction(sql, own="mysql"), mysql.url)))
        assert f"the server does not accept `{sql}`: " in said
        assert "--allow-writes" not in said
    assert mysql.rows() == before
    assert mysql.sql("select count(*) from app.users; select count(*) from old") == "2\n0"
    assert mysql.sql("select @@global.max_connections") == connections
    assert mysql.sql("select nextval(numbers)") == "1"
    assert not list(mysql.server.data.rglob("written"))


@needs_mysql
def test_tables_of_its_own_let_nothing_write_to_those_of_others(
    provisioners: Provisioners, cli: Cli, mysql: Served
) -> None:
    own = HEAD + OWN_TABLE
    assert (
        check(
            provisioners, compiled(own + transaction("update t set id = id", "select * from t", own="mysql"), mysql.url)
        )
        is None
    )
    assert (
        check(provisioners, compiled(own + transaction("select count(*) from app.users", own="mysql"), mysql.url))
        is None
    )
    for sql in ["insert into app.users (v) values (1)", "delete from `app`.users", "drop database app", "flush tables"]:
        assert sql in str(
            check(provisioners, compiled(own + transaction("select * from t", sql, own="mysql"), mysql.url))
        ), sql


@needs_mysql
def test_what_makes_its_tables_may_not_lead_to_those_of_others(provisioners: Provisioners, mysql: Served) -> None:
    reading = transaction("select * from t")
    for sql, refused in [
        ("create trigger a after insert on t for each row insert into app.users (v) values (new.id)", True),
        ("create view v as select * from app.users", True),
        ("create index i on t (id)", False),
        ("set global max_connections = 99", True),
    ]:
        setup = f'setup = [{{ any = "select 1", mysql = {json.dumps(sql)} }}]\n'
        said = check(provisioners, compiled(setup + HEAD + OWN_TABLE + reading, mysql.url))
        assert (said is not None) == refused, sql
        if said is not None:
            assert sql[:60] in said
    assert mysql.sql("select count(*) from app.users") == "2"


@needs_mysql
def test_what_is_allowed_to_write_beyond_tables_of_its_own_says_so(cli: Cli, mysql: Served) -> None:
    text = HEAD + OWN_TABLE + transaction("insert into app.users (v) values (1)", own="mysql")
    file = cli.write("mine.toml", text)
    cli("run", file, "--system", mysql.url, "--store", "runs.db", code=2)
    assert mysql.sql("select count(*) from app.users") == "2"
    document = cli.run(file, "--system", mysql.url, "--allow-writes")
    assert mysql.sql("select count(*) from app.users") == "5"
    assert any("--allow-writes" in each["text"] for each in document["findings"])
    mysql.sql("delete from app.users where id > 2")


@needs_postgresql
def test_a_run_with_tables_of_its_own_may_write_to_them_and_not_to_the_whole_server(
    provisioners: Provisioners, postgresql: Served
) -> None:
    own = HEAD + OWN_TABLE
    within = [
        "delete from t",
        "do $$ begin delete from t; end $$",
        "select pg_advisory_xact_lock(1), nextval('s'), lo_create(0), set_config('work_mem', '8MB', true)",
        "create index on t (id)",
        "copy t to stdout",
        "vacuum analyze t",
        "select pg_terminate_backend from t",
    ]
    writing = transaction(*within, own="postgresql")
    assert check(provisioners, compiled(own + writing, postgresql.url)) is None
    for sql in [
        "drop database dbdyno",
        "create role somebody",
        "alter system set work_mem = '1MB'",
        "select pg_terminate_backend(1)",
        "select pg_read_file('/etc/hostname')",
        "select lo_export(1, '/tmp/x')",
        "do $$ begin perform pg_reload_conf(); end $$",
        "do $$ begin copy (select 1) to program 'true'; end $$",
        "copy t from program 'echo 1'",
        "create extension file_fdw",
        "create function f() returns int language sql as 'select pg_cancel_backend(1)::int'",
    ]:
        text = own + transaction(sql, own="postgresql")
        assert sql[:60] in str(check(provisioners, compiled(text, postgresql.url))), sql


@needs_ferretdb
def test_documents_are_refused_by_the_names_of_commands(provisioners: Provisioners, directory: Path) -> None:
    for served in serve(directory, "mongodb", lambda _: []):
        host = str(served.server.socket).replace("/", "%2F")
        url = f"mongodb://{host}/{served.server.database}"
        for sql, reads in [
            ('{"find": "users"}', True),
            ('{"insert": "users", "documents": [{"v": 1}]}', False),
            ('{"aggregate": "users", "pipeline": [{"$out": "others"}], "cursor": {}}', False),
            ('{"dropDatabase": 1}', False),
        ]:
            said = check(provisioners, compiled(HEAD + transaction(sql, own="mongodb"), url))
            assert (said is None) == reads, sql


def test_a_file_that_is_attached_is_not_written_to(cli: Cli) -> None:
    path = cli.directory / "users.db"
    with sqlite3.connect(path) as database:
        database.execute("create table users (v)")
    database.close()
    before = path.read_bytes()
    attach = f"attach '{path}' as app"
    text = HEAD.replace("[load]\n", NEVER) + OWN_TABLE
    text += transaction(attach, "insert into app.users values (1)", "detach app")
    said = cli("run", cli.write("mine.toml", text), "--store", "runs.db", code=2)
    assert "attach" in said
    assert "--allow-writes" in said
    assert path.read_bytes() == before
    document = cli.run("./mine.toml", "--allow-writes")
    assert document["cells"][0]["rounds"][0]["ok"] == 3
    assert any("--allow-writes" in each["text"] for each in document["findings"])
    with sqlite3.connect(path) as database:
        assert database.execute("select count(*) from users").fetchone() == (3,)
    database.close()


@pytest.mark.parametrize(
    "served", [pytest.param("postgresql", marks=needs_postgresql), pytest.param("mysql", marks=needs_mysql)]
)
def test_a_file_that_is_a_workload_writes_only_if_allowed(
    cli: Cli, request: pytest.FixtureRequest, served: str
) -> None:
    server: Served = request.getfixturevalue(served)
    server.sql("create table visits (id int primary key, n int)")
    server.sql("insert into visits values (1, 0), (2, 0)")
    # The parameter is the same in both statements, so a visit that is added is found.
    text = "-- :id = @id of visits zipf 1\n-- weight: 3\nselect n from visits where id = :id;\n-- transaction: visit\n"
    text += (
        "update visits set n = n + 1 where id = :id;\n-- think: 1ms\nselect n from visits where id = :id and n > 0;\n"
    )
    cli.write("visits.sql", text)
    chosen = ("visits.sql", "--mix", "--clients", "2", "--system", server.url, "--set", "seconds=0.3", "--rounds", "2")
    assert "--allow-writes" in cli("run", *chosen, "--store", "runs.db", code=2)
    assert server.sql("select sum(n) from visits") == "0"
    (cell,) = cli.run(*chosen, "--allow-writes")["cells"]
    counts = {each["name"]: each["count"] for each in cell["operations"] if each["kind"] == "transaction"}
    assert counts["visit"] > 0 and counts["q1"] > counts["visit"]
    # With those of the warm-up.
    assert int(server.sql("select sum(n) from visits")) >= counts["visit"]
    visits = sum(each["count"] for each in cell["operations"] if each["kind"] == "control" and each["name"] == "commit")
    assert sum(each["rows_changed"] for each in cell["rounds"]) == pytest.approx(visits, abs=2 * 2)


def test_the_engine_tells_for_each_transaction_of_a_cell_whether_it_writes(provisioners: Provisioners) -> None:
    text = HEAD + OWN_TABLE
    for name, sql in {
        "reads": "select * from t",
        "counts": "with a as (select * from t) select count(*) from a",
        "begins": "begin",
        "writes": "update t set id = id",
        "returns": "insert into t values (9) returning id",
        "makes": "create table if not exists u (x)",
        "checkpoints": "pragma wal_checkpoint",
        "unknown": "select * from nowhere",
    }.items():
        text += transaction(sql, name=name)
    expected = {"reads": False, "counts": False, "begins": False, "writes": True, "returns": True, "makes": True}
    expected |= {"checkpoints": True, "unknown": True}
    cell = compiled(text, "sqlite:?journal_mode=wal")
    assert writing_transactions(cell, provisioners) == expected
    # Nothing is left of it, and the copy is as it was.
    with provisioners.of(cell).ready(cell, 0) as ready:
        assert ready.durations["copy_s"] == 0.0
    assert not any(writing_transactions(compiled(text, "null:"), provisioners).values())


def test_interleaved_trials_that_only_read_share_a_file(provisioners: Provisioners) -> None:
    reads = compiled(HEAD + OWN_TABLE + transaction("select * from t"), "sqlite:")
    larger = compiled(HEAD + OWN_TABLE + transaction("select * from t"), "sqlite:?cache_size=50")
    writes = compiled(HEAD + OWN_TABLE + transaction("update t set id = id"), "sqlite:")
    locks = compiled(HEAD + OWN_TABLE + transaction("select * from t"), "sqlite:?locking_mode=exclusive")
    cold = compiled(HEAD + 'os_cache = "cold"\n' + OWN_TABLE + transaction("select * from t"), "sqlite:")
    with provisioners.of(reads).ready(reads, 0) as first:
        for other, shared in ((larger, True), (writes, False), (locks, False), (cold, False)):
            with provisioners.of(other).ready(other, 0) as second:
                assert (second.target["path"] == first.target["path"]) == shared
    with provisioners.of(writes).ready(writes, 0) as first, provisioners.of(reads).ready(reads, 0) as second:
        assert first.target["path"] != second.target["path"]


def test_a_copy_that_nothing_wrote_to_serves_later_rounds_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 2.0, 3.0, 21.9, 22.1, 24.0, 24.5, 24.6, 25.0])
    monkeypatch.setattr(database_file.time, "monotonic", lambda: next(clock))
    template, file = tmp_path / "template.db", TrialFile(tmp_path / "trial.db", SideFiles(()), Interruption())
    template.write_text("rows")
    copied = [file.fresh(template, block, None, print) for block in range(4)]
    assert copied == [2.0, 0.0, 0.0, pytest.approx(1.9)]
    file.path.write_text("other rows")
    assert file.fresh(template, 3, None, print) == pytest.approx(0.1)
    assert file.path.read_text() == "rows"


STATEMENTS = """
-- name: few
select * from calls where a = 77 and b > 5;
-- name: more
select count(*) from calls where c = 7;
"""


def check_indexes_of_copies(cli: Cli, served: Served, databases: str) -> None:
    before = served.sql(databases)
    cli.write("q.sql", STATEMENTS)
    told, found = measured_indexes(cli, served.url)
    assert "allow it with `--allow-writes`" in " ".join(told.split())
    assert found["tried"] == []
    _, found = measured_indexes(cli, served.url, "--allow-writes")
    assert found["not_measured"] is None
    helpful = [each for each in found["tried"] if each["verdict"] == "helps"]
    assert any(each["keys"].replace('"', "").replace("`", "").startswith("calls (a") for each in helpful)
    assert all(each["bytes"] for each in helpful)
    assert {each["operation"] for each in found["writes"]} == {"insert", "update", "delete"}
    assert served.sql(databases) == before, "the copies are gone"


@needs_postgresql
def test_indexes_are_measured_on_copies_in_databases_that_are_dropped(cli: Cli, postgresql: Served) -> None:
    postgresql.sql(
        "create table calls (id serial primary key, a int, b int, c int, note text);"
        "insert into calls (a, b, c, note) select i % 1000, i % 7, i % 9, repeat('x', 80) "
        "from generate_series(1, 40000) i; analyze calls"
    )
    check_indexes_of_copies(cli, postgresql, "select count(*) from pg_database")
    assert postgresql.sql("select count(*) from pg_indexes where tablename = 'calls'") == "1"


@needs_mysql
def test_indexes_of_mariadb_are_measured_on_copies(cli: Cli, mysql: Served) -> None:
    mysql.sql(
        "create table calls (id int primary key auto_increment, a int, b int, c int, note varchar(90), "
        "twice int as (a * 2) stored);"
        "insert into calls (a, b, c, note) select seq % 1000, seq % 7, seq % 9, repeat('x', 80) from seq_1_to_40000;"
        "analyze table calls"
    )
    check_indexes_of_copies(cli, mysql, "select count(*) from information_schema.schemata")
    cli.write("q.sql", f"select * from {mysql.server.database}.calls where a = 5;\n")
    told = cli("queries", "q.sql", "--system", mysql.url, "--budget", "4s", "--allow-writes")
    assert "leave the name out" in " ".join(told.split())


@needs_postgresql
def test_the_planner_estimates_indexes_where_nothing_may_be_written(cli: Cli, postgresql: Served) -> None:
    if postgresql.sql("select count(*) from pg_available_extensions where name = 'hypopg'") == "0":
        pytest.skip("PostgreSQL has no extension hypopg here")
    postgresql.sql(
        "create table page_views (id int primary key, page int, tags jsonb);"
        "insert into page_views select i, i % 2000, '{}' from generate_series(1, 40000) i; analyze page_views"
    )
    cli.write(
        "q.sql",
        "-- name: page\n-- :page = @page of page_views\nselect * from page_views where page = :page;\n"
        "-- name: wide\nselect sum(page) from page_views where id > 2;\n"
        "-- name: document\nselect id from page_views where tags @> '{\"a\": 1}';\n",
    )
    told, found = measured_indexes(cli, postgresql.url)
    assert found["estimated"] is None, "the extension is not in the database"
    postgresql.sql("create extension hypopg")
    told, found = measured_indexes(cli, postgresql.url)
    assert found["tried"] == []
    words = " ".join(told.split())
    assert "allow it with `--allow-writes`" in words
    assert "Not measured: planner's estimate (HypoPG) page: cost " in words
    assert "document: unknown to HypoPG: create index" in words
    by_page = [each for each in found["estimated"] if each["statement"] == "page"]
    assert by_page[0]["keys"] == "page_views (page)"
    assert by_page[0]["times"] > 10
    assert not any(each["statement"] == "wide" and each["keys"] == "page_views (id)" for each in found["estimated"])
    assert postgresql.sql("select count(*) from pg_indexes where tablename = 'page_views'") == "1"


@needs_postgresql
def test_indexes_of_tables_with_the_same_name_are_told_apart(cli: Cli, postgresql: Served) -> None:
    """Also those of foreign keys, whose tables no statement names."""
    postgresql.sql(
        "create schema shop; create table people (id int primary key); create table shop.people (id int, town int);"
        "insert into people select i from generate_series(1, 2000) i;"
        "insert into shop.people select i, i % 900 from generate_series(1, 30000) i;"
        "create table shop.visits (person int references people (id) on delete cascade, note text);"
        "insert into shop.visits select 1 + i % 2000, 'x' from generate_series(1, 40000) i; analyze"
    )
    cli.write(
        "q.sql",
        "-- name: town\nselect * from shop.people where town = 7;\n-- name: key\nselect * from people where id = 7;\n"
        "-- name: gone\n-- :id = 1..2000\ndelete from people where id = :id;\n",
    )
    _, found = measured_indexes(cli, postgresql.url, "--allow-writes")
    assert found["not_measured"] is None
    helpful = {each["keys"] for each in found["tried"] if each["verdict"] == "helps"}
    assert helpful == {"shop.people (town)", "shop.visits (person)"}
