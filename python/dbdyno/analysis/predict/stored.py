"""A stored run as the calibration of a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.analysis.document import read_run
from dbdyno.analysis.document.build import latest_trials, tasks_of
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result import Document
from dbdyno.store import Store


@dataclass(frozen=True)
class Calibration:
    """A run: its document, and the planned tasks of its cells by cell id."""

    document: Document
    tasks: Mapping[str, TrialTask]


def read_calibration(store: Store, name: str) -> Calibration:
    """Read a run. ``name``: its id, the end of its id, or ``last``. Raises StoreError and InputError."""
    run = store.run(name)
    tasks = tasks_of(latest_trials(store.trials(run.id)))
    return Calibration(read_run(store, run.id), tasks)
