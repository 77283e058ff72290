"""How many inserts a second clients make, from what one takes and from what they share."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from dbdyno.analysis.predict.device import Device
from dbdyno.model.events.answers import BtreeFigures


@dataclass(frozen=True)
class Rate:
    """Inserts a second, what limits them, and what each shared resource would allow."""

    throughput: float
    limited_by: str
    limits: dict[str, float]


def rate(
    terms: dict[str, float],
    cpu_s: float,
    tree: BtreeFigures,
    device_reads: float,
    device: Device,
    *,
    clients: int,
    cores: int,
) -> Rate:
    """Give the least of what clients make in their own time and what processors and device allow.

    ``clients``: those that insert at the same time; ``terms``: seconds of a client's time for an insert.
    """
    seconds = sum(terms.values())
    written = tree.dirty_evictions + tree.checkpoint_writes
    limits = {
        "clients": clients / seconds,
        "processors": cores / cpu_s if cpu_s else inf,
        "reads of the device": device.reads_per_s / device_reads if device_reads else inf,
        "writes of the device": device.writes_per_s / written if written else inf,
        "log": device.log_bytes_per_s / tree.log_bytes if tree.log_bytes else inf,
    }
    least = min(limits, key=lambda name: limits[name])
    largest = max(terms, key=lambda name: terms[name])
    shown = {name: value for name, value in limits.items() if value < inf}
    return Rate(limits[least], largest if least == "clients" else least, shown)
