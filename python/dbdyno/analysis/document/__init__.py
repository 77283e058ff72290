"""Build the document of a stored run. Results are computed from the stored events each time it is read."""

from dbdyno.analysis.document.build import build_document, target_intervals
from dbdyno.analysis.document.run import published_figures, read_run, stored_experiment

__all__ = ["build_document", "published_figures", "read_run", "stored_experiment", "target_intervals"]
