"""The result document of a run, on which table, HTML, CSV and Markdown are views: its shapes, and how they are read."""

from dbdyno.model.result.cell import Bottleneck, Cell, Published, Round
from dbdyno.model.result.shape import SCHEMA, Comparison, Document, Finding

__all__ = ["SCHEMA", "Bottleneck", "Cell", "Comparison", "Document", "Finding", "Published", "Round"]
