"""The types of the result document of a run. Tables, HTML, CSV and Markdown are views of this document."""

from dbdyno.model.result.cell import Bottleneck, Cell, Published, Round
from dbdyno.model.result.shape import SCHEMA, Comparison, Document, Finding

__all__ = ["SCHEMA", "Bottleneck", "Cell", "Comparison", "Document", "Finding", "Published", "Round"]
