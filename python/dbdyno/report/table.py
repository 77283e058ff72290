"""All details of a run as tables on the terminal, below its answer (:mod:`dbdyno.report.brief`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.metrics import ANSWERS
from dbdyno.base.console import Console
from dbdyno.base.numbers import NONE, figure, level, percent, whole
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Comparison, Document
from dbdyno.report import scalability_lines
from dbdyno.report.brief import effect_words
from dbdyno.report.cell_columns import CellColumn
from dbdyno.report.columns import TableColumn, table, tables, width_of
from dbdyno.report.data_columns import DATA_NOTE, data_columns
from dbdyno.report.durable_lines import durability, left_unpaid
from dbdyno.report.figure_columns import figure_columns
from dbdyno.report.fix_lines import fix_snippets, fix_table
from dbdyno.report.lines import (
    Statement,
    bottlenecks,
    ceilings,
    cell_names,
    compared_cells,
    comparison_notes,
    comparison_ratio,
    comparison_sees,
    comparison_word,
    factor_names,
    failed_trials,
    findings,
    interval,
    latency,
    notes_on_measuring,
    published_sources,
    published_value,
    round_value,
    warnings,
)
from dbdyno.report.operations import HEADS, NOTE, operation_rows
from dbdyno.report.phases import loads, phase_columns
from dbdyno.report.rows import NamedRow
from dbdyno.report.sections import sent_statements
from dbdyno.report.stages import BESIDE_HEADS, STAGE_HEADS, STAGE_NOTE, beside_rows, stage_rows

_VERDICT_STYLES = {"faster": "green", "slower": "red", "equivalent": "cyan", "inconclusive": "yellow"}


def show_details(document: Document, console: Console) -> None:
    """Print all details of the run, laid out for the console's width."""
    console.print(details(document, console.width))


def details(document: Document, width: int) -> RenderableType:
    """Return tables, effects, verdicts, bottlenecks and failures of a run, for a terminal of ``width`` columns."""
    # Differences between systems precede the numbers, so that readers who stop at the first number have seen them.
    parts: list[RenderableType] = _statements(document, warnings(document), "!", "bold yellow")
    parts += _tables(document, width)
    parts += _named("operation", HEADS, operation_rows(document), NOTE, width)
    parts += _named("stage", STAGE_HEADS, stage_rows(document), STAGE_NOTE, width)
    parts += _named("beside the load", BESIDE_HEADS, beside_rows(document), "", width)
    parts += _further(document, phase_columns(document), width)
    parts += _further(document, figure_columns(document), width)
    data = data_columns(document)
    parts += _further(document, data, width)
    parts += [Text(DATA_NOTE, style="dim")] if data else []
    parts += _notes(document)
    if document.effects:
        parts += [Text(""), Text("Effects", style="bold"), *_effects(document)]
    fixes = fix_table(document)
    if fixes.rows:
        columns = [
            TableColumn(head.head, [Text(row[position]) for row in fixes.rows], right=head.right, fold=not head.style)
            for position, head in enumerate(fixes.columns)
        ]
        parts += [Text(""), Text("Fixes", style="bold"), *tables(columns[:1], columns[1:], width)]
        for name, lines in fix_snippets(document):
            parts += [Text(f"{name}:", style="green"), Padding(Text(lines), (0, 0, 0, 2))]
    if document.scalability:
        parts += [Text(""), Text("Scalability", style="bold"), *_scalability(document)]
    if document.comparisons:
        parts += [Text(""), *_comparisons(document, width)]
        parts += [Text(note, style="dim") for note in comparison_notes(document)]
    if bottlenecks(document):
        parts += [Text(""), Text("What limits it", style="bold"), *_bottlenecks(document)]
    if findings(document):
        parts += [Text(""), Text("Findings", style="bold"), *_statements(document, findings(document), "•", "yellow")]
    parts += _sent(document)
    if failed_trials(document):
        parts += [Text(""), Text("Failed trials", style="bold red"), *_failures(document)]
    return Group(*parts)


def _sent(document: Document) -> list[RenderableType]:
    """Return the statements as they were sent, if systems received different SQL for one of them."""
    differing = [(name, texts) for name, texts in sent_statements(document) if len(texts) > 1]
    parts: list[RenderableType] = [Text(""), Text("Statements as they were sent", style="bold")] if differing else []
    for name, texts in differing:
        parts += [Text(name), *(Padding(Text(f"{systems}: {sql}"), (0, 0, 0, 2)) for systems, sql in texts)]
    return parts


def _tables(document: Document, width: int) -> list[RenderableType]:
    """Return one table if the rounds fit beside the means, otherwise two."""
    names, numbers = _factor_columns(document), _number_columns(document)
    if not any(cell.rounds for cell in document.cells):
        return tables(names, numbers, width)
    rounds = TableColumn("rounds", [_rounds(cell) for cell in document.cells], right=False, fold=True)
    if width_of([*names, *numbers, rounds]) <= width:
        return [table([*names, *numbers, rounds], width)]
    return [*tables(names, numbers, width), Text(""), *tables(names, [rounds], width)]


def _further(document: Document, further: list[CellColumn], width: int) -> list[RenderableType]:
    """Return a table of further columns; empty if there are no columns."""
    columns = [
        TableColumn(
            column.head.replace(" ", "\n", 1),
            [Text(value, style="dim" * column.published) for value in column.values],
            spare=column.spare,
        )
        for column in further
    ]
    return [Text(""), *tables(_factor_columns(document), columns, width)] if columns else []


def _named(head: str, heads: Sequence[str], rows: Sequence[NamedRow], note: str, width: int) -> list[RenderableType]:
    """Return a table about parts of cells; empty without rows."""
    if not rows:
        return []
    names = [TableColumn(head, [Text(row.name) for row in rows], right=False, fold=True)]
    if len({row.cell for row in rows}) > 1:
        names.insert(0, TableColumn("cell", [Text(row.cell) for row in rows], right=False, fold=True))
    figures = [TableColumn(head, [Text(row.values[position]) for row in rows]) for position, head in enumerate(heads)]
    return [Text(""), *tables(names, figures, width), *([Text(note, style="dim")] if note else [])]


def _number_columns(document: Document) -> list[TableColumn]:
    cells = document.cells
    unit = cells[0].throughput.unit if cells else "1/s"
    columns = [
        TableColumn(unit, [Text(figure(cell.throughput.mean), style="bold") for cell in cells]),
        TableColumn("95 %", [Text(interval(cell)) for cell in cells]),
        TableColumn("CPU %", [Text(whole(cell.cpu_percent.client)) for cell in cells]),
    ]
    if any(cell.cpu_percent.server is not None for cell in cells):
        columns[-1] = TableColumn("client CPU %", columns[-1].values)
        columns.append(TableColumn("server CPU %", [Text(whole(cell.cpu_percent.server)) for cell in cells]))
    if any(cell.instructions is not None for cell in cells):
        columns.append(TableColumn("instructions", [Text(figure(cell.instructions)) for cell in cells]))
    columns += [TableColumn(f"{name} ms", [Text(latency(cell, name)) for cell in cells]) for name in ("p50", "p99")]
    columns += [
        TableColumn(name, [Text(percent(share)) for share in shares]) for name, shares in ceilings(document).items()
    ]
    if len({class_of(cell) for cell in cells}) > 1:
        columns.append(TableColumn("durable", [Text(class_of(cell) or NONE) for cell in cells], False, spare=True))
    if any(cell.published for cell in cells):
        columns.append(TableColumn("published", [Text(published_value(cell.published), style="dim") for cell in cells]))
    return columns


def _factor_columns(document: Document) -> list[TableColumn]:
    names = factor_names(document)
    if not names:
        return [TableColumn("cell", [Text(cell.id) for cell in document.cells], right=False)]
    columns = []
    for name in names:
        levels = [cell.factors.get(name) for cell in document.cells]
        numeric = all(isinstance(each, int | float) and not isinstance(each, bool) for each in levels)
        texts = [Text(NONE if each is None else level(each)) for each in levels]
        columns.append(TableColumn(name, texts, right=numeric))
    return columns


def _rounds(cell: Cell) -> Text:
    text = Text()
    for round_ in cell.rounds:
        style = "red" if round_.status != "done" else "yellow" if round_.outlier else ""
        # Pad the values, so that the rounds of all cells are aligned.
        text.append(round_value(round_).rjust(6) + " ", style=style)
    text.rstrip()
    return text


def _notes(document: Document) -> list[RenderableType]:
    classes = durability(document)
    several = len(classes) > 1
    notes = [
        f"durability: {statement.text}" + (f" ({cell_names(document, statement.cells)})" * several)
        for statement in classes
    ]
    notes += left_unpaid(document)
    notes += notes_on_measuring(document)
    notes += loads(document)
    notes += [f"published: {source}" for source in published_sources(document)]
    return [Text(note, style="dim") for note in notes]


def verdict_text(comparison: Comparison, *, advise: bool = True) -> Text:
    """Return the verdict in its color. With ``advise``, add how many rounds would settle an open one."""
    return Text(
        comparison_word(comparison, advise=advise),
        style=_VERDICT_STYLES.get(comparison.verdict or "", "bold yellow"),
    )


def _comparisons(document: Document, width: int) -> list[RenderableType]:
    heads, cells = compared_cells(document)
    names = zip(heads, zip(*cells, strict=True), strict=True)
    ratios = [Text(comparison_ratio(comparison)) for comparison in document.comparisons]
    words = [verdict_text(comparison) for comparison in document.comparisons]
    seen = [Text(comparison_sees(comparison)) for comparison in document.comparisons]
    return tables(
        [TableColumn(head, [Text(value) for value in values], right=False, fold=True) for head, values in names],
        [
            TableColumn("ratio [95 %]", ratios, right=False),
            TableColumn("detectable", seen),
            TableColumn("verdict", words, right=False, fold=True),
        ],
        width,
    )


def _effects(document: Document) -> Iterable[RenderableType]:
    """Yield each level's effect compared with the factor's first level: first on throughput, then on latency."""
    for metric, label in (("throughput", ""), (ANSWERS, f"{ANSWERS}: ")):
        effects = [effect for effect in document.effects if effect.metric == metric]
        for effect in effects:
            against = f"{effect.factor}={level(effect.against)}" if effect.factor != "system" else ""
            text = Text.assemble(label, effect_words(effect, document), (f"  against {against}" * bool(against), "dim"))
            yield Padding(text, (0, 0, 0, 4 if effect.at else 2), expand=False)


def _scalability(document: Document) -> Iterable[RenderableType]:
    """Yield one sentence per curve, and the reasons why other models have no curve."""
    curves = scalability_lines.sentences(document)
    for sentence in curves:
        yield Padding(Text(sentence), (0, 0, 0, 2), expand=False)
    if curves:
        yield Padding(Text(scalability_lines.NOTE, style="dim"), (0, 0, 0, 2), expand=False)
    for refusal in scalability_lines.refusals(document):
        text = Text.assemble((refusal.text, ""), (f"  ({', '.join(refusal.models)})", "dim"))
        if refusal.advice:
            text.append(f"\n→ {refusal.advice}", style="green")
        yield Padding(text, (0, 0, 0, 2), expand=False)


def _bottlenecks(document: Document) -> Iterable[RenderableType]:
    for statement in bottlenecks(document):
        text = Text.assemble((statement.text, ""), (f"  ({cell_names(document, statement.cells)})", "dim"))
        if statement.advice:
            text.append(f"\n→ {statement.advice}", style="green")
        yield Padding(text, (0, 0, 0, 2), expand=False)


def _statements(document: Document, statements: Iterable[Statement], mark: str, style: str) -> list[RenderableType]:
    made: list[RenderableType] = []
    for statement in statements:
        text = Text.assemble((f"{mark} ", style), statement.text)
        if statement.cells:
            text.append(f"  ({cell_names(document, statement.cells)})", style="dim")
        made.append(Padding(text, (0, 0, 0, 2), expand=False))
    return made


def _failures(document: Document) -> Iterable[RenderableType]:
    for statement in failed_trials(document):
        yield Padding(
            Text.assemble(("✗ ", "red"), statement.text, (f"  ({', '.join(statement.cells)})", "dim")),
            (0, 0, 0, 2),
            expand=False,
        )
