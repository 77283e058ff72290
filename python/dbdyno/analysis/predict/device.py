"""The performance of a storage device, as probed by a run or given by the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from dbdyno.base.errors import InputError
from dbdyno.model.result.reading import JsonObject, number, objects


@dataclass(frozen=True)
class Device:
    """A device.

    ``read_s``: seconds of a single random read; ``reads_per_s``, ``writes_per_s``: maximum with many at once;
    ``sync_s``: seconds of a sync; ``log_bytes_per_s``: bytes per second written to a log. ``depths``: probed reads per
    second by queue depth.
    """

    read_s: float
    reads_per_s: float
    writes_per_s: float
    sync_s: float
    log_bytes_per_s: float
    depths: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, facts: JsonObject, place: str) -> Device:
        """Read the probe of a run. Raises InputError if it has none. ``place``: name of the run in errors."""
        reads, writes = objects(facts.get("random_read")), objects(facts.get("random_write"))
        depths = tuple((int(each["depth"]), float(each["per_s"])) for each in reads)
        sync, large, size = (number(facts, name) for name in ("sync_us", "large_sync_us", "large_sync_bytes"))
        if not depths or not sync or not large or not size:
            raise InputError(place, "the storage device was not probed", "calibrate with a new run")
        most = max(rate for _, rate in depths)
        if facts.get("direct") is False:
            problem = (
                "the storage device was probed through the kernel's cache, because its file system lacks direct I/O"
            )
            raise InputError(place, problem, "calibrate on another file system, with `--dir`")
        # Old runs didn't probe writes; assume that writes are as fast as reads.
        written = max((float(each["per_s"]) for each in writes), default=most)
        return cls(1.0 / depths[0][1], most, written, sync / 1e6, size / large * 1e6, depths)

    def read_seconds(self, depth: float) -> float:
        """Return the seconds of a read at a queue depth, interpolated over the logarithm of the probed depths."""
        if not self.depths:
            return max(self.read_s, depth / self.reads_per_s)
        before, after = self.depths[0], self.depths[-1]
        for each in self.depths:
            if each[0] <= depth:
                before = each
            else:
                after = each
                break
        (low, slow), (high, fast) = (before[0], before[0] / before[1]), (after[0], after[0] / after[1])
        if depth <= low or high <= low:
            return slow if depth <= low else max(slow, depth / self.reads_per_s)
        return slow + (fast - slow) * log(depth / low) / log(high / low)

    def changed(self, values: Mapping[str, float]) -> Device:
        """Return the device with other values for ``read_s``, ``reads_per_s`` or ``writes_per_s``."""
        if not values:
            return self
        reads = {"read_s", "reads_per_s"} & set(values)
        read_s = values.get("read_s", self.read_s)
        return Device(
            read_s,
            # If only the time of a read is given, assume one read at a time.
            values.get("reads_per_s", 1.0 / read_s if reads else self.reads_per_s),
            values.get("writes_per_s", self.writes_per_s),
            self.sync_s,
            self.log_bytes_per_s,
            () if reads else self.depths,
        )

    def shown(self) -> dict[str, float]:
        """Return the figures as a part of a prediction."""
        return {
            "read_us": self.read_s * 1e6,
            "reads_per_s": self.reads_per_s,
            "writes_per_s": self.writes_per_s,
            "sync_us": self.sync_s * 1e6,
            "log_bytes_per_s": self.log_bytes_per_s,
        }
