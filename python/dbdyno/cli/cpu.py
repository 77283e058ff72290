"""`dbdyno cpu`: count instructions, and show, write or compare the counts."""

import json
import shutil
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rich.text import Text

from dbdyno.analysis.gate import REGRESSION_CODE
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, reason
from dbdyno.cli.option_values import read_share
from dbdyno.cpu.baseline import changes
from dbdyno.cpu.chart import chart as draw
from dbdyno.cpu.chart import check_suffix, write_chart
from dbdyno.cpu.count_run import CpuRequest, count
from dbdyno.cpu.document import BuildCount, CpuDocument, differing_results
from dbdyno.cpu.flame_graph import flame_graph, folded_stacks, prefixed
from dbdyno.cpu.html import AnnotatedBuild, write_count
from dbdyno.cpu.own_cost import USUAL_WORK, own_costs
from dbdyno.cpu.saved_counts import SavedCount, check_save, counts_directory, load, save
from dbdyno.cpu.show import show, show_changes
from dbdyno.cpu.source import read_source_map
from dbdyno.report.export import check_writable, write_text


@dataclass(frozen=True)
class CpuOutputs:
    """The outputs of a count: files, a name to keep it under, and a baseline to compare it with."""

    json: Path | None = None
    html: Path | None = None
    chart: Path | None = None
    flame: Path | None = None
    callgrind: Path | None = None
    base: str | None = None
    save: str | None = None
    baseline: str | None = None
    margin: str | None = None
    counts: Path | None = None

    def check(self, request: CpuRequest) -> None:
        """Raise InputError before the count if an output is impossible."""
        for option, path in (
            ("--json", self.json),
            ("--report", self.html),
            ("--chart", self.chart),
            ("--flame", self.flame),
        ):
            if path is not None:
                check_writable(path, option)
        if self.chart is not None:
            check_suffix(self.chart)
        if request.arguments and request.program is None:
            raise InputError("--program-args", "the program is missing", "add `--program FILE.c`")
        if self.save is not None:
            check_save(self.save, counts_directory(self.counts))
        if self.margin is not None and self.baseline is None:
            raise InputError("--margin", "the baseline is missing", "add `--baseline NAME`")
        if self.baseline is not None and len(request.sources) * len(request.cflags) != 1:
            raise InputError("--baseline", "several builds are asked for", "name one source and one set of options")

    @property
    def needs_stacks(self) -> bool:
        """Whether an output needs folded stacks."""
        return any(each is not None for each in (self.flame, self.html, self.save))

    def write(self, document: CpuDocument, counted: list[BuildCount], folded: list[list[str]]) -> None:
        """Write the files. ``folded``: the stacks of each build, if needed."""
        if self.json is not None:
            write_text(self.json, json.dumps(document, indent=1) + "\n")
        if self.callgrind is not None:
            _write_callgrind(self.callgrind, counted)
        if self.flame is not None:
            per_build = (
                prefixed(build_count.build.label, own) for build_count, own in zip(counted, folded, strict=True)
            )
            lines = folded[0] if len(counted) == 1 else list(chain(*per_build))
            drawn = self.flame.suffix == ".svg"
            write_text(self.flame, flame_graph(lines, document["work"]) if drawn else "\n".join(lines) + "\n")
        if self.chart is not None:
            write_chart(draw(document, self.base), self.chart)
        if self.html is not None:
            sources = [
                AnnotatedBuild(read_source_map(build_count.build.text), build_count.costs, own)
                for build_count, own in zip(counted, folded, strict=True)
            ]
            write_count(document, sources, self.base, self.html)


def run_count(request: CpuRequest, outputs: CpuOutputs) -> int:
    """Count instructions, print and store the counts; return 3 above the margin, 1 if builds returned different rows.

    Raises DbdynoError.
    """
    console = Console()
    outputs.check(request)
    directory = counts_directory(outputs.counts)
    margin = None if outputs.margin is None else read_share(outputs.margin, "--margin")
    before = None if outputs.baseline is None else load(outputs.baseline, directory)
    with console.status("counting") as status:
        document, counted = count(
            request, lambda text: status.update(Text(text)), None if before is None else before.document
        )
    # Read Callgrind's files again for the stacks.
    folded = [folded_stacks(build_count) for build_count in counted] if outputs.needs_stacks else []
    outputs.write(document, counted, folded)
    if before is None:
        show(document, console, outputs.base)
    if outputs.save is not None:
        for name in save(outputs.save, document, counted, folded, directory):
            console.print(f"stored as {name}")
    if before is not None:
        return _compare(before, document, margin, console)
    # A faster build must not return wrong rows.
    return int(any(differing_results(document["builds"][0], build) for build in document["builds"][1:]))


def run_self(request: CpuRequest, outputs: CpuOutputs) -> int:
    """Count the worker next to the engine; return the exit code, 3 if it adds more than the margin.

    Raises DbdynoError.
    """
    console = Console()
    if outputs != CpuOutputs(margin=outputs.margin) or request.program is not None:
        raise InputError("--self", "it does not write, keep or compare counts", "give no more than `--margin`")
    if len(request.sources) * len(request.cflags) != 1:
        raise InputError("--self", "several builds are asked for", "name one source and one set of options")
    margin = None if outputs.margin is None else read_share(outputs.margin, "--margin")
    work = request.work or USUAL_WORK
    with console.status("counting") as status:
        costs = own_costs(
            work,
            tuple(request.chosen),
            request.sources[0],
            request.cflags[0],
            request.seed,
            lambda text: status.update(Text(text)),
        )
    for cost in costs:
        line = (
            f"{cost.part}: {cost.engine:,.1f} instructions a statement in the engine, {cost.worker:,.1f} in the worker"
        )
        line += f": {cost.of_engine:.3f} of the engine alone"
        if cost.loop is not None:
            line += f", {cost.of_loop:.3f} of a bare loop in C ({cost.loop:,.1f})"
        console.print(line)
    return REGRESSION_CODE if margin is not None and any(cost.ratio > 1 + margin for cost in costs) else 0


def _compare(before: SavedCount, document: CpuDocument, margin: float | None, console: Console) -> int:
    function_changes = changes(before.build, document["builds"][0])
    show_changes(function_changes, before.directory.name, console)
    if margin is None or not (function_changes.differing or (function_changes.total.share or 0.0) > margin):
        return 0
    why = (
        "other rows" if function_changes.differing else f"more than {margin * 100:.3g} % above {before.directory.name}"
    )
    console.print(f"regression: {why}")
    return REGRESSION_CODE


def _write_callgrind(directory: Path, counted: list[BuildCount]) -> None:
    """Write callgrind's files, next to their sources."""
    try:
        for number, build_count in enumerate(counted, 1):
            place = directory / f"{number}-{build_count.build.source.version}"
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(build_count.build.text, place / "sqlite3.c")
            for index, part in enumerate(build_count.parts):
                (place / f"callgrind.out.{index}").write_text(part.raw, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "--callgrind", f"{directory} cannot be written: {reason(error)}", "give another directory"
        ) from None
