"""Rows of systems whose transactions change the data: a faster one finds more rows. All results are synthetic."""

from __future__ import annotations

from random import Random

import pytest

from dbdyno.analysis.document import build_document
from dbdyno.analysis.measured.changing_rows import rows_at_start
from dbdyno.analysis.measured.comparisons import other_rows
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result import Cell
from dbdyno.store import TrialRecord
from synthetic import lookup_result, run_record
from synthetic_events import an_interval, as_stored, changed, rate_of

ROWS, SECONDS = 100, 10


def measured(name: str, rate: int, of_all: float, random: Random, *, changes: bool = True) -> Cell:
    """A cell whose transactions insert a row each, and return a part of 100 and of the inserted rows."""
    design = {"cells": [{"id": name, "system": name, "factors": {"system": name}}]}
    trials = []
    for block in range(3):
        # A second of warm-up comes before the window.
        inserted, total, squares, intervals = rate, 0, 0.0, []
        for second in range(SECONDS):
            rows = 0
            for _ in range(rate):
                returned = of_all * (ROWS + inserted / 100) * random.uniform(0.8, 1.2)
                rows += round(returned)
                squares += returned**2
                inserted += 1 if changes else 0
            total += rows
            intervals.append({**as_stored(an_interval(second, rate, 50.0, 1e6)), "rows": rows})
        work = {"rows_returned": total, "rows_returned_squared": squares, "rows_changed": rate * SECONDS * changes}
        ok = rate * SECONDS
        accounts = {"issued": ok, "ok": ok, "failed": {}, "skipped": 0, "in_flight": 0, "retries": 0}
        base = TrialResult.model_validate(lookup_result(1, "private", Random(1)))
        parts = {"accounting": accounts, "work": work, "elapsed_s": float(SECONDS), "warmup": {"seconds": 1.0}}
        counted = as_stored(changed(base, {**rate_of(ok, 1, float(SECONDS)), **parts}))
        made = TrialRecord(cell=name, block=block, position=0, status="done", result=counted, intervals=intervals)
        trials.append(made)
    (cell,) = build_document(run_record(design), trials).cells
    return cell


def test_rows_that_differ_by_growth_are_the_same_work() -> None:
    random = Random(3)
    slow, fast = measured("slow", 50, 1.0, random), measured("fast", 1000, 1.0, random)
    assert slow.rows_per_transaction == pytest.approx(103, rel=0.02)
    assert fast.rows_per_transaction == pytest.approx(160, rel=0.02)
    assert other_rows(slow, fast) == []
    first = rows_at_start(fast, fast.rounds)
    assert first is not None
    # The row that each transaction changes isn't returned.
    assert first.mean == pytest.approx(ROWS, rel=0.02)


def test_other_rows_are_found_in_data_that_grow() -> None:
    random = Random(3)
    assert other_rows(measured("slow", 50, 1.0, random), measured("fast", 1000, 0.9, random))


def test_growth_excuses_nothing_if_no_rows_change() -> None:
    random = Random(3)
    slow, fast = (measured(name, 50, part, random, changes=False) for name, part in (("slow", 1.0), ("fast", 1.1)))
    assert rows_at_start(slow, slow.rounds) is None
    assert other_rows(slow, fast)


def test_the_same_rows_rarely_differ() -> None:
    """Through the deciding code: four standard errors, of a line with 28 degrees of freedom."""
    found = [
        other_rows(measured("slow", 20, 1.0, Random(seed)), measured("fast", 200, 1.0, Random(seed + 1000)))
        for seed in range(100)
    ]
    assert sum(map(bool, found)) <= 2
