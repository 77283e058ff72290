"""A stored run as its document: all that is said of it is computed from the store, each time that it is looked at."""

from dbdyno.analysis.document.build import asked_intervals, build_document
from dbdyno.analysis.document.run import published_figures, read_run, stored_experiment

__all__ = ["asked_intervals", "build_document", "published_figures", "read_run", "stored_experiment"]
