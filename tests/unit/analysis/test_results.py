"""The result document. All results are synthetic."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from dbdyno.analysis.document import build_document
from dbdyno.analysis.measured.cell_pairs import baselines
from dbdyno.analysis.measured.histograms import encode_ns
from dbdyno.model.events.observations import Io, Segments
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result import Bottleneck, Cell, Document
from dbdyno.model.result.convert import to_json
from dbdyno.model.result.schema import json_schema
from dbdyno.report.brief import brief_lines
from dbdyno.report.export import markdown_text
from dbdyno.report.frames.cells import cells_frame
from dbdyno.report.lines import lost_mark
from dbdyno.report.openmetrics import openmetrics_text
from dbdyno.store import RunRecord, TrialRecord, open_store
from experiment_files import result_schema
from synthetic import lookup_design, lookup_document, lookup_result, lookup_trials, run_record, update_document
from synthetic_events import as_stored, changed, disk, latency, rate_of

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENTS = [
    lookup_document(),
    lookup_document(rounds=1),
    update_document(systems=("sqlite:", "sqlite:?journal_mode=wal")),
    build_document(RunRecord(experiment="empty", seed=1, design={}), []),
    build_document(run_record(lookup_design()), []),
]


def one_cell(trials: list[TrialRecord], **changes: Any) -> Document:
    design = {"cells": [{"id": "a", "system": "sqlite:", "factors": {"threads": 1}}]}
    return build_document(run_record(design, **changes), trials)


def result(**changes: Any) -> dict[str, Any]:
    """A result; its rate follows from its accounts and its time, unless it is given."""
    made = TrialResult.model_validate(lookup_result(1, "private", random.Random(1)))
    if "accounting" in changes or "elapsed_s" in changes:
        first = changed(made, changes)
        changes = {**rate_of(first.accounting.ok, 1, first.elapsed_s), **changes}
    return as_stored(changed(made, changes))


def trial(block: int = 0, **changes: Any) -> TrialRecord:
    values = {"cell": "a", "block": block, "position": 0, "status": "done", "result": result(), **changes}
    return TrialRecord(**values)


def accounting(ok: int, **more: Any) -> dict[str, Any]:
    return {"issued": ok, "ok": ok, "failed": {}, "skipped": 0, "in_flight": 0, "retries": 0, **more}


def cell_of(document: Document, cell_id: str) -> Cell:
    return next(cell for cell in document.cells if cell.id == cell_id)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_hold_to_the_schema_and_name_no_field_it_does_not(document: Document) -> None:
    result_schema().validate(json.loads(json.dumps(to_json(document), allow_nan=False)))


def test_the_published_schema_allows_fields_of_later_versions() -> None:
    jsonschema_rs.validate(json_schema(), {**to_json(lookup_document()), "later": 1})


def test_throughput_is_what_the_experiment_counts() -> None:
    work = {"transactions": 10, "statements": 30, "rows_returned": 5, "rows_changed": 70}
    rates = {}
    for unit in ("transaction", "statement", "row"):
        design = {"cells": [{"id": "a"}], "measure": {"unit": unit}}
        made = build_document(
            run_record(design), [trial(result=result(accounting=accounting(10), work=work, elapsed_s=5.0))]
        )
        rates[unit] = (made.cells[0].throughput.mean, made.cells[0].throughput.unit)
    assert rates == {
        "transaction": (2.0, "transactions/s"),
        "statement": (6.0, "statements/s"),
        "row": (15.0, "rows/s"),
    }


def test_mean_and_interval_over_the_rounds() -> None:
    trials = [
        trial(block, result=result(accounting=accounting(ok), elapsed_s=1.0))
        for block, ok in enumerate((1, 2, 3, 4, 5))
    ]
    throughput = one_cell(trials).cells[0].throughput
    assert throughput.mean == 3
    # Of the logarithm: a rate is never below 0. 3 · exp(± 1.380 · 2.776 · 0.5270 / sqrt(5)),
    # with the allowance of 5 rounds for neighbors that are alike.
    assert throughput.ci95 == pytest.approx([1.2159, 7.4021], abs=1e-4)


def test_one_round_has_no_interval() -> None:
    assert one_cell([trial()]).cells[0].throughput.ci95 is None


def test_failures_are_no_throughput_and_are_named() -> None:
    failing = result(
        accounting=accounting(90, issued=100, failed={"locked": 10}),
        failures={"locked": "database is locked"},
        elapsed_s=1.0,
    )
    document = one_cell([trial(result=failing)])
    cell = document.cells[0]
    assert cell.throughput.mean == 90
    assert cell.failed == {"locked": 10}
    assert document.findings[0].text == (
        '10 of 100 transactions failed (locked): "database is locked"; they do not count towards throughput.'
    )


def several_cells(trials: dict[str, list[TrialRecord]]) -> Document:
    design = {"cells": [{"id": name, "system": "sqlite:", "factors": {"cell": name}} for name in trials]}
    own = [dataclasses.replace(each, cell=name) for name, made in trials.items() for each in made]
    return build_document(run_record(design), own)


def failed_of_1000(times: int, message: str, kind: str = "locked", **changes: Any) -> TrialRecord:
    made = result(accounting=accounting(1000 - times, issued=1000, failed={kind: times}), failures={kind: message})
    return trial(result=made, **changes)


def test_failures_are_told_by_cell_kind_and_message() -> None:
    document = several_cells(
        {
            "a": [failed_of_1000(4, "busy"), failed_of_1000(0, "busy", block=1)],
            "b": [failed_of_1000(500, "busy"), failed_of_1000(900, "killed", block=1, status="failed", error="killed")],
            "c": [failed_of_1000(7, "table is locked")],
            "d": [failed_of_1000(3, "not unique", kind="constraint")],
        }
    )
    assert [(each.text, each.cells) for each in document.findings[:3]] == [
        (
            'In 2 cells transactions failed (locked): "busy"; they do not count towards throughput: '
            "500 of 1,000 (50 %) at b; 4 of 2,000 (0.2 %) at a.",
            ["b", "a"],
        ),
        ('7 of 1,000 transactions failed (locked): "table is locked"; they do not count towards throughput.', ["c"]),
        ('3 of 1,000 transactions failed (constraint): "not unique"; they do not count towards throughput.', ["d"]),
    ]


def test_of_many_cells_with_failures_the_five_worst_are_told() -> None:
    document = several_cells({str(times): [failed_of_1000(times * 100, "busy")] for times in range(1, 8)})
    text = document.findings[0].text
    assert text.startswith("In 7 cells transactions failed")
    assert text.endswith("400 of 1,000 (40 %) at 4; 300 of 1,000 (30 %) at 3; and 2 more.")
    assert len(document.findings[0].cells) == 7


def test_arrivals_never_begun_are_told_with_what_was_offered_and_served() -> None:
    def rounds(skipped: int) -> list[TrialRecord]:
        ok = 30_000 - skipped
        full = result(accounting=accounting(ok, issued=30_000, skipped=skipped), elapsed_s=1.0)
        failed = trial(2, result=None, status="failed", error="killed")
        return [trial(0, result=full), trial(1, result=full), failed]

    (text,) = [each.text for each in one_cell(rounds(26_489)).findings if "arrivals" in each.text]
    assert text == (
        "88 % of arrivals were skipped: the system served 3,511 of the 30,000 transactions/s offered. Skipped arrivals "
        "enter the response times as lower bounds, equal to the time they had waited when the trial ended."
    )
    texts = [each.text for each in one_cell(rounds(300)).findings]
    assert any(each.startswith("1.0 % of arrivals were skipped: the system served 29,700 of") for each in texts)
    assert not any("arrivals" in each.text for each in one_cell(rounds(299)).findings)


def test_accounting_that_do_not_balance_are_no_result() -> None:
    document = one_cell([trial(result=result(accounting=accounting(90, issued=100)))])
    assert document.cells[0].throughput.mean is None
    assert [to_json(each) for each in document.failed_trials] == [
        {
            "cell": "a",
            "block": 0,
            "status": "failed",
            "kind": "accounting",
            "error": "the accounting does not balance: 100 issued, 90 accounted for",
        }
    ]


def test_a_failed_trial_is_kept_with_its_cause_and_does_not_count() -> None:
    failed = trial(1, status="failed", result=None, error="killed by signal 9", error_kind="killed")
    document = one_cell([trial(), failed])
    cell = document.cells[0]
    assert [each.status for each in cell.rounds] == ["done", "failed"]
    assert cell.rounds[1].throughput is None
    assert document.failed_trials[0].error == "killed by signal 9"
    assert cell.throughput.mean == cell.rounds[0].throughput


def test_an_interrupted_trial_has_not_failed() -> None:
    interrupted = trial(1, status="interrupted", result=None, error="the run was interrupted in this trial")
    document = one_cell([trial(), interrupted])
    assert [each.status for each in document.failed_trials] == ["interrupted"]
    assert lost_mark(document.cells[0].rounds[1]) == "-"
    assert not any("trial failed" in line.plain for line in brief_lines(document, 80))


def test_of_a_trial_done_again_the_latest_counts() -> None:
    document = one_cell([trial(status="failed", result=None, error="killed"), trial()])
    assert [each.status for each in document.cells[0].rounds] == ["done"]
    assert document.failed_trials == []


def test_a_count_within_a_time_may_be_off_by_one() -> None:
    four = result(accounting=accounting(4), elapsed_s=2.0, ended_by="seconds")
    assert one_cell([trial(result=four)]).cells[0].rounds[0].rate.resolution == 0.25


def without(place: str) -> dict[str, Any]:
    """A result that lacks a field."""
    made = result()
    *way, name = place.split(".")
    inner = made
    for each in way:
        inner = inner[each]
    del inner[name]
    return made


@pytest.mark.parametrize("field", ["cpu.cores", "accounting.ok", "time.segments.sync", "engine.durability.class"])
def test_a_result_that_lacks_a_field_fails_its_trial_alone(field: str) -> None:
    document = one_cell([trial(result=without(field)), trial(1)])
    broken, whole = document.cells[0].rounds
    assert (broken.status, broken.error_kind, whole.status) == ("failed", "unreadable", "done")
    assert f"`result.{field}`: field required" in (broken.error or "")


def test_an_interval_and_what_was_loaded_are_read_too() -> None:
    trials = [
        trial(intervals=[{"event": "interval", "index": -1}]),
        trial(1, around={"loaded": {"at": 3, "tables": [], "names": []}}),
        trial(2, parts=[{"result": result() | {"completed": "many"}, "intervals": []}], result=None),
    ]
    rounds = one_cell(trials).cells[0].rounds
    fields = ("`interval.", "`loaded.at`: input should be a valid string, not 3", "`result.completed`")
    for each, field in zip(rounds, fields, strict=True):
        assert (each.status, each.error_kind) == ("failed", "unreadable") and field in (each.error or "")


def test_latencies_are_merged_over_the_rounds() -> None:
    cell = cell_of(lookup_document(), "cache=private,threads=1")
    counts = [each.histograms["service"] for each in cell.rounds]
    assert len(counts) == 5
    assert cell.latency_ms["service"].count is not None
    assert 0.02 < (cell.latency_ms["service"].p50 or 0) < 0.05
    assert set(cell.histograms) == {"service", "execute"}


def test_a_histogram_that_cannot_be_read_is_said_and_costs_nothing_else() -> None:
    document = one_cell([trial(result=result(histograms={"service": "nonsense"}))])
    assert document.cells[0].throughput.mean is not None
    assert "service latencies could not be merged" in document.findings[-1].text


def test_the_bottleneck_is_the_one_most_rounds_agree_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bottlenecks = ["cpu", "mutex", "mutex", "unclear", "mutex"]

    def bottleneck_of(trial: TrialRecord) -> Bottleneck:
        resource, evidence = bottlenecks[trial.block], f"round {trial.block}"
        return Bottleneck(resource=resource, evidence=evidence, advice="change it", rounds=1, of=1, proven=None)

    monkeypatch.setattr("dbdyno.analysis.measured.cells.bottleneck_of", bottleneck_of)
    bottleneck = one_cell([trial(block) for block in range(len(bottlenecks))]).cells[0].bottleneck
    assert bottleneck is not None
    assert (bottleneck.resource, bottleneck.rounds, bottleneck.of) == ("mutex", 3, 5)
    assert bottleneck.evidence in {"round 1", "round 2", "round 4"}


def test_mutex_sites_are_added_up_over_the_rounds() -> None:
    cell = cell_of(lookup_document(), "cache=shared,threads=4")
    assert cell.mutex is not None
    assert [site.function for site in cell.mutex.sites] == ["sqlite3BtreeEnter", "pcache1Fetch"]
    assert cell.mutex.wait_share == pytest.approx(0.75)
    assert cell.mutex.sites[0].stack[0] == "sqlite3BtreeEnter"
    assert cell_of(lookup_document(), "cache=private,threads=1").mutex is None


def test_shares_of_ceilings() -> None:
    durable = result(
        accounting=accounting(500), elapsed_s=1.0, watched_s=1.0, io={"syncs": 1500}, work={"statements": 8000}
    )
    durable["disk"] = as_stored(disk(reads=600))
    shares = (
        one_cell(
            [trial(result=durable, plan={"task": {"clients": 2}})],
            device={"sync_per_s": 1000.0, "random_read": [{"per_s": 3000.0}, {"per_s": 6000.0}]},
            ceiling={"operations_per_s": 1_000_000.0},
        )
        .cells[0]
        .share_of_ceiling
    )
    assert to_json(shares) == {"harness": pytest.approx(0.004), "device_sync": pytest.approx(0.5), "device_read": 0.1}


def test_a_client_that_had_nothing_to_do_for_half_of_the_time_is_not_accused() -> None:
    def accused(idle_s: float) -> bool:
        time = {"client_s": 2.0, "segments": {"idle": idle_s}}
        busy = result(accounting=accounting(4000), elapsed_s=1.0, work={"statements": 8000}, time=time)
        made = trial(result=busy, plan={"task": {"clients": 2}})
        document = one_cell([made], ceiling={"operations_per_s": 5000.0})
        assert document.cells[0].share_of_ceiling.harness == pytest.approx(0.8)
        return any("the null engine" in each.text for each in document.findings)

    assert accused(0.9)
    assert not accused(1.0)


WRITES = {"write", "lock_calls"}


def zeros(name: str, **segments: float) -> dict[str, Any]:
    """The result of a worker that says 0 of everything but the segments given."""
    time = {"client_s": 2.0, "cpu_s": 1.0, "segments": dict.fromkeys(Segments.model_fields, 0.0) | segments}
    return result(engine={"engine": name}, io=dict.fromkeys(Io.model_fields, 0), mutex=None, time=time)


def nulls(source: dict[str, float | None]) -> set[str]:
    return {name for name, value in source.items() if value is None}


def test_what_nothing_looked_at_on_a_server_is_null_and_not_0() -> None:
    (cell,) = one_cell([trial(result=zeros("PostgreSQL", client=0.5, server=1.5))]).cells
    assert cell.time is not None
    unseen = {"sync", "read", "mutex_wait", "file_lock_wait", "prepare", "engine", "unknown", *WRITES}
    for segments in (cell.rounds[0].segments, cell.time.segments, cell.time.shares):
        assert nulls(segments) == unseen
    assert cell.time.shares["server"] == 0.75
    assert cell.time.segments["idle"] == 0.0
    assert nulls(cell.rounds[0].io) == nulls(cell.io_per_transaction) == set(Io.model_fields)
    # Of a server that does tell how long preparing took, that stands.
    (told,) = one_cell([trial(result=zeros("MariaDB", client=0.5, server=1.0, prepare=0.5))]).cells
    assert told.rounds[0].segments["prepare"] == 0.5


def test_a_share_is_of_the_rounds_in_which_somebody_looked() -> None:
    mutex = {"contended": 7, "wait_s": 0.6, "sites": []}
    seen = zeros("sqlite", mutex_wait=0.5, engine=1.5) | {"mutex": mutex}
    rounds = [trial(result=seen), trial(result=zeros("sqlite", engine=1.0), block=1)]
    (cell,) = one_cell(rounds).cells
    assert cell.time is not None
    assert cell.mutex is not None
    assert cell.time.segments["mutex_wait"] == 0.5
    assert cell.time.shares["mutex_wait"] == 0.25
    assert cell.time.shares["engine"] == 0.625
    assert cell.mutex.wait_share == pytest.approx(0.3)


def test_what_sqlite_was_seen_not_to_do_is_0() -> None:
    seen = zeros("sqlite", engine=2.0) | {"mutex": {"contended": 0, "wait_s": 0.0, "sites": []}}
    (round_,) = one_cell([trial(result=seen)]).cells[0].rounds
    assert round_.io == dict.fromkeys(Io.model_fields, 0)
    assert nulls(round_.segments) == {"client", "server"}
    unwatched = trial(result=zeros("sqlite", engine=2.0), plan={"task": {"record": {"io": False}}})
    (round_,) = one_cell([unwatched]).cells[0].rounds
    assert nulls(round_.io) == {"syncs", "lock_calls", "reads", "read_bytes", "writes", "write_bytes"}
    assert nulls(round_.segments) == {"client", "server", "sync", "read", "mutex_wait", *WRITES}


def test_without_syncs_there_is_no_share_of_syncs() -> None:
    shares = one_cell([trial()], device={"sync_per_s": 1000.0}).cells[0].share_of_ceiling
    assert shares.device_sync is None


def test_published_figures_stand_beside_and_never_within() -> None:
    design = lookup_design()
    trials = lookup_trials(design, 3, 1)
    plain = build_document(run_record(design), trials)
    beside = build_document(
        run_record(design), trials, published={"cache=private,threads=1": {"value": 34000.0, "unit": "1/s"}}
    )
    assert cell_of(beside, "cache=private,threads=1").published == {"value": 34000.0, "unit": "1/s"}
    for one, other in zip(plain.cells, beside.cells, strict=True):
        assert replace(one, published=None) == replace(other, published=None)
    assert plain.comparisons == beside.comparisons


def test_retries_are_told_per_transaction_wherever_they_are_shown() -> None:
    document = one_cell([trial(block, result=result(accounting=accounting(10) | {"retries": 4})) for block in (0, 1)])
    assert document.cells[0].retries_per_transaction == 0.4
    (column,) = [each for each in cells_frame(document).columns if each.name == "retries_per_transaction"]
    assert column.values == [0.4]
    assert re.search(r"dbdyno_retries_per_transaction\{.*\} 0\.4", openmetrics_text(document))
    assert "| retries |" in markdown_text(document) and "| 0.4000 |" in markdown_text(document)
    assert "retries" not in markdown_text(one_cell([trial(result=result(accounting=accounting(10)))]))


def test_every_cell_is_compared_with_the_first() -> None:
    document = lookup_document()
    verdicts = {each.b: each.verdict for each in document.comparisons}
    assert len(verdicts) == len(document.cells) - 1
    assert verdicts["cache=private,threads=4"] == "faster"
    assert verdicts["cache=shared,threads=4"] == "slower"
    four = next(each for each in document.comparisons if each.b == "cache=private,threads=4")
    # Its last trial failed: the pair of that block is missing.
    assert four.blocks == 4


def test_a_cell_of_another_system_is_compared_with_the_same_load_on_the_first() -> None:
    document = update_document(systems=("sqlite:", "sqlite:?journal_mode=wal"))
    compared = [(each.b, each.a) for each in document.comparisons]
    levels = {cell.id: cell.factors for cell in document.cells}
    assert len(compared) == len(document.cells) - 1
    for other, base in compared:
        if levels[other]["system"] == "sqlite:":
            assert base == document.cells[0].id
        else:
            assert levels[base] == levels[other] | {"system": "sqlite:"}


def test_where_the_first_system_has_no_such_cell_the_first_is_the_baseline() -> None:
    levels = [
        {"system": "one", "n": 1},
        {"system": "one", "n": 2},
        {"system": "two", "n": 2},
        {"system": "two", "n": 3},
        {"n": 4},
    ]
    assert baselines(levels) == [(0, 1), (1, 2), (0, 3), (0, 4)]
    # Also where it comes later, since what would come first is not measured.
    late = [{"system": "two", "n": 1}, {"system": "one", "n": 2}, {"system": "two", "n": 2}]
    assert baselines(late) == [(2, 1), (0, 2)]
    assert baselines(levels[:1]) == baselines([]) == []


def test_answers_to_other_questions_are_not_compared() -> None:
    levels = [
        {"system": system, "search": search, "sorted": order}
        for system in ("one", "two")
        for search in ("a", "b")
        for order in ("no", "yes")
    ]
    assert baselines(levels, ["search"]) == [(0, 1), (2, 3), (0, 4), (1, 5), (2, 6), (3, 7)]
    # Of a search that the first system has not, the first that there is.
    assert baselines([*levels[:2], *levels[6:]], ["search"]) == [(0, 1), (2, 3)]
    assert baselines([levels[0], levels[2]], ["search"]) == []
    # Then it stands in for the first system, also for others; else the first system's own come first.
    third = [each | {"system": "three"} for each in levels[6:]]
    assert baselines([*levels[:2], *levels[6:], *third], ["search"]) == [(0, 1), (2, 3), (2, 4), (3, 5)]
    assert baselines([levels[0], levels[6], levels[3]], ["search"]) == [(2, 1)]
    design = {
        "cells": [{"id": str(place), "system": each["system"], "factors": each} for place, each in enumerate(levels)],
        "report": {"x": "search", "questions": ["search"]},
    }
    trials = [dataclasses.replace(trial(block), cell=str(place)) for block in range(5) for place in range(len(levels))]
    document = build_document(run_record(design), trials)
    assert [(each.a, each.b) for each in document.comparisons] == [
        ("0", "1"),
        ("2", "3"),
        ("0", "4"),
        ("1", "5"),
        ("2", "6"),
        ("3", "7"),
    ]
    # Nor does the answer rank them.
    assert document.roles == {}
    design["factors"] = {"system": ["one", "two"], "search": ["a", "b"], "sorted": ["no", "yes"]}
    document = build_document(run_record(design), trials)
    assert document.roles["search"] == "load"
    assert all("search" not in each.levels for each in document.answer.configurations)


def test_systems_that_are_not_comparable_are_not_ranked() -> None:
    document = update_document(systems=("sqlite:", "sqlite:?journal_mode=wal"))
    not_comparable = [each for each in document.comparisons if each.not_comparable]
    assert {each.verdict for each in not_comparable} == {None}
    assert [each.not_comparable for each in not_comparable] == [
        # The table refuses what `compare` does, within a system too.
        ["failed transactions: 0 % against 50 %"],
        ["durability: power-safe against process-safe"],
        ["durability: power-safe against process-safe", "failed transactions: 50 % against 25 %"],
        ["durability: power-safe against process-safe"],
    ]
    assert document.findings[0].text == (
        "Not ranked, because they are not comparable (durability: power-safe against process-safe): "
        "sqlite: and sqlite:?journal_mode=wal."
    )
    assert len(document.findings[0].cells) == 6


def returned(rows: float, ok: int) -> dict[str, float]:
    """What so many transactions did that returned as many rows each."""
    return {"rows_returned": round(rows * ok), "rows_returned_squared": rows**2 * ok}


def test_different_rows_are_not_comparable() -> None:
    design = {
        "cells": [{"id": name, "system": name, "factors": {"system": name, "pattern": "x"}} for name in ("one", "two")]
    }
    trials = [
        dataclasses.replace(
            trial(block, result=result(accounting=accounting(10), work=returned(rows / 10, 10))), cell=name
        )
        for block in range(5)
        for name, rows in (("one", 1950), ("two", 1980))
    ]
    document = build_document(run_record(design), trials)
    assert document.comparisons[0].not_comparable == ["rows returned per transaction: 195 against 198"]
    assert document.comparisons[0].verdict is None


def test_rows_that_differ_by_chance_are_no_different_work() -> None:
    # Of 10,000 transactions some 1 in 10 returns 25 rows, the others one: drawn, their number differs a little.
    design = {"cells": [{"id": name, "system": name, "factors": {"system": name}} for name in ("one", "two")]}

    def not_comparable(second: int, rounds: int = 2, **known: float) -> list[str]:
        trials = []
        for block, (name, many) in itertools.product(range(rounds), (("one", 1000), ("two", second))):
            work = {"rows_returned": 10_000 + 24 * many, "rows_returned_squared": 10_000.0 + 624 * many} | known
            counted = result(accounting=accounting(10_000), work=work)
            trials.append(dataclasses.replace(trial(block, result=counted), cell=name))
        document = build_document(run_record(design), trials)
        first = document.cells[0]
        if not known:
            # Bernoulli's: 24 rows more with a chance of 0.1.
            assert first.rows_standard_error == pytest.approx(24 * math.sqrt(0.09 / (10_000 * rounds)))
        return document.comparisons[0].not_comparable

    assert not_comparable(1030) == not_comparable(970) == not_comparable(1030, rounds=1) == []
    assert not_comparable(1200) == ["rows returned per transaction: 3.4 against 3.88"]
    # All return the same number, and then there is no chance in it.
    assert len(not_comparable(1030, rows_returned_squared=0.0)) == 1


def test_rounds_that_differ_more_than_their_transactions_say_how_much_chance_there_is() -> None:
    work = [{"rows_returned": rows, "rows_returned_squared": rows**2 / 100} for rows in (100, 120, 140)]
    trials = [trial(block, result=result(accounting=accounting(100), work=each)) for block, each in enumerate(work)]
    (cell,) = one_cell(trials).cells
    assert cell.rows_standard_error == pytest.approx(0.2 / math.sqrt(3))


def test_rows_may_differ_because_rows_are_changed_or_transactions_fail() -> None:
    design = {"cells": [{"id": name, "system": name, "factors": {"system": name}} for name in ("one", "two", "three")]}

    def text(systems: int, changed: int, failed: int = 0) -> str:
        counted = accounting(10, issued=10 + failed, failed={"locked": failed} if failed else {})
        trials = [
            dataclasses.replace(
                trial(result=result(accounting=counted, work=returned(rows / 10, 10) | {"rows_changed": changed})),
                cell=name,
            )
            for name, rows in [("one", 1950), ("two", 1980), ("three", 2500)][:systems]
        ]
        found = build_document(run_record(design), trials).findings
        return next(each.text for each in found if each.evidence and "not_comparable" in each.evidence)

    for systems in (2, 3):
        end = "one and two." if systems == 2 else "not ranked."
        assert text(systems, 0).endswith(end)
        assert text(systems, 0, failed=1).endswith(
            f"{end} Some transactions failed and do not count: rows returned may differ because the remaining "
            "transactions are a different mix."
        )
        assert text(systems, 7).endswith(
            f"{end} Their transactions also change rows: rows returned may differ because the data changed at "
            "different speeds."
        )


def slower_device(seconds: float, written: float | None, **device: float) -> list[dict[str, Any]]:
    """What is said of a device that syncs 4 KiB in 1 ms, of a trial whose 1000 syncs took so long and wrote so much."""
    io = {"syncs": 1000, "write_bytes": 0 if written is None else int(1000 * written)}
    synced = result(accounting=accounting(500), elapsed_s=1.0, io=io)
    synced["time"] |= {"client_s": 10.0, "segments": synced["time"]["segments"] | {"sync": seconds}}
    plan = {"task": {"record": {"io": written is not None}}}
    document = one_cell([trial(result=synced, plan=plan)], device={"sync_per_s": 1000.0, "sync_us": 1000.0} | device)
    return [to_json(each) for each in document.findings if each.kind == "slower device"]


def test_a_device_that_was_slower_than_when_it_was_measured_is_warned_of() -> None:
    assert slower_device(4.9, 4096) == []
    (told,) = slower_device(5.0, 4096)
    assert "a sync of 4 KiB took 5 ms on average, but 1 ms on the idle device" in told["text"]
    assert "`of syncs`" in told["text"]
    assert told["evidence"] == {"sync_ms": {"a": 5.0}, "bytes_per_sync": {"a": 4096.0}, "measured_ms": {"a": 1.0}}


def test_a_sync_is_compared_with_one_that_writes_as_much() -> None:
    # One that writes 200 MB takes longer than one of a page, on any device: without another figure nothing is said.
    assert slower_device(800.0, 200e6) == []
    # Nor of one of which it is not known what it wrote.
    assert slower_device(5.0, None) == []
    # 1 MiB in 5 ms are 200 MB in some 767 ms.
    large = {"large_sync_us": 5000.0, "large_sync_bytes": 2.0**20}
    assert slower_device(800.0, 200e6, **large) == []
    (told,) = slower_device(4000.0, 200e6, **large)
    assert "a sync of 195,312 KiB took 4,000 ms on average, but 767 ms on the idle device" in told["text"]


def test_outliers_are_marked_and_counted() -> None:
    rates = (1000, 1010, 990, 1005, 600)
    trials = [trial(block, result=result(accounting=accounting(ok), elapsed_s=1.0)) for block, ok in enumerate(rates)]
    document = one_cell(trials)
    assert [each.outlier for each in document.cells[0].rounds] == [False, False, False, False, True]
    assert document.cells[0].throughput.mean == 921
    assert "1 round is far" in document.findings[-1].text


SCAN = ["Aggregate", "  ->  Seq Scan on t", "        Filter: (a > 5)"]
LOOKUP = ["Aggregate", "  ->  Index Scan using t_a on t", "        Index Cond: (a > 5)"]
COUNT = {"name": "s", "sql": "select count(*) from t where a > 5"}


def planned(*rounds: tuple[list[str], int], **changes: Any) -> Document:
    """A cell whose rounds have each a plan and so many transactions. ``changes``: of each result."""
    table = {"name": "t", "storage_engine": None, "columns": [], "indexes": []}
    catalog = {"data_bytes": None, "tables": [table]}
    told = [{"engine": "PostgreSQL", "plans": {"s": plan}, "catalog": catalog} for plan, _ in rounds]
    results = [
        result(accounting=accounting(ok), elapsed_s=10.0, engine=engine, **changes)
        for (_, ok), engine in zip(rounds, told, strict=True)
    ]
    plan = {"task": {"clients": 1, "window": {}, "statements": [COUNT]}}
    return one_cell([trial(block, result=each, plan=plan) for block, each in enumerate(results)])


def texts(document: Document, *kinds: str) -> list[str]:
    return [each.text for each in document.findings if each.kind in kinds]


def test_a_plan_that_changes_between_rounds_is_told_with_how_fast_each_is() -> None:
    document = planned((SCAN, 1000), (LOOKUP, 20_000), (SCAN, 1200), (LOOKUP, 22_000))
    (cell,) = document.cells
    assert cell.system.plans == {"s": SCAN}
    # What is the cell's is not repeated.
    assert [each.plans for each in cell.rounds] == [{}, {"s": LOOKUP}, {}, {"s": LOOKUP}]
    assert texts(document, "plan changed") == [
        "The plan of `select count(*) from t where a > 5` changed between rounds: `Seq Scan on t` in rounds 1 and 3 "
        "(110 transactions/s); `Index Scan using t_a on t` in rounds 2 and 4 (2,100 transactions/s). "
        "The mean mostly reflects which plan was more frequent."
    ]
    # It hurts only where one is slower than the other.
    assert [each.evidence.get("warning") for each in document.findings if each.kind == "plan changed"] == ["two levels"]
    (text,) = texts(planned((SCAN, 1000), (LOOKUP, 1100)), "plan changed")
    assert text.endswith("in round 2 (110 transactions/s).")


def test_plans_that_explain_two_levels_are_told_in_their_place() -> None:
    rates = (1000, 2000, 1001, 2001, 1002, 2002)
    document = planned(*((SCAN if ok < 1500 else LOOKUP, ok) for ok in rates))
    (text,) = texts(document, "plan changed", "two levels")
    assert text.startswith("The plan of") and text.endswith("The mean mostly reflects which plan was more frequent.")
    assert texts(planned(*((SCAN, ok) for ok in rates)), "plan changed", "two levels") == [
        "The rounds fall into two groups, around 100.1 and 200.1, so the mean mostly reflects which group was more "
        "frequent. Run more rounds and look for what differs between the groups."
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["SEQ_SCAN (Table: t) (Estimated Cardinality: 9)"], ["SEQ_SCAN (Table: t) (Estimated Cardinality: 12)"]),
        (["SEQ_SCAN (Filters: at<'2026-01-01'::DATE)"], ["SEQ_SCAN (Filters: at<'2026-01-02'::DATE)"]),
    ],
)
def test_estimates_and_the_time_of_day_make_no_other_plan(one: list[str], other: list[str]) -> None:
    document = planned((one, 1000), (other, 1000))
    assert [each.plans for each in document.cells[0].rounds] == [{}, {}]
    assert texts(document, "plan changed") == []


def test_of_open_loops_that_keep_up_each_plan_has_a_latency() -> None:
    document = planned((SCAN, 1000), (LOOKUP, 1000), latency_ms={"response": latency(2000.0, 1000)})
    (text,) = texts(document, "plan changed")
    assert re.search(
        r"`Seq Scan on t` in round 1 \(p99 [\d.]+ ms\); `Index Scan using t_a on t` in round 2 \(p99", text
    )


def test_a_round_that_spares_a_whole_table_needs_no_advice() -> None:
    times = {"transactions": {}, "statements": {"s": encode_ns([500_000_000] * 9)}, "controls": {}, "timed_s": 5.0}
    for rounds, advised in ((((SCAN, 1000), (SCAN, 1000)), True), (((SCAN, 1000), (LOOKUP, 1000)), False)):
        assert bool(texts(planned(*rounds, operations=times), "whole table")) is advised


def test_a_cell_without_a_trial_and_a_trial_without_a_planned_cell_are_shown() -> None:
    document = one_cell([dataclasses.replace(trial(), cell="b")])
    assert [cell.id for cell in document.cells] == ["a", "b"]
    assert document.cells[0].throughput.mean is None


ENDED = {"kind": "ended", "rounds": 2, "why": "most"}


def test_what_the_laboratory_saw_is_told() -> None:
    design = {"stopping": {"target": 0.03}}
    document = build_document(run_record(design, observations=[ENDED]), [])
    (found,) = document.findings
    assert found.text == "Stopped after 2 rounds, the maximum: ±3 % is not reached."
    assert found.evidence == {"rounds": 2, "why": "most"}


@pytest.mark.parametrize("change", [{"kind": "gossip"}, {"kind": None}, {"why": None}, {"why": "it was late"}])
def test_what_a_run_stored_without_an_observation_is_not_said(change: dict[str, Any]) -> None:
    assert one_cell([trial()], observations=[ENDED | change]).findings == one_cell([trial()]).findings


def test_a_document_is_the_same_before_and_after_the_store(tmp_path: Path) -> None:
    design = lookup_design((1, 2), (1,))
    trials = lookup_trials(design, 2, 5)
    store = open_store(str(tmp_path / "runs.db"))
    run_id = store.begin_run(run_record(design))
    for each in trials:
        store.add_trial(run_id, each)
    run = store.run(run_id)
    assert build_document(run, store.trials(run_id)) == build_document(run, trials)
