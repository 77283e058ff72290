"""The indexes that plans lack, by the statement that makes each."""

from __future__ import annotations

from dbdyno.answer.words import STATEMENT
from dbdyno.document.shape import Document
from dbdyno.findings.whole_tables import WHOLE_TABLE


def _missing(document: Document) -> dict[str, list[str]]:
    """Give each ``create index`` with the names of the statements of a file that it is for; none of other runs."""
    missing: dict[str, list[str]] = {}
    for each in document["findings"]:
        evidence = each["evidence"]
        if each.get("kind") != WHOLE_TABLE.name or evidence.get("there") or "sql" not in evidence:
            continue
        cells = [cell for cell in document["cells"] if cell["id"] in each["cells"]]
        names = [str(cell["factors"][STATEMENT]) for cell in cells if STATEMENT in cell["factors"]]
        known = missing.setdefault(str(evidence["sql"]), [])
        if document["report"].get("times") is True:
            known += [name for name in dict.fromkeys(names) if name not in known]
    return missing


def index_lines(document: Document) -> list[str]:
    """Give the indexes that plans lack as lines of SQL, with the names of the statements behind each."""
    missing = _missing(document)
    return [f"{sql};" + (f"  -- {', '.join(names)}" if names else "") for sql, names in missing.items()]
