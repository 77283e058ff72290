"""Build the result document of a stored run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.answer.build import RunFacts, build_answer, text_answer
from dbdyno.analysis.findings.registry import find_all
from dbdyno.analysis.findings.rule import Material
from dbdyno.analysis.gate import settled as settled_pairs
from dbdyno.analysis.measured.cell_pairs import baseline_pairs, gate_pairs
from dbdyno.analysis.measured.cells import build_cell
from dbdyno.analysis.measured.comparisons import Pair, judge, ratios_of
from dbdyno.analysis.measured.derived import derived
from dbdyno.analysis.measured.effects import effects
from dbdyno.analysis.measured.metrics import rates_by_block
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.analysis.measured.scalability import scalability
from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.analysis.slo.conclude import conclude as conclude_slo
from dbdyno.analysis.why.cells import Why as PlannedWhy
from dbdyno.analysis.why.conclude import conclude, settled
from dbdyno.analysis.why.fix_cells import Planned as PlannedFixes
from dbdyno.analysis.why.fix_results import judge_fixes, settled_fixes
from dbdyno.analysis.why.fix_sentences import headline
from dbdyno.analysis.why.inference import resource_of
from dbdyno.experiment.concurrency import factors_of_clients
from dbdyno.experiment.roles import read_definition, roles_of
from dbdyno.model.plan.change import CHANGE
from dbdyno.model.plan.fix import is_fix
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell, Published
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.fixes import Fixes
from dbdyno.model.result.indexes import Indexes
from dbdyno.model.result.reading import JsonObject, count, number, objects, part, text, texts
from dbdyno.model.result.shape import Document, FailedTrial, Finding, Recommendation, ThroughputUnit
from dbdyno.model.result.slo import Slo
from dbdyno.model.result.why import Why
from dbdyno.stats import CONFIDENCE, MARGIN, Criteria, Interval, Ratio, decide, rate_interval
from dbdyno.store.records import RunRecord, TrialRecord

# The latest trial of each block by cell, in the order of blocks.
_Latest = Mapping[str, Sequence[ReadTrial]]


def build_document(
    run: RunRecord,
    trials: Iterable[TrialRecord],
    *,
    published: Mapping[str, Published] | None = None,
) -> Document:
    """Build the result document (``dbdyno.run/1``) of a run, finished or not, from its stored trials.

    ``published``: published results of others by cell id, which are shown but never mixed with measured values. If a
    cell has several trials in a block, the latest counts. Cells are in the order of ``run.design["cells"]``, including
    cells without trials.
    """
    design = run.design
    material = _material(run, latest_trials(trials), published or {})
    measure, cells, confidence = material.measure, list(material.cells), material.confidence
    why = _why(design, cells, confidence)
    slo = _slo(design, cells, measure)
    if slo is None:
        material = replace(material, comparisons=judge(_pairs(design, cells, confidence), material.margin, cells=cells))
    roles = roles_of(run.definition, material.factors, material.report, text(part(design, "growth"), "factor"))
    questions = texts(material.report.get("questions"))
    # The changes of a `why` and the rates of a search are not choices; their results are reported separately.
    choices = why is None and slo is None
    found = (
        effects(
            cells,
            roles,
            margin=material.margin,
            confidence=confidence,
            factors=material.factors,
            questions=questions,
            family=material.family,
        )
        if choices
        else []
    )
    findings = [finding for finding in find_all(material) if _is_of(finding, why, slo)]
    definition = read_definition(run.definition)
    return Document(
        schema="dbdyno.run/1",
        id=run.id,
        experiment=run.experiment,
        title=text(design, "title") or run.experiment,
        question=text(design, "question") or "",
        status=run.status,
        started=run.started,
        ended=run.ended,
        dbdyno=run.version,
        command=run.command,
        seed=run.seed,
        options=run.options,
        host=run.host,
        device=run.device or {},
        ceiling=run.ceiling or {},
        factors={name: list(levels) for name, levels in material.factors.items()},
        report=material.report,
        growth=part(design, "growth"),
        measure=ThroughputUnit(unit=measure.unit, label=measure.label, per=measure.per),
        rounds=count(design, "rounds"),
        confidence=confidence,
        cells=cells,
        roles=dict(roles),
        answer=build_answer(
            RunFacts(_named(run), design, definition, run.command),
            cells,
            roles,
            Criteria(material.margin, confidence, material.family),
            effects=found,
            findings=findings,
        )
        if choices
        else text_answer(_sentences(why, slo), cells),
        effects=found,
        scalability=scalability(cells, factors_of_clients(definition), confidence) if slo is None else [],
        comparisons=list(material.comparisons),
        recommendations=list(material.recommendations),
        findings=findings,
        failed_trials=_failed(cells),
        why=why,
        indexes=[from_json(Indexes, index) for index in objects(design.get("indexes"))],
        slo=slo,
    )


def _material(run: RunRecord, latest: _Latest, published: Mapping[str, Published]) -> Material:
    """Return the cells of a run and what its findings need, without comparisons of cells."""
    design = run.design
    cells: list[Cell] = []
    unreadable: dict[str, list[str]] = {}
    for cell, words in _cells(run, latest, published):
        cells.append(cell)
        unreadable[cell.id] = words
    given = number(design, "margin")
    return Material(
        run=run,
        cells=cells,
        measure=Measure.of(design),
        tasks=tasks_of(latest),
        factors={name: levels for name, levels in part(design, "factors").items() if isinstance(levels, list)},
        report=part(design, "report"),
        comparisons=[],
        recommendations=_recommendations(design),
        margin=MARGIN if given is None else given,
        confidence=_confidence(design),
        unreadable=unreadable,
    )


# Expected in a search: it exceeds the highest rate on purpose, and arrivals are random.
_EXPECTED = frozenset({"skipped", "two levels", "few transactions", "outliers", "unsettled"})


def _slo(design: JsonObject, cells: Sequence[Cell], measure: Measure) -> Slo | None:
    """Return the result of a search for the highest rate; None for other runs."""
    planned = part(design, "slo")
    label = "requests" if measure.unit == "transaction" and measure.label == "transactions" else measure.label
    return conclude_slo(planned, cells, label if measure.unit == "transaction" else "transactions") if planned else None


def _sentences(why: Why | None, slo: Slo | None) -> list[str]:
    """Return the sentences of a `why` or a search; with several searches, the first sentence of each."""
    if why is not None:
        if why.tests or why.fixes is None:
            return why.text
        # A tuning changes no resource; what to do about the load is its answer.
        headed = [headline(why.fixes), *why.text]
        is_offered = resource_of(why.inferred, why.metric) == "thinking" and why.fixes.recommended is None
        return [*headed[1:], headed[0]] if is_offered else headed
    searches = slo.searches if slo is not None else []
    return searches[0].text if len(searches) == 1 else [search.text[0] for search in searches]


def _why(design: JsonObject, cells: Sequence[Cell], confidence: float) -> Why | None:
    """Return the result of a `dbdyno why`; None for other runs and if nothing was measured."""
    planned = part(design, "why")
    why = conclude(PlannedWhy.read(planned), cells, confidence) if planned else None
    if why is not None:
        why.fixes = _fixes(design, cells, confidence)
    return why


def _fixes(design: JsonObject, cells: Sequence[Cell], confidence: float) -> Fixes | None:
    """Return the result of the fixes of a `dbdyno why --fix`; None if none was measured."""
    planned = part(design, "fixes")
    return judge_fixes(PlannedFixes.read(planned), cells, Measure.of(design).unit, confidence) if planned else None


def _is_of(finding: Finding, why: Why | None, slo: Slo | None) -> bool:
    """Whether to report a finding: a `why` reports only on the unchanged cell, a search omits expected findings."""
    if why is not None:
        return finding.cells in ([], [why.unchanged])
    return slo is None or finding.kind not in _EXPECTED


def _named(run: RunRecord) -> str:
    """Return the experiment as named on the command line, such as a path; empty if it was not named."""
    location = text(run.options, "place") or ""
    return next((each for each in (location, run.experiment) if each in run.command), "")


def target_intervals(run: RunRecord, trials: Iterable[TrialRecord]) -> list[Ratio | Interval | None]:
    """Return the intervals that a run should narrow: of the ratios in its table, and of cells without a ratio.

    Pairs that are not ranked, or that more rounds cannot settle, are left out; their cells count individually.
    """
    confidence = _confidence(run.design)
    cells = [cell for cell, _ in _cells(run, latest_trials(trials), {}, latencies=False)]
    if part(run.design, "why"):
        # A `why` waits for verdicts instead of narrow intervals.
        return [] if _settled(run.design, cells, confidence) else [None]
    pairs = _pairs(run.design, cells, confidence)
    ranked = [pair for pair in pairs if not pair.not_comparable and not pair.is_bounded]
    paired = {id(cell) for pair in ranked for cell in (pair.a, pair.b)}
    alone = [rates for cell in cells if id(cell) not in paired and (rates := list(rates_by_block(cell).values()))]
    decisions = decide(ratios_of(ranked, cells), family=len(pairs))
    return [*(decision.ratio for decision in decisions), *(rate_interval(rates, confidence) for rates in alone)]


def gate_settled(run: RunRecord, trials: Iterable[TrialRecord], margin: float, metric: str | None) -> bool:
    """Return whether more rounds change no verdict of a gate's run. ``margin``: the allowed loss as a share."""
    cells = [cell for cell, _ in _cells(run, latest_trials(trials), {})]
    return settled_pairs(gate_pairs(cells, _confidence(run.design), metric), margin)


def _settled(design: JsonObject, cells: Sequence[Cell], confidence: float) -> bool:
    """Whether a `dbdyno why` needs no more rounds, for its changes or for the fixes after them."""
    if part(design, "fixes"):
        planned = PlannedFixes.read(part(design, "fixes"))
        return settled_fixes(_fixes(design, cells, confidence), planned)
    return settled(_why(design, cells, confidence))


def _pairs(design: JsonObject, cells: Sequence[Cell], confidence: float) -> list[Pair]:
    questions = texts(part(design, "report").get("questions"))
    return baseline_pairs(cells, confidence, questions, of_sides=bool(part(design, "against")))


def _cells(
    run: RunRecord, latest: _Latest, published: Mapping[str, Published], *, latencies: bool = True
) -> Iterator[tuple[Cell, list[str]]]:
    """Yield the cells of a run with errors in their data. Without ``latencies`` histograms are not merged."""
    for planned in _planned(run.design, latest):
        name = str(planned.get("id", ""))
        yield build_cell(
            planned,
            latest.get(name, []),
            run,
            published=published.get(name),
            confidence=_confidence(run.design),
            latencies=latencies,
            diagnosed=latencies,
        )


def _confidence(design: JsonObject) -> float:
    """Return the nominal confidence of a run's intervals."""
    return number(part(design, "stopping"), "confidence") or CONFIDENCE


def tasks_of(latest: _Latest) -> dict[str, TrialTask]:
    """Return the task of each cell from its first trial that has one."""
    tasks = {cell: next((trial.of_worker for trial in own if trial.of_worker), None) for cell, own in latest.items()}
    return {cell: task for cell, task in tasks.items() if task is not None}


def latest_trials(trials: Iterable[TrialRecord]) -> _Latest:
    """Return the latest trial of each block by cell, in the order of blocks."""
    by_cell: dict[str, dict[int, ReadTrial]] = {}
    for trial in derived(trials):
        by_cell.setdefault(trial.cell, {})[trial.block] = trial
    return {cell: [blocks[block] for block in sorted(blocks)] for cell, blocks in by_cell.items()}


def _planned(design: JsonObject, trials: _Latest) -> list[JsonObject]:
    """Return the planned cells, then measured cells that were not planned."""
    planned = objects(design.get("cells"))
    known = {str(each.get("id", "")) for each in planned}
    return planned + [{"id": cell} for cell in trials if cell not in known]


def _recommendations(design: JsonObject) -> list[Recommendation]:
    return [
        Recommendation(
            name=text(recommendation, "name") or "",
            answers=text(recommendation, "answers") or "",
            engine=text(recommendation, "engine") or "",
            does=text(recommendation, "does") or "",
            cells={base: str(cell) for base, cell in part(recommendation, "cells").items()},
        )
        for recommendation in objects(design.get("recommendations"))
    ]


def _failed(cells: Sequence[Cell]) -> list[FailedTrial]:
    # Failures of fixes are reported with the fixes.
    own = [cell for cell in cells if not is_fix(str(cell.factors.get(CHANGE)))]
    return [
        FailedTrial(
            cell=cell.id,
            block=round_.block,
            status=round_.status,
            kind=round_.error_kind,
            error=round_.error or "no error was recorded",
        )
        for cell in own
        for round_ in cell.rounds
        if round_.status != "done"
    ]
