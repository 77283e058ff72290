"""Compute the insert rate of several clients from the time of one insert and from shared resources."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from dbdyno.analysis.predict.device import Device
from dbdyno.model.events.answers import BtreeFigures


@dataclass(frozen=True)
class LimitedRate:
    """Inserts per second, their limit, and the rate that each resource would allow."""

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
) -> LimitedRate:
    """Return the lowest of the rates that the clients' time, the CPUs, the device and the log allow.

    ``clients``: number that insert at the same time; ``terms``: client seconds per insert by kind of cost.
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
    return LimitedRate(limits[least], largest if least == "clients" else least, shown)
