"""The types of a prediction, ``dbdyno.prediction/1``.

``dbdyno.analysis.predict.schema`` generates the JSON Schema from these types. The string below a field is its
description in the schema. Unknown values are null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

SCHEMA = "dbdyno.prediction/1"


@dataclass(slots=True, kw_only=True)
class MeasuredPoint:
    """The measurement of the run at one size."""

    throughput: float
    """Inserts per second."""
    ci95: list[float] | None
    """The interval of ``throughput``; null with fewer than two rounds."""
    calibrating: bool
    """Whether the prediction was calibrated with this measurement."""


@dataclass(slots=True, kw_only=True)
class IndexActivity:
    """The work of an insert on the index at one size, per insert."""

    leaves: float
    """Leaf pages of the index, in total."""
    fill: float
    """Mean share of a leaf page that entries occupy, from 0 to 1."""
    misses: float
    """Pages that are missing in the engine's own cache."""
    device_reads: float
    """Pages that are also missing in the operating system's cache."""
    evictions: float
    """Changed pages that are written to make room in the cache."""
    checkpoint_writes: float
    """Pages that are written by checkpoints."""
    page_images: float
    """Pages that are written to the log as a whole."""
    log_bytes: float
    """Bytes written to the log."""


@dataclass(slots=True, kw_only=True)
class Point:
    """A prediction at one size."""

    rows: int
    """Rows of the table."""
    throughput: float | None
    """Inserts per second; null if nothing is predicted (see ``lacking``)."""
    band: list[float] | None
    """The range that should contain the throughput with 95% probability, according to the assumptions in
    docs/explanation/prediction.md."""
    limited_by: str
    """The largest term of an insert's time, or the limit that all clients share; empty if nothing is predicted."""
    seconds: dict[str, float]
    """The terms of a client's time per insert, in seconds."""
    limits: dict[str, float]
    """Limits that the clients share, in inserts per second."""
    index_bytes: float | None
    """The size of the index; null if nothing is predicted."""
    times_memory: float | None
    """The size of the index divided by the memory that caches it."""
    tree: IndexActivity | None
    """The work on the index; null if nothing is predicted."""
    by: Literal["formula", "simulation"]
    """How the work of an insert was determined."""
    lacking: str
    """Why nothing is predicted; otherwise empty."""
    measured: MeasuredPoint | None
    """Null if the run didn't measure this size."""


@dataclass(slots=True, kw_only=True)
class Series:
    """The prediction for one kind of key."""

    name: str
    """The levels that distinguish it from other series."""
    factors: dict[str, Any]
    """Level by factor, without the size of the table."""
    engine: str
    """The name of the product, such as PostgreSQL."""
    key: str
    """The kind of key, named as in plans."""
    entry_bytes: int
    """Bytes of an index entry."""
    cache_pages: float
    """Effective pages of the engine's own cache, according to the calibration."""
    system_pages: float
    """Effective pages of the operating system's cache."""
    points: list[Point]
    """One prediction per size, in ascending order."""


@dataclass(slots=True, kw_only=True)
class Costs:
    """The costs that the calibration determined, in seconds."""

    insert: dict[str, float]
    """An insert with all pages in the cache, by the name of the series."""
    miss: float
    """A page that is missing in the engine's own cache: making room and copying the page."""
    page: float
    """A page that enters the operating system's cache, because it is read or logged: making room."""
    device_read: float
    """A read from the device, as measured."""
    checkpoint_page: float
    """A page that the inserting session writes during a checkpoint; 0 if other sessions or threads write it."""
    cpu: dict[str, float]
    """CPU time of an insert with all pages in the cache, by the name of the series."""
    cpu_miss: float
    """CPU time of a ``miss``."""
    cpu_page: float
    """CPU time of a ``page``."""
    error: float
    """The relative root-mean-square error of these costs at the calibrated sizes."""


@dataclass(slots=True, kw_only=True)
class Conditions:
    """The conditions that the prediction assumes."""

    rows: list[int]
    """The sizes, in rows of the table."""
    clients: int
    """Number of clients."""
    memory_bytes: float
    """Memory limit for the engine's own cache and the operating system's cache together."""
    cache_bytes: float
    """The engine's own cache."""
    cores: int
    """Number of CPUs."""
    device: dict[str, float]
    """``read_us``, ``reads_per_s``, ``writes_per_s``, ``sync_us``, ``log_bytes_per_s``."""
    as_calibrated: bool
    """Whether all conditions are those of the calibration. Only then is the prediction compared with measured sizes."""


@dataclass(slots=True, kw_only=True)
class Prediction:
    """A prediction of the insert rate at sizes beyond the measured ones."""

    schema: Literal["dbdyno.prediction/1"]
    """The version of this format."""
    experiment: str
    """The name of the experiment."""
    run: str
    """The id of the calibration run."""
    system: str
    """The name of the system."""
    calibrated_rows: list[int]
    """The sizes that the prediction was calibrated with."""
    label: str
    """The unit that is predicted, per second."""
    asked: Conditions
    """The conditions of the prediction."""
    costs: Costs
    """The calibrated costs."""
    series: list[Series]
    """One series per kind of key."""
    sentences: list[str]
    """The answer as sentences."""
    warnings: list[str]
    """Assumptions and omissions."""
    error: dict[str, float] | None
    """The relative error at measured sizes that were not used for the calibration: ``median``, ``worst``, and
    ``sizes``, their number; null if there are none."""
