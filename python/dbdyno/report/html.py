"""The HTML report: one file that works without network and scripts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from dbdyno.base.numbers import flat, percent
from dbdyno.model.result.shape import Document
from dbdyno.report import fix_lines, lines, scalability_lines, sections, slo, why_sections
from dbdyno.report.answer_table import ordered
from dbdyno.report.charts import (
    answer_chart,
    breakdown_chart,
    growth_charts,
    latency_charts,
    published_chart,
    scalability_charts,
    slo_chart,
    throughput_chart,
    timeline_charts,
    times_chart,
    why_chart,
)
from dbdyno.report.data_columns import DATA_NOTE
from dbdyno.report.export import write_text
from dbdyno.report.indexes import index_conclusions, index_lines, index_sentences, index_table, statements_to_paste
from dbdyno.report.measured import legend, measured_line
from dbdyno.report.operations import NOTE
from dbdyno.report.page import render_page
from dbdyno.report.stages import STAGE_NOTE

# Maximum number of configurations in the legend.
_LEGEND = 8


def write_html(document: Document, path: Path | str) -> None:
    """Write the report atomically. Raises InputError if the file cannot be written."""
    write_text(path, html_report(document))


def html_report(document: Document) -> str:
    """Return the report as one HTML page."""
    names = {"names": lambda cells: lines.cell_names(document, cells)}
    return render_page("report.html.j2", _context(document), filters=names) + "\n"


def _context(document: Document) -> dict[str, Any]:
    cells = document.cells
    lead = why_chart(document) or slo_chart(document) or times_chart(document) or answer_chart(document)
    timeline = timeline_charts(document)
    drawable = sum(any(len(round_.intervals) > 1 for round_ in cell.rounds) for cell in cells)
    count = sum(len(cell.rounds) for cell in cells)
    comparisons = document.comparisons
    return {
        "run": document,
        "started": document.started[:19].replace("T", " "),
        "measured": measured_line(document),
        "answer_rows": sections.answer_rows(document),
        "legend": legend(document, [configuration.name for configuration in ordered(document)[:_LEGEND]]),
        "trials": f"{count} trial" + ("" if count == 1 else "s"),
        "answer": document.answer,
        "effects": sections.effect_table(document),
        "why_effect": why_sections.effect_words(document),
        "why_resources": why_sections.resource_table(document),
        "why_changes": why_sections.change_table(document),
        "fixes": fix_lines.fix_table(document),
        "fix_text": fix_lines.fix_text(document),
        "fix_snippets": fix_lines.fix_snippets(document),
        "warnings": lines.warnings(document),
        "bottlenecks": lines.bottlenecks(document),
        "findings": lines.findings(document),
        "failed_trials": lines.failed_trials(document),
        "failures": len(lines.failures(document)),
        "lead": lead,
        "indexes": index_lines(document),
        "index_table": index_table(document),
        "index_conclusions": index_conclusions(document),
        "index_sentences": index_sentences(document),
        "index_statements": [line for indexes in document.indexes for line in statements_to_paste(indexes)],
        "throughput": throughput_chart(document, lead=lead is None) if document.slo is None else None,
        "slo": slo.slo_table(document),
        "published": published_chart(document),
        "scalability": sections.scalability_table(document),
        "scalability_charts": scalability_charts(document),
        "scalability_refused": scalability_lines.refusals(document),
        "scalability_note": scalability_lines.NOTE,
        "table": sections.cell_table(document),
        "notes": sections.notes(document),
        "operations": sections.operation_table(document),
        "operation_note": NOTE[0].upper() + NOTE[1:] + ".",
        "stages": sections.stage_table(document),
        "stage_note": STAGE_NOTE[0].upper() + STAGE_NOTE[1:] + ".",
        "beside": sections.beside_table(document),
        "phases": sections.phase_table(document),
        "figures": sections.figure_table(document),
        "data": sections.data_table(document),
        "data_note": DATA_NOTE[0].upper() + DATA_NOTE[1:] + ".",
        "sent": sections.sent_statements(document),
        "plans": sections.plan_rows(document),
        "rounds": sections.round_rows(document),
        "blocks": max((round_.block + 1 for cell in cells for round_ in cell.rounds), default=0),
        "unit": cells[0].throughput.unit if cells else "",
        "comparisons": sections.comparison_rows(document),
        "comparison_notes": lines.comparison_notes(document),
        "comparison_heads": lines.compared_cells(document)[0],
        "margin": percent(comparisons[0].margin) if comparisons else "",
        "breakdown": breakdown_chart(document),
        "latency": latency_charts(document),
        "mutexes": sections.mutex_sections(document),
        "growth": growth_charts(document),
        "timeline": timeline,
        "timeline_left_out": drawable - len(timeline),
        "systems": sections.systems(document),
        "host": flat(document.host),
        "device": sections.device_facts(document),
        "command": shlex.join(document.command),
        "again": [
            ("seed", str(document.seed)),
            ("dbdyno", document.dbdyno),
            *(flat(document.options)),
        ],
    }
