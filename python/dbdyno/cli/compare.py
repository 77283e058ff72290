"""The commands `compare` and `baseline`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from dbdyno.analysis.compare import Compared, Earlier, Side, compare
from dbdyno.analysis.history.identity import definition_of
from dbdyno.analysis.history.stored_runs import read_runs
from dbdyno.analysis.history.summary import SEARCH, other_kind
from dbdyno.analysis.measured.cell_pairs import without_side
from dbdyno.analysis.measured.comparisons import RunNoise
from dbdyno.analysis.noise import stored_noise
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.cli.option_values import read_share
from dbdyno.model.result.convert import to_json
from dbdyno.report.columns import TableColumn, table, tables
from dbdyno.report.export import check_writable, is_output, write_json
from dbdyno.report.lines import comparison_ratio, comparison_sees
from dbdyno.report.table import verdict_text
from dbdyno.stats import MARGIN
from dbdyno.store import RunRecord, Store, open_store
from dbdyno.store.same_machine import same_machine


def print_comparison(
    a: str,
    b: str,
    *,
    margin: str | None,
    metric: str | None,
    across_machines: bool,
    store_location: str | None,
    json: Path | None,
) -> None:
    """Compare two runs, or two cells, and print the comparison. Raises DbdynoError."""
    if json is not None:
        check_writable(json, "--json")
    share = MARGIN if margin is None else read_share(margin, "--margin")
    with closing(open_store(store_location, make=False)) as store:
        sides = side(store, a), side(store, b)
        noise, earlier = noise_between(store, *sides, metric), earlier_values(store, *sides)
    with store.interpreting(sides[1].document.id):
        compared = compare(
            *sides, margin=share, metric=metric, across_machines=across_machines, noise=noise, earlier=earlier
        )
        if json is not None:
            _write_json(compared, json)
        console = Console(stderr=is_output(json))
        console.print(view(compared, console.width))
    if "throughput" in compared.metric:
        counted = compare(*sides, margin=share, metric="instructions", across_machines=across_machines)
        from dbdyno.cpu.verdict import joint_verdicts

        for line in joint_verdicts(compared, counted):
            console.print(line)


def baseline_command(name: str | None, run: str | None, remove: bool, store_location: str | None) -> None:
    """Name a run as a baseline, list baselines, or remove one. Raises DbdynoError."""
    console = Console()
    with closing(open_store(store_location, make=False)) as store:
        if name is None:
            found = store.baselines()
            for each, stored in found.items():
                console.print(f"{each}: {stored}")
            if not found:
                console.print("no baselines; to keep a run: dbdyno baseline NAME [RUN]")
        elif remove:
            if not store.remove_baseline(name):
                raise InputError(name, "there is no such baseline", "`dbdyno baseline` lists them")
            console.print(f"baseline {name} is forgotten; its run stays")
        else:
            console.print(_keep(store, name, run or "last"))


def _keep(store: Store, name: str, run: str) -> str:
    """Name a run as a baseline, and return a line about it. Raises InputError for an unknown run or an invalid name."""
    stored = store.run(run)
    _refuse_search(stored)
    done = [trial for trial in store.trials(stored.id, intervals=False) if trial.status == "done"]
    if not done:
        raise InputError(
            f"run {stored.id}", "none of its trials gave a result", "keep a run that has measured something"
        )
    if _is_run(store, name):
        raise InputError(name, "a run is called so", "give the baseline a name of its own, as `main`")
    before = store.baselines().get(name)
    store.set_baseline(name, stored.id)
    text = f"baseline {name}: {stored.id}"
    if before is not None and before != stored.id:
        text += f", in place of {before}"
    return text if stored.status == "done" else f"{text}; the run is incomplete, its status is {stored.status}"


def _refuse_search(run: RunRecord) -> None:
    """Raise InputError for a search: each one measures other rates, above the limit as well."""
    if other_kind(run.design) == SEARCH:
        problem = "a search for the highest rate cannot be compared"
        raise InputError(
            f"run {run.id}", problem, "name a run that measured rounds (`dbdyno run EXPERIMENT --rounds N`)"
        )


def _is_run(store: Store, name: str) -> bool:
    try:
        store.run(name)
    except InputError:
        return False
    return True


def side(store: Store, text: str) -> Side:
    """Read a run, or `RUN/CELL`, from a store; a baseline's name stands for its run. Raises DbdynoError."""
    from dbdyno.analysis.document.run import read_run

    baselines = store.baselines()
    # The name of a baseline may contain slashes, like that of a branch.
    called = max((baseline for baseline in baselines if f"{text}/".startswith(f"{baseline}/")), key=len, default=None)
    name, slash, cell = text.partition("/") if called is None else (called, *text[len(called) :].partition("/")[1:])
    try:
        run = store.run(baselines.get(name, name))
    except InputError as error:
        known = ", ".join(f"`{baseline}`" for baseline in baselines)
        raise InputError(error.location, error.problem, f"{error.hint}; baselines: {known or 'none'}") from None
    _refuse_search(run)
    trials = store.trials(run.id, intervals=False)
    plans = {trial.cell: trial.plan for trial in reversed(trials) if trial.status == "done"}
    with store.interpreting(run.id):
        definitions = {name: definition_of(plan, run.design, run.definition, name) for name, plan in plans.items()}
    return Side(read_run(store, run.id), cell if slash else None, definitions)


def noise_between(store: Store, a: Side, b: Side, metric: str | None) -> RunNoise | None:
    """Return the noise between runs that `dbdyno noise --runs` measured on the machine of a run."""
    if metric not in (None, "throughput"):
        return None
    return stored_noise(store.noise(a.document.experiment), b.document.host)


def earlier_values(store: Store, a: Side, b: Side) -> Earlier:
    """Return a function that returns the values of earlier runs of the same work on the same machine.

    It leaves out the run to judge. Raises DbdynoError.
    """
    runs = [
        run
        for run in read_runs(store, a.document.experiment).runs
        if run.id != b.document.id and same_machine(run.host, b.document.host)
    ]
    baseline = next((run for run in runs if run.id == a.document.id), None)

    def values(cell: str, metric: str) -> list[float]:
        name = metric.replace("_", ".")
        own = None if baseline is None else baseline.trials.get(cell)
        cells = [run.trials[cell] for run in runs if own is not None and cell in run.trials]
        alike = [
            cell_summary for cell_summary in cells if own is not None and cell_summary.definition == own.definition
        ]
        return [
            value
            for cell_summary in alike
            if name not in cell_summary.bounded and (value := cell_summary.values.get(name)) is not None
        ]

    return values


def differences_view(compared: Compared, width: int) -> RenderableType | None:
    """Return the differences between the sides of a comparison, for ``width`` columns; None if there are none."""
    if not compared.differences:
        return None
    return table(
        [
            TableColumn(
                "differs", [Text(difference.what) for difference in compared.differences], right=False, fold=True
            ),
            TableColumn("a", [Text(difference.a) for difference in compared.differences], right=False, fold=True),
            TableColumn("b", [Text(difference.b) for difference in compared.differences], right=False, fold=True),
        ],
        width,
    )


def view(compared: Compared, width: int) -> RenderableType:
    """Return a comparison, for ``width`` columns: the differences, and the ratios."""
    a, b = compared.a, compared.b
    parts: list[RenderableType] = [
        Text.assemble(("a  ", "bold"), f"{a.experiment} {a.id}, {a.started[:16].replace('T', ' ')}"),
        Text.assemble(("b  ", "bold"), f"{b.experiment} {b.id}, {b.started[:16].replace('T', ' ')}"),
    ]
    parts += [Text(f"! {each}", style="bold yellow") for each in compared.not_comparable]
    for whose, cells in (("a", compared.only_a), ("b", compared.only_b)):
        if cells:
            parts.append(Text(f"! only in {whose}, and not compared: {', '.join(cells)}", style="bold yellow"))
    differing = differences_view(compared, width)
    if differing is not None:
        parts += [Text(""), differing]
    made = compared.comparisons
    ids = [(without_side(comparison.a), without_side(comparison.b)) for comparison in made]
    names = [b if a == b else f"{b} against {a}" for a, b in ids]
    words = [verdict_text(comparison) for comparison in made]
    several = len({comparison.metric for comparison in made}) > 1
    parts += [
        Text(""),
        *tables(
            [TableColumn("cell", [Text(name) for name in names], right=False, fold=True)],
            [
                TableColumn(
                    f"{compared.metric} b / a [95 %]",
                    [Text(comparison_ratio(comparison, several)) for comparison in made],
                    right=False,
                ),
                TableColumn("detectable", [Text(comparison_sees(comparison)) for comparison in made]),
                TableColumn("b is", words, right=False, fold=True),
            ],
            width,
        ),
    ]
    changed = plan_change_lines(compared)
    if changed:
        parts += [Text(""), Text("plans that changed", style="bold"), *map(Text, changed)]
    reasons = dict.fromkeys("; ".join(comparison.not_comparable) for comparison in made if comparison.not_comparable)
    parts += [Text(f"! not ranked: {reason}", style="yellow") for reason in reasons]
    unsettled = dict.fromkeys(filter(None, [*compared.lacking, *compared.warned]))
    parts += [Text(f"! not settled: {each}", style="yellow") for each in unsettled]
    short = (each for each, why in zip(compared.failed, compared.lacking, strict=True) if each != why)
    parts += [Text(f"! {each}", style="yellow") for each in dict.fromkeys(filter(None, short))]
    tested = sum(comparison.ci95 is not None for comparison in made)
    if tested > 1:
        parts.append(Text(f"{tested} comparisons: all intervals together hold with a chance of 95 %", style="dim"))
    parts += [Padding(Text(each, style="dim"), (0, 0)) for each in [*compared.weaker, *compared.said]]
    return Group(*parts)


def plan_change_lines(compared: Compared) -> list[str]:
    """Return a line about each statement whose plan differs in kind between the sides."""
    return list(dict.fromkeys(plan_change.words for of_cell in compared.plan_changes for plan_change in of_cell))


def plan_changes_json(compared: Compared) -> list[dict[str, str]]:
    """Return the statements whose plan differs in kind, with the cell of b."""
    pairs = zip(compared.comparisons, compared.plan_changes, strict=True)
    return [{"cell": of.b, **asdict(change)} for of, changes in pairs for change in changes]


def _write_json(compared: Compared, path: Path) -> None:
    document = {
        "schema": "dbdyno.comparison/1",
        "a": compared.a.id,
        "b": compared.b.id,
        "metric": compared.metric,
        "differences": [asdict(difference) for difference in compared.differences],
        "comparisons": [to_json(comparison) for comparison in compared.comparisons],
        "lacking": compared.lacking,
        "failed": compared.failed,
        "only_a": compared.only_a,
        "only_b": compared.only_b,
        "not_comparable": compared.not_comparable,
        "weaker": compared.weaker,
        "said": compared.said,
        "plan_changes": plan_changes_json(compared),
    }
    write_json(document, path)
