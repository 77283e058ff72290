"""What is said of a connection to the database for each request. All results are synthetic."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from dbdyno.analysis.document import build_document
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result.shape import Finding
from dbdyno.store import TrialRecord
from synthetic import lookup_result, run_record
from synthetic_events import as_stored, changed, rate_of

KIND = "connection for each request"

# Rates of three blocks with kept connections, by the number of clients.
KEPT = {1: (100, 104, 96), 8: (400, 390, 410)}


def result(ok: int, clients: int, failed: int = 0) -> dict[str, Any]:
    made = TrialResult.model_validate(lookup_result(1, "private", random.Random(1)))
    failures = {"failed": {"status": failed}} if failed else {}
    accounting = {"issued": ok + failed, "ok": ok, **failures}
    work = {"transactions": ok, "rows_returned": ok, "rows_returned_squared": float(ok)}
    return as_stored(
        changed(made, {"accounting": accounting, **rate_of(ok, clients, 1.0), "elapsed_s": 1.0, "work": work})
    )


def cell(system: str, clients: int, asked: Mapping[str, str], **factors: str) -> dict[str, Any]:
    return {
        "id": f"{system} {clients} {' '.join(factors.values())}",
        "system": {"name": system, "engine": "web"},
        "factors": {"system": system, "concurrency": clients, **factors},
        "asked": dict(asked),
    }


def said(*measured: tuple[dict[str, Any], Mapping[int, int], int]) -> list[Finding]:
    """What is said of cells, each with the logins of its blocks, and the requests that failed in each."""
    trials = [
        TrialRecord(
            cell=design["id"],
            block=block,
            position=position,
            status="done",
            result=result(ok, design["factors"]["concurrency"], failed),
            plan={"task": {"clients": design["factors"]["concurrency"], "window": {}}},
        )
        for position, (design, blocks, failed) in enumerate(measured)
        for block, ok in blocks.items()
    ]
    design = {"cells": [each for each, _, _ in measured], "measure": {"label": "logins"}}
    found = build_document(run_record(design), trials).findings
    return [each for each in found if each.kind == KIND]


def both(
    system: str, clients: int, share: float, failed: int = 0
) -> list[tuple[dict[str, Any], Mapping[int, int], int]]:
    """A cell with kept connections and one without, which does that share of it in each block."""
    kept = dict(enumerate(KEPT[clients]))
    anew = {block: round(ok * share) for block, ok in kept.items()}
    return [
        (cell(system, clients, {"persistent": "on"}, persistent="on"), kept, 0),
        (cell(system, clients, {"persistent": "off"}, persistent="off"), anew, failed),
    ]


def test_the_ratio_is_that_of_blocks_over_all_levels() -> None:
    (found,) = said(
        *both("web:?database=a", 1, 0.8), *both("web:?database=a", 8, 0.2), *both("web:?database=b", 1, 0.5)
    )
    of_a, of_b = (found.evidence["ratios"][f"web:?database={name}"] for name in "ab")
    # The mean of logarithms. Within blocks nothing but rounding differs, however much the blocks do.
    assert of_a["ratio"] == pytest.approx(0.4, rel=0.01) and of_b["ratio"] == pytest.approx(0.5, rel=0.01)
    assert of_a["ci95"][0] < of_a["ratio"] < of_a["ci95"][1]
    assert of_b["cells"] == [["web:?database=b 1 on", "web:?database=b 1 off"]]
    text = found.text
    assert text.startswith("With a database connection per request, logins are 0.4 (")
    assert "(0.2 with concurrency=8 to 0.8 with concurrency=1; 2.5 ms more per request with concurrency=1)" in text
    # With one client, 100 a second against 50.
    assert "on b (10 ms more per request) times as many as with kept connections." in text


def test_a_setting_in_the_url_is_as_good_as_a_factor() -> None:
    kept = cell("web:?persistent=on", 1, {"persistent": "on", "pool": "16"})
    anew = cell("web:?persistent=off", 1, {"persistent": "off", "pool": "16"})
    (found,) = said((kept, {0: 100, 1: 100}, 0), (anew, {0: 50, 1: 52}, 0))
    assert list(found.evidence["ratios"]) == ["web:?persistent=on"]
    other = anew | {"asked": {"persistent": "off", "pool": "1"}}
    assert said((kept, {0: 100, 1: 100}, 0), (other, {0: 50, 1: 52}, 0)) == []


def test_levels_in_which_other_work_was_done_are_left_out_and_named() -> None:
    (found,) = said(*both("web:", 1, 0.8), *both("web:", 8, 0.2, failed=900))
    assert found.evidence["ratios"]["web:"]["ratio"] == pytest.approx(0.8, rel=0.01)
    assert list(found.evidence["left_out"]) == ["web: 8 off"]
    assert "1 pair of cells was excluded because their work differed: web: 8 off (failed transactions: " in found.text
    assert said(*both("web:", 8, 0.2, failed=900)) == []
