"""The store of runs: a SQLite file or a PostgreSQL database with all runs, their trials and their errors.

``open_store`` returns a ``Store``, which reads and writes ``RunRecord`` and ``TrialRecord`` objects.
"""

from dbdyno.store.records import JsonObject, RunRecord, RunStatus, RunSummary, TrialRecord, TrialStatus
from dbdyno.store.store import Store, default_path, open_store

__all__ = [
    "JsonObject",
    "RunRecord",
    "RunStatus",
    "RunSummary",
    "Store",
    "TrialRecord",
    "TrialStatus",
    "default_path",
    "open_store",
]
