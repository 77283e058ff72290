"""Syncs that took longer than the device was measured to take."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.analysis.findings.words import span
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, number
from dbdyno.model.result.shape import Finding

SLOWER_DEVICE = Kind("slower device", ("sync_ms", "bytes_per_sync", "measured_ms"))


# Times as long as a sync of as much was measured to take, from which the measurement is not to be relied on.
_SLOWER = 5.0

# Bytes of a sync that was measured, unless the device's figures say it; and up to which a sync counts as like it where
# none of another size was measured.
_MEASURED = 4096.0

_LIKE = 4 * _MEASURED


def slower_device(cells: Sequence[Cell], device: JsonObject) -> list[Finding]:
    """Say where syncs took several times as long as the device had been measured to take, so that figure is wrong.

    ``device``: as in the document. Once for all cells, for which the share of the device's syncs is known. A sync is
    compared with one that writes as much (:func:`_sync_us`); where it is not known what that takes, nothing is said.
    """
    took: dict[str, float] = {}
    of_bytes: dict[str, float] = {}
    measured: dict[str, float] = {}
    for cell in cells:
        rounds = done(cell)
        syncs = sum(each["io"].get("syncs") or 0 for each in rounds)
        seconds = sum(each["segments"].get("sync") or 0.0 for each in rounds)
        written = [each["io"].get("write_bytes") for each in rounds]
        if cell["share_of_ceiling"]["device_sync"] is None or not syncs or None in written:
            continue
        each_bytes = sum(each or 0.0 for each in written) / syncs
        expected_us = _sync_us(device, each_bytes)
        if expected_us is not None and seconds / syncs * 1e6 >= _SLOWER * expected_us:
            took[cell["id"]] = seconds / syncs * 1000
            of_bytes[cell["id"]], measured[cell["id"]] = each_bytes, expected_us / 1000
    if not took:
        return []
    text = (
        f"The device was slower during the trials than when it was measured: a sync took {span(took)} ms on average "
        f"and wrote {span(of_bytes, 1024)} KiB, for which the idle device takes {span(measured)} ms; its speed "
        "changes, or another program uses it: repeat the run before relying on `of syncs`."
    )
    return [SLOWER_DEVICE.found(text, took, {"sync_ms": took, "bytes_per_sync": of_bytes, "measured_ms": measured})]


def _sync_us(device: JsonObject, written: float) -> float | None:
    """Give how long the idle device takes to sync so many bytes, in microseconds; None where that is not known.

    A sync was measured at two sizes; what it takes is taken to grow evenly with the bytes, from the smaller one on.
    """
    small = number(device, "sync_us")
    large, large_bytes = number(device, "large_sync_us"), number(device, "large_sync_bytes")
    if small is None:
        return None
    if large is None or large_bytes is None or large_bytes <= _MEASURED:
        return small if written <= _LIKE else None
    per_byte = max(large - small, 0.0) / (large_bytes - _MEASURED)
    return small + max(written - _MEASURED, 0.0) * per_byte


RULE = Rule(lambda material: slower_device(material.cells, material.run.device or {}), (SLOWER_DEVICE,))
