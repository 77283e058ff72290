"""Errors of the planner's row estimates, for the terminal and the HTML report."""

from __future__ import annotations

from dbdyno.analysis.findings.plans import far_off, figure_of, off_words
from dbdyno.model.result.cell import Cell, CellStatement


def estimate_words(cell: Cell) -> str:
    """Return the worst row estimate of the cell's only statement in a few words; empty if none is far off."""
    if len(cell.statements) != 1:
        return ""
    worst = far_off(cell, cell.statements[0])
    return "" if worst is None else f"rows {off_words(worst)}"


def estimate_lines(statement: CellStatement) -> list[str]:
    """Return a heading and one line per plan step: the expected and the found rows; empty if unknown.

    The row counts are per execution of the step.
    """
    if not statement.estimates:
        return []
    figures = [
        (figure_of(estimate.expected), f"{'>=' if estimate.at_least else ''}{figure_of(estimate.found)}")
        for estimate in statement.estimates
    ]
    heads = ("expected", "found")
    wide = [max(len(head), *(len(row[position]) for row in figures)) for position, head in enumerate(heads)]
    lines = [f"{heads[0]:>{wide[0]}}  {heads[1]:>{wide[1]}}  rows of"]
    first = min(estimate.depth for estimate in statement.estimates)
    for (expected, found), estimate in zip(figures, statement.estimates, strict=True):
        step = "  " * (estimate.depth - first) + estimate.step
        times = f" ({estimate.executions:,.0f} times)" if estimate.executions > 1 else ""
        lines.append(f"{expected:>{wide[0]}}  {found:>{wide[1]}}  {step}{times}")
    return lines
