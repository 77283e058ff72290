"""Building the result document from a stored run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.document.cell import Cell, Published
from dbdyno.document.finding import finding, stored_finding
from dbdyno.document.reading import JsonObject, count, number, objects, part, text, texts
from dbdyno.document.shape import Document, FailedTrial, Finding, Recommendation
from dbdyno.findings.findings import (
    beyond_the_device,
    cut_short,
    failures,
    lost_updates,
    never_begun,
    other_products,
    outlying_rounds,
    slower_device,
    unlike_work,
)
from dbdyno.findings.searches import other_counts, other_rows, prefix_scans, recommendations_tried
from dbdyno.findings.warnings import warnings
from dbdyno.results.cells import build_cell
from dbdyno.results.comparing import baseline_pairs
from dbdyno.results.derived import derived
from dbdyno.results.durable import contradictions
from dbdyno.results.judging import Pair, judge, ratio_of_pair
from dbdyno.results.metrics import rates_by_block
from dbdyno.results.rounds import Measure
from dbdyno.stats import CONFIDENCE, MARGIN, Interval, Ratio, rate_interval
from dbdyno.store.records import RunRecord, TrialRecord


def build_document(
    run: RunRecord,
    trials: Iterable[TrialRecord],
    *,
    published: Mapping[str, Published] | None = None,
) -> Document:
    """Build the result document (``dbdyno.run/1``) of a run, finished or not, from its stored trials.

    ``published``: figures somebody else published, by cell id, shown beside and never mixed in. Of several trials of a
    cell in a block the latest counts. Cells come in the order of ``run.design["cells"]``; those without a trial are
    there with nothing measured.
    """
    design = run.design
    measure = Measure.of(design)
    confidence = _confidence(design)
    troubles: list[Finding] = []
    cells: list[Cell] = []
    for cell, words in _cells(run, trials, published or {}):
        cells.append(cell)
        troubles += [finding("unreadable data", each, [cell["id"]], {"error": each}) for each in words]
    margin = number(design, "margin")
    rows = other_rows(cells)
    unlike = unlike_work(cells, {cell for each in rows for cell in each["cells"]})
    recommendations = _recommendations(design)
    return {
        "schema": "dbdyno.run/1",
        "id": run.id,
        "experiment": run.experiment,
        "title": text(design, "title") or run.experiment,
        "question": text(design, "question") or "",
        "status": run.status,
        "started": run.started,
        "ended": run.ended,
        "dbdyno": run.version,
        "command": run.command,
        "seed": run.seed,
        "options": run.options,
        "host": run.host,
        "device": run.device or {},
        "ceiling": run.ceiling or {},
        "factors": {name: levels for name, levels in part(design, "factors").items() if isinstance(levels, list)},
        "report": part(design, "report"),
        "measure": {"unit": measure.unit, "label": measure.label},
        "rounds": count(design, "rounds"),
        "confidence": confidence,
        "cells": cells,
        "comparisons": judge(_pairs(design, cells, confidence), MARGIN if margin is None else margin),
        "recommendations": recommendations,
        "findings": [
            *contradictions(cells),
            *unlike,
            *rows,
            *other_counts(cells),
            *prefix_scans(cells, recommendations),
            *recommendations_tried(cells, recommendations, MARGIN if margin is None else margin, confidence),
            *_stored(run),
            *other_products(cells),
            *lost_updates(cells),
            *failures(cells),
            *never_begun(cells),
            *cut_short(cells),
            *beyond_the_device(cells),
            *slower_device(cells, run.device or {}),
            *outlying_rounds(cells),
            *warnings(
                cells,
                measure,
                beyond_cache=bool(part(design, "measure").get("beyond_cache")),
                waited=bool(run.options.get("wait_idle")),
            ),
            *troubles,
        ],
        "failed_trials": _failed(cells),
    }


def asked_intervals(run: RunRecord, trials: Iterable[TrialRecord]) -> list[Ratio | Interval | None]:
    """Return the intervals that a run is to make narrow: of the ratios of its table, and of cells that are in none.

    What must not be ranked, and what further rounds do not settle, is not waited for; its cells are each by itself.
    """
    confidence = _confidence(run.design)
    cells = [cell for cell, _ in _cells(run, trials, {}, latencies=False)]
    pairs = _pairs(run.design, cells, confidence)
    ranked = [pair for pair in pairs if not pair.unlike and not pair.is_bounded]
    paired = {id(cell) for pair in ranked for cell in (pair.a, pair.b)}
    alone = [rates for cell in cells if id(cell) not in paired and (rates := list(rates_by_block(cell).values()))]
    return [*(ratio_of_pair(pair) for pair in ranked), *(rate_interval(rates, confidence) for rates in alone)]


def _pairs(design: JsonObject, cells: Sequence[Cell], confidence: float) -> list[Pair]:
    questions = texts(part(design, "report").get("questions"))
    return baseline_pairs(cells, confidence, questions, of_sides=bool(part(design, "against")))


def _cells(
    run: RunRecord, trials: Iterable[TrialRecord], published: Mapping[str, Published], *, latencies: bool = True
) -> Iterator[tuple[Cell, list[str]]]:
    """Give the cells of a run, each with the troubles with its data. Without ``latencies`` those are of rounds only."""
    latest = _latest(trials)
    for planned in _planned(run.design, latest):
        name = str(planned.get("id", ""))
        yield build_cell(
            planned,
            latest.get(name, []),
            run,
            Measure.of(run.design),
            published.get(name),
            _confidence(run.design),
            latencies=latencies,
        )


def _confidence(design: JsonObject) -> float:
    """Return the nominal confidence of a run's intervals."""
    return number(part(design, "stopping"), "confidence") or CONFIDENCE


def _latest(trials: Iterable[TrialRecord]) -> dict[str, list[TrialRecord]]:
    """Return the trial that counts for each cell and block, by cell in the order of blocks."""
    by_cell: dict[str, dict[int, TrialRecord]] = {}
    for trial in derived(trials):
        by_cell.setdefault(trial.cell, {})[trial.block] = trial
    return {cell: [blocks[block] for block in sorted(blocks)] for cell, blocks in by_cell.items()}


def _planned(design: JsonObject, trials: Mapping[str, Sequence[TrialRecord]]) -> list[JsonObject]:
    """Return the planned cells, and after them any that were measured without being planned."""
    planned = objects(design.get("cells"))
    known = {str(each.get("id", "")) for each in planned}
    return planned + [{"id": cell} for cell in trials if cell not in known]


def _recommendations(design: JsonObject) -> list[Recommendation]:
    return [
        {
            "name": text(each, "name") or "",
            "answers": text(each, "answers") or "",
            "engine": text(each, "engine") or "",
            "does": text(each, "does") or "",
            "cells": {base: str(cell) for base, cell in part(each, "cells").items()},
        }
        for each in objects(design.get("recommendations"))
    ]


def _stored(run: RunRecord) -> list[Finding]:
    """Give what the run found while it ran."""
    return [found for each in run.observations if (found := stored_finding(each)) is not None]


def _failed(cells: Sequence[Cell]) -> list[FailedTrial]:
    return [
        {
            "cell": cell["id"],
            "block": each["block"],
            "status": each["status"],
            "kind": each["error_kind"],
            "error": each["error"] or "no cause was recorded",
        }
        for cell in cells
        for each in cell["rounds"]
        if each["status"] != "done"
    ]
