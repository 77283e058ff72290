"""Estimates of rows that are far off: which are told, by what they are bettered, and with which values."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno.analysis.findings.plans import far_off, off_words
from dbdyno.analysis.measured.statements import plan_nodes
from dbdyno.engines import engine_of
from dbdyno.engines.condition_parser import conditions_on
from dbdyno.engines.conditions import Conditions
from dbdyno.experiment.compile.representative import representatives
from dbdyno.model.plan import generators
from dbdyno.model.plan.expression import Constant
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.tasks import without_analysis
from dbdyno.model.result.cell import Cell as MeasuredCell
from dbdyno.model.result.cell import CellStatement, RowEstimate
from dbdyno.model.result.convert import from_json
from dbdyno.report.estimate_lines import estimate_lines
from dbdyno.run.processes import parts
from dbdyno.run.trial import Plan, Trial
from experiment_files import compiled, experiment, task_json
from synthetic_cells import some
from test_whole_tables import KEYED


@pytest.mark.parametrize(
    ("generator", "value"),
    [
        (generators.Constant(value=None), None),
        (generators.Constant(value=True), True),
        (generators.Pick(values=["a", "b"]), "a"),
        (generators.Pick(values=["a", "b"], weights=[1, 3.5]), "b"),
        (generators.Uniform(low=1, high=1000), 500),
        (generators.UniformReal(low=0.0, high=1.0), 0.5),
        (generators.Gaussian(low=10, high=20), 15),
        (generators.Zipf(low=1, high=9), 1),
        (generators.Zipf(low=1, high=9, scattered=True), 5),
        (generators.Nullable(share=0.1, of=generators.Uniform(low=4, high=4)), 4),
        (
            generators.Reference(
                of=generators.Serial(start=10, step=2), stream=1, row=generators.Uniform(low=0, high=100)
            ),
            110,
        ),
    ],
)
def test_a_value_stands_for_those_of_its_generator(generator: generators.Generator, value: Any) -> None:
    assert representatives([generator]) == [value]


@pytest.mark.parametrize(
    "generator",
    [
        generators.Variable(name="x"),
        generators.Text(min=3, max=3),
        generators.Expression(text="1", tree=Constant(value=1)),
        generators.Reference(of=generators.Uuid(version="v4"), stream=1, row=generators.Uniform(low=0, high=9)),
    ],
)
def test_of_some_generators_no_value_stands_for_the_others(generator: generators.Generator) -> None:
    assert representatives([generators.Constant(value=1), generator]) is None
    assert representatives([]) == []


SHOP = """
[tables.t]
rows = 10
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
[load]
stop = { transactions = 5 }
[[transactions]]
name = "a"
steps = [
    { set = "n", value = { uniform = [1, 9] } },
    { execute = "select * from t where id = ?", params = [{ variable = "n" }] },
    { execute = "select * from t where id = ?", params = [{ uniform = [1, 9] }] },
    { execute = "select count(*) from t where id < ?", params = [{ variable = "n" }] },
    { execute = "select max(id) from t" },
]
"""


def statements(measure: str) -> list[dict[str, Any]]:
    (cell,) = compiled(experiment('name = "x"\ntitle = "x"\n', SHOP + measure))
    return list(task_json(cell)["statements"])


def test_statements_are_analysed_where_that_is_asked_for_and_values_are_known() -> None:
    asked = statements("[measure]\nestimates = true\n")
    assert [each.get("analyze") for each in asked] == [[5], None, []]
    assert all("analyze" not in each for each in statements(""))
    (cell,) = compiled(experiment('name = "x"\ntitle = "x"\n', SHOP + "[measure]\nestimates = true\n"))
    assert as_json(without_analysis(cell.task.statements)) == statements("")


def test_one_trial_of_a_cell_and_one_of_its_processes_run_them_for_it() -> None:
    (cell,) = compiled(
        experiment(
            'name = "x"\ntitle = "x"\n', SHOP.replace("[load]", "[load]\nclients = 3"), "[measure]\nestimates = true\n"
        )
    )
    plan = Plan("r", [cell], 3, 1)
    assert not Trial(cell, 0, 0, plan).analyzed
    # As when a run is gone on with: the first trial that gave a result was in another process.
    done: Any = {("another", 0): None}
    assert not Trial(cell, 1, 0, Plan("r", [cell], 3, 1, done)).analyzed
    done = {(cell.cell.id, 0): None}
    later = Trial(cell, 1, 0, Plan("r", [cell], 3, 1, done))
    assert later.analyzed
    task = cell.plan({"engine": "sqlite"}, 1, analyzed=later.analyzed).json["task"]
    assert task["statements"] == statements("")
    first, *others = (each.json for each in parts(cell.plan({"engine": "sqlite"}, 1), [1, 1, 1]))
    assert [each.get("analyze") for each in first["task"]["statements"]] == [[5], None, []]
    assert len(others) == 2
    assert all("analyze" not in each for other in others for each in other["task"]["statements"])


def step(name: str, depth: int, expected: float, found: float, executions: float = 1.0, **more: Any) -> RowEstimate:
    table = more.get("table", name)
    return RowEstimate(
        step=name,
        table=table,
        depth=depth,
        expected=expected,
        found=found,
        executions=executions,
        at_least=False,
    )


CATALOG: dict[str, Any] = {
    "tables": [
        {
            "name": "orders",
            "columns": [{"name": each} for each in ("id", "customer", "state")],
            "indexes": [{"name": "i", "keys": [{"column": "customer"}]}],
        }
    ]
}


def told(sql: str, *steps: RowEstimate, engine: str = "PostgreSQL", plan: list[str] | None = None) -> str | None:
    """Name the step that is told of a statement."""
    cell = from_json(MeasuredCell, {"system": {"engine": engine, "catalog": CATALOG}})
    nodes = plan_nodes(cell.system, sql, plan or [])
    found = far_off(cell, some(CellStatement, sql=sql, plan=plan or [], plan_nodes=nodes, estimates=list(steps)))
    return None if found is None else found.step


COUNT = "select count(*) from orders where state = 'a'"
INDEXED = "select count(*) from orders where customer = 7"
SEARCHED = ["Index Scan using i on orders", "  Index Cond: (customer = 7)"]
SCANNED = ["Seq Scan on orders", "  Filter: (customer = 7)"]


@pytest.mark.parametrize(
    ("expected", "found", "executions", "far"),
    [
        (5, 50_000, 1, True),
        (5, 499, 1, False),
        (9.9, 999, 1, False),
        (10, 1000, 1, True),
        # Nothing counts as one.
        (0.001, 99, 1, False),
        # A few rows, and many times a few.
        (1, 200, 1, False),
        (1, 200, 5, True),
    ],
)
def test_an_estimate_is_told_that_is_100_times_off_where_there_are_some_rows(
    expected: float, found: float, executions: float, far: bool
) -> None:
    assert (told(INDEXED, step("orders", 1, expected, found, executions)) is not None) is far


def test_fewer_rows_than_expected_are_told_where_something_else_might_have_been_done() -> None:
    few = step("orders", 1, 50_000, 3)
    assert told(COUNT, few) is None
    # An index leads to the rows, or another table's are looked up for them.
    assert told("select count(*) from orders where customer = 7", few) == "orders"
    assert told(COUNT, few, step("customers", 1, 1, 1)) == "orders"


def test_an_estimate_is_told_only_if_the_plan_depends_on_it() -> None:
    few, many = step("orders", 1, 50_000, 3), step("orders", 1, 3, 50_000)
    # Whatever the number of rows, there is only one way to read them.
    assert told(COUNT, many) is None
    # The groups of the last aggregate.
    groups = step("HashAggregate", 0, 29_000, 35, table=None)
    assert told("select state, count(*) from orders group by state", groups, step("orders", 1, 40_000, 40_000)) is None
    # Groups that are joined.
    join, other = step("Hash Join", 0, 3000, 300, table=None), step("customers", 1, 300, 300)
    below = step("HashAggregate", 1, 29_000, 35, table=None)
    assert told(COUNT, join, below, other) == "HashAggregate"
    # An index was chosen although many rows come, or a scan although few do; not the other way round.
    for estimate, plan, expected in [
        (many, SEARCHED, "orders"),
        (many, SCANNED, None),
        (few, SCANNED, "orders"),
        (few, SEARCHED, None),
    ]:
        assert told(INDEXED, estimate, plan=plan) == expected
    # Rows that are sorted.
    sort = ["Sort", "  Sort Key: id", "  ->  Seq Scan on orders", "        Filter: (state = 'a'::text)"]
    ordered = f"{COUNT} order by id"
    assert told(ordered, many, plan=sort) == "orders"
    assert told(ordered, few, plan=sort) is None
    # Rows that are found in the order of an index.
    by_index = ["Limit", "  ->  Index Scan using i on orders", "        Filter: (state = 'a'::text)"]
    assert told("select * from orders where state = 'a' order by customer limit 5", few, plan=by_index) == "orders"


def test_the_step_is_told_that_has_the_others_off() -> None:
    scan, join = step("orders", 2, 5, 50_000), step("join", 1, 5, 2_000_000, table=None)
    assert told(COUNT, step("sort", 0, 5, 2_000_000, table=None), join, scan, step("c", 2, 9, 9)) == "orders"
    assert told(COUNT, join, step("orders", 2, 5, 6)) == "join"
    # Of two that have nothing to do with each other, the worse.
    assert told(COUNT, join, scan, step("c", 2, 1, 200_000)) == "c"
    assert off_words(scan) == "10,000 times off"


@pytest.mark.parametrize(
    ("sql", "table", "conditions"),
    [
        ("select * from orders where customer = ? and id > 3", "orders", Conditions("orders", ("customer", "id"))),
        (
            "select * from orders o join customers c on c.id = o.customer where o.placed = 7 and c.city = 'x'",
            "o",
            Conditions("orders", ("placed",), ("placed",)),
        ),
        ("select * from orders where placed in (1, 2) or id between 3 and 4", "orders", None),
        ("select * from Orders where placed like 'a%'", "orders", Conditions("Orders", ("placed",), ("placed",))),
        ("select 1", "orders_2024", Conditions("orders_2024")),
        ("not sql (", "orders", Conditions("orders")),
    ],
)
def test_columns_that_are_compared_with_values_are_found(sql: str, table: str, conditions: Conditions | None) -> None:
    wanted = conditions or Conditions("orders", ("placed", "id"), ("placed",))
    found = conditions_on(sql, "postgresql", table, KEYED)
    assert (found.table, sorted(found.columns), found.indexed) == (
        wanted.table,
        sorted(wanted.columns),
        wanted.indexed,
    )


def test_each_engine_says_what_renews_its_statistics() -> None:
    one, two = Conditions("t", ("a",), ("a",)), Conditions("t", ("a", "b"), ("a",))

    def advice(engine: str, product: str, on: Conditions | None) -> str:
        return engine_of(engine).better_estimates(product, on) or ""

    assert advice("postgresql", "PostgreSQL", one) == "`analyze t` updates its statistics"
    assert "`create statistics on_t_a_b on a, b from t`" in advice("postgresql", "PostgreSQL", two)
    assert "`analyze table t persistent for all`" in advice("mysql", "MariaDB", two)
    assert "histogram" not in advice("mysql", "MySQL", one)
    assert "`analyze table t update histogram on b`" in advice("mysql", "MySQL", two)
    assert "`analyze`" in advice("duckdb", "DuckDB", None)
    # No statistics of theirs are on the columns of several tables.
    assert advice("postgresql", "PostgreSQL", None) == advice("mysql", "MySQL", None) == ""
    assert advice("sqlite", "sqlite", one) == ""


def test_rows_stand_in_columns_beside_their_steps() -> None:
    early = step("Seq Scan on b", 2, 5, 900)
    early.at_least = True
    steps = [step("Join", 1, 12_345, 9), step("Index Scan on a", 2, 0.5, 2.5, 40), early]
    statement = some(CellStatement, estimates=steps)
    assert estimate_lines(statement) == [
        "expected  found  rows of",
        "  12,345      9  Join",
        "  0.5000  2.500    Index Scan on a (40 times)",
        "       5  >=900    Seq Scan on b",
    ]
    assert estimate_lines(some(CellStatement, estimates=[])) == []
