"""The standard load of `cpu-cost`: its statements are those documented, on every engine and again and again."""

import re
from collections import Counter
from typing import Any

import pytest

from conftest import Cli
from dbdyno.analysis.bottleneck.common import MIN_WINDOW_S
from dbdyno.base.errors import InputError
from dbdyno.base.resources import package_path
from dbdyno.engines import engine_of
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.model.plan.cell import CompiledCell
from duckdb_library import URL as DUCKDB
from duckdb_library import needs_duckdb
from experiment_files import ROOT, task_json

SMALL = 0.2

# Parts that only SQLite has.
OWN = {"integrity", "fts5", "rtree", "transactions_wal"}


@pytest.fixture(scope="module")
def made() -> Experiment:
    return load_experiment("cpu-cost")


def parts(made: Experiment) -> list[str]:
    return [level.name for level in made.factors["part"].levels]


def all_of(made: Experiment) -> str:
    return "part=" + ",".join(parts(made))


def cells(made: Experiment, *options: str, url: str = "sqlite:") -> dict[str, CompiledCell]:
    chosen = make_cells(made, parse_set(options, made), [parse_url(url)]).cells
    return {cell.levels["part"].name: compile_cell(made, cell) for cell in chosen}


def kinds(compiled: CompiledCell) -> Counter[str]:
    """Count the statements of a trial by kind: the names of its steps, and `begin` and `commit`."""
    names = [each["name"] for each in task_json(compiled)["statements"]]
    (transaction,) = task_json(compiled)["transactions"]
    once: Counter[str] = Counter()
    _count(transaction["steps"], names, 1, once)
    window = task_json(compiled)["window"]
    executed = sum(count for name, count in once.items() if name in names)
    times = window["transactions"] or window["statements"] / executed
    assert times == int(times)
    return Counter({name: int(times) * count for name, count in once.items()})


def _count(steps: list[dict[str, Any]], names: list[str], times: int, into: Counter[str]) -> None:
    for step in steps:
        match step["do"]:
            case "execute":
                into[names[step["statement"]]] += times
            case "begin" | "commit":
                into[step["do"]] += times
            case "repeat":
                _count(step["steps"], names, times * step["times"], into)
            case "set":
                pass
            case other:
                # A step that runs by chance or by what was found would make the number of statements uncertain.
                pytest.fail(other)


def rows_of(text: str, columns: int) -> list[list[str]]:
    """Read the rows of the tables that begin with a part."""
    rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")
    )
    return [row for row in rows if len(row) == columns]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_the_documentation_has_the_experiments_own_counts(made: Experiment) -> None:
    text = (ROOT / "docs/reference/experiments/cpu-cost.md").read_text()
    counted = {part: kinds(compiled) for part, compiled in cells(made, all_of(made)).items()}
    assert {part.strip("`"): number(count) for part, count, _ in rows_of(text, 3)} == {
        part: each.total() for part, each in counted.items()
    }
    total = sum(counted[part].total() for part in cells(made))
    assert re.findall(r"^\| all of these \| ([0-9,]+) \| \|$", text, re.MULTILINE) == [f"{total:,}"]
    # About 30,000 statements.
    assert total == pytest.approx(30_000, rel=0.05)


@pytest.mark.slow
def test_what_a_build_may_lack_is_measured_where_it_is_asked_for(made: Experiment) -> None:
    assert [part for part in parts(made) if part not in cells(made)] == ["json", "fts5", "rtree", "window", "cte"]
    sql = [each["sql"] for compiled in cells(made).values() for each in task_json(compiled)["statements"]]
    assert not [text for text in sql if re.search(r"json|\bover\b|\bwith\b|\bmatch\b", text, re.IGNORECASE)]
    assert not any("virtual" in text for compiled in cells(made).values() for text in compiled.after)


def test_it_is_one_clients_and_ends_by_number(made: Experiment) -> None:
    for compiled in cells(made, all_of(made)).values():
        trial = task_json(compiled)
        assert (trial["clients"], trial["arrival"], trial["window"]["seconds"]) == (1, {"loop": "closed"}, None)
        assert trial["warmup"] == {"seconds": 0, "transactions": 0}


def test_size_scales_tables_and_load(made: Experiment) -> None:
    once, thrice = cells(made, all_of(made)), cells(made, all_of(made), "size=3")
    for part, compiled in once.items():
        times = 1 if part in ("like", "analyze", "integrity") else 3
        assert kinds(thrice[part]) == Counter({kind: times * count for kind, count in kinds(compiled).items()})
        assert [3 * table.rows for table in compiled.tables] == [table.rows for table in thrice[part].tables]
    with pytest.raises(InputError, match="is not an integer"):
        cells(made, "size=0.3")


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "duckdb"])
def test_what_only_sqlite_has_is_left_out_elsewhere(made: Experiment, engine: str) -> None:
    found = cells(made, all_of(made), url=f"{engine}:")
    assert found.keys() == set(parts(made)) - OWN
    on_sqlite = cells(made, all_of(made))
    # All else is the same load.
    assert {part: kinds(each) for part, each in found.items()} == {part: kinds(on_sqlite[part]) for part in found}


def test_mongodb_is_left_out(made: Experiment) -> None:
    with pytest.raises(InputError, match=r"all cells are excluded: .*: its statements are SQL"):
        cells(made, url="mongodb:")


def work(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Give what was done by part and engine: by kind of statement how often, the rows returned and changed."""
    return {
        (cell["factors"]["part"], cell["system"]["name"].partition(":")[0]): cell["rounds"][0]["statements_by_name"]
        for cell in document["cells"]
    }


def run(cli: Cli, made: Experiment, *options: str, experiment: str = "cpu-cost") -> dict[tuple[str, str], Any]:
    options = ("--set", all_of(made), "--set", f"size={SMALL}", "--rounds", "1", "--seed", "5", *options)
    document = cli.run(experiment, *options)
    # How busy other programs were is not known of windows as short as most of these.
    elapsed = {cell["id"]: cell["rounds"][0]["elapsed_s"] for cell in document["cells"]}
    told = [each["evidence"]["trials"] for each in document["findings"] if "ther programs" in each["text"]]
    assert all(elapsed[cell] >= MIN_WINDOW_S for trials in told for cell in trials)
    return work(document)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, made: Experiment) -> dict[tuple[str, str], Any]:
    """What is done on SQLite."""
    return run(Cli(tmp_path_factory.mktemp("sqlite")), made)


def test_the_same_seed_does_the_same_work_and_all_of_it(
    cli: Cli, made: Experiment, first: dict[tuple[str, str], Any]
) -> None:
    assert run(cli, made) == first
    assert [part for part, _ in first] == parts(made)
    for part, compiled in cells(made, all_of(made), f"size={SMALL}").items():
        done = {kind: each["executions"] for kind, each in first[part, "sqlite"].items()}
        assert done == {kind: count for kind, count in kinds(compiled).items() if kind not in ("begin", "commit")}
    # Nearly all that is looked for is there: an empty answer costs little.
    for part, kind in (("point", "by primary key"), ("range", "range of keys"), ("delete", "delete by primary key")):
        each = first[part, "sqlite"][kind]
        assert each["rows"] + each["changed"] >= each["executions"]


def test_a_load_twice_as_long_finds_as_much_to_do(cli: Cli, made: Experiment) -> None:
    text = package_path("experiments", "cpu-cost.toml").read_text()
    longer = text.replace('"${size * part.transactions}"', '"${2 * size * part.transactions}"')
    assert longer != text
    done = run(cli, made, experiment=cli.write("longer.toml", longer))
    for part, kind, rows in (
        ("delete", "delete by primary key", 1),
        ("delete", "delete a range", 20),
        ("btree", "delete from the middle", 1),
        ("btree", "let a row grow or shrink", 1),
        ("transactions", "insert a line", 1),
        ("rtree", "delete a place", 1),
    ):
        each = done[part, "sqlite"][kind]
        assert each["changed"] == rows * each["executions"], kind


@pytest.mark.parametrize("engine", ["postgresql", "mysql", pytest.param("duckdb", marks=needs_duckdb)])
def test_other_engines_return_and_change_the_same_rows(
    server_cli: Cli, made: Experiment, first: dict[tuple[str, str], Any], engine: str
) -> None:
    if engine_of(engine).is_server and not find_installations(engine):
        pytest.skip(f"{engine} is not installed")
    url = f"{engine}:" if engine_of(engine).is_server else DUCKDB
    done = run(server_cli, made, "--system", url)
    compared = [part for part in parts(made) if part not in OWN]
    assert list(done) == [(part, engine) for part in compared]
    for part in compared:
        # ANALYZE TABLE of MariaDB tells in rows how it went.
        if (part, engine) != ("analyze", "mysql"):
            assert done[part, engine] == first[part, "sqlite"], part
