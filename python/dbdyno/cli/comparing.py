"""The commands `compare` and `baseline`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from dbdyno.cli.values import read_share
from dbdyno.compare import Compared, Side, compare
from dbdyno.cpu.verdict import joint_verdicts
from dbdyno.errors import InputError
from dbdyno.export import check_writable, write_json
from dbdyno.report.columns import Column, table
from dbdyno.report.lines import comparison_ratio, comparison_sees
from dbdyno.report.table import verdict_text
from dbdyno.stats import MARGIN
from dbdyno.store import Store, open_store


def print_comparison(
    a: str, b: str, margin: str | None, metric: str, across_machines: bool, store_place: str | None, json: Path | None
) -> None:
    """Compare two runs, or two cells, and show it. Raises DbdynoError."""
    if json is not None:
        check_writable(json, "--json")
    share = MARGIN if margin is None else read_share(margin, "--margin")
    store = open_store(store_place, make=False)
    sides = side(store, a), side(store, b)
    store.close()
    compared = compare(*sides, margin=share, metric=metric, across_machines=across_machines)
    if json is not None:
        _write_json(compared, json)
    console = Console()
    console.print(view(compared))
    if metric == "throughput":
        counted = compare(*sides, margin=share, metric="instructions", across_machines=across_machines)
        for line in joint_verdicts(compared, counted):
            console.print(line, highlight=False, markup=False)


def baseline_command(name: str | None, run: str | None, remove: bool, store_place: str | None) -> None:
    """Keep a run as a baseline, list baselines, or forget one. Raises DbdynoError."""
    store = open_store(store_place, make=False)
    console = Console(highlight=False)
    if name is None:
        found = store.baselines()
        for each, kept in found.items():
            console.print(f"{each}: {kept}", markup=False)
        if not found:
            console.print("no baselines; keep one with: dbdyno baseline NAME [RUN]")
    elif remove:
        if not store.remove_baseline(name):
            raise InputError(name, "there is no such baseline", "`dbdyno baseline` lists them")
        console.print(f"baseline {name} is forgotten; its run stays", markup=False)
    else:
        kept = store.run(run or "last").id
        store.set_baseline(name, kept)
        console.print(f"baseline {name}: {kept}", markup=False)
    store.close()


def side(store: Store, text: str) -> Side:
    """Read a run, or `RUN/CELL`, from a store. Raises DbdynoError."""
    from dbdyno.run.execute import read_document

    run, slash, cell = text.partition("/")
    return Side(read_document(store, run), cell if slash else None)


def view(compared: Compared) -> RenderableType:
    """Show a comparison: what differs, and the ratios."""
    a, b = compared.a, compared.b
    parts: list[RenderableType] = [
        Text.assemble(("a  ", "bold"), f"{a['experiment']} {a['id']}, {a['started'][:16].replace('T', ' ')}"),
        Text.assemble(("b  ", "bold"), f"{b['experiment']} {b['id']}, {b['started'][:16].replace('T', ' ')}"),
    ]
    parts += [Text(f"! {each}", style="bold yellow") for each in compared.unlike]
    if compared.differences:
        parts += [
            Text(""),
            table(
                [
                    Column("differs", [Text(each.what) for each in compared.differences], right=False, fold=True),
                    Column("a", [Text(each.a) for each in compared.differences], right=False, fold=True),
                    Column("b", [Text(each.b) for each in compared.differences], right=False, fold=True),
                ]
            ),
        ]
    made = compared.comparisons
    names = [each["b"] if each["a"] == each["b"] else f"{each['b']} against {each['a']}" for each in made]
    words = [verdict_text(each) for each in made]
    parts += [
        Text(""),
        table(
            [
                Column("cell", [Text(name) for name in names], right=False, fold=True),
                Column(f"{compared.metric} b / a [95 %]", [Text(comparison_ratio(each)) for each in made], right=False),
                Column("p", [Text("" if each["p"] is None else f"{each['p']:.2g}") for each in made]),
                Column("could see", [Text(comparison_sees(each)) for each in made]),
                Column("b is", words, right=False),
            ]
        ),
    ]
    parts += [Text(f"! not ranked: {'; '.join(each['unlike'])}", style="yellow") for each in made if each["unlike"]][:1]
    tested = sum(each["p"] is not None for each in made)
    if tested > 1:
        parts.append(Text(f"{tested} comparisons: p and verdicts are corrected for their number (Holm)", style="dim"))
    parts += [Padding(Text(each, style="dim"), (0, 0)) for each in compared.weaker]
    return Group(*parts)


def _write_json(compared: Compared, path: Path) -> None:
    document = {
        "schema": "dbdyno.comparison/1",
        "a": compared.a["id"],
        "b": compared.b["id"],
        "metric": compared.metric,
        "differences": [asdict(each) for each in compared.differences],
        "comparisons": compared.comparisons,
        "unlike": compared.unlike,
        "weaker": compared.weaker,
    }
    write_json(document, path)
