"""The answer of a run: what is ranked, at which loads, at what price, and how it is laid out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import dbdyno.engines.registry  # noqa: F401 - engines are known by it
from dbdyno.analysis.answer.advice import _gain_of
from dbdyno.analysis.answer.build import RunFacts, build_answer
from dbdyno.analysis.answer.short import short_systems
from dbdyno.analysis.findings.failures import failed_transactions
from dbdyno.analysis.findings.settings import writes_allowed
from dbdyno.experiment.experiment import builtin_experiments
from dbdyno.experiment.roles import roles_of
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.effects import Effect
from dbdyno.model.result.shape import Document
from dbdyno.report.brief import brief_lines
from dbdyno.report.charts import answer_chart
from dbdyno.report.measured import measured_line
from dbdyno.stats import MARGIN, Criteria
from synthetic import lookup_document, update_document
from synthetic_cells import cell, change, some

NOISE = (1.0, 1.01, 0.99, 1.005, 0.995)


def a_cell(rate: float, system: str = "sqlite:", place: int = 0, **more: Any) -> Any:
    """Five rounds of a cell; further levels and changes by name."""
    factors = {name: more.pop(name) for name in ("clients", "index", "cache", "busy", "statement") if name in more}
    levels = {"system": system, **factors}
    values = [rate * each for each in (NOISE[place:] + NOISE[:place])]
    return cell(",".join(map(str, levels.values())), values, levels, system=system, **more)


COMMAND = ["dbdyno", "run", "mine.toml"]


def answered(cells: list[Any], **roles: str) -> Any:
    return build_answer(RunFacts("mine", command=COMMAND), cells, roles, Criteria(MARGIN, 0.95))


def test_the_time_of_statements_together_counts_each_by_its_weight() -> None:
    # 10 ms and 1 ms.
    cells = [a_cell(100, statement="rare"), a_cell(1000, statement="often")]
    report: dict[str, Any] = {"times": True, "questions": ["statement"]}

    def said(**more: Any) -> str:
        facts = RunFacts("mine", {"report": {**report, **more}}, command=COMMAND)
        return str(build_answer(facts, cells, {"statement": "load"}, Criteria(MARGIN, 0.95)).text[0])

    assert said().startswith("rare takes 10.0 ms: ")
    assert said().endswith("91 % of the 11.0 ms that all 2 statements take, each run once.")
    weighted = said(weights={"often": 90.0})
    assert weighted.startswith("often takes 1.00 ms: ")
    assert weighted.endswith("90 % of the 100 ms that all 2 statements take, each run as often as its weight.")


def test_two_systems_are_told_apart_at_each_load() -> None:
    cells = [
        a_cell(rate, system, place, clients=clients)
        for clients, rates in {1: (2900, 100), 16: (3000, 1000)}.items()
        for place, (system, rate) in enumerate(zip(("postgresql:", "sqlite:"), reversed(rates), strict=True))
    ]
    made = answered(cells, clients="load")
    assert made.text[0].startswith("sqlite is faster than postgresql: 3,000 against 1,000 1/s (3.00x [")
    assert "at clients=16, 29.0x [" in made.text[0]
    assert made.text[0].endswith("at clients=1.")
    assert made.recommended.configuration == "sqlite"


def test_a_level_is_named_if_the_cells_of_other_levels_have_no_result() -> None:
    weak, strong = a_cell(0, "postgresql:", index="weak"), a_cell(900, "postgresql:", index="strong")
    weak.throughput.mean = None
    other = a_cell(300, "mysql:", index="weak")
    other.throughput.mean = None
    made = answered([weak, strong, other, a_cell(500, "mysql:", index="strong")])
    assert [each.name for each in made.configurations] == ["postgresql strong", "mysql strong"]


def test_nothing_is_recommended_while_what_may_be_ahead_is_not_settled() -> None:
    """Two rounds that differ much settle nothing, however far apart the means are."""
    levels = [(f"index={number}", rates) for number, rates in enumerate([(100.0, 300.0), (900.0, 400.0)])]
    cells = [cell(name, rates, {"system": "sqlite:", "index": name}) for name, rates in levels]
    made = answered(cells)
    assert made.configurations[1].verdict == "inconclusive"
    assert made.text[0].startswith("Not settled: index=1 650.0, index=0 200.0 1/s (3.25x [")
    assert made.recommended is None
    (row,) = made.advice
    assert row.action == "open" and "--rounds" in row.price


def test_what_is_shown_over_all_other_choices_is_taken_where_no_cell_is_by_itself() -> None:
    """An index is 3 times as fast at each cache, in two rounds, which settle no pair of cells among many."""
    cells = []
    for size in range(8):
        for index, factor in (("no", 1.0), ("yes", 3.0)):
            noise = (0.7, 1.3) if (size + (index == "yes")) % 2 else (1.3, 0.7)
            rates = [100 * factor * each for each in noise]
            levels = {"system": "sqlite:", "index": index, "cache": f"size {size}"}
            cells.append(cell(",".join(map(str, levels.values())), rates, levels))
    effect = {
        "factor": "index",
        "role": "choice",
        "level": "yes",
        "against": "no",
        "at": {},
        "metric": "throughput",
        "ratio": 3.0,
        "ci95": [2.9, 3.1],
        "verdict": "faster",
        "more_rounds": None,
        "durability": None,
        "failed": None,
        "cells": [[a.id, b.id] for a, b in zip(cells[::2], cells[1::2], strict=True)],
    }

    def taken(*effects: dict[str, Any]) -> tuple[Any, Any]:
        criteria = Criteria(MARGIN, 0.95, len(cells) - 1)
        made = build_answer(
            RunFacts("mine"), cells, {}, criteria, effects=[from_json(Effect, each) for each in effects]
        )  # type: ignore[arg-type]
        return made.advice, made.recommended

    rows, recommended = taken(effect)
    assert [(each.action, each.change, each.effect) for each in rows] == [
        ("take", "index=yes", "3.00x [2.90, 3.10] on average")
    ]
    assert rows[0].price == "no price"
    assert recommended.changes == {"index": "yes"}
    assert recommended.command == "dbdyno run mine --set index=yes"
    # An effect that is open, or that depends on another factor and is open at that one's first level, is not taken.
    within = effect | {"at": {"cache": "size 0"}, "verdict": "inconclusive"}
    for effects in ([effect | {"verdict": "inconclusive"}], [effect, within]):
        rows, recommended = taken(*effects)
        assert [each.action for each in rows] == ["open"] and recommended is None
    # A load is given.
    rows, _ = taken(effect | {"role": "load"})
    assert [each.change for each in rows if each.action == "take"] == []


def test_a_choice_with_a_price_is_a_maybe_with_the_price_in_its_row() -> None:
    cells = [
        a_cell(rate, index=index, cache=cache, place=place, durability=durable, rows_changed=1000)
        for place, (index, cache, rate, durable) in enumerate(
            [
                ("no", "small", 100, "power-safe"),
                ("no", "large", 300, "process-safe"),
                ("yes", "small", 200, "power-safe"),
                ("yes", "large", 600, "process-safe"),
            ]
        )
    ]
    common = {"role": "choice", "at": {}, "metric": "throughput", "verdict": "faster", "more_rounds": None}
    ids = {(each.factors["index"], each.factors["cache"]): each.id for each in cells}
    effects: Any = [
        common
        | {"factor": "index", "against": "no", "level": "yes", "ratio": 2.0, "ci95": [1.9, 2.1], "failed": None}
        | {"cells": [[ids["no", each], ids["yes", each]] for each in ("small", "large")]},
        common
        | {"factor": "cache", "against": "small", "level": "large", "ratio": 3.0, "ci95": [2.9, 3.1], "failed": None}
        | {"cells": [[ids[each, "small"], ids[each, "large"]] for each in ("no", "yes")]},
    ]
    made = build_answer(
        RunFacts("mine"), cells, {}, Criteria(MARGIN, 0.95), effects=[from_json(Effect, each) for each in effects]
    )
    assert [(each.action, each.change, each.price) for each in made.advice] == [
        ("take", "index=yes", "no price"),
        ("maybe", "cache=large", "may lose the last commits when power fails"),
    ]
    assert made.text == ["Take index=yes: 200.0 1/s instead of 100.0."]


@pytest.mark.parametrize(("statements", "priced"), [(1000, True), (1_000_000, False)])
def test_a_longer_wait_is_a_price_only_where_a_transaction_does_as_much(statements: int, priced: bool) -> None:
    small = a_cell(100, index="small")
    large = a_cell(900, place=1, index="large", statements=statements)
    for each, p99 in ((small, 1.0), (large, 40.0)):
        for noise, of in zip(NOISE[p99 > 1 :], each.rounds, strict=False):
            change(of, latency_ms={"service": {"p99": p99 * noise}})
    made = answered([small, large])
    prices = made.configurations[1].price
    assert any("p99" in each for each in prices) is priced
    assert made.recommended.configuration == ("small" if priced else "large")


def test_the_lines_to_apply_make_the_index_and_set_the_setting() -> None:
    without, with_index = a_cell(100, index="no"), a_cell(900, place=1, index="yes")
    table, index = 'create table "job" ("id" integer)', 'create index "job_state" on "job" ("state")'
    planned = {"system": {"name": "sqlite:", "engine": "sqlite"}}
    design = {
        "cells": [
            planned | {"id": without.id, "asked": {"journal_mode": "delete"}, "makes": [table]},
            planned | {"id": with_index.id, "asked": {"journal_mode": "wal"}, "makes": [table, index]},
        ]
    }
    made = build_answer(RunFacts("mine", design), [without, with_index], {}, Criteria(MARGIN, 0.95))
    assert made.recommended is not None
    assert made.recommended.apply == [f"{index};", "PRAGMA journal_mode = wal;"]


def test_loads_are_never_ranked() -> None:
    made = answered([a_cell(100, clients=1), a_cell(400, clients=4)], clients="load")
    assert made.configurations == [] and made.recommended is None
    assert made.text == ["From 100.0 1/s at clients=1 to 400.0 1/s at clients=4."]


def test_a_configuration_that_is_less_durable_is_not_recommended_and_has_its_price_beside_it() -> None:
    safe, unsafe = ({"durability": name, "rows_changed": 1000} for name in ("power-safe", "process-safe"))
    cells = [
        a_cell(100, "sqlite:", **safe),
        a_cell(300, "sqlite:?journal_mode=wal", 1, **safe),
        a_cell(900, "sqlite:?journal_mode=wal&synchronous=normal", 2, **unsafe),
    ]
    made = answered(cells)
    assert made.recommended.configuration == "wal"
    (priced,) = [each for each in made.advice if "normal" in each.change]
    assert priced.action == "maybe"
    assert priced.price == "may lose the last commits when power fails"
    assert [each.price != [] for each in made.configurations] == [False, False, True]


def test_of_two_the_price_stands_in_the_row() -> None:
    safe, unsafe = ({"durability": name, "rows_changed": 1000} for name in ("power-safe", "process-safe"))
    made = answered([a_cell(100, "sqlite:", **safe), a_cell(900, "sqlite:?synchronous=off", 1, **unsafe)])
    assert [(each.action, each.price) for each in made.advice] == [
        ("maybe", "may lose the last commits when power fails")
    ]
    assert made.recommended.configuration == "sqlite"


def test_a_configuration_that_fails_transactions_is_not_recommended() -> None:
    failing = {"failed": {"locked": 60}, "completed": 940}
    made = answered([a_cell(100, index="no"), a_cell(300, place=1, index="yes", **failing)], index="choice")
    assert made.recommended.configuration == "index=no"
    assert made.advice[0].price == "failures 0 -> 6.0 %"


def test_one_of_which_most_transactions_fail_is_no_measure_for_others() -> None:
    """The run's first configuration fails 98 of 100: the one that does not is taken, and the first lines say why."""
    failing = {"failed": {"locked": 980}, "completed": 20}
    of_two = answered([a_cell(100, busy="0", **failing), a_cell(300, place=1, busy="5000")], busy="choice")
    assert of_two.recommended.configuration == "busy=5000"
    assert of_two.recommended.changes == {"busy": "5000"}
    assert of_two.text == ["98 % of the transactions fail with busy=0, and none with busy=5000."]
    cells = [a_cell(100, busy="0", **failing), a_cell(300, place=1, busy="5"), a_cell(900, place=2, busy="9")]
    of_three = answered(cells, busy="choice")
    assert of_three.recommended.configuration == "busy=9"
    assert of_three.text[0].startswith("98 %")
    assert of_three.text[-1] == "Take busy=9: 900.0 1/s instead of 100.0, failures 98 % -> 0."
    assert of_three.advice[0].effect.startswith("3.00x [")


def test_a_configuration_of_which_most_fail_is_not_said_to_be_without_a_price() -> None:
    failing = {"failed": {"locked": 980}, "completed": 20}
    cells = [a_cell(100, busy="5000"), a_cell(900, place=1, busy="0", **failing)]
    made = answered([*cells, a_cell(800, place=2, busy="1", **failing)], busy="choice")
    assert made.text[0].startswith("busy=5000 cannot be compared with busy=0: failed transactions")


def test_a_statement_that_returns_other_rows_is_not_to_be_taken() -> None:
    cells = [a_cell(rate, place=place, statement=name) for place, (rate, name) in enumerate([(100, "a"), (900, "b")])]
    for each, rows in zip(cells, (4000.0, 40.0), strict=True):
        each.rows_per_transaction, each.rows_standard_error = rows, 0.0
    made = answered(cells, statement="choice")
    assert made.text == ["a cannot be compared with b: it returns 40 rows instead of 4,000."]
    assert made.configurations[1].not_ranked == "it returns 40 rows instead of 4,000"
    assert made.recommended is None or made.recommended.configuration == "a"


def test_of_two_that_are_as_fast_the_one_that_fails_nothing_is_taken() -> None:
    """However few fail, and though its mean is a little lower; not where it is shown to be slower."""
    few = {"failed": {"locked": 1}, "completed": 100_000}

    def taken(rate: float) -> Any:
        ahead = a_cell(301, place=1, index="deferred", **few)
        return answered([a_cell(100, index="none"), ahead, a_cell(rate, place=2, index="immediate")], index="choice")

    made = taken(300)
    assert made.recommended.configuration == "immediate"
    assert made.text[0].startswith("Take immediate: 300.0 1/s")
    assert taken(200).recommended.configuration == "deferred"


def test_what_removes_failures_is_a_gain() -> None:
    failing = {"failed": {"locked": 60}, "completed": 940}
    made = answered([a_cell(100, index="no", **failing), a_cell(300, place=1, index="yes")], index="choice")
    assert made.recommended.configuration == "index=yes"
    assert made.recommended.price == []


def test_where_nothing_is_shown_to_be_faster_the_first_is_kept() -> None:
    made = answered([a_cell(100, index="no"), a_cell(100.2, place=2, index="yes")], index="choice")
    assert made.recommended.changes == {}
    assert made.text == ["Keep index=no: no alternative differs by more than 2.0 %."]


def test_of_cells_that_did_other_work_none_is_ahead() -> None:
    a, b = a_cell(100), a_cell(500, "postgresql:", 1)
    for each, rows in ((a, 1.0), (b, 0.0)):
        each.rows_per_transaction, each.rows_standard_error = rows, 0.0
    made = answered([a, b])
    assert "did different work and is not ranked" in made.text[0]
    assert made.recommended.changes == {}


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["sqlite:"], ["sqlite"]),
        (["sqlite:", "postgresql:"], ["sqlite", "postgresql"]),
        (["sqlite:", "sqlite:?journal_mode=wal"], ["sqlite", "wal"]),
        (["sqlite:?cache_size=1", "sqlite:?cache_size=2"], ["cache_size=1", "cache_size=2"]),
        (["sqlite:", "postgresql:", "postgresql:?fsync=off"], ["sqlite", "postgresql", "postgresql fsync=off"]),
        (["sqlite:?synchronous=off#fast", "sqlite:"], ["fast", "sqlite"]),
        (["sqlite:", "sqlite:#2"], ["sqlite", "#2"]),
        (["postgresql://me@a/x", "postgresql://me@b/x"], ["a/x", "b/x"]),
        (["sqlite:/a/x.db", "sqlite:/b/x.db"], ["sqlite:/a/x.db", "sqlite:/b/x.db"]),
        (["exec:python3 x.py many {n}", "exec:python3 x.py multi {n}"], ["many", "multi"]),
        (["exec:./old --n {n}", "exec:./new --safe --n {n}"], ["./old", "./new --safe"]),
        (["exec:./a", "exec:./a --x"], ["exec:./a", "--x"]),
        (["exec:./a", "sqlite:"], ["exec:./a", "sqlite"]),
        (["exec:./a"], ["exec:./a"]),
    ],
)
def test_systems_are_called_by_what_tells_them_apart(names: list[str], short: list[str]) -> None:
    assert list(short_systems(names).values()) == short


def test_roles_follow_from_what_a_factor_decides() -> None:
    found = {
        each.name: roles_of(
            each.text,
            dict.fromkeys([*each.factors, "system"], ()),
            each.head.report.model_dump(),
            each.head.growth and each.head.growth.factor,
        )
        for each in builtin_experiments()
    }
    assert found["pk-lookup"]["threads"] == "load" and found["pk-lookup"]["cache"] == "choice"
    assert found["key-order"]["rows"] == "load" and found["key-order"]["key"] == "choice"
    assert found["dictionary-search"]["search"] == "load" and found["dictionary-search"]["like_index"] == "choice"
    # Said by the experiment.
    assert found["dictionary-search"]["sorted"] == "load"
    # Of both: the number of clients differs too.
    assert found["promo-code-engines"]["connection"] == "load"


def test_without_a_definition_numbers_are_loads() -> None:
    assert roles_of("select 1;", {"n": [1, 2], "how": ["a", "b"], "on": [True, False]}, {}) == {
        "n": "load",
        "how": "choice",
        "on": "choice",
    }


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("make", [lookup_document, update_document])
def test_labels_numbers_and_verdicts_are_whole_at_any_width(width: int, make: Callable[[], Any]) -> None:
    document = make()
    lines = [line.plain for line in brief_lines(document, width)]
    text = "\n".join(lines)
    assert all(len(line) <= width or " " not in line.strip() for line in lines), lines
    words = " ".join(text.split())
    for each in document.answer.configurations:
        assert each.name in words
    for cell_ in document.cells[:2]:
        for name in {"threads", "cache", "rows_per_transaction"} & cell_.factors.keys():
            assert str(cell_.factors[name]) in words


def test_the_answer_of_a_small_run_has_twenty_lines_at_most() -> None:
    assert len(list(brief_lines(lookup_document(), 80))) <= 20


@pytest.mark.parametrize(
    ("window_s", "end", "said"),
    [(7.2, "00:00:20", "measured 14 of 20 s"), (45.0, "00:02:00", "measured 1 min 30 s of 2 min 00 s")],
)
def test_the_first_line_says_how_much_of_the_run_was_measured(window_s: float, end: str, said: str) -> None:
    document: Any = lookup_document()
    cell = document.cells[0]
    cell.rounds = [replace(each, elapsed_s=window_s) for each in cell.rounds[:2]]
    document = replace(document, cells=[cell], started="2026-01-01T00:00:00+00:00", ended=f"2026-01-01T{end}+00:00")
    assert said in measured_line(document)


@pytest.mark.parametrize(
    ("changing", "said"),
    [(0, "only reads"), (5, "5.0 % of transactions write"), (100, "every transaction writes")],
)
def test_the_first_line_says_how_many_transactions_write(changing: int, said: str) -> None:
    document: Any = lookup_document()
    cell = document.cells[0]
    cell.rounds = [change(each, completed=100, transactions_changing=changing) for each in cell.rounds]
    document.cells = [cell]
    assert f" · {said} · " in f"{measured_line(document)} · "


def test_a_query_that_may_write_is_not_said_to_read_only() -> None:
    document: Any = lookup_document()
    cell = document.cells[0]
    cell.rounds = [change(each, completed=100, transactions_changing=0) for each in cell.rounds]
    document.cells = [cell]
    evidence = {"system": "a", "wrote_to": "the database `q`", "statements": ["select f()"]}
    document.findings = [writes_allowed.found("`select f()` is not known to be a read", [], evidence)]
    assert "reads" not in measured_line(document)


def test_the_error_of_many_failures_is_shown_first() -> None:
    document: Any = lookup_document()
    other = writes_allowed.found("other", [], {"system": "a", "wrote_to": "b", "statements": ["c"]})

    def warning(failed: int) -> str:
        by_cell = {"a": {"failed": failed, "issued": 100}}
        evidence = {"kind": "constraint", "by_cell": by_cell, "codes": {}}
        document.findings = [other, failed_transactions.found("transactions failed: no parent", ["a"], evidence)]
        return next(line.plain for line in brief_lines(document, 80) if line.plain.startswith("! "))

    assert warning(6).startswith("! transactions failed: no parent")
    assert warning(5).startswith("! other")


@pytest.mark.parametrize(("issued", "said"), [(1, "0.25 arrivals/s"), (9600, "2,400 arrivals/s")])
def test_rates_below_one_are_not_zero(issued: int, said: str) -> None:
    document: Any = lookup_document()
    cell = document.cells[0]
    response = {"response": {"p99": 1.0, "at_least": []}}
    cell.rounds = [change(each, elapsed_s=4.0, issued=issued, latency_ms=response) for each in cell.rounds]
    document.cells = [cell]
    assert said in measured_line(document)


def test_configurations_are_drawn_with_their_intervals_and_hostile_names_stay_text() -> None:
    rates = {"one": 100.0, "two": 200.0, "<script>": 300.0, "four": 400.0, "five": 500.0}
    cells = [a_cell(rate, place=place % 5, index=name) for place, (name, rate) in enumerate(rates.items())]
    roles = {"index": "choice"}
    figure = answer_chart(some(Document, answer=answered(cells, **roles), cells=cells, roles=roles))
    assert figure is not None
    assert all(f"{name} · " in figure.wide for name in ("one", "two", "four", "five"))
    for svg in (figure.svg, figure.wide):
        assert "five · 500.0 · no price" in svg
        assert "<script" not in svg
    # A single configuration is no comparison.
    single = some(Document, answer=answered(cells[:1]), cells=cells[:1], roles=roles)
    assert answer_chart(single) is None


def test_over_a_load_each_configuration_is_a_line_with_its_name_at_the_end() -> None:
    cells = [
        a_cell(rate * clients, clients=clients, index=name, place=clients)
        for clients in (1, 2, 4)
        for name, rate in {"no": 100.0, "yes": 101.0}.items()
    ]
    roles = {"index": "choice", "clients": "load"}
    figure = answer_chart(some(Document, answer=answered(cells, **roles), cells=cells, roles=roles))
    assert figure is not None and figure.title.endswith("by clients")
    heights = [float(y) for y in re.findall(r'translate\([\d.]+,([\d.]+)\)"[^>]*>index=(?:no|yes)<', figure.svg)]
    assert len(heights) == 2 and abs(heights[0] - heights[1]) > 10


def test_an_answer_says_of_what_it_is_where_other_cells_gave_no_result() -> None:
    lost = cell("system=b", [None, None], {"system": "exec:./b"}, system="exec:./b")
    lost.throughput.mean = None
    made = answered([a_cell(100, "exec:./a"), lost])
    assert made.text[-1] == "1 of 2 cells has no result (./b)."


def test_what_is_left_out_is_below_where_all_follows() -> None:
    document = lookup_document()
    brief, followed = ("\n".join(each.plain for each in brief_lines(document, 80, *rest)) for rest in ((), ("below",)))
    assert "with --verbose" in brief
    assert "--verbose" not in followed


SYSTEMS = ("sqlite:", "postgresql:", "mariadb:")


def test_two_of_three_are_compared_if_the_first_fails_mostly() -> None:
    cells = [
        a_cell(rate, system, place) for place, (system, rate) in enumerate(zip(SYSTEMS, (900, 100, 300), strict=True))
    ]
    for each in cells[0].rounds:
        each.failed, each.completed, each.issued = {"locked": 900}, 100, 1000
    made = answered(cells)
    assert any(
        each.startswith("mysql is faster than postgresql: 300.0 against 100.0 1/s (3.00x [") for each in made.text
    )


def test_two_of_three_are_compared_if_one_returns_other_rows() -> None:
    cells = [
        a_cell(rate, system, place) for place, (system, rate) in enumerate(zip(SYSTEMS, (100, 900, 300), strict=True))
    ]
    for each, rows in zip(cells, (1.0, 0.0, 1.0), strict=True):
        each.rows_per_transaction, each.rows_standard_error = rows, 0.0
    made = answered(cells)
    assert made.text[0].startswith("mysql is faster than sqlite: 300.0 against 100.0 1/s (3.00x [")
    assert "postgresql did different work and is not ranked" in made.text[1]


def test_all_configurations_that_are_not_ranked_are_named() -> None:
    cells = [
        a_cell(rate, system, place) for place, (system, rate) in enumerate(zip(SYSTEMS, (100, 900, 300), strict=True))
    ]
    for each, rows in zip(cells, (1.0, 0.0, 0.0), strict=True):
        each.rows_per_transaction, each.rows_standard_error = rows, 0.0
    assert answered(cells).text[0].startswith("postgresql, mysql did different work and are not ranked: ")


@pytest.mark.parametrize("systems", [SYSTEMS, (*SYSTEMS, "duckdb:")])
def test_a_load_without_a_result_of_the_first_system_ranks_none(systems: tuple[str, ...]) -> None:
    cells = [
        a_cell(100 * 3**place, system, place, clients=clients)
        for clients in (1, 8)
        for place, system in enumerate(systems)
        if (clients, place) != (8, 0)
    ]
    text = " ".join(answered(cells, clients="load").text)
    assert "has the highest throughput" in text and "at clients=1." in text
    assert "No measurable difference" not in text and "at clients=8" not in text


def test_settings_are_compared_if_the_first_level_fails_mostly() -> None:
    cells = [
        a_cell(rate, place=busy % 5, busy=busy, clients=clients)
        for clients in (1, 8)
        for busy, rate in ((0, 900), (1, 100), (5, 300))
    ]
    for each in cells:
        for one in each.rounds if each.factors["busy"] == 0 else ():
            one.failed, one.completed = {"locked": 900}, 100
    text = " ".join(answered(cells, clients="load").text)
    assert "busy=5 is faster than busy=1: 300.0 against 100.0 1/s" in text


def two_settings(rates: dict[tuple[str, str], float]) -> list[Any]:
    return [
        a_cell(rate, index=index, cache=cache, place=place, durability="power-safe", rows_changed=1000)
        for place, ((index, cache), rate) in enumerate(rates.items())
    ]


def an_effect(cells: list[Any], factor: str, against: str, level: str, **more: Any) -> Any:
    def of(value: str) -> list[Any]:
        return [each for each in cells if each.factors[factor] == value]

    made = {
        "factor": factor,
        "role": "choice",
        "level": level,
        "against": against,
        "at": {},
        "metric": "throughput",
        "ratio": 1.0,
        "ci95": [0.9, 1.2],
        "verdict": "inconclusive",
        "more_rounds": None,
        "durability": None,
        "failed": None,
        "cells": [[a.id, b.id] for a, b in zip(of(against), of(level), strict=True)],
        **more,
    }
    return from_json(Effect, made)


def with_effects(cells: list[Any], *effects: Any, command: list[str] = COMMAND) -> Any:
    return build_answer(RunFacts("mine", command=command), cells, {}, Criteria(MARGIN, 0.95), effects=effects)


def test_a_combination_that_gains_is_taken_if_no_choice_gains_by_itself() -> None:
    rates = {("no", "small"): 100.0, ("no", "large"): 80.0, ("yes", "small"): 80.0, ("yes", "large"): 300.0}
    cells = two_settings(rates)
    effects = an_effect(cells, "index", "no", "yes"), an_effect(cells, "cache", "small", "large")
    made = with_effects(cells, *effects)
    assert made.recommended.changes == {"index": "yes", "cache": "large"}
    assert made.text == [f"Take {made.recommended.configuration}: 300.0 1/s instead of 100.0."]
    assert [(each.action, each.levels) for each in made.advice] == [("take", {"index": "yes", "cache": "large"})]


def test_a_combination_with_a_price_is_named_with_it() -> None:
    rates = {("no", "small"): 100.0, ("no", "large"): 200.0, ("yes", "small"): 200.0, ("yes", "large"): 400.0}
    cells = two_settings(rates)
    for each in cells:
        safe = each.factors != {"system": "sqlite:", "index": "yes", "cache": "large"}
        each.system.durability = "power-safe" if safe else "process-safe"
    gain = {"ratio": 2.0, "ci95": [1.9, 2.1], "verdict": "faster"}
    alone = [
        replace(an_effect(cells, factor, against, level, **gain), cells=[[cells[0].id, cells[place].id]])
        for factor, against, level, place in (("index", "no", "yes", 2), ("cache", "small", "large", 1))
    ]
    (text,) = with_effects(cells, *alone).text
    assert text == "Take the choices below; together they cost may lose the last commits when power fails."


def test_a_p99_that_falls_is_a_gain() -> None:
    """Effects of a response time are ratios of times."""
    cells = two_settings({("no", "small"): 100.0, ("yes", "small"): 100.0})
    effect = an_effect(cells, "index", "no", "yes", metric="p99", ratio=1 / 3, ci95=[0.25, 0.5], verdict="faster")
    assert _gain_of(effect) == (pytest.approx(3.0), [2.0, 4.0])
    assert _gain_of(replace(effect, metric="throughput")) == (1 / 3, [0.25, 0.5])
    assert _gain_of(replace(effect, ci95=None)) == (pytest.approx(3.0), None)


def test_what_is_not_settled_is_named_and_not_what_is() -> None:
    factors = [{"system": "sqlite:", "index": f"index {number}"} for number in range(3)]
    rates = [[100.0 * each for each in NOISE], [20 * each for each in NOISE], [60.0, 300.0, 80.0, 250.0, 70.0]]
    cells = [
        cell(str(place), own, levels, durability=durable, rows_changed=1000)
        for place, (own, levels, durable) in enumerate(
            zip(rates, factors, ("power-safe", "power-safe", "process-safe"), strict=True)
        )
    ]
    made = answered(cells)
    assert [each.verdict for each in made.configurations] == [None, "slower", "inconclusive"]
    assert made.configurations[2].price
    assert made.text[0].startswith("Not settled: index 2 152.0, index 0 100.0 1/s")


def test_a_reason_to_keep_is_that_all_others_have_a_price() -> None:
    cells = [
        a_cell(rate, index=index, place=place, durability=durable, rows_changed=1000)
        for place, (index, rate, durable) in enumerate([("no", 100, "power-safe"), ("yes", 300, "process-safe")])
    ]
    made = answered(cells)
    assert made.text == ["Keep index=no: every other configuration has a price."]
    assert made.recommended.why == "every other configuration has a price"


def test_the_fastest_is_ahead_of_all_at_each_load() -> None:
    def why(rates: dict[str, tuple[float, float]]) -> str:
        cells = [
            a_cell(rate, place=place, index=index, clients=clients)
            for place, (index, own) in enumerate(rates.items())
            for clients, rate in zip((1, 8), own, strict=True)
        ]
        return str(answered(cells, clients="load").recommended.why)

    assert why({"a": (100, 200), "b": (50, 150), "c": (60, 170)}).startswith("it is the fastest of 3 (")
    assert why({"a": (100, 200), "b": (50, 150)}).startswith("it is faster (200.0 against 150.0 1/s")
    assert why({"a": (100, 200), "b": (10, 220)}) == "it is faster over all loads"
    # One is faster at one load, and much slower over both.
    assert (
        why({"a": (100, 200), "b": (10, 220), "c": (60, 170)}) == "every other configuration is slower over all loads"
    )


def test_nothing_is_promised_that_takes_more_than_an_hour_or_has_no_command() -> None:
    levels = [(f"index={number}", rates) for number, rates in enumerate([(100.0, 300.0), (900.0, 400.0)])]
    for seconds, command, price in (
        (3.0, [], "about 2 min 36 s: 26 rounds"),
        (3.0, COMMAND, "about 2 min 36 s: `dbdyno run mine.toml --rounds 26`"),
        # `try` measures as many rounds as fit.
        (3.0, ["dbdyno", "try", "a", "b", "--budget=5s"], "about 2 min 36 s: `dbdyno try a b --budget 3m`"),
        (300.0, COMMAND, "settling it would take more than an hour"),
    ):
        cells = [
            cell(name, rates, {"system": "sqlite:", "index": name}, durations={"total_s": seconds})
            for name, rates in levels
        ]
        (row,) = build_answer(RunFacts("mine", command=command), cells, {}, Criteria(MARGIN, 0.95)).advice
        assert row.price == price
