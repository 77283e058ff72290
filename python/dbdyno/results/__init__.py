"""The result document of a run, on which table, HTML, CSV and Markdown are views."""

from dbdyno.results.build import build_document
from dbdyno.results.cell_document import Cell, Limit, Published, Round
from dbdyno.results.document import SCHEMA, Comparison, Document, Finding

__all__ = [
    "SCHEMA",
    "Cell",
    "Comparison",
    "Document",
    "Finding",
    "Limit",
    "Published",
    "Round",
    "build_document",
]
