"""Settings of the experiment, of the URL and of factors put together; and descriptions."""

from pathlib import Path

import pytest

from dbdyno.base.errors import InputError
from dbdyno.cli.experiment_source import ExperimentSource
from dbdyno.cli.show import print_description
from dbdyno.engines import engine_of
from dbdyno.engines.sqlite.targets import load_target, trial_target
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment
from dbdyno.experiment.compile import compile_cell, describe
from dbdyno.experiment.design import make_cells, parse_set
from experiment_files import compiled, small, steps

FILE = '[factors]\nsize = ["default", 100]\n[system.sqlite]\ncache_size = "${size}"\njournal_mode = "wal"\n'


def pragmas(made: Experiment, url: str, *options: str) -> list[dict[str, str]]:
    cells = make_cells(made, parse_set(options, made), [parse_url(url)]).cells
    return [dict(compile_cell(made, cell).settings.trial_pragmas) for cell in cells]


def test_the_url_takes_the_place_of_a_plain_value_and_adds_others() -> None:
    assert pragmas(small(FILE), "sqlite:?journal_mode=off&synchronous=off", "size=100") == [
        {"cache_size": "100", "journal_mode": "off", "synchronous": "off"}
    ]


def test_default_in_the_url_takes_a_plain_value_away() -> None:
    assert pragmas(small(FILE), "sqlite:?journal_mode=default", "size=100") == [{"cache_size": "100"}]


def test_the_url_holds_where_a_factor_is_at_default_or_says_the_same() -> None:
    assert pragmas(small(FILE), "sqlite:?cache_size=100") == [
        {"journal_mode": "wal", "cache_size": "100"},
        {"cache_size": "100", "journal_mode": "wal"},
    ]


def test_a_url_and_a_factor_must_not_disagree() -> None:
    with pytest.raises(InputError) as caught:
        pragmas(small(FILE), "sqlite:?cache_size=5")
    assert str(caught.value) == (
        "sqlite:?cache_size=5: `cache_size` is set to `5`, but the factor `size` sets it to `100`; "
        "leave it out of the URL and use `--set size=…`"
    )


def test_an_error_is_told_where_it_was_made() -> None:
    with pytest.raises(InputError) as caught:
        pragmas(small(FILE), "sqlite:?jurnal_mode=wal")
    assert str(caught.value).startswith(
        "sqlite:?jurnal_mode=wal: jurnal_mode: unknown SQLite setting `jurnal_mode`; did you mean"
    )
    with pytest.raises(InputError) as caught:
        pragmas(small(FILE), "sqlite:", "size=many")
    assert str(caught.value) == (
        'small.toml: system.sqlite.cache_size: `many` is not an integer (with ${size} = "many"); give an integer'
    )


def test_an_unsafe_cell_is_refused() -> None:
    made = load_experiment("pk-lookup")
    cells = make_cells(made, parse_set(["threads=2", "cache=private", "config_threading=single"], made)).cells
    with pytest.raises(InputError) as caught:
        compile_cell(made, cells[0])
    assert str(caught.value) == (
        "pk-lookup.toml: threads=2,cache=private,config_threading=single: `config_threading=single` leaves SQLite "
        "without any mutex: 2 clients in one process would corrupt its memory; "
        "use one client, clients that are processes, or a library with mutexes"
    )
    safe = make_cells(made, parse_set(["threads=2", "cache=private", "open_mutex=nomutex"], made)).cells
    assert trial_target(compile_cell(made, safe[0]), "/x")["open_mutex"] == "nomutex"


def test_every_further_factor_of_pk_lookup_reaches_the_plan() -> None:
    made = load_experiment("pk-lookup")
    options = ["threads=1", "cache=shared", "cache_size=-4000", "mmap_size=1000000", "page_size=8192"]
    options += ["library_threading=2", "config_threading=multi", "open_mutex=fullmutex"]
    cell = compile_cell(made, make_cells(made, parse_set(options, made)).cells[0])
    assert cell.settings.library_threading == 2
    assert cell.load_plan(load_target(cell, "/x")).json["task"]["target"]["pragmas"] == [["page_size", "8192"]]
    assert trial_target(cell, "/x", "/lib.so") == {
        "engine": "sqlite",
        "path": "/x",
        "library": "/lib.so",
        "cache": "shared",
        "open_mutex": "fullmutex",
        "config_threading": "multi",
        "busy_timeout_ms": 0,
        "pragmas": [["cache_size", "-4000"], ["mmap_size", "1000000"]],
        "file_pragmas": [],
        "os_cache": "warm",
    }


def test_description_of_pk_update() -> None:
    made = load_experiment("pk-update")
    cell = compiled(made)[1]
    described = describe(cell)
    assert described.cell == "rows_per_transaction=1000"
    assert described.definitions[0].startswith('create table "user" (')
    assert described.rows[0].startswith(
        "user: 100,000 rows\n    id = serial(start 1, step 1)\n    c1 = uniform(low 0, high 999999)"
    )
    assert described.load == (
        "1 client, connect once, prepare once",
        "until 120 seconds or 10,000 statements of each client",
    )
    assert described.settings == (("cache_size", "2000"),)
    assert described.transactions[0].lines == (
        "begin",
        "1,000 times",
        "    update user set c1 = c1 + 1 where id = ?   -- serial(start 1, step 1) of row uniform(low 0, high 99999)",
        "commit",
    )


def test_description_of_every_step() -> None:
    made = steps(
        '{ set = "n", value = { nullable = { share = 0.5, of = "x" } } }, { begin = "immediate" }, '
        '{ execute = "select ?", into = ["m"], params = [{ format = { template = "{}", '
        "parts = [{ null = true }] } }] }, "
        '{ when = "n is null", then = [{ think = { pick = [1, 2] } }], '
        'else = [{ rollback = true }, { begin = "immediate" }] }, '
        '{ when = "n = m", then = [{ chance = 0.1, then = [{ set = "u", value = { uuid = "v4" } }] }] }, '
        "{ commit = true }"
    )
    assert describe(compiled(made)[0]).transactions[0].lines == (
        "n = null (0.5) or 'x'",
        "begin immediate",
        "select ?   -- '{}' of null   -> m",
        "when n is null",
        "    think pick(values 1, 2) ms",
        "else",
        "    rollback",
        "    begin immediate",
        "when n = m",
        "    with probability 0.1",
        "        u = uuid(version v4, format dashed)",
        "commit",
    )


@pytest.mark.parametrize(
    ("url", "begin", "commit", "rollback"),
    [
        ("sqlite:", "begin immediate", "commit", "rollback"),
        ("postgresql:", "begin", "commit", "rollback"),
        ("mysql:", "start transaction", "commit", "rollback"),
        (
            "sqlserver://me@host/d",
            "begin transaction",
            "commit transaction",
            "if @@trancount > 0 rollback transaction",
        ),
    ],
)
def test_a_transaction_is_described_as_it_begins_and_ends_on_its_engine(
    url: str, begin: str, commit: str, rollback: str
) -> None:
    begins = '{ begin = "immediate" }'
    made = steps(f"{begins}, {{ repeat = 2, steps = [{{ commit = true }}, {begins}] }}, {{ rollback = true }}")
    (cell,) = compiled(made, url)
    assert describe(cell).transactions[0].lines == (begin, "2 times", f"    {commit}", f"    {begin}", rollback)


def test_every_system_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    systems = ["sqlite:", "postgresql:", "mysql:?engine=myisam"]
    print_description(ExperimentSource(["promo-code"]), ["step=6_transaction,7_begin_immediate"], systems)
    _, *cells = capsys.readouterr().out.split("\ncell ")
    assert [cell.partition("\n")[0].partition(", on ")[2] for cell in cells] == systems
    sqlite, postgresql, mysql = cells
    assert "select count(*) from foo where i = ?" in sqlite
    assert 'create table "foo" ("i" integer, "i2" integer)\n' in postgresql
    assert 'SELECT COUNT(*) FROM "foo" WHERE "i" = $1' in postgresql
    assert "create table `foo` (`i` int, `i2` int) engine=myisam\n" in mysql
    assert "    start transaction\n    SELECT COUNT(*) FROM `foo` WHERE `i` = ?" in mysql


@pytest.mark.parametrize(("url", "names"), [("postgresql:", ("$1", "$2")), ("sqlserver://me@host/d", ("@P1", "@P2"))])
def test_places_for_values_are_described_by_their_names_on_the_engine(url: str, names: tuple[str, str]) -> None:
    made = steps("{ execute = \"select '?', id from t where id = ? or id > ?\", params = [1, 2] }")
    (cell,) = compiled(made, url)
    (line,) = describe(cell).transactions[0].lines
    assert "'?'" in line
    assert f"= {names[0]} or" in line and f"> {names[1]} " in line
    # Where nothing is prepared, values are put in.
    never = small(load="\n[load]\nprepare = 'never'\nstop = { seconds = 1 }\n")
    (line,) = describe(compiled(never, url)[0]).transactions[0].lines
    assert "= ?" in line and names[0] not in line


def test_scripts_of_pgbench_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.sql").write_text("select abalance::text from pgbench_accounts where aid = :scale;", encoding="utf-8")
    named = ExperimentSource([str(tmp_path / "s.sql")], pgbench=True, scale=3)
    print_description(named, [], ["postgresql:"])
    assert "select abalance::text from pgbench_accounts where aid = $1   -- 3\n" in capsys.readouterr().out
    print_description(ExperimentSource(["select-only"], pgbench=True), [], ["mysql:"])
    assert "SELECT `abalance` FROM `pgbench_accounts` WHERE `aid` = ?" in capsys.readouterr().out


def test_what_cannot_be_described_is_an_error_before_anything_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.sql").write_text("select pg_typeof(abalance), :scale::int from pgbench_accounts;", encoding="utf-8")
    with pytest.raises(InputError):
        print_description(ExperimentSource([str(tmp_path / "s.sql")], pgbench=True), [], ["postgresql:", "mysql:"])
    assert capsys.readouterr().out == ""


def test_an_element_of_an_array_can_be_a_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "select (array[1, 2])[:scale], '[:scale]' from pgbench_accounts where aid = any(array[:scale, 2]);"
    (tmp_path / "s.sql").write_text(script, encoding="utf-8")
    print_description(ExperimentSource([str(tmp_path / "s.sql")], pgbench=True), [], ["postgresql:"])
    assert "select (array[1, 2])[$1], '[1]' from pgbench_accounts where aid = any(array[$2, 2])" in (
        capsys.readouterr().out
    )
    with pytest.raises(InputError, match="has no text for sqlite, only for postgresql: `select "):
        print_description(ExperimentSource([str(tmp_path / "s.sql")], pgbench=True), [], ["sqlite:"])
    # Elsewhere it would be another name for the column.
    (tmp_path / "s.sql").write_text("select filler[1] from pgbench_accounts;", encoding="utf-8")
    with pytest.raises(InputError, match="has no text for mysql"):
        print_description(ExperimentSource([str(tmp_path / "s.sql")], pgbench=True), [], ["mysql:"])


def test_description_of_a_load() -> None:
    load = (
        "\n[load]\nclients = 2\narrival = { rate = 50.5, gaps = 'even' }\nwarmup = { seconds = 1.5 }\n"
        "stop = { seconds = 2, statements = 1000 }\nretry = { attempts = 2, wait_ms = 5 }\n"
    )
    assert describe(compiled(small(load=load))[0]).load == (
        "2 clients, connect once, prepare once",
        "open loop: 50.5 transactions per second, even gaps",
        "warm-up: 1.5 seconds of each client",
        "until 2 seconds or 1,000 statements of each client",
        "2 attempts on locked, deadlock, serialization, 5 ms apart",
    )


def test_sizes_are_numbers_in_a_session_of_mysql_and_as_written_elsewhere() -> None:
    written = {"a": "1M", "b": "16k", "c": "2G", "d": "0.5", "e": "10Mb", "f": "M", "g": "ANSI", "h": True}
    said = {"a": "1048576", "b": "16384", "c": "2147483648"}
    plain = {"d": "0.5", "e": "10Mb", "f": "M", "g": "ANSI", "h": "on"}
    assert engine_of("mysql").read_settings(written, "x", named=True).parameters == said | plain
    as_they_are = {"a": "1M", "b": "16k", "c": "2G"} | plain
    assert engine_of("mysql").read_settings(written, "x", named=False).parameters == as_they_are
    assert engine_of("postgresql").read_settings(written, "x", named=True).parameters == as_they_are


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ("{ pick = [{ uniform = [1, 2] }, 7] }", "choice(uniform(low 1, high 2), 7)"),
        (
            "{ pick = { values = [{ uniform = [1, 2] }, 7], weights = [1, 7] } }",
            "choice(12.5% uniform(low 1, high 2), 87.5% 7)",
        ),
        (
            f"{{ pick = [{{ text = 2 }}, {', '.join(map(str, range(20)))}] }}",
            "choice(text(min 2, max 2), 0, 1, 2, 3, 4, 5, … 19 (21 values))",
        ),
    ],
)
def test_choices_are_described(choice: str, text: str) -> None:
    (cell,) = compiled(steps(f"{{ set = 'n', value = {choice} }}"), "sqlite:")
    assert describe(cell).transactions[0].lines == (f"n = {text}",)
