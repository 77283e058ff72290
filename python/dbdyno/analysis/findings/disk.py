"""The storage device, and syncs to it."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.words import span
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, number
from dbdyno.model.result.shape import Finding


@finding(
    "more commits than syncs",
    needs=("device_sync", "syncs_per_transaction"),
    meaning="There were more synced commits per second than the idle device was measured to sync.",
    remedy="Repeat the run before you rely on `of syncs`.",
)
def more_commits_than_syncs(material: Material) -> list[Finding]:
    """Report cells with more synced commits than the device's own figure allows, so that figure is wrong.

    A cell whose syncs did not reach the device is reported as such (``durability_contradicted``).
    """
    shares: dict[str, float] = {}
    syncs: dict[str, float] = {}
    for cell in material.cells:
        share = cell["share_of_ceiling"]["device_sync"]
        each = cell["io_per_transaction"].get("syncs") or 0.0
        # One client's commits cannot share a sync.
        if share is None or share <= 1.0 or each < 1.0 or cell["observed"]["contradiction"]:
            continue
        shares[cell["id"]], syncs[cell["id"]] = share, each
    if not shares:
        return []
    text = (
        f"{span(shares)} times as many commits per second as the idle device was measured to sync: its speed changes, "
        "or another program used it then. Repeat the run before relying on `of syncs`."
    )
    return [more_commits_than_syncs.found(text, shares, {"device_sync": shares, "syncs_per_transaction": syncs})]


# Times as long as a sync of as much was measured to take, from which the measurement is not to be relied on.
_SLOWER = 5.0

# Bytes of a sync that was measured, unless the device's figures say it; and up to which a sync counts as like it where
# none of another size was measured.
_MEASURED = 4096.0

_LIKE = 4 * _MEASURED


@finding(
    "slower device",
    needs=("sync_ms", "bytes_per_sync", "measured_ms"),
    meaning="Syncs took several times as long during the trials as when the idle device was measured.",
    remedy="Stop other programs that use the device, and repeat the run before you rely on `of syncs`.",
)
def slower_device(material: Material) -> list[Finding]:
    """Say where syncs took several times as long as the device had been measured to take, so that figure is wrong.

    Once for all cells, for which the share of the device's syncs is known. A sync is
    compared with one that writes as much (:func:`_sync_us`); where it is not known what that takes, nothing is said.
    """
    device = material.run.device or {}
    took: dict[str, float] = {}
    of_bytes: dict[str, float] = {}
    measured: dict[str, float] = {}
    for cell in material.cells:
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
    return [slower_device.found(text, took, {"sync_ms": took, "bytes_per_sync": of_bytes, "measured_ms": measured})]


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


@finding(
    "interleaved cells sync differently",
    needs=("settings",),
    meaning="Interleaved cells sync their writes differently, so one cell's writeback falls into another cell's slice.",
    remedy="Use `--interleave none` to measure the cells one after another.",
)
def interleaved_syncs_differ(material: Material) -> Iterator[Finding]:
    """Say it of the cells that the laboratory found to write, as their engines tell."""
    words = (
        "These cells do not sync alike what they write, and were interleaved: what one leaves to the kernel is written "
        "to the device in the others' slices; `--interleave none` measures them one after another."
    )
    for each in material.observed(interleaved_syncs_differ.kind):
        yield interleaved_syncs_differ.found(words, each["settings"], {"settings": each["settings"]})


# Trials that are interleaved: the share of the time in which they went on into the others' slices.
_OVERRUN = 0.05


def _overran(cell: Cell) -> float | None:
    """Return the share of the time for which syncs outlasted the cell's slices; None if small, or it syncs nothing.

    Reads that wait for a CPU outlast slices too. They leave nothing to the device that the other cells would wait for.
    """
    rounds = done(cell)
    asked = [each["io"].get(name) for each in rounds for name in ("syncs", "writes")]
    if all(each == 0 for each in asked):
        return None
    overrun_s = sum(each["interleaving"].get("overrun_s", 0.0) for each in rounds)
    elapsed_s = sum(each["elapsed_s"] or 0.0 for each in rounds)
    return overrun_s / elapsed_s if overrun_s > _OVERRUN * elapsed_s else None


@finding(
    "overrun",
    needs=("warning", "share"),
    meaning="Blocking system calls such as fsync overran the time slices of interleaved cells.",
    remedy="Use longer slices (`--interleave`).",
)
def overrun(material: Material) -> Iterator[Finding]:
    """Report cells whose syncs outlasted their slices, so that they were in the way of the other cells."""
    shares = {cell["id"]: share for cell in material.cells if (share := _overran(cell)) is not None}
    if shares:
        text = (
            f"System calls such as fsync overran their time slices for {span(shares, 0.01)} % of the time and "
            "overlapped with other cells. Longer slices (`--interleave`) reduce this."
        )
        yield overrun.found(text, shares, {"warning": overrun.name, "share": shares})


@finding(
    "indexes on another device",
    needs=("system", "directory"),
    meaning="The indexes were on another file system than the tables and the log, and only the latter was observed.",
    remedy="Add the load on the indexes' device yourself before you judge the device.",
)
def indexes_on_another_device(material: Material) -> Iterator[Finding]:
    """Say that what is told of the device is not told of that of the indexes."""
    told = {each["system"]: each["directory"] for each in material.observed(indexes_on_another_device.kind)}
    for system, directory in told.items():
        cells = [cell["id"] for cell in material.cells if cell["system"]["name"] == system]
        words = f"The indexes lay in {directory}, on another file system than the tables and the log: "
        words += "reads, writes, queue and latency of the device are those of the tables' and the log's."
        yield indexes_on_another_device.found(words, cells, {"system": system, "directory": directory})
