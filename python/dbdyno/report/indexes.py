"""The indexes that plans lack, by the statement that makes each."""

from __future__ import annotations

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.findings.indexes import whole_table
from dbdyno.model.result.shape import Document


def _missing(document: Document) -> dict[str, list[str]]:
    """Give each ``create index`` with its statements of a file, or with its systems where not all lack it."""
    missing: dict[str, list[str]] = {}
    systems, times = document.answer.systems, document.report.get("times") is True
    for each in document.findings:
        evidence = each.evidence
        if each.kind != whole_table.name or evidence.get("there") or "sql" not in evidence:
            continue
        cells = [cell for cell in document.cells if cell.id in each.cells]
        names = [str(cell.factors.get(STATEMENT, "")) if times else systems.get(cell.system.name, "") for cell in cells]
        known = missing.setdefault(str(evidence["sql"]), [])
        known += [name for name in dict.fromkeys(names) if name and name not in known]
    return {sql: names if times or len(names) < len(systems) else [] for sql, names in missing.items()}


def index_lines(document: Document) -> list[str]:
    """Give the indexes that plans lack as lines of SQL, with the names of the statements or systems behind each."""
    missing = _missing(document)
    return [f"{sql};" + (f"  -- {', '.join(names)}" if names else "") for sql, names in missing.items()]
