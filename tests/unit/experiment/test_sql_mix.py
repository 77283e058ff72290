"""A SQL file as one workload: its transactions, weights, pauses and parameters, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.base.errors import InputError
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.mix import mix_experiment
from dbdyno.experiment.parameter_values import read_pause, read_values
from dbdyno.experiment.queries import queries_experiment, read_queries, read_statements, statement_levels
from dbdyno.experiment.samples import with_samples
from experiment_files import task_json

FILE = """\
-- :customer = @id of customers zipf 1.1

-- weight: 20
-- name: account
select * from orders where customer = :customer;

-- weight: 8.5
-- transaction: checkout
-- think: 10ms
-- name: product
-- :product = 1..1000 zipf 1.1
select price from products where id = :product;
-- think: 1ms..2ms
-- name: take
update products set stock = stock - 1 where id = :product;
insert into orders values (:customer, :product, :product);
-- think: exp(50ms)
-- end

select count(*) from customers;
"""


def mix(text: str, engine: str = "sqlite", given: dict[str, str] | None = None) -> Experiment:
    return mix_experiment(read_statements(text, "mix.sql", engine), given or {}, "mix.sql", engine)


def transactions(made: Experiment) -> dict[str, dict[str, Any]]:
    """The transactions of a plan for SQLite, by name."""
    trial = task_json(compile_cell(made, make_cells(made, {}, []).cells[0]))
    return {each["name"]: each for each in trial["transactions"]}


def done(transaction: dict[str, Any]) -> list[str]:
    return [step["do"] for step in transaction["steps"]]


def sampled(made: Experiment) -> Experiment:
    values = {("customers", "id"): [5, 6, 6, 7]}
    return with_samples(made, lambda table, columns: [values[table, *columns]])


def test_transactions_have_their_statements_weights_and_pauses() -> None:
    made = transactions(sampled(mix(FILE)))
    assert {name: each["weight"] for name, each in made.items()} == {"account": 20, "checkout": 8.5, "q5": 1}
    assert done(made["account"]) == ["execute"] == done(made["q5"])
    # The first and the last pause are outside of the transaction, and values are drawn before it.
    body = ["begin", "execute", "pause", "execute", "execute", "commit"]
    assert done(made["checkout"]) == ["set", "pause", *body, "pause"]


def test_a_parameter_of_several_statements_is_drawn_once_per_transaction() -> None:
    checkout = transactions(sampled(mix(FILE)))["checkout"]
    drawn = {"kind": "zipf", "low": 1, "high": 1000, "exponent": 1.1, "scattered": True}
    assert checkout["steps"][0] == {"do": "set", "variable": "product", "value": drawn}
    product = {"kind": "variable", "name": "product"}
    product_read, taken, ordered = (each for each in checkout["steps"] if each["do"] == "execute")
    assert product_read["params"] == taken["params"] == [product]
    assert ordered["params"][1:] == [product, product]


def test_a_column_has_its_different_values_with_weights() -> None:
    made = sampled(mix(FILE))
    params = transactions(made)["account"]["steps"][0]["params"]
    assert params == [
        {"kind": "pick", "values": [5, 6, 7], "weights": [1.0, pytest.approx(2**-1.1), pytest.approx(3**-1.1)]}
    ]
    # The stored experiment needs no database to be read again.
    again = make_experiment(parse(made.text, made.location, made.folder))
    assert transactions(again) == transactions(made)
    assert with_samples(again, lambda _, __: pytest.fail("sampled again")) is again


def test_begin_and_commit_of_the_file_are_used_where_they_are() -> None:
    text = "-- transaction: a\n-- think: 1ms\nbegin immediate;\n-- think: 2ms\nselect 1;\ncommit;\nselect 2;"
    made = transactions(mix(text))["a"]
    assert done(made) == ["pause", "begin", "pause", "execute", "commit", "execute"]
    assert made["steps"][1]["mode"] == "immediate"


def test_statements_of_a_request_commit_by_themselves() -> None:
    text = "-- request: a\nselect 1;\nbegin;\nselect 2;\nselect 3;\ncommit;\n-- request: b\nselect 4;\nselect 5;\n"
    made = transactions(mix(text + "-- end\nselect 6;"))
    assert done(made["a"]) == ["execute", "begin", "execute", "execute", "commit"]
    assert done(made["b"]) == ["execute", "execute"]
    assert done(made["q6"]) == ["execute"]


def test_a_file_may_give_levels() -> None:
    made = mix("-- set: prepare=never, connect = per-transaction\nselect 1;")
    levels = {name: factor.levels[0].name for name, factor in made.factors.items()}
    assert levels["prepare"] == "never" and levels["connect"] == "per-transaction"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-- set: clients=4\nselect 1", "line 1: `clients=4` is not a level; write a level of `prepare`, `connect`"),
        ("-- set: prepare\nselect 1", "line 1: `prepare` is not a level"),
        ("select 1;\n-- set: prepare=never\nselect 2", "line 2: `-- set:` applies to the whole file"),
        ("-- set: connect=always\nselect 1", "always"),
        ("-- request: a\n-- end\nselect 1", "line 1: the request `a` is empty"),
    ],
)
def test_wrong_levels_and_requests_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        transactions(mix(text))
    assert problem in str(error.value)


def test_a_plain_begin_is_a_factor() -> None:
    assert mix("-- transaction: a\nbegin;\nselect 1;\nend;").factors["begin"].levels[0].name == "deferred"
    assert mix("-- transaction: a\nselect 1;").factors["begin"].levels[0].name == "deferred"
    assert "begin" not in mix("-- transaction: a\nbegin immediate;\nselect 1;\nrollback;").factors
    assert "begin" not in mix("select 1").factors


def test_a_transaction_ends_at_the_next_one_at_its_end_and_with_the_file() -> None:
    text = "-- transaction: a\nselect 1;\n-- weight: 3\n-- transaction: b\nselect 2;\n-- end\nselect 3;\n"
    text += "-- transaction: c\nselect 4;\nselect 5\n-- think: 1s\n"
    queries = read_queries(text, "mix.sql", "sqlite")
    blocks = [None if each.block is None else each.block.name for each in queries]
    assert blocks == ["a", "b", None, "c", "c"]
    assert [each.weight for each in queries] == [1, 3, 1, 1, 1]
    assert queries[-1].sql == "select 5" and [each.words for each in queries[-1].after] == ["1s"]


def test_queries_keep_the_weights_and_leave_out_begin_and_commit() -> None:
    text = "-- weight: 20\n-- transaction: a\nbegin;\nselect 1;\nselect 2;\ncommit;\n-- end\nselect 3"
    queries = read_queries(text, "mix.sql", "sqlite")
    assert [(each.name, each.sql) for each in queries] == [("q1", "select 1"), ("q2", "select 2"), ("q3", "select 3")]
    assert queries_experiment(queries, {}, "mix.sql").head.report.weights == {"q1": 20, "q2": 20, "q3": 1}
    assert mix(text).head.report.weights == {"q1": 20, "q2": 20, "q3": 1}
    # A file without any has none.
    assert not queries_experiment(read_queries("select 1", "mix.sql", "sqlite"), {}, "mix.sql").head.report.weights


def test_an_isolation_level_is_sent_as_written() -> None:
    made = mix("-- transaction: a\nbegin isolation level serializable;\nselect $$a$$;\ncommit;", "postgresql")
    first, _, last = made.definition(made.first_levels()).transactions[0].steps
    assert first.execute.texts == (("postgresql", "begin isolation level serializable"),)
    assert last.commit is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-- weight: 3", "line 1: no statement or transaction follows the weight"),
        ("select 1;\n-- weight: 2\n-- weight: 3\nselect 2", "line 2: no statement or transaction follows the weight"),
        ("-- weight: heavy\nselect 1", "line 1: `heavy` is not a weight; write a number"),
        ("-- weight: -1\nselect 1", "line 1: `-1` is not a weight"),
        ("-- weight:\nselect 1", "line 1: `` is not a weight"),
        ("\n-- think: 5\nselect 1", "line 2: `5` is not the time of a pause; write `50ms`"),
        ("-- think: exp(5)\nselect 1", "line 1: `exp(5)` is not the time of a pause"),
        ("-- think: 2ms..1ms\nselect 1", "line 1: the start of the range 2ms..1ms is greater than its end"),
        ("-- think: 2h\nselect 1", "line 1: `2h` is not the time of a pause"),
        ("-- think: 7200s\nselect 1", "line 1: a pause of 7200s is too long; give at most an hour"),
        ("select 1; -- think: 1ms", "line 1: no statement follows the pause"),
        ("-- transaction: a", "line 1: the transaction `a` is empty"),
        ("-- transaction: a\n-- end\nselect 1", "line 1: the transaction `a` is empty"),
        ("-- transaction:\nselect 1", "line 1: the name of the transaction is missing"),
        ("-- transaction: a\nselect 1;\n-- transaction: a\nselect 2", "line 3: another one is named `a`, in line 1"),
        ("select 1\n-- transaction: a\n+ 2", "line 2: `-- transaction: a` is inside of a statement"),
        ("-- transaction: a\nselect 1;\n-- weight: 2\nselect 2", "line 3: a weight inside of the transaction `a`"),
        ("-- transaction: a\nbegin;\nselect 1", "line 2: the transaction that begins here isn't ended"),
        ("-- transaction: a\nbegin;\nbegin;\nselect 1", "line 3: line 2 has begun a transaction already"),
        ("-- transaction: a\nselect 1;\ncommit;", "line 3: no statement above it begins the transaction"),
        (
            "-- transaction: a\nbegin;\nselect 1;\ncommit and chain;",
            "line 4: dbdyno doesn't support `commit and chain`",
        ),
        ("begin;\nselect 1;\ncommit;", "line 1: q1: `begin` has no effect"),
        ("select :clients", "line 1: q1: `clients` is a factor of a mix"),
        ("-- transaction: a\nselect :n", "line 2: q1: :n has no values"),
        (
            "-- transaction: a\n-- :n = 1..2\nselect :n;\n-- :n = 1..3\nselect :n;",
            "line 5: q2: :n has other values than above in the same transaction",
        ),
        ("-- weight: 0\nselect 1", "all weights are 0"),
        ("-- wieght: 5\nselect 1", "line 1: `-- wieght:` is not a directive; did you mean `-- weight:`?"),
        ("select 1;\n-- transactions: a\nselect 2", "line 2: `-- transactions:` is not a directive"),
        ("-- name: a\nselect 1;\n-- transaction: a\nselect 2", "a transaction and a statement are named a"),
    ],
)
def test_what_a_workload_cannot_have_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        mix(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "comment", ["-- end", "-- the weight: 3", "-- note: 3", "-- ending", "/* weight: x */", "--transaction a"]
)
def test_other_comments_are_no_directives(comment: str) -> None:
    (query,) = read_queries(f"{comment}\nselect 1 {comment}\n", "mix.sql", "sqlite")
    assert query.weight == 1 and query.block is None


PIECES = (
    *("-- transaction: a", "-- transaction: b", "-- transaction:", "-- end", "-- END ", "-- weight: 2", "-- weight: 0"),
    *("-- weight: x", "-- weight:", "-- think: 1ms", "-- think: exp(1s)", "-- think: ", "-- think: 1ms..2us"),
    *("-- name: a", "-- name: b", "-- :n = 1..9 zipf 1.1", "-- :n = 1..9", "-- :n = 'a', 'b' zipf"),
    *(
        "-- :n = 1 zipf x",
        "-- :n = @a of t zipf 2",
        "-- :n = @a of t gaussian",
        "-- :n = @a of t in the row of :m",
        "-- :n = @a of t 3 rows after :m",
        "-- :m = @b of t",
        "-- :m = @b of u in the row of :n",
        "begin;",
        "begin immediate;",
        "commit;",
        "rollback;",
        "end",
    ),
    *("select 1;", "select :n;", "select :n, :n;", "select 2", ";", "savepoint s;", "/* */", "", "-- a comment", "'"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_any_directives_are_read_or_refused(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    refused = ""
    try:
        made = with_samples(mix(text), lambda _, columns: [[1, 2, 3] for _ in columns])
    except InputError as error:
        refused = str(error)
    if refused:
        whole = ("no statement found", "all weights are 0", "named", "no statement has a parameter")
        assert re.match(r"mix\.sql, line \d+", refused) or any(each in refused for each in whole)
        return
    for each in transactions(made).values():
        steps = done(each)
        assert "execute" in steps
        # Each transaction that begins ends.
        assert steps.count("begin") == steps.count("commit") + steps.count("rollback")


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("1..1000 zipf 1.5", {"zipf": {"low": 1, "high": 1000, "exponent": 1.5, "scattered": True}}),
        ("-5 .. 5 ZIPF", {"zipf": {"low": -5, "high": 5, "exponent": 1.0, "scattered": True}}),
        ("1..9 gaussian", {"gaussian": {"low": 1, "high": 9}}),
        ("1..9 gaussian 4", {"gaussian": {"low": 1, "high": 9, "deviations": 4.0}}),
        ("'a', 'b' zipf 1", {"pick": {"values": ["a", "b"], "weights": [1.0, 0.5]}}),
        ("'a zipf 1'", {"pick": ["a zipf 1"]}),
        ("@id of customers", {"column": "customers.id"}),
        ("@id of customers zipf", {"column": "customers.id", "draw": {"zipf": 1.0}}),
        ('@"e mail" of "order" zipf 2', {"column": '"order"."e mail"', "draw": {"zipf": 2.0}}),
        ("@status of orders rank 1, 1,2", {"column": "orders.status rank 1, 1, 2"}),
        ("1..9 or null 25%", {"nullable": {"share": 0.25, "of": {"uniform": [1, 9]}}}),
        ("'a or null 5%'", {"pick": ["a or null 5%"]}),
    ],
)
def test_values_can_be_skewed(words: str, made: Any) -> None:
    assert read_values(words, "here") == made


@pytest.mark.parametrize(
    "words",
    [
        *("1..9 zipf 0", "1..9 zipf -1", "1..9 zipf 1e9", "1..9 zipf nan", "1..9 gaussian 0.5", "0.5..2 zipf 1"),
        *("1..9 or null 100%", "1..9 or null 0%", "@id of customers rank 1.5", "@id of customers rank 1, zipf 1"),
        *("'a' gaussian", "@id of customers gaussian", "2024-01-01..2024-01-31 zipf 1", "null, 1 zipf 1", "zipf 1"),
    ],
)
def test_other_skews_are_refused(words: str) -> None:
    with pytest.raises(InputError):
        read_values(words, "here")


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("50ms", 50_000),
        ("1.5 s", 1_500_000),
        ("20us .. 1ms", {"uniform": [20, 1000]}),
        ("EXP(2ms)", {"expression": "random_exponential(0, 20000, 10)"}),
        ("0ms", 0),
    ],
)
def test_the_time_of_a_pause_is_read(words: str, made: Any) -> None:
    assert read_pause(words, "here") == made


HEAD = 'name = "x"\ntitle = "X"\n[load]\nstop = { transactions = 1 }\n'


def of_column(generator: str, more: str = "") -> Experiment:
    step = f'{{ execute = "select ?", params = [{generator}] }}'
    return make_experiment(parse(f'{HEAD}[[transactions]]\nname = "t"\nsteps = [{step}]\n{more}', "x.toml", Path()))


def test_an_experiment_names_a_column_of_an_existing_table() -> None:
    asked: list[tuple[str, Sequence[str]]] = []

    def sample(table: str, columns: Sequence[str]) -> list[list[str]]:
        asked.append((table, columns))
        return [["${a}", "b", "b"]]

    made = with_samples(
        of_column('{ nullable = { share = 0.5, of = { column = \'main."order"."e mail"\' } } }'), sample
    )
    assert asked == [('main."order"', ['"e mail"'])]
    (step,) = transactions(made)["t"]["steps"]
    # Rows with the same value stay as frequent as they are.
    assert step["params"][0]["of"] == {"kind": "pick", "values": ["${a}", "b", "b"]}


def test_values_that_the_file_has_are_not_sampled() -> None:
    made = of_column('{ column = "t.a" }', '[samples]\n"t.a" = [1, 2]\n')
    assert with_samples(made, lambda _, __: pytest.fail("sampled")) is made
    assert transactions(made)["t"]["steps"][0]["params"] == [{"kind": "pick", "values": [1, 2]}]


LOGIN = """
    -- :u = @name of users zipf 0.5
    -- :p = @password of users in the row of :u
    select * from users where name = :u and password = :p;
    -- :t = @at of events
    -- :end = @at of events 10 rows after :t
    select * from events where at >= :t and at < :end;
"""


def test_values_of_a_row_are_drawn_together() -> None:
    asked: list[tuple[str, Sequence[str]]] = []

    def sample(table: str, columns: Sequence[str]) -> list[list[str]]:
        asked.append((table, columns))
        return [["a", "b"], ["pa", "pb"]]

    made = with_samples(mix_experiment(read_statements(LOGIN, "x.sql", "sqlite"), {}, "x.sql", "sqlite"), sample)
    assert asked == [("users", ["name", "password"]), ("events", ["at", "at after 10"])]
    assert list(made.document["samples"])[:2] == [
        "users.name with users.password",
        "users.password with users.name",
    ]
    users, events = transactions(made).values()
    number = {"kind": "variable", "name": "row of u"}
    assert users["steps"][0]["value"] == {"kind": "zipf", "low": 0, "high": 999, "exponent": 0.5, "scattered": False}
    for place, values in enumerate((["a", "b"], ["pa", "pb"])):
        constants = [{"kind": "constant", "value": each} for each in values]
        assert users["steps"][1]["params"][place] == {"kind": "choice", "of": constants, "index": number}
    assert events["steps"][0]["value"] == {"kind": "uniform", "low": 0, "high": 999_999}


def test_a_statement_alone_draws_the_row_of_another_parameter() -> None:
    text = LOGIN + "select * from users where password = :p;"
    levels = statement_levels(read_statements(text, "x.sql", "sqlite"), {}, "x.sql")
    assert [each["set"] for each in levels["q3"]["sets"]] == ["row of u", "p", "u"]
    assert levels["q3"]["params"] == [{"variable": "p"}]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("@b of t in the row of :c", ":b is of the row of :c, which isn't drawn from a column"),
        ("@b of u in the row of :a", ":b and :a are columns of different tables"),
    ],
)
def test_a_row_needs_another_column_of_its_table(values: str, words: str) -> None:
    text = f"-- :a = @a of t\n-- :b = {values}\nselect * from t where a = :a and b = :b;"
    with pytest.raises(InputError) as caught:
        mix_experiment(read_statements(text, "x.sql", "sqlite"), {}, "x.sql", "sqlite")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("generator", "more", "words"),
    [
        ('{ column = "t.a after 5" }', "", "only a row has later ones; give a `row`"),
        ('{ column = "t.a", draw = { zipf = 1 }, row = 1 }', "", "`draw` has no effect if `row` is given"),
        ('{ column = "a" }', "", '"a" is not a column of a table; write `"table.column"`'),
        ('{ column = "t.a", draw = { gaussian = {} } }', "", "a column's values have no middle"),
        ('{ column = "own.id" }', "OWN", "the experiment creates the table of `own.id` itself; write `{ key ="),
        ("1", "OWN2", "a column can't use values of an existing table; use `key`"),
    ],
)
def test_a_wrong_column_is_told(generator: str, more: str, words: str) -> None:
    fill = '{ column = "t.a" }' if more == "OWN2" else "{ serial = 1 }"
    own = f"[tables.own]\nrows = 1\ncolumns = {{ id = {{ type = 'integer', fill = {fill} }} }}\n" if more else ""
    with pytest.raises(InputError) as caught:
        of_column(generator, own)
    assert words in str(caught.value)


def test_a_column_without_values_is_told_when_it_is_compiled() -> None:
    with pytest.raises(InputError, match="no values of this column were sampled"):
        transactions(of_column('{ column = "t.a" }'))


def test_later_statements_use_a_result() -> None:
    text = """
        -- transaction: order
        -- :customer = 1..5
        -- into: id, number
        insert into orders (customer) values (:customer) returning id, number;
        -- :id = 1..9
        insert into items (order_id, number) values (:id, 1);
        update orders set paid = 1 where id = :id and customer = :customer;
    """
    shown = mix(text).document["transactions"][0]["steps"]
    assert [each.get("into") for each in shown if "execute" in each] == [["id", "number"], None, None]
    assert [each["set"] for each in shown if "set" in each] == ["customer"], "the result isn't drawn before"
    params = [each["params"] for each in shown if "execute" in each]
    assert params[1:] == [[{"variable": "id"}], [{"variable": "id"}, {"variable": "customer"}]]
    # Each alone, they have the values of the file.
    with pytest.raises(InputError, match=":id has no values"):
        queries_experiment(read_queries(text.replace("-- :id = 1..9", ""), "mix.sql", "sqlite"), {}, "mix.sql")
    queries_experiment(read_queries(text, "mix.sql", "sqlite"), {}, "mix.sql")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-- into: a\nselect 1;", "line 1: outside of a transaction, no later statement uses the result"),
        ("-- transaction: t\n-- into: 1\nselect 1;", "line 2: `1` is not a list of different parameters"),
        ("-- transaction: t\n-- into: a, a\nselect 1, 2;", "line 2: `a, a` is not a list of different parameters"),
        ("-- transaction: t\n-- into: a\nselect 1;", "line 3: q1: no later statement of the transaction uses its"),
        ("-- transaction: t\nselect 1;\n-- into: a\n-- end", "line 3: no statement of the transaction follows"),
        (
            "-- transaction: t\n-- :a = 1\nselect :a;\n-- into: a\nselect 1;\nselect :a;",
            "line 5: q2: :a has a value before `-- into:` gives it the result of this statement",
        ),
        ("-- transaction: t\n-- intos: a\nselect 1;", "did you mean `-- into:`"),
    ],
)
def test_wrong_uses_of_results(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        mix(text)
