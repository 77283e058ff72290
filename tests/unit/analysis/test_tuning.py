"""How often a tuning is right, by simulation through the deciding code, and how it words its advice."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from dbdyno.analysis.why.fix_cells import FixStage, Planned
from dbdyno.analysis.why.fix_results import all_unsettled, groups_of, judge_fixes, promising
from dbdyno.engines import engine_of
from dbdyno.model.plan.fix import Fix, Price, Source
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.fixes import Fixes
from synthetic_cells import a_round, cell

SOURCE = Source("A manual", "A section", "https://example.org/")
UNCHANGED = "unchanged"
# Rounds of each fix alone, of the promising ones, and of combinations of those that were proven only then.
ALONE, AGAIN, THEN = 3, 6, 4
NOISE = 0.1
RUNS = 200


def fix(name: str, **changes: object) -> Fix:
    made = Fix(name, f"does {name}", (), SOURCE, (f"{name};",), ("flush",), settings={name: "1"})
    return replace(made, **changes)  # type: ignore[arg-type]


class Machine:
    """A machine whose speed drifts from round to round; each trial has noise of its own."""

    def __init__(self, gains: Mapping[str, float], seed: int) -> None:
        self._gains = gains
        self._random = random.Random(seed)
        self._cells: dict[str, Cell] = {}
        self._speed = 100.0

    def measure(self, names: Sequence[str], rounds: range) -> None:
        for block in rounds:
            self._speed *= math.exp(self._random.gauss(0.0, 0.2))
            for name in names:
                gain = math.prod(self._gains.get(each, 1.0) for each in name.split(" + "))
                rate = self._speed * gain * math.exp(self._random.gauss(0.0, NOISE))
                level = UNCHANGED if name == UNCHANGED else f"fix {name}"
                made = self._cells.setdefault(name, cell(f"change={level}", [1.0], {"change": level}))
                # The cell is created with one round, which the first measured one replaces.
                kept = [each for each in made.rounds if each.throughput != 1.0]
                self._cells[name] = replace(made, rounds=[*kept, a_round(block, rate)])

    @property
    def cells(self) -> list[Cell]:
        return list(self._cells.values())


def tune(fixes: Sequence[Fix], gains: Mapping[str, float], seed: int) -> Fixes:
    """Measure each fix alone, then promising ones and their combinations, then combinations of proven ones."""
    machine = Machine(gains, seed)
    machine.measure([UNCHANGED, *(each.name for each in fixes)], range(ALONE))
    stages = [FixStage(0, fixes, {})]
    found = judge_fixes(Planned(stages, []), machine.cells, "transaction")
    assert found is not None
    named = {each.name: each for each in fixes}
    groups = groups_of(found, named)
    again = [named[each.fix] for each in promising(found) or all_unsettled(found)][:4]
    if not again:
        return found
    block = ALONE
    for rounds in (AGAIN, THEN):
        members = {each.name: names for each, names in groups}
        stages.append(FixStage(block, [*again, *(each for each, _ in groups)], members))
        machine.measure([UNCHANGED, *(each.name for each in stages[-1].fixes)], range(block, block + rounds))
        found = judge_fixes(Planned(stages, []), machine.cells, "transaction")
        assert found is not None
        block += rounds
        groups = groups_of(found, named, proven=True)
        again = [named[each.fix] for each in (promising(found)[:1] if groups else all_unsettled(found)[:4])]
        if not again:
            break
    return found


TEN = [fix(f"setting {number}") for number in range(10)]


def test_settings_that_do_nothing_are_seldom_recommended() -> None:
    wrong = sum(tune(TEN, {}, seed).recommended is not None for seed in range(RUNS))
    assert wrong <= RUNS / 20


def test_one_good_setting_among_nine_useless_ones_is_found() -> None:
    gains = {"setting 3": 1.5}
    right = 0
    for seed in range(RUNS):
        taken = tune(TEN, gains, seed).recommended
        right += taken is not None and "setting 3" in taken.split(" + ")
    assert right >= RUNS * 19 / 20


def test_two_good_settings_are_taken_together() -> None:
    gains = {"setting 3": 1.6, "setting 7": 2.0}
    together = 0
    for seed in range(RUNS // 4):
        taken = tune(TEN, gains, seed).recommended or ""
        together += {"setting 3", "setting 7"} <= set(taken.split(" + "))
    assert together >= RUNS / 4 * 0.8


def test_unsettled_gains_are_promising_and_useless_fixes_are_not() -> None:
    machine = Machine({"good": 1.3, "bad": 0.7}, 1)
    machine.measure([UNCHANGED, "good", "bad"], range(ALONE))
    found = judge_fixes(Planned([FixStage(0, [fix("good"), fix("bad")], {})], []), machine.cells, "transaction")
    assert found is not None
    assert [each.fix for each in promising(found)] == ["good"]


def test_unsettled_fixes_are_ordered_by_their_gains_whatever_these_are() -> None:
    machine = Machine({"better": 1.04, "worse": 0.9, "settled": 2.0}, 1)
    machine.measure([UNCHANGED, "settled"], range(20))
    machine.measure([UNCHANGED, "worse", "better"], range(20, 23))
    fixes = [fix(name) for name in ("worse", "settled", "better", "never measured")]
    found = judge_fixes(Planned([FixStage(0, fixes, {})], []), machine.cells, "transaction")
    assert found is not None
    assert [each.fix for each in promising(found)] == ["settled"]
    assert [each.fix for each in all_unsettled(found)] == ["better", "worse"]


def test_a_combination_stays_within_the_index_budget() -> None:
    fixes = [fix(name, statements=(f"create index {name} on t (a)",)) for name in ("small", "large", "other")]
    machine = Machine({"small": 2.0, "large": 3.0, "other": 1.8}, 1)
    machine.measure([UNCHANGED, "small", "large", "other"], range(9))
    sizes = {UNCHANGED: 10, "small": 12, "large": 18, "other": 13}
    for each in machine.cells:
        each.system.catalog = {"data_bytes": sizes[str(each.factors["change"]).removeprefix("fix ")] << 20}
    named = {each.name: each for each in fixes}
    found = judge_fixes(Planned([FixStage(0, fixes, {})], [], "sqlite"), machine.cells, "transaction")
    assert found is not None
    assert [names for _, names in groups_of(found, named)] == [["large", "small", "other"]]
    assert [names for _, names in groups_of(found, named, 10 << 20)] == [["large", "small"]]
    limited = judge_fixes(Planned([FixStage(0, fixes, {})], [], "sqlite", 4 << 20), machine.cells, "transaction")
    assert limited is not None
    (large,) = [each for each in limited.tried if each.fix == "large"]
    assert (large.verdict, large.reason) == ("disqualified", "its 8 MB exceed the index budget of 4 MB")


def test_the_advice_has_a_row_for_each_kind_of_fix() -> None:
    lost = Price("durability", "the last commits are lost")
    fixes = [fix("good"), fix("dear", prices=(lost,)), fix("useless"), fix("unsettled")]
    machine = Machine({"good": 1.5, "dear": 3.0, "useless": 0.8}, 1)
    machine.measure([UNCHANGED, "good", "dear", "useless"], range(20))
    machine.measure([UNCHANGED, "unsettled"], range(20, 22))
    found = judge_fixes(Planned([FixStage(0, fixes, {})], [], "sqlite"), machine.cells, "transaction")
    assert found is not None
    rows = [(each.action, each.change, each.price) for each in found.advice]
    assert rows == [
        ("take", "good", "no price"),
        ("maybe", "dear", "durability: the last commits are lost"),
        ("skip", "useless", ""),
        ("open", "unsettled", "a longer --budget settles it"),
    ]


@pytest.mark.parametrize(
    ("engine", "settings", "begins", "lines"),
    [
        (
            "sqlite",
            {"journal_mode": "wal", "busy_timeout": "5000", "open_mutex": "nomutex"},
            "immediate",
            {
                "settings.py of Django 5.1": [
                    '"OPTIONS": {"init_command": "PRAGMA journal_mode=wal;", "timeout": 5, '
                    '"transaction_mode": "IMMEDIATE"}'
                ],
                "database.yml of Rails 7.2": [
                    "pragmas: {journal_mode: wal}",
                    "timeout: 5000",
                    "default_transaction_mode: immediate",
                ],
            },
        ),
        ("sqlite", {"open_mutex": "nomutex"}, "", {}),
        (
            "postgresql",
            {"work_mem": "64MB"},
            "",
            {
                "postgresql.conf": ["work_mem = '64MB'"],
                "settings.py of Django": ['"OPTIONS": {"options": "-c work_mem=64MB"}'],
                "database.yml of Rails": ['variables: {work_mem: "64MB"}'],
            },
        ),
        ("postgresql", {"shared_buffers": "1GB"}, "", {"postgresql.conf": ["shared_buffers = '1GB'"]}),
        (
            "mysql",
            {"transaction_isolation": "READ-COMMITTED"},
            "",
            {
                "my.cnf": ["[mysqld]", "transaction_isolation = READ-COMMITTED"],
                "settings.py of Django": ['"OPTIONS": {"isolation_level": "read committed"}'],
            },
        ),
        ("duckdb", {"threads": "1"}, "", {}),
    ],
)
def test_settings_are_lines_of_configuration_files(
    engine: str, settings: Mapping[str, str], begins: str, lines: Mapping[str, list[str]]
) -> None:
    assert dict(engine_of(engine).configuration(settings, begins)) == lines
