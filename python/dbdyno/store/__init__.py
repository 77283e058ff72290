"""The store of runs: everything a run was asked, found and failed at, kept for good.

``open_store`` gives a ``Store``; ``RunRecord`` and ``TrialRecord`` are what goes in and comes out.
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
