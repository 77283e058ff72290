"""What a storage device can do, as a run probed it or as somebody says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from dbdyno.base.errors import InputError
from dbdyno.model.result.reading import JsonObject, number, objects


@dataclass(frozen=True)
class Device:
    """A device: seconds of a random read alone, reads and writes a second of many at once, bytes of log a second.

    ``depths``: reads a second by how many are under way at once, where that was probed.
    """

    read_s: float
    reads_per_s: float
    writes_per_s: float
    sync_s: float
    log_bytes_per_s: float
    depths: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, facts: JsonObject, place: str) -> Device:
        """Read what a run probed. Raises InputError where it probed no device; ``place``: the run."""
        reads, writes = objects(facts.get("random_read")), objects(facts.get("random_write"))
        depths = tuple((int(each["depth"]), float(each["per_s"])) for each in reads)
        sync, large, size = (number(facts, name) for name in ("sync_us", "large_sync_us", "large_sync_bytes"))
        if not depths or not sync or not large or not size:
            raise InputError(place, "the storage device was not probed", "calibrate by a new run")
        most = max(rate for _, rate in depths)
        if facts.get("direct") is False:
            problem = (
                "the storage device was probed through the kernel's cache, since its file system allows nothing else"
            )
            raise InputError(place, problem, "calibrate on another file system, with `--dir`")
        # Runs before writes were probed: as fast as reads.
        written = max((float(each["per_s"]) for each in writes), default=most)
        return cls(1.0 / depths[0][1], most, written, sync / 1e6, size / large * 1e6, depths)

    def read_seconds(self, depth: float) -> float:
        """Give the seconds of a read among so many under way at once; between probed depths by their logarithm."""
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

    def changed(self, said: Mapping[str, float]) -> Device:
        """Give it with other figures: ``read_s``, ``reads_per_s``, ``writes_per_s``."""
        if not said:
            return self
        reads = {"read_s", "reads_per_s"} & set(said)
        read_s = said.get("read_s", self.read_s)
        return Device(
            read_s,
            # A device of which only the time of a read is said does one at a time.
            said.get("reads_per_s", 1.0 / read_s if reads else self.reads_per_s),
            said.get("writes_per_s", self.writes_per_s),
            self.sync_s,
            self.log_bytes_per_s,
            () if reads else self.depths,
        )

    def shown(self) -> dict[str, float]:
        """Give the figures as a prediction has them."""
        return {
            "read_us": self.read_s * 1e6,
            "reads_per_s": self.reads_per_s,
            "writes_per_s": self.writes_per_s,
            "sync_us": self.sync_s * 1e6,
            "log_bytes_per_s": self.log_bytes_per_s,
        }
