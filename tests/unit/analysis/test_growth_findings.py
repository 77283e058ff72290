"""What is said of tables that grew. All results are synthetic."""

from typing import Any

from dbdyno.analysis.document import build_document
from dbdyno.analysis.measured.metrics import rates_by_block, values_by_block
from dbdyno.model.result.shape import Document
from dbdyno.store import TrialRecord
from synthetic import run_record
from test_finding_evidence import result

SIZES = (1000, 10_000, 100_000)


def document(
    rates: dict[str, list[int]], *, limited: bool = True, kinds: dict[str, str] | None = None, windows: int = 2
) -> Document:
    """A run of three sizes for each kind of key, with the rates at each, and indexes of 100 bytes a row."""
    cells: list[dict[str, Any]] = []
    trials = []
    for key, at_sizes in rates.items():
        version = (kinds or {}).get(key, key)
        made = (
            {"kind": "serial", "start": 1, "step": 1} if version == "serial" else {"kind": "uuid", "version": version}
        )
        for size, rate in zip(SIZES, at_sizes, strict=True):
            name = f"rows={size},key={key}"
            cells.append({"id": name, "system": {"name": "sqlite:"}, "factors": {"rows": size, "key": key}})
            stored = {
                "name": "i",
                "table": "t",
                "kind": "index",
                "leaves": None,
                "leaf_fill": None,
                "leaves_seen": None,
            }
            limit = {"bytes": 2_000_000, "means": "cgroup v2", "refused": None}
            for block in range(4):
                told = result(rate + block, disk=None)
                around: dict[str, Any] = {"growing": {"rows": size + 100 * block, "filled": []}}
                around["after"] = {"space": [stored | {"bytes": 100 * size}], "timed": [], "failed": {}}
                if limited:
                    around["memory_limit"] = limit
                steps = [{"do": "execute", "statement": 0, "params": [made]}]
                plan = {"task": {"transactions": [{"name": "t", "steps": steps}]}}
                trials.append(
                    TrialRecord(
                        cell=name, block=block, position=0, status="done", result=told, plan=plan, around=around
                    )
                )
    design = {
        "cells": cells,
        "factors": {"rows": list(SIZES), "key": list(rates)},
        "growth": {"factor": "rows", "table": "t", "windows": windows},
        "report": {"x": "rows", "by": "key", "questions": ["rows"]},
        "measure": {"unit": "transaction", "label": "inserts"},
    }
    return build_document(run_record(design), trials)


def said(document: Document, kind: str) -> list[str]:
    return [each.text for each in document.findings if each.kind == kind]


def test_a_fall_is_told_with_both_sizes_and_the_memory() -> None:
    made = document({"v4": [1000, 990, 200], "serial": [1500, 1500, 1490]})
    (text,) = said(made, "falls as it grows")
    assert text.startswith(
        "With key=v4, inserts fall between 10,000 and 100,000 rows, while the index grows from 977 kB to 9.54 MB, "
        "0.5 to 5 times its memory limit: to 0.2 ("
    )
    assert "of the rate at 1,200 rows" in text
    (found,) = [each for each in made.findings if each.kind == "falls as it grows"]
    assert found.cells == ["rows=100000,key=v4"]
    assert found.evidence["before_share"] == 0.5 and found.evidence["share"] == 5.0


def test_a_fall_that_goes_on_is_told_with_its_end() -> None:
    (text,) = said(document({"v4": [1000, 500, 100]}), "falls as it grows")
    assert "Inserts fall between 1,200 and 10,000 rows" in text
    assert "and at 100,000 rows to 0.1 (" in text


def test_what_recovers_or_is_less_than_a_fifth_is_no_fall() -> None:
    assert said(document({"v4": [1000, 200, 1000]}), "falls as it grows") == []
    assert said(document({"v4": [1000, 950, 850]}), "falls as it grows") == []


def test_without_a_limit_it_is_the_machines_memory() -> None:
    made = document({"v4": [1000, 990, 200]}, limited=False)
    (text,) = said(made, "falls as it grows")
    assert "times the machine's memory" in text or "times" not in text.split(":")[0]


def test_the_order_that_keeps_its_rate_is_told_with_its_price() -> None:
    made = document(
        {"random": [1000, 990, 200], "counted": [1500, 1500, 1490], "timed": [1000, 990, 900]},
        kinds={"random": "v4", "counted": "serial", "timed": "v7"},
    )
    (text,) = said(made, "key order")
    assert text.startswith("At 100,000 rows, ordered keys reach more inserts than random: counted 7.4")
    assert "timed 4.47" in text
    assert "timed reveals its creation time" in text
    assert "counted reveals the number of rows" in text
    assert text.endswith("Concurrent inserts contend for the rightmost page of the index.")


def test_an_order_that_is_no_faster_is_not_told() -> None:
    assert said(document({"v4": [1000, 990, 200], "v7": [1000, 990, 201]}), "key order") == []


def test_windows_of_one_growth_count_as_one_round() -> None:
    (cell, *_) = document({"v4": [1000, 990, 200]}).cells
    # Four windows, two on each growth.
    assert len(cell.rounds) == 4
    rates = rates_by_block(cell)
    assert list(rates) == [0, 2]
    assert [each.count for each in rates.values()] == [
        sum(each.rate.count for each in cell.rounds[first : first + 2]) for first in (0, 2)
    ]
    assert list(values_by_block(cell, "throughput")) == [0, 2]
    one = document({"v4": [1000, 990, 200]}, windows=4)
    assert one.cells[0].throughput.ci95 is None
    assert all(each.ci95 is None for each in one.comparisons)
