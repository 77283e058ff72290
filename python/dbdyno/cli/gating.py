"""`dbdyno gate`: a run, or a count, against a baseline, for continuous integration."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rich.console import RenderableType
from rich.text import Text

from dbdyno.cli.comparing import noise_between, side, view
from dbdyno.cli.running import INTERRUPTED, Asked, holder, tell_troubles, writing_store
from dbdyno.cli.values import read_share
from dbdyno.compare import Compared, compare, compare_sides
from dbdyno.console import Console
from dbdyno.document import Document
from dbdyno.errors import reason
from dbdyno.gate import EXIT_CODES, Answer, judge, overall
from dbdyno.history.identity import definition_of
from dbdyno.report.export import check_writable, write_text
from dbdyno.results.comparing import BASELINE, CANDIDATE, SIDE, without_side
from dbdyno.run.against import Against
from dbdyno.run.execute import execute
from dbdyno.special_files import special_kind
from dbdyno.store import Store, open_store
from dbdyno.text import printable

_ANSWERS = {"passed": "green", "regression": "bold red", "inconclusive": "yellow"}

# GitHub and compatible runners show what is appended to this file.
_SUMMARY = "GITHUB_STEP_SUMMARY"

# Colors and control characters in the output of programs, which a reason may quote. XML excludes them.
_DROPPED = re.compile("\x1b\\[[0-9;]*m|[\x00-\x08\x0b-\x1f]")


@dataclass(frozen=True)
class Gated:
    """What a gate has judged. ``judged``: name, answer and reason of each thing; ``notes``: what else is to be read."""

    experiment: str
    about: str
    metric: str
    judged: list[tuple[str, Answer, str]]
    notes: list[str]

    @property
    def answer(self) -> Answer:
        """The answer to all."""
        return overall([answer for _, answer, _ in self.judged])


@dataclass(frozen=True)
class GateOutputs:
    """The files that are asked for."""

    junit: Path | None = None
    markdown: Path | None = None

    def check(self) -> None:
        """Raise InputError where one cannot be written."""
        for option, path in (("--junit", self.junit), ("--markdown", self.markdown)):
            if path is not None:
                check_writable(path, option)

    def write(self, gated: Gated, console: Console) -> None:
        """Write the files, and the summary of a runner that asks for one, or say that it cannot be written."""
        text = _markdown(gated)
        if self.junit is not None:
            write_text(self.junit, _junit(gated))
        if self.markdown is not None:
            write_text(self.markdown, text)
        summary = os.environ.get(_SUMMARY)
        if summary:
            try:
                kind = special_kind(Path(summary))
                if kind is not None:
                    raise OSError(f"it is {kind}")
                with Path(summary).open("a", encoding="utf-8") as out:
                    out.write(text + "\n")
            except OSError as error:
                # It was not asked for by an option, and the answer is as good without it.
                console.print(f"the summary is not written to {summary} ({_SUMMARY}): {reason(error)}")


def gate_run(
    run: str,
    baseline: str,
    margin: str,
    metric: str | None,
    across_machines: bool,
    store_place: str | None,
    outputs: GateOutputs,
) -> int:
    """Judge a run against a baseline; give the exit code. Raises DbdynoError."""
    outputs.check()
    share = read_share(margin, "--margin")
    with closing(open_store(store_place, make=False)) as store:
        sides = side(store, baseline), side(store, run)
        noise = noise_between(store, *sides)
    with store.interpreting(sides[1].document["id"]):
        compared = compare(*sides, margin=share, metric=metric, across_machines=across_machines, noise=noise)
        console = Console()
        return _conclude(_of_run(compared, share), outputs, console, [view(compared, console.width, gated=True)])


def gate_against(
    asked: Asked,
    reference: str,
    build: str | None,
    margin: str,
    metric: str | None,
    store_place: str | None,
    outputs: GateOutputs,
    command: list[str],
) -> int:
    """Measure an experiment and its baseline in the same blocks, and judge; give the exit code. Raises DbdynoError."""
    from dbdyno.run.against import against

    outputs.check()
    share = read_share(margin, "--margin")
    # As narrow as it takes to tell equal code from a loss of the margin.
    target = f"{share * 100 / 2:g}%" if asked.rounds == "auto" else None
    request = replace(asked, margin=margin, target=target).request(command)
    console = Console()
    with writing_store(store_place) as store:
        with against(reference, request.experiment, request.systems, build) as other:
            document, interrupted = execute(replace(request, against=other), store, Console(stderr=True))
        if interrupted:
            console.print("interrupted: nothing is judged")
            return INTERRUPTED
        with closing(open_store(holder(store, document, store_place), make=False)) as holding:
            definitions = _definitions(holding, document["id"], other)
        compared = compare_sides(document, definitions, margin=share, metric=metric)
        sides = Text(f"a  baseline: {other.name}, {other.what}\nb  candidate: what is here; {_rounds(document)}")
        gated = _of_run(compared, share)
        about = f"{document['experiment']}: run {document['id']} against {other.name} ({other.what}), {compared.metric}"
        details = [sides, view(compared, console.width, headed=False, gated=True)]
        code = _conclude(replace(gated, about=about), outputs, console, details)
        if code:
            # What was found goes before where it is kept.
            tell_troubles(store, console)
        return code


def _rounds(document: Document) -> str:
    rounds = max((len(cell["rounds"]) for cell in document["cells"]), default=0)
    return f"both were measured in the same {rounds} blocks"


def _definitions(store: Store, run_id: str, other: Against) -> dict[str, Any]:
    run = store.run(run_id)
    trials = store.trials(run_id, intervals=False)
    plans = {trial.cell: trial.plan for trial in reversed(trials) if trial.status == "done"}
    texts = {BASELINE: other.experiment.text, CANDIDATE: run.definition}
    sides = {cell["id"]: cell["factors"][SIDE] for cell in run.design["cells"]}
    return {name: definition_of(plan, run.design, texts[sides[name]], name) for name, plan in plans.items()}


def gate_count(name: str, baseline: str, margin: str, counts: Path | None, outputs: GateOutputs) -> int:
    """Judge a kept count of instructions against another; give the exit code. Raises DbdynoError."""
    outputs.check()
    share = read_share(margin, "--margin")
    from dbdyno.cpu.baseline import changes, check_comparable
    from dbdyno.cpu.gate import judge_counts
    from dbdyno.cpu.saved import counts_directory, load
    from dbdyno.cpu.show import show_changes

    directory = counts_directory(counts)
    before, after = load(baseline, directory), load(name, directory)
    check_comparable(before.document, after.document)
    found = changes(before.build, after.build)
    console = Console()
    about = f"count {name} ({after.build['name']}) against {baseline} ({before.build['name']}), i_refs"
    gated = Gated(after.document["work"], about, "i_refs", judge_counts(found, share), [])
    code = _conclude(gated, outputs, console)
    console.print()
    show_changes(found, baseline, console)
    return code


def _conclude(gated: Gated, outputs: GateOutputs, console: Console, details: Sequence[RenderableType] = ()) -> int:
    """Say the answer, then that of each cell with its reason, then what it rests on; give the exit code."""
    console.print(Text.assemble("gate: ", (gated.answer, _ANSWERS[gated.answer])))
    for name, answer, why in gated.judged:
        console.print(Text.assemble((answer, _ANSWERS[answer]), f"  {name}: {why}"))
    for each in details:
        console.print(Text(""), each)
    outputs.write(gated, console)
    return EXIT_CODES[gated.answer]


def _of_run(compared: Compared, margin: float) -> Gated:
    judged = [(without_side(each.comparison["b"]), each.answer, each.why) for each in judge(compared, margin)]
    # What a change took away is not faster for it.
    missing = "the baseline has this cell, and the run has not"
    judged += [(without_side(cell), "inconclusive", missing) for cell in compared.only_a]
    about = f"{compared.b['experiment']}: run {compared.b['id']} against {compared.a['id']}, {compared.metric}"
    notes = [f"Differs: {each.what}: {each.a} → {each.b}" for each in compared.differences]
    notes += [f"Not judged, the baseline has no such cell: {without_side(cell)}" for cell in compared.only_b]
    notes += [*compared.weaker, *compared.said]
    return Gated(compared.b["experiment"], about, compared.metric, judged, notes)


def _markdown(gated: Gated) -> str:
    lines = [f"### dbdyno gate: {gated.answer}", "", gated.about, "", "| cell | answer | why |", "| --- | --- | --- |"]
    lines += [f"| {_cell_text(name)} | {answer} | {_cell_text(why)} |" for name, answer, why in gated.judged]
    lines += ["", *gated.notes]
    return "\n".join(_plain_line(line) for line in lines).rstrip() + "\n"


def _cell_text(text: str) -> str:
    return text.replace("|", "\\|")


def _plain_line(text: str) -> str:
    return printable(" ".join(text.splitlines())).replace("<", "&lt;")


def _junit(gated: Gated) -> str:
    """Return the answers as JUnit XML: a regression is a failure, what is inconclusive an error."""
    counts = {name: sum(answer == name for _, answer, _ in gated.judged) for name in EXIT_CODES}
    suite = ElementTree.Element(
        "testsuite",
        name=f"dbdyno gate {gated.experiment}",
        tests=str(len(gated.judged)),
        failures=str(counts["regression"]),
        errors=str(counts["inconclusive"]),
    )
    for name, answer, why in gated.judged:
        case = ElementTree.SubElement(suite, "testcase", classname=gated.experiment, name=f"{name} {gated.metric}")
        if answer == "regression":
            ElementTree.SubElement(case, "failure", message=why)
        elif answer == "inconclusive":
            ElementTree.SubElement(case, "error", message=why)
        else:
            ElementTree.SubElement(case, "system-out").text = why
    if gated.notes:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(gated.notes)
    ElementTree.indent(suite)
    text = printable(_DROPPED.sub("", ElementTree.tostring(suite, encoding="unicode")))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
