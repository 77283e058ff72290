"""What an upgrade does to statements: sorted by harm, in words, and for JSON."""

from typing import Any

from dbdyno.analysis.gate import GateVerdict, Judgement
from dbdyno.analysis.plan_changes import PlanChange
from dbdyno.analysis.row_differences import EQUAL, RowVerdict
from dbdyno.analysis.upgrade import Remedy, Since, StatementUpgrade, Upgrade, by_harm, judge_rows, row_verdicts
from dbdyno.model.result.shape import Comparison
from dbdyno.stats import Ratio


def comparison(ratio: float, low: float, high: float, metric: str = "throughput") -> Comparison:
    return Comparison(
        a="a",
        b="b",
        metric=metric,
        ratio=ratio,
        ci95=[low, high],
        verdict="slower",
        margin=0.05,
        detectable=None,
        more_rounds=None,
        blocks=5,
        not_comparable=[],
        lacking="",
    )


def statement(name: str, verdict: GateVerdict = "pass", time: float = 1.0, **changes: Any) -> StatementUpgrade:
    made = comparison(1 / time, 0.9 / time, 1.1 / time)
    return StatementUpgrade(name, **({"judgement": Judgement(verdict, "", made), "rows": EQUAL} | changes))


OTHER = RowVerdict("differ", "3 of 10 rows differ")


def test_statements_are_sorted_by_harm() -> None:
    of = [
        statement("same"),
        statement("slower", "regression", 2),
        statement("rejected", "failed", rejected="no such function"),
        statement("slowest", "regression", 9),
        statement("other", "failed", rows=OTHER),
        # Slow, but within its noise.
        statement("noisy", "not settled", 20),
    ]
    assert [each.name for each in by_harm(of)] == ["rejected", "other", "slowest", "slower", "noisy", "same"]


def test_times_are_those_of_the_new_system() -> None:
    assert statement("s", "regression", 4).time_words == "4.00x slower [3.64, 4.44]"
    assert statement("s", "pass", 0.25).time_words == "4.00x faster [3.60, 4.40]"
    assert statement("s").time_words == "1.00x the time [0.909, 1.11]"
    made = statement("s", judgement=Judgement("regression", "", comparison(3.0, 2.0, 4.0, "active")))
    assert made.time_words == "3.00x slower [2.00, 4.00]"
    assert statement("s", judgement=Judgement("not settled", "no interval")).time_words == "not measured"


def test_other_rows_fail_whatever_the_time() -> None:
    judged = judge_rows(Judgement("pass", "faster"), OTHER)
    assert (judged.verdict, judged.reason) == ("failed", "returns other rows: 3 of 10 rows differ")
    for verdict in (EQUAL, RowVerdict("unknown", "the statement failed")):
        assert judge_rows(Judgement("pass", "faster"), verdict) == Judgement("pass", "faster")


def test_verdicts_on_rows_are_read_from_observations() -> None:
    seen = {"kind": "rows compared", "cells": ["a", "b"], "verdict": "differ", "words": "2 rows against 1"}
    found = row_verdicts([seen, {"kind": "ended", "rounds": 3}, seen | {"cells": ["a"]}])
    assert found == {("a", "b"): RowVerdict("differ", "2 rows against 1")}


def test_a_line_says_what_happened_and_what_brings_the_plan_back() -> None:
    ratio = Ratio(0.98, 0.01, 5, 6)
    slower = statement(
        "latest",
        "regression",
        7,
        change=PlanChange("latest", "index orders_customer", "scan of orders"),
        is_planned=True,
        remedies=[Remedy("?automatic_index=off", "plan", ratio)],
        tried=3,
        since=Since("SQLite 3.41.0", "SQLite 3.40.1"),
    )
    hopeless = statement("count", "failed", rows=OTHER, is_planned=True, tried=1)
    rejected = statement("new", "failed", rejected="no such function: f")
    made = Upgrade("q.sql", "old", "new", by_harm([slower, hopeless, rejected]), ["a note"])
    assert made.counts == "3 statements: 1 rejected, 1 with other rows, 1 slower"
    assert [line for _, line in made.lines(200)] == [
        "  new      rejected: no such function: f",
        "  count    1.00x the time [0.909, 1.11]   other rows: 3 of 10 rows differ   same plan",
        "           nothing brings it back: 1 change tried",
        "  latest   7.00x slower [6.36, 7.78]      rows equal                        "
        "was index orders_customer; is scan of orders",
        "           brings the old plan back: ?automatic_index=off (0.980x the old time [0.955, 1.01])",
        "           since SQLite 3.41.0 (not in SQLite 3.40.1)",
        "a note",
    ]
    assert [line for _, line in made.lines(80)][3:5] == [
        "  latest   7.00x slower [6.36, 7.78]      rows equal",
        "           was index orders_customer; is scan of orders",
    ]
    found = made.statements[2].document
    assert (found["statement"], found["verdict"], found["rows"]) == ("latest", "regression", "equal")
    assert found["remedies"][0]["change"] == "?automatic_index=off"
    assert found["since"] == {"release": "SQLite 3.41.0", "before": "SQLite 3.40.1"}


def test_no_harm_is_said_as_well() -> None:
    assert Upgrade("q.sql", "a", "b", [statement("s")]).counts == "1 statement: none slower, all rows equal"
    unknown = statement("s", rows=RowVerdict("unknown", "ORDER BY and LIMIT leave open which rows are returned"))
    assert Upgrade("q.sql", "a", "b", [unknown]).counts == "1 statement: none slower, 1 with rows not compared"
