"""The shape of a prediction, ``dbdyno.prediction/1``.

``dbdyno.analysis.predict.schema`` makes the JSON Schema from these types. The string below a field is its description
there. A figure that is not known is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

SCHEMA = "dbdyno.prediction/1"


@dataclass(slots=True, kw_only=True)
class Measured:
    """What the run measured at a size."""

    throughput: float
    ci95: list[float] | None
    calibrating: bool
    """Whether the prediction rests on it."""


@dataclass(slots=True, kw_only=True)
class Tree:
    """What an insert does to the index at a size, per insert."""

    leaves: float
    fill: float
    """The mean share of a leaf that its entries take."""
    misses: float
    """Pages that the engine's own cache lacks."""
    device_reads: float
    """Of these, pages that the operating system's cache lacks as well."""
    evictions: float
    """Changed pages that are written because their room is needed."""
    checkpoint_writes: float
    page_images: float
    """Pages that are logged whole."""
    log_bytes: float


@dataclass(slots=True, kw_only=True)
class Point:
    """A prediction at one size."""

    rows: int
    throughput: float | None
    """Null where nothing is predicted; ``lacking`` says why."""
    band: list[float] | None
    """What to expect, nineteen times in twenty, by the judgement that docs/explanation/prediction.md describes."""
    limited_by: str
    """The largest term of an insert's time, or the limit that all clients share; empty where nothing is predicted."""
    seconds: dict[str, float]
    """The terms of the time that a client takes for an insert, in seconds."""
    limits: dict[str, float]
    """What clients share, as the inserts a second that it allows."""
    index_bytes: float | None
    times_memory: float | None
    """The size of the index over the memory that caches it."""
    tree: Tree | None
    by: Literal["formula", "simulation"]
    lacking: str
    measured: Measured | None


@dataclass(slots=True, kw_only=True)
class Series:
    """The prediction for one kind of key."""

    name: str
    """The levels that tell it apart from the others."""
    factors: dict[str, Any]
    engine: str
    key: str
    """The kind of key, as plans call it."""
    entry_bytes: int
    cache_pages: float
    """Pages of the engine's own cache that serve, as the calibration showed."""
    system_pages: float
    """Pages of the operating system's cache that serve."""
    points: list[Point]


@dataclass(slots=True, kw_only=True)
class Costs:
    """What the calibration found, in seconds."""

    insert: dict[str, float]
    """An insert that finds all in the cache, by the name of the series."""
    miss: float
    """A page that the engine's own cache lacks: room made for it, and its copy."""
    page: float
    """A page that enters the operating system's cache, read or logged: room made for it."""
    device_read: float
    """A read of the device, as it was probed."""
    checkpoint_page: float
    """A page that the inserting session writes at a checkpoint; 0 where others do."""
    cpu: dict[str, float]
    """CPU of an insert that finds all in the cache, by the name of the series."""
    cpu_miss: float
    cpu_page: float
    error: float
    """How far the calibrated sizes are from what these give, relative, root of the mean square."""


@dataclass(slots=True, kw_only=True)
class Asked:
    """For what the prediction is."""

    rows: list[int]
    clients: int
    memory_bytes: float
    cache_bytes: float
    cores: int
    device: dict[str, float]
    """read_us, reads_per_s, writes_per_s, sync_us, log_bytes_per_s."""
    as_calibrated: bool
    """Whether all of this is as it was calibrated; measured sizes are shown beside such a prediction only."""


@dataclass(slots=True, kw_only=True)
class Prediction:
    """How fast inserts are at sizes beyond those measured."""

    schema: Literal["dbdyno.prediction/1"]
    experiment: str
    run: str
    """The calibration."""
    system: str
    calibrated_rows: list[int]
    """The sizes that the prediction rests on."""
    label: str
    """What is predicted, a second."""
    asked: Asked
    costs: Costs
    series: list[Series]
    sentences: list[str]
    """The answer in words."""
    warnings: list[str]
    """What is assumed, and what is left out."""
    error: dict[str, float] | None
    """The relative error at sizes of the run that were not calibrated with: median and worst, and sizes, how many;
    null: there are none."""
