"""`dbdyno gate`: compare a run, or a count, with a baseline, for continuous integration."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.answer.build import text_answer, without_options
from dbdyno.analysis.compare import Compared, compare, compare_sides, failed_rounds
from dbdyno.analysis.gate import GateVerdict, Judgement, exit_code, judge, overall
from dbdyno.analysis.gate_conditions import Condition, judge_conditions, read_condition
from dbdyno.analysis.history.identity import definition_of
from dbdyno.analysis.measured.cell_pairs import BASELINE, CANDIDATE, SIDE, without_side
from dbdyno.analysis.measured.metrics import done
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, reason
from dbdyno.base.special_files import special_kind
from dbdyno.base.text import printable
from dbdyno.cli.compare import (
    differences_view,
    earlier_values,
    noise_between,
    plan_change_lines,
    plan_changes_json,
    side,
)
from dbdyno.cli.option_values import read_share
from dbdyno.cli.run import INTERRUPTED, RunCommand, command_line, location_of_run, report_store_errors, writing_store
from dbdyno.experiment.factors import QUERY_FACTOR
from dbdyno.model.result import Document
from dbdyno.model.result.cell import Cell
from dbdyno.report.export import check_writable, is_output, write_json, write_text
from dbdyno.run.estimate import duration
from dbdyno.run.execute import execute
from dbdyno.run.gate_baseline import Against
from dbdyno.stats import Stopping
from dbdyno.store import Store, open_store

_STYLES: dict[GateVerdict, str] = {
    "pass": "green",
    "regression": "bold red",
    "failed": "bold red",
    "not settled": "yellow",
}

# Seconds of a gate without `--budget`.
_USUAL_BUDGET_S = 300.0
_MAX_ROUNDS = 1000
# The longest budget that is suggested.
_MAX_BUDGET_S = 6 * 3600.0

# GitHub and compatible runners show the content of this file.
_SUMMARY = "GITHUB_STEP_SUMMARY"

# Colors and control characters in the output of programs, which a reason may quote. XML excludes them.
_DROPPED = re.compile("\x1b\\[[0-9;]*m|[\x00-\x08\x0b-\x1f]")


@dataclass(frozen=True)
class Gated:
    """The verdicts of a gate.

    ``judged``: by the name of each comparison; ``advice``: how to settle open verdicts; ``document``: the run, unless
    instructions were compared; ``command``: the command that judged; ``statements``: what `upgrade` found about each.
    """

    experiment: str
    about: str
    metric: str
    judged: list[tuple[str, Judgement]]
    fail_if_not_settled: bool
    notes: list[str] = field(default_factory=list)
    advice: str = ""
    document: Document | None = None
    plan_changes: list[dict[str, str]] = field(default_factory=list)
    command: str = "gate"
    statements: list[dict[str, Any]] | None = None

    @property
    def verdict(self) -> GateVerdict:
        """The overall verdict."""
        return overall([judgement.verdict for _, judgement in self.judged])

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return exit_code([judgement for _, judgement in self.judged], fail_if_not_settled=self.fail_if_not_settled)

    @property
    def headline(self) -> str:
        """The overall verdict, and the number of open verdicts if they don't fail the gate."""
        count = sum(judgement.verdict == "not settled" for _, judgement in self.judged)
        if self.verdict == "not settled" and self.exit_code == 0:
            return f"{self.verdict} ({count} of {len(self.judged)}), exit code 0; `--inconclusive fail` makes it 4"
        return self.verdict

    @property
    def lines(self) -> list[str]:
        """One line per verdict with its reason, and the advice for open verdicts."""
        lines = [f"{judgement.verdict}  {name}: {judgement.reason}" for name, judgement in self.judged]
        return [*lines, self.advice] if self.advice else lines


@dataclass(frozen=True)
class GateOptions:
    """The options of a gate's verdicts and outputs.

    ``inconclusive``: the result of open verdicts, `pass` or `fail`.
    """

    margin: str
    inconclusive: str = "pass"
    metric: str | None = None
    junit: Path | None = None
    markdown: Path | None = None
    report: Path | None = None
    json: Path | None = None
    fail_on: Sequence[str] = ()

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of `--fail-on`. Raises InputError."""
        return [read_condition(each) for each in dict.fromkeys(self.fail_on)]

    @property
    def share(self) -> float:
        """The largest allowed loss, between 0 and 1. Raises InputError."""
        return read_share(self.margin, "--margin")

    @property
    def fails(self) -> bool:
        """Whether open verdicts fail the gate. Raises InputError."""
        if self.inconclusive not in ("pass", "fail"):
            raise InputError("--inconclusive", f"unknown value `{self.inconclusive}`", "use `pass` or `fail`")
        return self.inconclusive == "fail"

    @property
    def console(self) -> Console:
        """The console for the verdicts: standard error if a file is written to the standard output."""
        return Console(stderr=any(map(is_output, (self.junit, self.markdown, self.report, self.json))))

    def check(self) -> None:
        """Raise InputError for an option with a wrong value, and for a file that cannot be written."""
        _ = self.share, self.fails, self.conditions
        for option in ("junit", "markdown", "report", "json"):
            path = getattr(self, option)
            if path is not None:
                check_writable(path, f"--{option}")

    def write(self, gated: Gated, console: Console) -> None:
        """Write the files, and the summary if the CI runner wants one; print a note if that fails."""
        text = _markdown(gated)
        if self.junit is not None:
            write_text(self.junit, _junit(gated))
        if self.markdown is not None:
            write_text(self.markdown, text)
        if self.json is not None:
            write_json(_json(gated), self.json)
        if self.report is not None and gated.document is not None:
            from dbdyno.report.html import write_html

            document = gated.document
            sentences = [f"{gated.command.capitalize()}: {gated.headline}.", *gated.lines]
            write_html(replace(document, answer=text_answer(sentences, document.cells)), self.report)
        summary = os.environ.get(_SUMMARY)
        if summary:
            try:
                kind = special_kind(Path(summary))
                if kind is not None:
                    raise OSError(f"it is {kind}")
                with Path(summary).open("a", encoding="utf-8") as out:
                    out.write(text + "\n")
            except OSError as error:
                # No option requested the summary, and the verdict is valid without it.
                console.print(f"the summary is not written to {summary} ({_SUMMARY}): {reason(error)}")


def gate_run(run: str, baseline: str, across_machines: bool, store_location: str | None, options: GateOptions) -> int:
    """Compare a run with a baseline; return the exit code. Raises DbdynoError."""
    options.check()
    with closing(open_store(store_location, make=False)) as store:
        sides = side(store, baseline), side(store, run)
        noise, earlier = noise_between(store, *sides, options.metric), earlier_values(store, *sides)
    with store.interpreting(sides[1].document.id):
        compared = compare(
            *sides,
            margin=options.share,
            metric=options.metric,
            across_machines=across_machines,
            noise=noise,
            earlier=earlier,
        )
        gated = of_compared(compared, options)
        again = f"`dbdyno gate {compared.b.experiment} --against COMMIT` measures both sides together"
        if gated.verdict == "not settled":
            gated = replace(gated, advice=again)
        console = options.console
        return _conclude(gated, options, console, _differences(compared, console))


def gate_against(
    run: RunCommand,
    reference: str,
    build: str | None,
    *,
    store_location: str | None,
    options: GateOptions,
    command: list[str],
) -> int:
    """Measure an experiment and its baseline in the same rounds; return the exit code. Raises DbdynoError."""
    options.check()
    console = options.console
    with writing_store(store_location) as store:
        sides = measure_sides(
            run, reference, build, store=store, store_location=store_location, options=options, command=command
        )
        if sides is None:
            console.print("interrupted: no verdict")
            return INTERRUPTED
        document, compared, other = sides.document, sides.compared, sides.other
        words = Text(f"a  baseline: {other.name}, {other.what}\nb  candidate: what is here; {_rounds(document)}")
        gated = of_compared(compared, options)
        about = f"{document.experiment}: run {document.id} against {other.name} ({other.what}), {compared.metric}"
        gated = replace(gated, about=about, advice=advice(gated, document, command))
        code = _conclude(gated, options, console, [words, *_differences(compared, console)])
        if code:
            # Print the verdicts before problems with the store.
            report_store_errors(store, console)
        return code


@dataclass(frozen=True)
class Sides:
    """A baseline and a candidate that were measured in the same rounds. ``observations``: of the run."""

    document: Document
    compared: Compared
    other: Against
    observations: list[dict[str, Any]]


def measure_sides(
    run: RunCommand,
    reference: str,
    build: str | None,
    *,
    store: Store,
    store_location: str | None,
    options: GateOptions,
    command: list[str],
) -> Sides | None:
    """Measure a baseline and a candidate until every verdict is settled; None if interrupted. Raises DbdynoError."""
    from dbdyno.run.gate_baseline import against

    measured = replace(run.options, margin=options.share, instructions=options.metric == "instructions")
    request = replace(run, options=measured).request(command)
    if measured.rounds == "auto":
        budget_s = _USUAL_BUDGET_S if measured.budget_s is None else measured.budget_s
        rule = Stopping(maximum=_MAX_ROUNDS, budget_s=budget_s, margin=options.share, metric=options.metric)
        request = replace(request, rule=rule)
    with against(reference, request.experiment, request.systems, build, run.read) as other:
        document, interrupted = execute(replace(request, against=other), store, Console(stderr=True))
    if interrupted:
        return None
    with closing(open_store(location_of_run(store, document, store_location), make=False)) as holding:
        definitions = _definitions(holding, document.id, other)
        observations = holding.run(document.id).observations
    compared = compare_sides(document, definitions, margin=options.share, metric=options.metric)
    return Sides(document, compared, other, observations)


def gate_plans(run: RunCommand | str, *, store_location: str | None, options: GateOptions, command: list[str]) -> int:
    """Judge only the conditions of `--fail-on`, without a baseline; return the exit code. Raises DbdynoError.

    ``run``: a stored run, or an experiment to measure.
    """
    options.check()
    if any(condition.kind == "plan-change" for condition in options.conditions):
        hint = "add `--against COMMIT` to measure both versions now, or `--baseline RUN`"
        raise InputError("--fail-on plan-change", "a changed plan needs a baseline", hint)
    if isinstance(run, str):
        with closing(open_store(store_location, make=False)) as store:
            return _conclude(_alone(side(store, run).document, options), options, options.console)
    request = run.request(command)
    with writing_store(store_location) as store:
        document, interrupted = execute(request, store, Console(stderr=True))
        console = options.console
        if interrupted:
            console.print("interrupted: no verdict")
            return INTERRUPTED
        code = _conclude(_alone(document, options), options, console)
        if code:
            report_store_errors(store, console)
        return code


def _alone(document: Document, options: GateOptions) -> Gated:
    judged = judge_conditions(options.conditions, [(None, cell) for cell in document.cells])
    names = _names(document)
    judged += [
        (names[cell.id], Judgement("not settled", failed, broken=True))
        for cell in document.cells
        if (failed := failed_rounds(cell, "the run")) or not cell.rounds
    ]
    about = f"{document.experiment}: run {document.id}, without a baseline"
    return Gated(document.experiment, about, "plans", judged, options.fails, document=document)


def _rounds(document: Document) -> str:
    rounds = max((len(cell.rounds) for cell in document.cells), default=0)
    return f"both were measured in the same {rounds} rounds"


def advice(gated: Gated, document: Document, command: list[str]) -> str:
    """Return the command that probably settles the open verdicts, with its duration; empty if none does."""
    unsettled = [judgement.more for _, judgement in gated.judged if judgement.verdict == "not settled"]
    times = [more for more in unsettled if more is not None]
    # A command is useful only if it settles all verdicts.
    if not times or len(times) < len(unsettled) or gated.verdict in ("regression", "failed"):
        return ""
    started, ended = (datetime.fromisoformat(str(each)) for each in (document.started, document.ended))
    seconds = (ended - started).total_seconds() * max(times)
    if seconds > _MAX_BUDGET_S:
        return f"not even {duration(_MAX_BUDGET_S)} of measuring will probably settle it; use a larger `--margin`"
    minutes = max(1, round(seconds / 60 + 0.5))
    words = [*without_options(command_line(command), ("--budget", "--rounds")), "--budget", f"{minutes}m"]
    return f"to settle it, about {minutes} min: {shlex.join(words)}"


def _definitions(store: Store, run_id: str, other: Against) -> dict[str, Any]:
    run = store.run(run_id)
    trials = store.trials(run_id, intervals=False)
    plans = {trial.cell: trial.plan for trial in reversed(trials) if trial.status == "done"}
    texts = {BASELINE: other.experiment.text, CANDIDATE: run.definition}
    sides = {cell["id"]: cell["factors"][SIDE] for cell in run.design["cells"]}
    return {name: definition_of(plan, run.design, texts[sides[name]], name) for name, plan in plans.items()}


def gate_count(name: str, baseline: str, counts: Path | None, options: GateOptions) -> int:
    """Compare a stored count of instructions with another; return the exit code. Raises DbdynoError."""
    options.check()
    from dbdyno.cpu.baseline import changes, check_comparable, judge_counts
    from dbdyno.cpu.saved_counts import counts_directory, load
    from dbdyno.cpu.show import show_changes

    directory = counts_directory(counts)
    before, after = load(baseline, directory), load(name, directory)
    check_comparable(before.document, after.document)
    found = changes(before.build, after.build)
    console = options.console
    about = f"count {name} ({after.build['name']}) against {baseline} ({before.build['name']}), i_refs"
    gated = Gated(after.document["work"], about, "i_refs", judge_counts(found, options.share), options.fails)
    code = _conclude(gated, options, console)
    console.print()
    show_changes(found, baseline, console)
    return code


def _conclude(gated: Gated, options: GateOptions, console: Console, details: Sequence[RenderableType] = ()) -> int:
    """Print the verdicts with their reasons and the differences; return the exit code."""
    style = _STYLES[gated.verdict]
    console.print(Text.assemble(f"{gated.command}: ", (gated.headline, style)))
    for name, judgement in gated.judged:
        console.print(Text.assemble((judgement.verdict, _STYLES[judgement.verdict]), f"  {name}: {judgement.reason}"))
    if gated.advice:
        console.print(gated.advice, soft_wrap=True)
    for detail in details:
        console.print(Text(""), detail, sep="\n")
    options.write(gated, console)
    return gated.exit_code


def _differences(compared: Compared, console: Console) -> list[RenderableType]:
    found = differences_view(compared, console.width)
    notes = [Text(f"! not judged, the baseline has no such cell: {without_side(each)}") for each in _new(compared)]
    notes += [Text(f"! {other_row}") for other_row in _other_rows(compared)]
    notes += [Text(f"plan of {line}") for line in plan_change_lines(compared)]
    weaker = [Text(each, style="dim") for each in compared.weaker]
    return [*([found] if found is not None else []), *notes, *weaker]


def of_compared(compared: Compared, options: GateOptions) -> Gated:
    """Return the verdicts on all cells of a comparison. Raises InputError."""
    names = _names(compared.b)
    judged = [
        (names.get(comparison.b, comparison.b), judgement)
        for comparison, judgement in zip(compared.comparisons, judge(compared, options.share), strict=True)
    ]
    # A removed cell is not an improvement.
    missing = Judgement("not settled", "the baseline has this cell, and the run has not")
    judged += [(_names(compared.a)[cell], missing) for cell in compared.only_a]
    judged += [
        (names[cell], Judgement("not settled", f"the baseline has no such cell; {failed}", broken=True))
        for cell, failed in _broken(compared).items()
    ]
    judged += judge_conditions(options.conditions, _cell_pairs(compared))
    about = f"{compared.b.experiment}: run {compared.b.id} against {compared.a.id}, {compared.metric}"
    notes = [f"Differs: {difference.what}: {difference.a} → {difference.b}" for difference in compared.differences]
    notes += [f"Not judged, the baseline has no such cell: {without_side(cell)}" for cell in _new(compared)]
    notes += _other_rows(compared)
    notes += [f"Plan of {line}" for line in plan_change_lines(compared)]
    notes += [*compared.weaker, *compared.said]
    return Gated(
        compared.b.experiment,
        about,
        compared.metric,
        judged,
        options.fails,
        notes,
        document=compared.b,
        plan_changes=plan_changes_json(compared),
    )


def _other_rows(compared: Compared) -> list[str]:
    """Return the statements that return other rows in b for the same values."""
    of_a, names = {cell.id: cell for cell in compared.a.cells}, _names(compared.b)
    differing = (
        (names[comparison.b], of_a[comparison.a].rows_differ.get(comparison.b)) for comparison in compared.comparisons
    )
    return [f"other rows of {name}: {words}" for name, words in differing if words is not None]


def _cell_pairs(compared: Compared) -> list[tuple[Cell | None, Cell]]:
    """Return the cells of b, each with its baseline if it has one."""
    of_a = {cell.id: cell for cell in compared.a.cells}
    of_b = {cell.id: cell for cell in compared.b.cells}
    pairs: list[tuple[Cell | None, Cell]] = [
        (of_a[comparison.a], of_b[comparison.b]) for comparison in compared.comparisons
    ]
    return [*pairs, *((None, of_b[name]) for name in compared.only_b)]


def _broken(compared: Compared) -> dict[str, str]:
    """Return the cells that failed only in b, with the reasons."""
    cells = {cell.id: cell for cell in compared.b.cells}
    return {
        name: failed_rounds(cells[name], "b")
        for name in compared.only_b
        if cells[name].rounds and not done(cells[name])
    }


def _new(compared: Compared) -> list[str]:
    """Return the cells with a result that only b has."""
    broken = _broken(compared)
    return [name for name in compared.only_b if name not in broken]


def _names(document: Document) -> dict[str, str]:
    """Return a name per cell id; for a statement of a file only its name, if that is unique."""
    cells = document.cells
    statements = [(cell.factors.get(SIDE), cell.factors.get(QUERY_FACTOR)) for cell in cells]
    if len(set(statements)) == len(cells) and all(name is not None for _, name in statements):
        return {cell.id: str(name) for cell, (_, name) in zip(cells, statements, strict=True)}
    return {cell.id: without_side(cell.id) for cell in cells}


def _markdown(gated: Gated) -> str:
    lines = [
        f"### dbdyno {gated.command}: {gated.headline}",
        "",
        gated.about,
        "",
        "| cell | verdict | why |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {_cell_text(name)} | {judgement.verdict} | {_cell_text(judgement.reason)} |"
        for name, judgement in gated.judged
    ]
    lines += ["", *([gated.advice] if gated.advice else []), *gated.notes]
    return "\n".join(_plain_line(line) for line in lines).rstrip() + "\n"


def _cell_text(text: str) -> str:
    return text.replace("|", "\\|")


def _plain_line(text: str) -> str:
    return printable(" ".join(text.splitlines())).replace("<", "&lt;")


def _json(gated: Gated) -> dict[str, Any]:
    return {
        "schema": "dbdyno.gate/1",
        "experiment": gated.experiment,
        "run": None if gated.document is None else gated.document.id,
        "about": gated.about,
        "metric": gated.metric,
        "verdict": gated.verdict,
        "exit_code": gated.exit_code,
        "cells": [
            {
                "cell": name,
                "verdict": judgement.verdict,
                "reason": judgement.reason,
                "ratio": None if judgement.comparison is None else judgement.comparison.ratio,
                "ci95": None if judgement.comparison is None else judgement.comparison.ci95,
                "violation": None if judgement.violation is None else asdict(judgement.violation),
            }
            for name, judgement in gated.judged
        ],
        "plan_changes": gated.plan_changes,
        "advice": gated.advice,
        "notes": gated.notes,
        **({} if gated.statements is None else {"statements": gated.statements}),
    }


def _junit(gated: Gated) -> str:
    """Return the verdicts as JUnit XML.

    A regression and a violated condition are failures; an open verdict is an error or skipped.
    """
    verdicts = [judgement.verdict for _, judgement in gated.judged]
    open_tag = "error" if gated.fail_if_not_settled else "skipped"
    suite = ElementTree.Element(
        "testsuite",
        name=f"dbdyno {gated.command} {gated.experiment}",
        tests=str(len(verdicts)),
        failures=str(verdicts.count("regression") + verdicts.count("failed")),
        errors=str(sum(_tag(judgement, open_tag) == "error" for _, judgement in gated.judged)),
        skipped=str(sum(_tag(judgement, open_tag) == "skipped" for _, judgement in gated.judged)),
    )
    for name, judgement in gated.judged:
        case = ElementTree.SubElement(
            suite, "testcase", classname=gated.experiment, name=_case_name(name, judgement, gated)
        )
        tag = _tag(judgement, open_tag)
        if tag == "system-out":
            ElementTree.SubElement(case, tag).text = judgement.reason
        else:
            ElementTree.SubElement(case, tag, message=judgement.reason)
    if gated.notes:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(gated.notes)
    ElementTree.indent(suite)
    text = printable(_DROPPED.sub("", ElementTree.tostring(suite, encoding="unicode")))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _tag(judgement: Judgement, open_tag: str) -> str:
    if judgement.verdict == "not settled":
        # Trials that failed make the job fail, too.
        return "error" if judgement.broken else open_tag
    return "failure" if judgement.verdict in ("regression", "failed") else "system-out"


def _case_name(name: str, judgement: Judgement, gated: Gated) -> str:
    about = gated.metric if judgement.violation is None else judgement.violation.condition
    return f"{name} {about}"
