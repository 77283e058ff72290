"""What fixes did, from SYNTHETIC cells: gains, prices, which one to take, and how that is said."""

import random
from dataclasses import replace
from typing import Any

import pytest

from dbdyno.analysis.why.fix_cells import FixStage, Planned
from dbdyno.analysis.why.fix_results import groups_of, judge_fixes, settled_fixes
from dbdyno.model.plan.fix import Fix, Price, Source
from dbdyno.model.result.fixes import Fixes
from dbdyno.report.fix_lines import fix_lines
from synthetic_cells import cell, change

SOURCE = Source("A manual", "A section", "https://example.org/")
FREE = Fix("free", "does so", (), SOURCE, ("FREE;",), ("flush",), settings={"a": "1"})
LOST = Price("durability", "the last commits are lost")
DEAR = Fix("dearer", "does that", (LOST,), SOURCE, ("DEAR;",), ("flush",), settings={"b": "1"})
NOISE = (1.0, 1.01, 0.99, 1.005, 0.995)
OTHER_NOISE = (0.995, 1.0, 1.01, 0.99, 1.005)


def rates(of: float, noise: tuple[float, ...] = NOISE) -> list[float]:
    return [of * each for each in noise]


def base(**changes: Any) -> Any:
    return change(cell("change=unchanged", rates(100.0, OTHER_NOISE), {"change": "unchanged"}), **changes)


def fixed(fix: Fix, times: float, **changes: Any) -> Any:
    # Rounds of two cells that agreed to the last digit would say nothing.
    generator = random.Random(fix.name)
    noise = tuple(1 + generator.uniform(-0.01, 0.01) for _ in NOISE)
    made = cell(f"change={fix.level}", rates(100.0 * times, noise), {"change": fix.level})
    return change(made, **changes)


def judged(
    cells: list[Any], *fixes: Fix, unit: str = "transaction", members: dict[str, list[str]] | None = None
) -> Fixes:
    planned = Planned([FixStage(0, list(fixes), members or {})], ["other (more than 2)"])
    found = judge_fixes(planned, cells, unit)
    assert found is not None
    return found


def test_what_gains_without_a_price_is_taken_and_how_it_is_applied() -> None:
    found = judged([base(), fixed(FREE, 2.0)], FREE)
    assert found.recommended == "free"
    (one,) = found.tried
    assert one.verdict == "helps"
    assert one.gain == pytest.approx(2.0, rel=0.02)
    assert one.snippet == ["FREE;"]
    assert found.text[0].startswith("Take free: ")


def test_what_does_not_help_is_listed_in_one_line() -> None:
    found = judged([base(), fixed(FREE, 1.0), fixed(DEAR, 0.9)], FREE, DEAR)
    assert found.recommended is None
    assert [each.verdict for each in found.tried] == ["no", "no"]
    (line,) = [each for each in found.text if each.startswith("Doesn't help: ")]
    assert "free" in line
    assert "dearer" in line


def test_where_both_gain_alike_the_one_without_a_price_is_taken() -> None:
    found = judged([base(), fixed(FREE, 2.0), fixed(DEAR, 2.01)], FREE, DEAR)
    assert found.recommended == "free"
    assert found.at_a_price is None


def test_what_gains_more_at_a_price_is_told_beside_it_with_the_price_in_its_line() -> None:
    found = judged([base(), fixed(FREE, 2.0), fixed(DEAR, 4.0)], FREE, DEAR)
    assert found.recommended == "free"
    assert found.at_a_price == "dearer"
    assert "dearer" in found.text[1]
    assert "durability: the last commits are lost" in found.text[1]


def test_alone_it_is_taken_with_its_price_in_the_same_line() -> None:
    found = judged([base(), fixed(FREE, 1.0), fixed(DEAR, 4.0)], FREE, DEAR)
    assert found.recommended == "dearer"
    assert "durability: the last commits are lost" in found.text[0]


def test_a_weaker_class_of_durability_is_a_price_whether_or_not_the_catalogue_says_it() -> None:
    safe = replace(base(), rounds=cell("", rates(100.0, OTHER_NOISE), rows_changed=1000).rounds)
    safe.system.durability = "power-safe"
    weak = fixed(FREE, 3.0)
    weak.system.durability = "process-safe"
    weak.rounds = cell("", rates(300.0), rows_changed=1000).rounds
    (one,) = judged([safe, weak], FREE).tried
    assert one.serious
    assert [(each.kind, each.measured) for each in one.prices] == [("durability", True)]
    assert "process-safe instead of power-safe" in one.prices[0].text


def test_transactions_that_do_more_count_as_often() -> None:
    ten = replace(FREE, name="ten", batch=10, settings={})
    (one,) = judged([base(), fixed(ten, 0.5)], ten).tried
    assert one.gain == pytest.approx(5.0, rel=0.02)
    assert one.p99 is None
    (one,) = judged([base(), fixed(ten, 5.0)], ten, unit="statement").tried
    assert one.gain == pytest.approx(5.0, rel=0.02)


def test_of_an_open_loop_a_fix_is_taken_for_its_response_time() -> None:
    """Its rate is what is offered."""

    def arriving(made: Any, p99_ms: float) -> Any:
        for each in made.rounds:
            p99 = p99_ms * each.throughput / 100.0
            change(each, latency_ms={"response": {"p99": p99}})
            change(each, throughput=100.0 * (1 + each.block / 1000), client_s=1.0)
        return made

    cells = [arriving(base(), 12.0), arriving(fixed(FREE, 1.0), 3.0), arriving(fixed(DEAR, 1.0), 12.0)]
    found = judged(cells, FREE, DEAR)
    assert found.metric == "p99"
    assert found.recommended == "free"
    one = next(each for each in found.tried if each.fix == "free")
    assert one.gain == pytest.approx(4.0, rel=0.02)
    assert one.p99 == pytest.approx(0.25, rel=0.02)
    assert found.text[0].startswith("Take free: the p99 response time falls from 12.0 ms to 3.0")
    assert found.text[1].startswith("Doesn't help: dearer p99 12.")


def test_other_rows_are_no_fix() -> None:
    asked = base(rows_per_transaction=3.0, rows_standard_error=0.0)
    other = fixed(FREE, 5.0, rows_per_transaction=2.0, rows_standard_error=0.0)
    found = judged([asked, other], FREE)
    assert found.tried[0].verdict == "disqualified"
    assert found.recommended is None
    assert any("3 against 2" in each for each in found.text)


def test_ten_times_the_rows_of_ten_transactions_are_the_same() -> None:
    ten = replace(FREE, name="ten", batch=10, settings={})
    asked = base(rows_per_transaction=3.0, rows_standard_error=0.0)
    (one,) = judged([asked, fixed(ten, 0.5, rows_per_transaction=30.0, rows_standard_error=0.0)], ten).tried
    assert one.verdict == "helps"


def changing(of: float, changed: int) -> Any:
    """Rounds whose statement was executed 1,000 times, and changed so many rows."""
    told = {"update": {"executions": 1000, "rows": 0, "changed": changed}}
    return cell("", rates(of), statements_by_name=told).rounds


def test_rows_that_are_no_longer_changed_are_no_fix() -> None:
    found = judged(
        [replace(base(), rounds=changing(100.0, 1000)), replace(fixed(FREE, 5.0), rounds=changing(510.0, 800))], FREE
    )
    (one,) = found.tried
    assert one.verdict == "disqualified"
    assert one.reason == "rows changed by `update`: 1 without it, 0.8 with it"


def test_rows_that_differ_by_chance_are_the_same() -> None:
    seldom = replace(base(), rounds=changing(100.0, 4))
    (one,) = judged([seldom, replace(fixed(FREE, 5.0), rounds=changing(510.0, 7))], FREE).tried
    assert not one.reason


def test_ten_rows_of_an_insert_are_those_of_ten() -> None:
    ten = replace(FREE, name="rows", rows=10, settings={})
    (one,) = judged(
        [replace(base(), rounds=changing(100.0, 1000)), replace(fixed(ten, 1.0), rounds=changing(50.0, 10_000))], ten
    ).tried
    assert not one.reason


def test_more_failures_are_no_fix() -> None:
    failing = fixed(FREE, 5.0)
    failing.rounds = cell("", rates(500.0), failed={"locked": 200}, issued=1000).rounds
    (one,) = judged([base(), failing], FREE).tried
    assert one.verdict == "disqualified"
    assert one.reason.startswith("failed transactions")


def test_fewer_failures_are_no_harm() -> None:
    asked = replace(base(), rounds=cell("", rates(100.0, OTHER_NOISE), failed={"locked": 200}, issued=1000).rounds)
    (one,) = judged([asked, fixed(FREE, 2.0)], FREE).tried
    assert one.verdict == "helps"


def test_what_cannot_run_is_no_fix_and_says_why() -> None:
    broken = fixed(FREE, 1.0)
    broken.rounds = [replace(each, status="failed", error="no memory") for each in broken.rounds]
    (one,) = judged([base(), broken], FREE).tried
    assert one.verdict == "disqualified"
    assert one.reason == "it failed: no memory"


def test_an_index_tells_what_it_costs_writes_and_the_device() -> None:
    index = replace(FREE, name="index", statements=("create index i on t (n)",))
    statements = [{"name": "w", "sql": "update t set n = 1"}, {"name": "r", "sql": "select 1"}]

    def timed(mean: float) -> list[Any]:
        return [{"kind": "statement", "name": name, "latency_ms": {"mean": mean}} for name in ("w", "r")]

    before, now = base(statements=statements, operations=timed(1.0)), fixed(index, 2.0, operations=timed(1.5))
    before.system.catalog = {"data_bytes": 10 << 20}
    now.system.catalog = {"data_bytes": 12 << 20}
    (one,) = judged([before, now], index).tried
    assert [(each.kind, each.text) for each in one.prices] == [
        ("writes", "statements that write take 1.50 times as long"),
        ("space", "2 MB more on the device"),
    ]


def test_those_that_helped_are_tried_together_with_and_without_a_price() -> None:
    third = replace(FREE, name="third one", settings={"c": "1"})
    found = judged([base(), fixed(FREE, 2.0), fixed(DEAR, 3.0), fixed(third, 1.5)], FREE, DEAR, third)
    groups = groups_of(found, {each.name: each for each in (FREE, DEAR, third)})
    assert [names for _, names in groups] == [["free", "third one"], ["dearer", "free", "third one"]]
    assert groups[0][0].settings == {"a": "1", "c": "1"}


def test_of_two_ways_to_one_end_the_better_is_taken() -> None:
    other = replace(FREE, name="other", settings={"a": "2"})
    third = replace(FREE, name="third one", settings={"c": "1"})
    found = judged([base(), fixed(FREE, 2.0), fixed(other, 3.0), fixed(third, 1.5)], FREE, other, third)
    ((_, names),) = groups_of(found, {each.name: each for each in (FREE, other, third)})
    assert names == ["other", "third one"]


def test_together_is_taken_only_where_it_gains_more_than_one_alone() -> None:
    third = replace(FREE, name="third one", settings={"c": "1"})
    both = replace(FREE, name="free + third one")
    members = {"free + third one": ["free", "third one"]}
    cells = [base(), fixed(FREE, 2.0), fixed(third, 1.5), fixed(both, 2.01)]
    assert judged(cells, FREE, third, both, members=members).recommended == "free"
    cells = [base(), fixed(FREE, 2.0), fixed(third, 1.5), fixed(both, 3.0)]
    assert judged(cells, FREE, third, both, members=members).recommended == "free + third one"


@pytest.mark.parametrize(("times", "recommended"), [(1.5, "free"), (2.5, "free"), (9.0, "free + third one")])
def test_a_part_that_is_not_proven_is_taken_if_all_together_gain_more(times: float, recommended: str) -> None:
    third = replace(FREE, name="third one", settings={"c": "1"})
    both = replace(FREE, name="free + third one")
    open_cell = cell(f"change={third.level}", [100.0, 900.0, 80.0, 700.0, 300.0], {"change": third.level})
    cells = [base(), fixed(FREE, 1.5), open_cell, fixed(both, times)]
    found = judged(cells, FREE, third, both, members={both.name: ["free", "third one"]})
    assert {each.fix: each.verdict for each in found.tried}["third one"] == "inconclusive"
    assert found.recommended == recommended


def test_rounds_end_when_each_is_known_to_help_or_not() -> None:
    planned = Planned([FixStage(0, [FREE, DEAR], {})], [])
    clear = judge_fixes(planned, [base(), fixed(FREE, 2.0), fixed(DEAR, 1.0)], "transaction")
    assert settled_fixes(clear, planned)
    wild = fixed(DEAR, 1.0)
    wild.rounds = cell("", [60.0, 190.0, 80.0, 150.0, 100.0]).rounds
    assert not settled_fixes(judge_fixes(planned, [base(), fixed(FREE, 2.0), wild], "transaction"), planned)
    assert not settled_fixes(None, planned)


def test_nothing_is_said_of_what_has_not_been_measured() -> None:
    assert judge_fixes(Planned([FixStage(0, [FREE], {})], []), [base()], "transaction") is None


def test_where_nothing_applies_that_is_said_with_what_was_left_out() -> None:
    found = judge_fixes(Planned([], ["other (no such setting)"]), [base()], "transaction")
    assert found is not None
    assert found.text == ["No known fix applies.", "Not tried: other (no such setting)."]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_price_stands_in_the_sentence_of_its_gain_at_every_width(width: int) -> None:
    third = replace(DEAR, name="third one", settings={"c": "1"})
    found = judged([base(), fixed(FREE, 2.0), fixed(DEAR, 4.0), fixed(third, 3.0)], FREE, DEAR, third)
    lines = [each.plain for each in fix_lines(found, width)]
    assert all(len(line) <= width for line in lines)
    text = " ".join(" ".join(lines).split())
    assert text.count("durability: the last commits are lost") == 2
    for snippet in ("FREE;", "DEAR;"):
        assert snippet in text


def test_a_plan_of_fixes_is_read_as_it_was_stored() -> None:
    planned = Planned([FixStage(3, [FREE, DEAR], {"free + dearer": ["free", "dearer"]})], ["x (y)"])
    assert Planned.read(planned.stored()) == planned
