"""Workloads from traces: transactions, loops, weights, pauses and the values of parameters."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.base.errors import InputError
from dbdyno.engines.url import parse_url
from dbdyno.experiment.distil.experiment import experiment_document
from dbdyno.experiment.distil.parameters import Chooser, ColumnFacts
from dbdyno.experiment.distil.phases import phases
from dbdyno.experiment.distil.skew import distinct_values, fitted_skew
from dbdyno.experiment.distil.units import Counts, loops, recognize
from dbdyno.experiment.distil.uses import Use, parse_uses
from dbdyno.experiment.distil.workload import Workload, WorkloadWriter, run_command
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.mix import mix_experiment
from dbdyno.experiment.queries import read_statements
from dbdyno.experiment.toml_text import write_toml
from dbdyno.model.experiment.load import Open
from dbdyno.trace.fingerprint import Fingerprints
from dbdyno.trace.header import Header
from dbdyno.trace.journal_writer import JournalWriter
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.reading import open_trace
from dbdyno.trace.recorded import Recorded
from dbdyno.trace.summary import summarize
from dbdyno.trace.values import Values


@given(st.lists(st.integers(0, 3), max_size=40))
def test_loops_describe_their_sequence(sequence: list[int]) -> None:
    found = loops(sequence)
    assert [each for body, repeats in found for each in body * repeats] == sequence


def test_loops_are_found() -> None:
    assert loops([1, 2, 2, 2, 3]) == [((1,), 1), ((2,), 3), ((3,), 1)]
    assert loops([1, 2, 3, 2, 3, 2, 3, 4]) == [((1,), 1), ((2, 3), 3), ((4,), 1)]


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.2])
def test_skew_of_zipf_distributions(exponent: float) -> None:
    random = np.random.default_rng(3)
    weights = np.arange(1, 1001, dtype=float) ** -exponent
    draws = (np.bincount(random.choice(1000, 3000, p=weights / weights.sum())) for _ in range(20))
    found = [fitted_skew([int(each) for each in counts if each], 1000) for counts in draws]
    if exponent == 0:
        assert sum(each is None for each in found) >= 18
        return
    known = [each for each in found if each is not None]
    assert np.mean([each.exponent for each in known]) == pytest.approx(exponent, abs=0.05)
    assert sum(each.low <= exponent <= each.high for each in known) >= 17


def test_many_values_are_sampled_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.experiment.distil.units._MOST_VALUES", 400)
    random = np.random.default_rng(3)
    weights = np.arange(1, 5001, dtype=float) ** -1.0
    counts = Counts()
    for each in random.choice(5000, 40_000, p=weights / weights.sum()).tolist():
        counts.add(str(each))
    assert len(counts.by_value) <= 400
    assert counts.by_value.total() == pytest.approx(40_000 * counts.share, rel=0.2)
    skew = fitted_skew(list(counts.by_value.values()), 5000)
    assert skew is not None
    assert skew.exponent == pytest.approx(1, abs=0.15)


def test_unused_values_are_estimated() -> None:
    random = np.random.default_rng(3)
    counts = [int(each) for each in np.bincount(random.integers(0, 1000, 1000)) if each]
    assert distinct_values(counts) == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize(
    ("text", "name", "uses"),
    [
        (
            "select * from orders o join users u on u.id = o.user_id where u.mail = ? and o.id in (?, ?) limit ?",
            "select orders",
            [Use("equals", "users", "mail"), *[Use("equals", "orders", "id")] * 2, Use("limit")],
        ),
        (
            "update t set a = ?, b = b + ? where id = ?",
            "update t",
            [Use("set", "t", "a"), Use(), Use("equals", "t", "id")],
        ),
        (
            'insert into shop.t (a, "B c") values (?, ?), (?, ?)',
            "insert t",
            [Use("inserted", "shop.t", "a"), Use("inserted", "shop.t", '"B c"')] * 2,
        ),
        ("delete from t where a between ? and ? and b like ?", "delete t", None),
        ("select sum(a) from t where b > (select max(c) from u where d = ?)", "select t", [Use("equals", "u", "d")]),
        ("select ? from from", "select", [Use("unknown")]),
    ],
)
def test_uses_of_parameters(text: str, name: str, uses: list[Use] | None) -> None:
    parsed = parse_uses(text, "postgresql")
    assert parsed.name == name
    expected = [*[Use("range", "t", "a")] * 2, Use("pattern", "t", "b")] if uses is None else uses
    assert parsed.uses == expected


VALUES = Values(b"k" * 32)


def trace(path: Path, kept: bool = False) -> None:
    """A shop: 30 checkouts with a loop of three updates, 90 lookups, a failure, and a statement of an administrator."""
    values = Values(None) if kept else VALUES
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        at = 1_700_000_000_000_000

        def add(text: str, *parameters: object, error: str | None = None, pause_us: int = 0) -> None:
            nonlocal at
            at += pause_us
            written = [values.of(each) for each in parameters]
            writer.add(1, text, Execution(at, 100_000, 1, error, None, written))
            at += 100

        for number in range(30):
            add("begin", pause_us=50_000)
            add("insert into orders (customer, total) values (?, ?)", number % 7, number * 10 + 1000)
            for item in range(3):
                add("update items set stock = stock - ? where id = ?", 1, number + item, pause_us=2_000)
            add("update customers set spent = spent + ? where id = ?", number * 10 + 1000, number % 7)
            add("commit")
            for _ in range(3):
                add("select name from customers where mail = ?", f"{number % 5}@example.com")
        add("begin")
        add("insert into orders (customer, total) values (?, ?)", 1, 2, error="SQLITE_BUSY")
        add("rollback")
        add("create user")


def distilled(path: Path, chooser: Chooser, **options: Any) -> Workload:
    opened = open_trace(path)
    units = recognize(opened)
    return WorkloadWriter(opened.header, opened.texts, chooser, str(path), **options).write(units)


def test_a_workload_has_the_transactions_of_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "shop.trace"
    trace(path)
    made = distilled(path, Chooser(None, None))
    assert "-- weight: 25\n-- transaction: insert orders and others\n" in made.text
    assert "-- weight: 75\n" in made.text
    assert "-- An N+1 loop: repeated 3 times.\n" in made.text
    assert made.text.count("update items set") == 3
    # The total of the order and of the customer are the same parameter.
    assert "values (:customer, :total);" in made.text
    assert "set spent = spent + :total where id = :customer;" in made.text
    assert made.text.count("-- think: 2ms") == 3
    assert "-- think: 50ms\n" in made.text
    assert "-- Left out: 1 transaction that failed or did not end (1 SQLITE_BUSY)\n" in made.text
    assert "-- Left out: 1 time `create user`" in made.text
    mix_experiment(read_statements(made.text, "x.sql", "sqlite"), {}, "x.sql", "sqlite")
    assert "think: 2ms" not in distilled(path, Chooser(None, None), think=False).text


def test_values_come_from_the_database(tmp_path: Path) -> None:
    path = tmp_path / "shop.trace"
    trace(path)
    facts = {
        ("orders", "customer"): ColumnFacts(30, 0, 6, [0, 1, 2, 3, 4, 5, 6] * 4, unique=False, foreign=True),
        ("items", "id"): ColumnFacts(5000, 1, 5000, list(range(1, 1001)), unique=True),
        ("customers", "mail"): ColumnFacts(7, None, None, [f"{each}@example.com" for each in range(7)], unique=True),
        ("orders", "total"): ColumnFacts(3, 1, 100, [1, 50, 100], unique=True),
    }
    chooser = Chooser(lambda table, column: facts.get((table, column)), b"k" * 32)
    text = distilled(path, chooser).text
    assert "-- :customer = @customer of orders\n" in text
    assert "-- :id = 1..5000 zipf" in text
    assert "-- `mail`: 100% of the recorded values are in customers.mail" in text
    assert "-- :mail = @mail of customers" in text
    assert "-- :total = 101..2147483647\n" in text


def test_kept_values_are_written(tmp_path: Path) -> None:
    path = tmp_path / "shop.trace"
    trace(path, kept=True)
    text = distilled(path, Chooser(None, None)).text
    assert "'0@example.com'" in text
    assert "-- :total = 1000..1290" in text


def test_values_that_are_equally_frequent_are_a_range_or_a_list() -> None:
    def chosen(counts: dict[str, int]) -> str:
        return Chooser(None, None).choose(Use(), Counts(Counter(counts))).words

    assert chosen({"4": 101, "5": 95, "3": 110, "2": 99}) == "2..5"
    assert chosen({"7": 100, "5": 95, "3": 110}) == "3, 5, 7"
    assert chosen({"1": 300, "2": 100}) == ", ".join(["1"] * 30 + ["2"] * 10)


def test_a_parameter_that_equals_two_earlier_ones_by_chance_is_recognized(tmp_path: Path) -> None:
    path = tmp_path / "bank.trace"
    values = Values(None)
    with TraceWriter(path, Header("sqlite", "test", values.kept, inline=9, bound=1)) as writer:
        for number in range(100):
            teller, branch = number % 10, number % 5
            for text, *parameters in (
                ("begin",),
                ("update tellers set n = n + 1 where id = ?", teller),
                ("update branches set n = n + 1 where id = ?", branch),
                ("insert into history (teller, branch) values (?, ?)", teller, branch),
                ("commit",),
            ):
                execution = Execution(number * 1000, 1000, 1, None, None, [values.of(each) for each in parameters])
                writer.add(1, text, execution)
    made = distilled(path, Chooser(None, None))
    assert "values (:id, :id_2);" in made.text
    # Its values were a part of the text.
    assert made.prepare == "never" and "\n-- set: prepare=never\n" in made.text


def test_equal_values_of_a_repetition_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "loop.trace"
    with TraceWriter(path, Header("sqlite", "test", VALUES.kept)) as writer:
        for number in range(60):
            each = [
                ("begin",),
                *((text, number * 7 % 5, row * 31 % 97) for row in range(number, number + 3) for text in LOOPED),
                ("commit",),
            ]
            for text, *parameters in each:
                written = [VALUES.of(each) for each in parameters]
                writer.add(1, text, Execution(number * 1000, 1000, 1, None, None, written))
    text = distilled(path, Chooser(None, None)).text
    found = re.findall(r"^(?:select|update) .*(:\w+) and id = (:\w+);", text, re.MULTILINE)
    assert len(found) == 6
    # The same in both statements of a repetition, another in each repetition.
    assert [each for _, each in found[::2]] == [each for _, each in found[1::2]]
    assert len({each for _, each in found}) == 3
    assert [each for each, _ in found[::2]] == [each for each, _ in found[1::2]]


def test_nested_loops_outside_of_transactions_are_named(tmp_path: Path) -> None:
    path = tmp_path / "orders.trace"
    texts = [
        "select * from users where id = 1",
        "select * from orders",
        "select * from items",
        "select * from products",
    ]
    request = [0, 1, *(each for _ in range(4) for each in (2, 3, 3))]
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(20):
            for at, statement in enumerate(request):
                writer.add(1, texts[statement], Execution(number * 10**6 + at * 300, 1000))
    text = distilled(path, Chooser(None, None)).text
    found = re.findall(r"Perhaps an N\+1 loop: repeated ([\d.]+) times.*\n(?:-- [pPt].*\n)*-- name: select (\w+)", text)
    assert {name: float(times) for times, name in found} == {"items": 4, "products": 8}


LOOPED = ("select * from t where shop = ? and id = ?", "update t set n = 1 where shop = ? and id = ?")


def test_a_value_that_may_be_null_has_one_name(tmp_path: Path) -> None:
    path = tmp_path / "null.trace"
    with TraceWriter(path, Header("sqlite", "test", VALUES.kept)) as writer:
        for number in range(40):
            value = VALUES.of(50 if number % 2 else None)
            writer.add(
                1,
                "select * from p where (? is null or price < ?)",
                Execution(number, 1000, 1, None, None, [value, value]),
            )
    text = distilled(path, Chooser(None, b"k" * 32)).text
    assert "where (:price is null or price < :price);" in text
    assert "-- :price = 50 or null 50%\n" in text


def test_a_transaction_begins_as_recorded(tmp_path: Path) -> None:
    path = tmp_path / "locks.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number, begin in enumerate(("begin immediate", "BEGIN", "begin deferred transaction", "begin immediate")):
            for text in (begin, f"update t set n = {number % 3}", "commit"):
                writer.add(1, text, Execution(number * 1000, 1000))
    text = distilled(path, Chooser(None, None)).text
    assert text.count("begin immediate;") == text.count("commit;") == 1
    assert "-- Recorded 2 times" in text
    assert "BEGIN" not in text and "deferred" not in text


def test_the_end_of_a_range_is_relative_to_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "ranges.trace"
    values = Values(None)
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        for number in range(40):
            begin = number * 37 % 1000
            parameters = [values.of(each) for each in (begin, begin + 99, begin, begin + 10 + number % 3)]
            text = "select n from t where (id between ? and ?) or (m >= ? and m < ?)"
            writer.add(1, text, Execution(number * 1000, 1000, 1, None, None, parameters))
    text = distilled(path, Chooser(None, None)).text
    assert "where (id between :id and :id_2) or (m >= :id and m < :m)" in text
    assert "-- :id_2 = :id + 99\n" in text
    assert "-- :m = :id + 10..12\n" in text
    mix = mix_experiment(read_statements(text, "x.sql", "sqlite"), {}, "x.sql", "sqlite")
    assert ":id + random(10, 12)" in mix.text


@pytest.mark.parametrize("kept", [True, False])
def test_the_number_of_a_line_counts_the_repetitions(tmp_path: Path, kept: bool) -> None:
    path = tmp_path / "lines.trace"
    values = Values(None) if kept else VALUES
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        for number in range(40):
            lines = [(number * 7, line, 1 + number % 5) for line in range(1, 3 + number % 3)]
            executions = [("insert into lines (order_id, line, amount) values (?, ?, ?)", line) for line in lines]
            for text, parameters in (("begin", ()), *executions, ("commit", ())):
                written = [values.of(each) for each in parameters]
                writer.add(1, text, Execution(number * 1000, 1000, 1, None, None, written))
    facts = {("lines", "line"): ColumnFacts(9000, 1, 9, [1, 2, 3] * 100, unique=False, foreign=False)}
    text = distilled(path, Chooser(lambda table, column: facts.get((table, column)), b"k" * 32)).text
    assert "-- `line`: it counts the repetitions of the loop\n-- :line = 1\n" in text
    assert "-- :line_2 = 2\n" in text
    assert "-- :amount = 1..5\n" in text


def test_made_up_values_and_failures_are_told(tmp_path: Path) -> None:
    path = tmp_path / "search.trace"
    search = "select id from posts where body like ? escape ? and depth = ?"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(30):
            values = [VALUES.of(f"%word{number}%"), VALUES.of("\\"), VALUES.of(3)]
            writer.add(1, search, Execution(number * 10**6, 30_000, 1, values=values))
            writer.add(1, "select 1", Execution(number * 10**6 + 10**5, 10_000, 1))
        writer.add(1, "insert into posts (id) values (1)", Execution(10**9, 1000, 0, "SQLITE_BUSY"))
    facts = {
        ("posts", "body"): ColumnFacts(500, None, None, [f"text {each}" for each in range(500)], False, False),
        ("posts", "depth"): ColumnFacts(500, 1, 4, [1, 2, 3, 3, 3, 4] * 80, False, False),
    }
    made = distilled(path, Chooser(lambda table, column: facts.get((table, column)), b"k" * 32))
    assert "-- :escape = '\\'\n" in made.text
    assert "-- :depth = 3\n" in made.text
    assert (made.made_up, made.errors) == (1, "1 SQLITE_BUSY")
    assert made.made_up_share == pytest.approx(0.75)
    assert "-- Values of 1 statement with 75 % of the time are made up" in made.text


def test_a_part_of_a_key_that_is_always_different_is_new(tmp_path: Path) -> None:
    path = tmp_path / "objects.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(50):
            values = [VALUES.of(f"bucket{number % 3}"), VALUES.of(f"new{number}")]
            writer.add(1, "insert into objects (parent, id) values (?, ?)", Execution(number, 1, 1, values=values))
    facts = {
        ("objects", "parent"): ColumnFacts(500, None, None, ["bucket1", "bucket2"] * 250, False, False),
        ("objects", "id"): ColumnFacts(500, None, None, [f"id{each}" for each in range(500)], False, False),
    }
    columns = {"objects": [("parent", "text"), ("id", "text")]}
    chooser = Chooser(
        lambda table, column: facts.get((table, column)), b"k" * 32, "sqlite", columns=lambda table: columns[table]
    )
    text = distilled(path, chooser).text
    assert "-- `id`: new values: no two rows of objects.id may have the same\n" in text


def test_rare_inserts_of_deleted_rows_remain(tmp_path: Path) -> None:
    path = tmp_path / "cache.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(3000):
            for text in ("delete from cache where old = 1", "update cache set n = n + 1", "select 1 from other"):
                writer.add(1, text, Execution(number * 1000, 100_000, 1))
        writer.add(1, "insert into cache (n) values (1)", Execution(10**7, 1000, 1))
        writer.add(1, "insert into other (n) values (1)", Execution(10**7, 1000, 1))
    text = distilled(path, Chooser(None, None)).text
    assert "insert into cache" in text
    assert "insert into other" not in text


def test_values_of_one_row_and_the_end_of_a_range_of_strings(tmp_path: Path) -> None:
    path = tmp_path / "tenants.trace"
    lookup = "select name from users where tenant = ? and id = ?"
    between = "select id from orders where tenant = ? and at between ? and ?"
    missed = "select name from users where tenant = ? and mail = ?"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(200):
            tenant, id_ = VALUES.of(number % 25), VALUES.of(number * 7 % 400 + 7000)
            ends = [VALUES.of(f"2026-01-{number % 20 + day:02} 12:00:00") for day in (1, 8)]
            writer.add(1, lookup, Execution(number * 10**6, 1000, 1, values=[tenant, id_]))
            writer.add(1, between, Execution(number * 10**6 + 10**5, 1000, 4, values=[tenant, *ends]))
            writer.add(1, missed, Execution(number * 10**6 + 2 * 10**5, 1000, 0, values=[tenant, ends[0]]))
    facts = {
        ("users", "tenant"): ColumnFacts(500, None, None, [f"t{each % 25}" for each in range(500)], False, True),
        ("users", "id"): ColumnFacts(500, 1, 500, list(range(1, 501)), unique=True),
        ("users", "mail"): ColumnFacts(500, None, None, [f"m{each}" for each in range(500)], unique=True),
        ("orders", "tenant"): ColumnFacts(5000, None, None, [f"t{each % 25}" for each in range(1000)], False, True),
        ("orders", "at"): ColumnFacts(5000, None, None, [f"2026-01-{each % 28 + 1}" for each in range(1000)], False),
    }
    text = distilled(path, Chooser(lambda table, column: facts.get((table, column)), b"k" * 32)).text
    lookup, between, missed = text.split("\nselect ")[:3]
    assert "-- :tenant = @tenant of users in the row of :id\n" in lookup
    assert "-- :id = @id of users" in lookup
    # A twenty-fifth of the orders is of one tenant.
    assert "-- :at_2 = @at of orders 100 rows after :at" in between
    assert "in the row of" not in missed


def test_transactions_stand_for_similar_ones(tmp_path: Path) -> None:
    path = tmp_path / "shards.trace"
    chooser, count = Random(2), 600
    executed: Counter[str] = Counter()
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(count):
            tables = [chooser.choice("abcd") for _ in range(8)]
            statements = [f"update {table}{place % 2} set n = n + 1" for place, table in enumerate(tables)]
            executed.update(statements)
            for text in ("begin", *statements, "commit"):
                writer.add(1, text, Execution(number * 1000, 1000))
        for number in range(count):
            writer.add(2, "select 1", Execution(number * 1000, 10))
    made = distilled(path, Chooser(None, None))
    assert "similar transaction" in made.text
    assert made.covered > 0.95
    weighted: Counter[str] = Counter()
    for each in read_statements(made.text, "x.sql", "sqlite"):
        weighted[each.sql] += each.weight
    for text, number in executed.items():
        share = weighted[text] / sum(weighted[other] for other in executed)
        assert share == pytest.approx(number / executed.total(), abs=0.06)


def test_branches_are_named(tmp_path: Path) -> None:
    path = tmp_path / "branches.trace"
    known = ["select 1 from users where id = 1", "update users set n = n + 1"]
    new = [known[0], "insert into users (n) values (1)", "insert into events (n) values (1)"]
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(100):
            for text in ("begin", *(new if number % 4 == 0 else known), "commit"):
                writer.add(1, text, Execution(number * 1000, 1000))
    text = distilled(path, Chooser(None, None)).text
    words = "-- Perhaps a branch of `update users and others`: the first statement is the same.\n"
    assert text.count("a branch of") == 1
    assert f"{words}-- transaction: insert users and others\n" in text


@pytest.mark.parametrize(
    ("counts", "prepare"),
    [
        ({}, "once"),
        ({"bound": 9, "inline": 8, "parsed": 4}, "never"),
        ({"bound": 9, "inline": 3, "parsed": 5}, "per-transaction"),
        ({"bound": 9, "inline": 4, "parsed": 4}, "once"),
    ],
)
def test_most_statements_decide_how_a_workload_prepares(counts: dict[str, int], prepare: str) -> None:
    assert Header("postgresql", "test", **counts).prepare == prepare


def test_a_recording_counts_how_statements_were_prepared(tmp_path: Path) -> None:
    forms: list[tuple[str, list[int] | None, bool | None]] = [
        ("select ?", [1], True), ("select ?", [1], False), ("select ?", [1], None), ("select 'a'", None, None),
        ("begin", None, None),
    ]  # fmt: skip
    batch = [Recorded(1, text, values, 1000, 1000, once=once) for text, values, once in forms]
    JournalWriter(tmp_path / "a.journal", "sqlite", keep=True).write(batch, 0, "1")
    header = open_trace(tmp_path / "a.journal").header
    assert (header.bound, header.parsed, header.inline) == (2, 1, 2)


@pytest.mark.parametrize(("active_ms", "shown", "think"), [(600, "6.69ms", "15.7ms"), (300, "", "9ms")])
def test_pauses_have_the_time_of_idle_sessions(tmp_path: Path, active_ms: int, shown: str, think: str) -> None:
    path = tmp_path / "idle.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        # A statement of 1 ms every 10 ms. Then the session is idle until the end, at 1 s.
        for start in range(0, active_ms, 10):
            writer.add(1, "select a from t", Execution(start * 1000, 1_000_000))
        writer.add(2, "select a from t", Execution(999_000, 1_000_000))
    text = distilled(path, Chooser(None, None)).text
    assert (f"so pauses are {shown} longer than recorded" in text) == bool(shown)
    assert f"-- think: {think}\n" in text


def test_settings_of_sessions_are_in_the_command(tmp_path: Path) -> None:
    path = tmp_path / "settings.trace"
    texts = ("pragma synchronous = 1", "pragma synchronous = 1", "pragma synchronous = 2", "pragma cache_size = -9")
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number, text in enumerate((*texts, "pragma optimize", "select a from t")):
            writer.add(1, text, Execution(number * 1000, 1000))
    made = distilled(path, Chooser(None, None))
    assert made.left_out == ["1 time `pragma optimize`"]
    assert run_command("a.sql", made, parse_url("sqlite:a.db"), "statements").endswith(
        " --system 'sqlite:a.db?synchronous=1&cache_size=-9'"
    )
    command = run_command("a.sql", made, parse_url("sqlite:a.db?synchronous=off"), "statements")
    assert command.endswith(" --system 'sqlite:a.db?synchronous=off&cache_size=-9'")
    assert (
        run_command("a.toml", made, None, "synthetic")
        == "dbdyno run a.toml --system 'sqlite:?synchronous=1&cache_size=-9'"
    )


def test_rare_transactions_have_the_values_of_all_with_the_statement(tmp_path: Path) -> None:
    path = tmp_path / "many.trace"
    values = Values(None)
    random = np.random.default_rng(2)
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        # Each of 40 transactions occurs 30 times, and uses hot keys. The first one has its own constant.
        for number in range(1200):
            kind = number % 40
            key, status = int(random.zipf(1.6)) % 1000, 9 if kind == 0 else number % 3
            begin = Execution(number * 1000, 1000)
            changed = Execution(number * 1000, 1000, 1, values=[values.of(status), values.of(key)])
            writer.add(1, "begin", begin)
            writer.add(1, f"select {'a' * (kind + 1)} from t", begin)
            writer.add(1, "update t set s = ? where k = ?", changed)
            writer.add(1, "commit", begin)
    units = recognize(open_trace(path)).units
    assert len(units) == 40
    status = [unit.slots[1].values[0].by_value for unit in units]
    assert sum(set(each) == {"9"} for each in status) == 1
    assert sum(set(each) == {"0", "1", "2", "9"} for each in status) == 39
    assert all(unit.slots[1].values[1].by_value.total() == 1200 for unit in units)


def test_rare_transactions_with_other_skew_keep_their_values(tmp_path: Path) -> None:
    path = tmp_path / "skew.trace"
    values = Values(None)
    random = np.random.default_rng(2)
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        # Most draw hot keys; one transaction has few keys, another one draws all with the same probability.
        for number in range(600):
            kind = number % 10
            key = number % 5 if kind == 0 else int(random.integers(4000) if kind == 1 else random.zipf(1.6)) % 4000
            executed = Execution(number * 1000, 1000)
            writer.add(1, "begin", executed)
            writer.add(1, f"select {'a' * (kind + 1 if kind < 2 else 3)} from t", executed)
            changed = Execution(number * 1000, 1000, 1, values=[values.of(key)])
            writer.add(1, "update t set s = 1 where k = ?", changed)
            writer.add(1, "commit", executed)
    opened = open_trace(path)
    used = {opened.texts[unit.slots[0].statement]: unit.slots[1].values[0] for unit in recognize(opened).units}
    assert [used[f"select {name} from t"].by_value.total() for name in ("a", "aa")] == [60, 60]


def test_pauses_within_a_transaction_keep_it_open(tmp_path: Path) -> None:
    path = tmp_path / "pauses.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        # 1 ms each. Pauses: 0 before the select, 4 ms before the commit.
        for number in range(20):
            for text, at in (("begin", 0), ("select a from t", 1000), ("commit", 6000)):
                writer.add(1, text, Execution(number * 10_000 + at, 1_000_000))
    shown = "begin;\n-- name: select t 2\nselect a from t;\n-- think: 4ms\ncommit;\n"
    assert shown in distilled(path, Chooser(None, None)).text
    assert "commit" not in distilled(path, Chooser(None, None), think=False).text


@pytest.mark.parametrize(("length", "listed"), [(98, 20), (37, 25), (3, 100)])
def test_many_values_that_are_used_equally_are_not_all_listed(length: int, listed: int) -> None:
    counts = Counts(Counter({f"'{number:0{length}}x'": 1 for number in range(100)}))
    words = Chooser(None, None).choose(Use("inserted", "t", "a"), counts).words
    assert words.count("x'") == listed


def test_the_query_of_a_cursor_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "cursors.trace"
    fingerprints = Fingerprints("postgresql")
    with TraceWriter(path, Header("postgresql", "test")) as writer:
        for number in range(100):
            name = f'"_django_curs_{number}_sync_1"'
            declare = f"declare {name} no scroll cursor with hold for select a from t where b = 5"
            for text in ("begin", declare, f"fetch forward 2000 from {name}", f"close {name}", "commit"):
                made = fingerprints.of(text)
                writer.add(1, made.text, Execution(number * 1000, 1000, 1, values=["5"] if made.values else []))
    made = distilled(path, Chooser(None, None))
    (query,) = read_statements(made.text, "x.sql", "postgresql")
    assert query.sql == "select a from t where b = $1"
    assert not made.writes
    assert "Left out" not in made.text


def test_a_cursor_outside_of_transactions_is_a_statement(tmp_path: Path) -> None:
    path = tmp_path / "cursors.trace"
    fingerprints = Fingerprints("postgresql")
    with TraceWriter(path, Header("postgresql", "test")) as writer:
        for number in range(100):
            start = number * 100_000
            # 1 ms each; `set` is in a pause of 95 ms.
            for at, text in enumerate(("declare c cursor with hold for select a from t", "fetch 9 from c", "close c")):
                writer.add(1, fingerprints.of(text).text, Execution(start + 2000 * at, 1_000_000, 1))
            writer.add(1, "set", Execution(start + 50_000, 1_000_000))
    made = distilled(path, Chooser(None, None))
    assert "-- Recorded 100 times, 3.000 ms each." in made.text
    assert "-- Pauses of 95ms on average; their standard deviation is 0 % of that." in made.text
    assert "-- Left out: 100 times `set`" in made.text
    summary = summarize(open_trace(path))
    query = summary.statements[0]
    assert (query.text, query.count, query.rows) == ("declare cursor for select a from t", 100, 300)
    assert query.mean_ms == query.percentile_ms(50) == 3


def test_columns_without_equal_values_get_new_ones() -> None:
    unique = ColumnFacts(7, None, None, ["a", "b"], unique=True)
    chooser = Chooser(lambda _table, _column: unique, None, "mysql")
    assert chooser.choose(Use("inserted", "users", "name"), Counts()).form == "string"
    assert chooser.choose(Use("set", "users", "name"), Counts()).form == "itself"
    assert chooser.as_string(":n") == "(CONCAT('dbdyno-', CAST(CAST(:n AS SIGNED) AS CHAR)))"


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        ("jsonb", "'{}'"),
        ("character varying(20)[]", "'{}'"),
        ("uuid", "'00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000001'"),
        ("enum('glad','sad')", "'glad','sad'"),
        ("bytea", "'a', 'b'"),
        ("timestamp(3) with time zone", "2024-01-01..2024-12-31"),
        ("boolean", "true, false"),
        ("varchar(3)", "'xx0', 'xx1'"),
        ("tinyint unsigned", "1..2"),
        ("int4range", ""),
    ],
)
def test_made_up_values_fit_the_type_of_their_column(type_: str, words: str) -> None:
    chooser = Chooser(None, None, "postgres", columns=lambda _: [("a", type_)])
    counts = Counts(Counter({VALUES.of("some text"): 4, VALUES.of("other text"): 4}))
    assert chooser.choose(Use("equals", "t", "a"), counts).words == words


def test_made_up_strings_are_few_and_short() -> None:
    counts = Counts(Counter({VALUES.of(f"{number} {'long' * 50}"): 2 for number in range(300)}))
    chooser = Chooser(None, None)
    compared, written = (chooser.choose(use, counts).words for use in (Use("equals", "t", "a"), Use("set", "t", "a")))
    assert [len(each.strip("'")) for each in compared.split(", ")] == [40] * 20
    # Written values make rows of the recorded size.
    assert [len(each.strip("'")) for each in written.split(", ")] == [200] * 5


def test_a_cast_and_the_position_of_a_value_name_its_type() -> None:
    parsed = parse_uses("insert into t values (?, ?::jsonb, lower(?))", "postgresql")
    chooser = Chooser(None, None, "postgres", columns=lambda _: [("a", "uuid"), ("b", "jsonb"), ("C", "text")])
    first, second, third = chooser.resolved(parsed).uses
    assert (first.column, second.column, second.cast, third.column) == ("a", "b", "jsonb", "")
    assert parse_uses("select ?::text[], a = any(?) from t", "postgresql").uses[0].cast == "text[]"


def orders(
    path: Path,
    *,
    kept: bool = False,
    text: str = "insert into orders (customer) values (?)",
    columns: str = "name, id",
    updates_customer: bool = True,
) -> None:
    """A shop that looks its customers up, and uses the keys of new orders. Keys grow by one or two."""
    values = Values(None) if kept else VALUES
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        at = 1_700_000_000_000_000

        def add(text: str, *parameters: object) -> None:
            nonlocal at
            at += 100
            writer.add(1, text, Execution(at, 10_000, 1, None, None, [values.of(each) for each in parameters]))

        key = 500
        for number in range(40):
            customer, key = number * 7 % 9, key + 1 + number % 2
            add("begin")
            add(f"select {columns} from customers where mail = ?", f"{customer}@example.com")
            add(text, customer + 100)
            for item in range(3):
                add("insert into items (order_id, product) values (?, ?)", key, number * item % 5)
            if updates_customer:
                add("update customers set orders = orders + 1 where id = ?", customer + 100)
            add("update orders set paid = 1 where id = ?", key)
            add("commit")


KEYS = {
    ("orders", "id"): ColumnFacts(500, 1, 500, list(range(1, 101)), unique=True),
    ("orders", "customer"): ColumnFacts(500, 100, 108, list(range(100, 109)) * 5, unique=False, foreign=True),
    ("items", "order_id"): ColumnFacts(1500, 1, 500, list(range(1, 101)), unique=False, foreign=True),
    ("customers", "id"): ColumnFacts(9, 100, 108, list(range(100, 109)), unique=True),
}


@pytest.mark.parametrize("kept", [False, True])
def test_later_statements_use_results(tmp_path: Path, kept: bool) -> None:
    path = tmp_path / "orders.trace"
    orders(path, kept=kept)
    chooser = Chooser(lambda table, column: KEYS.get((table, column)), b"k" * 32)
    text = distilled(path, chooser).text
    assert "-- into: unused_0, customer\nselect name, id from customers where mail = :mail;" in text
    assert "insert into orders (customer) values (:customer);\n-- name: key of orders\n-- into: order_id\n" in text
    assert "update customers set orders = orders + 1 where id = :customer;" in text
    assert "select last_insert_rowid();\n" in text
    assert text.count("insert into items (order_id, product) values (:order_id, :product") == 3
    assert "update orders set paid = 1 where id = :order_id;" in text
    assert "-- `order_id`: the key that `insert orders` generates; without `--mix`, these values" in text
    mix_experiment(read_statements(text, "x.sql", "sqlite"), {}, "x.sql", "sqlite")
    # Without the database, it is unknown whether hashes are of integers that increase.
    assert ("-- into: order_id" in distilled(path, Chooser(None, b"k" * 32)).text) == kept


@pytest.mark.parametrize(("columns", "is_recognized"), [("id", True), ("name", False), ("id, name", False)])
def test_a_selected_key_may_be_a_foreign_key(tmp_path: Path, columns: str, is_recognized: bool) -> None:
    path = tmp_path / "orders.trace"
    orders(path, columns=columns, updates_customer=False)
    chooser = Chooser(lambda table, column: KEYS.get((table, column)), b"k" * 32)
    assert ("-- into: customer\nselect id from customers" in distilled(path, chooser).text) == is_recognized


@pytest.mark.parametrize(
    ("step", "is_unique", "is_result"), [(1, True, True), (0, True, True), (-1, True, False), (1, False, False)]
)
def test_a_worker_deletes_the_row_that_it_has_selected(
    tmp_path: Path, step: int, is_unique: bool, is_result: bool
) -> None:
    path = tmp_path / "queue.trace"
    with TraceWriter(path, Header("sqlite", "test", VALUES.kept)) as writer:
        for number in range(30):
            for text, *parameters in (
                ("begin",),
                ("select id, data from tasks where queue = ? order by id limit 1", "mails"),
                ("delete from tasks where id = ?", 50 + step * number),
                ("commit",),
            ):
                values = [VALUES.of(each) for each in parameters]
                writer.add(1, text, Execution(number * 1000, 1000, 1, values=values))
    facts = ColumnFacts(0, None, None, [], unique=is_unique)
    text = distilled(path, Chooser(lambda _table, _column: facts, b"k" * 32)).text
    assert ("-- into: id\nselect id, data from tasks" in text) == is_result


def test_the_key_of_one_of_several_inserts_is_that_of_the_parent(tmp_path: Path) -> None:
    path = tmp_path / "bills.trace"
    with TraceWriter(path, Header("postgresql", "test", VALUES.kept)) as writer:
        for number in range(30):
            for text, *parameters in (
                ("begin",),
                ("insert into change (at) values (now()) returning id",),
                ("insert into bills (what) values (?) returning bills.id", "x"),
                ("insert into parts (bill_id, person) values (?, ?)", 50 + number, number % 7),
                ("insert into log (change_id) values (?)", 90 + number),
                ("commit",),
            ):
                values = [VALUES.of(each) for each in parameters]
                writer.add(1, text, Execution(number * 1000, 1000, 1, values=values))
    facts = {
        ("parts", "bill_id"): ColumnFacts(9, 1, 9, list(range(9)), unique=False, foreign=True, parent="bills"),
        # Without a foreign key.
        ("log", "change_id"): ColumnFacts(9, 1, 9, list(range(9)), unique=False, foreign=False),
        ("bills", "id"): ColumnFacts(9, 1, 9, list(range(9)), unique=True),
    }
    text = distilled(path, Chooser(lambda table, column: facts.get((table, column)), b"k" * 32)).text
    assert "-- into: bill_id\ninsert into bills" in text
    assert "-- into: change_id\ninsert into change " in text


def test_a_word_may_follow_a_placeholder_directly(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    with TraceWriter(path, Header("sqlite", "test", VALUES.kept)) as writer:
        for number in range(30):
            values = [VALUES.of("a"), VALUES.of(number)]
            writer.add(1, "update t set v = ?where id=?", Execution(number * 1000, 1000, 1, values=values))
    made = distilled(path, Chooser(None, None))
    assert "\nupdate t set v = :v where id=:id;\n" in made.text


def test_sessions_of_one_statement_pause_as_long_as_they_were_idle(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        # 4 ms every 5 ms.
        for number in range(100):
            writer.add(number, "select a from t", Execution(number * 5000, 4_000_000))
    assert "-- think: exp(990us)\n" in distilled(path, Chooser(None, None)).text


def test_a_value_that_all_repetitions_share_has_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    random = np.random.default_rng(3)
    with TraceWriter(path, Header("sqlite", "test", VALUES.kept)) as writer:
        for number in range(30):
            basket = int(random.integers(1000))
            writer.add(1, "begin", Execution(number * 1000, 1000))
            for _ in range(3):
                values = [VALUES.of(basket), VALUES.of(int(random.integers(1000)))]
                writer.add(
                    1, "insert into i (basket, item) values (?, ?)", Execution(number * 1000, 1000, 1, values=values)
                )
            writer.add(1, "commit", Execution(number * 1000, 1000))
    text = distilled(path, Chooser(None, None)).text
    assert [f"values (:basket, :item{end});" in text for end in ("", "_2", "_3")] == [True] * 3


def test_keys_that_are_returned_need_no_query(tmp_path: Path) -> None:
    path = tmp_path / "orders.trace"
    orders(path, text="insert into orders (customer) values (?) returning customer, id")
    chooser = Chooser(lambda table, column: KEYS.get((table, column)), b"k" * 32)
    text = distilled(path, chooser).text
    assert "-- into: unused_1, order_id\ninsert into orders (customer) values (:customer) returning customer" in text
    assert "last_insert_rowid" not in text


def test_phases_of_a_recording() -> None:
    random = np.random.default_rng(5)
    constant = random.poisson(4, 1000)
    assert len(phases(constant.tolist(), 100)) == 1
    # Ten transactions come at a time.
    together = random.poisson(0.4, 1000) * 10
    assert len(phases(together.tolist(), 100)) == 1
    burst = np.concatenate((random.poisson(2, 600), random.poisson(12, 50), random.poisson(2, 350)))
    found = phases(burst.tolist(), 100)
    assert [each.seconds for each in found] == pytest.approx([60, 5, 35], abs=0.5)
    assert [each.rate for each in found] == pytest.approx([20, 120, 20], rel=0.15)
    assert sum(each.seconds * each.rate for each in found) == pytest.approx(burst.sum())
    start_and_end = np.concatenate((random.poisson(0.2, 40), random.poisson(4, 930), random.poisson(0.2, 30)))
    assert [each.seconds for each in phases(start_and_end.tolist(), 100)] == pytest.approx([93], abs=1)


def burst(path: Path) -> None:
    """100 seconds with ten times as many statements in the last 40 to 30."""
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        times = [*range(0, 60_000, 100), *range(60_000, 70_000, 10), *range(70_000, 100_000, 100)]
        for each in times:
            writer.add(each % 3, "select a from t where b = 1", Execution(each * 1000, 1000, 1, None, None, []))


def test_bursts_are_stages(tmp_path: Path) -> None:
    path = tmp_path / "burst.trace"
    burst(path)
    lines = distilled(path, Chooser(None, None)).text.splitlines()
    first, last = lines.index("-- arrival = { stages = ["), lines.index("-- ] }")
    stages = tomllib.loads("\n".join(each.removeprefix("-- ") for each in lines[first : last + 1]))["arrival"]["stages"]
    assert [each["seconds"] for each in stages] == pytest.approx([60, 10, 30], rel=0.02)
    assert [each["rate"] for each in stages] == pytest.approx([10, 100, 10], rel=0.05)


def test_a_trace_without_statements_is_no_workload(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        writer.add(1, "create user", Execution())
    with pytest.raises(InputError, match="the trace contains no statement that a workload can contain"):
        distilled(path, Chooser(None, None))


def test_bursts_are_stages_of_an_experiment(tmp_path: Path) -> None:
    path = tmp_path / "burst.trace"
    burst(path)
    workload = distilled(path, Chooser(None, None), think=False, form="experiment")
    text = write_toml(experiment_document(workload, "my.toml", str(path), "sqlite"))
    assert tomllib.loads(text)["name"] == "my"
    assert "# To run it like that: dbdyno run FILE.toml --system URL" in text
    assert tomllib.loads(text)["factors"]["clients"] == [workload.clients]
    kept = [line for line in text.splitlines() if not line.startswith(("stop = ", "seconds = "))]
    first, last = kept.index("# arrival = { stages = ["), kept.index("# ] }")
    kept[first : last + 1] = [line[1:] for line in kept[first : last + 1]]
    made = make_experiment(parse("\n".join(kept), "my.toml", tmp_path))
    arrival = made.definition(made.first_levels()).load.arrival
    assert isinstance(arrival, Open)
    assert [each.seconds for each in arrival.stages] == pytest.approx([60, 10, 30], rel=0.02)
