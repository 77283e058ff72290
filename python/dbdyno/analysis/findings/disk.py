"""The storage device: its speed, and syncs."""

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
    """Report cells with more synced commits than the measured speed of the device allows.

    Excludes cells whose syncs didn't reach the device: see :mod:`dbdyno.analysis.findings.durability`.
    """
    shares: dict[str, float] = {}
    syncs: dict[str, float] = {}
    for cell in material.cells:
        share = cell.share_of_ceiling.device_sync
        each = cell.io_per_transaction.get("syncs") or 0.0
        # One client's commits cannot share a sync.
        if share is None or share <= 1.0 or each < 1.0 or cell.observed.contradiction:
            continue
        shares[cell.id], syncs[cell.id] = share, each
    if not shares:
        return []
    text = (
        f"There were {span(shares)} times as many commits per second as syncs of the idle device: its speed varies, "
        "or another program used it during that measurement. Repeat the run before you rely on `of syncs`."
    )
    return [more_commits_than_syncs.found(text, shares, {"device_sync": shares, "syncs_per_transaction": syncs})]


# Syncs that take this many times as long as a measured sync of the same size make the measurement unreliable.
_SLOWER = 5.0

# Size of the measured sync in bytes, and the size up to which it stands for other syncs if no second size was measured.
_MEASURED = 4096.0

_LIKE = 4 * _MEASURED


@finding(
    "slower device",
    needs=("sync_ms", "bytes_per_sync", "measured_ms"),
    meaning="Syncs took several times as long during the trials as when the idle device was measured.",
    remedy="Stop other programs that use the device, and repeat the run before you rely on `of syncs`.",
)
def slower_device(material: Material) -> list[Finding]:
    """Report syncs that took several times as long as measured on the idle device: one finding for all cells.

    Compares each sync with a measured sync of the same size (:func:`_sync_us`), if its time is known.
    """
    device = material.run.device or {}
    took: dict[str, float] = {}
    of_bytes: dict[str, float] = {}
    measured: dict[str, float] = {}
    for cell in material.cells:
        rounds = done(cell)
        syncs = sum(round_.io.get("syncs") or 0 for round_ in rounds)
        seconds = sum(round_.segments.get("sync") or 0.0 for round_ in rounds)
        written = [round_.io.get("write_bytes") for round_ in rounds]
        if cell.share_of_ceiling.device_sync is None or not syncs or None in written:
            continue
        each_bytes = sum(each or 0.0 for each in written) / syncs
        expected_us = _sync_us(device, each_bytes)
        if expected_us is not None and seconds / syncs * 1e6 >= _SLOWER * expected_us:
            took[cell.id] = seconds / syncs * 1000
            of_bytes[cell.id], measured[cell.id] = each_bytes, expected_us / 1000
    if not took:
        return []
    text = (
        f"The device was slower during the trials than when it was measured: a sync of {span(of_bytes, 1024)} KiB took "
        f"{span(took)} ms on average, but {span(measured)} ms on the idle device. Its speed varies, or another "
        "program uses it. Repeat the run before you rely on `of syncs`."
    )
    return [slower_device.found(text, took, {"sync_ms": took, "bytes_per_sync": of_bytes, "measured_ms": measured})]


def _sync_us(device: JsonObject, written: float) -> float | None:
    """Return the time to sync a number of bytes on the idle device in microseconds, or None if it is unknown.

    Interpolates linearly between the two measured sizes, and extrapolates beyond the larger one.
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
    """Report interleaved cells that write and sync differently."""
    words = (
        "These interleaved cells sync their writes differently, so the kernel writes back one cell's data during "
        "another cell's slice. Use `--interleave none` to measure them one after another."
    )
    for each in material.observed(interleaved_syncs_differ.kind):
        yield interleaved_syncs_differ.found(words, each["settings"], {"settings": each["settings"]})


# Report cells that spent a larger share of the time than this in other cells' slices.
_OVERRUN = 0.05


def _overran(cell: Cell) -> float | None:
    """Return the share of the time for which syncs overran the cell's slices; None if it is small or nothing is synced.

    Reads that wait for a CPU overrun slices too, but cause no device work that other cells would wait for.
    """
    rounds = done(cell)
    asked = [round_.io.get(name) for round_ in rounds for name in ("syncs", "writes")]
    if all(each == 0 for each in asked):
        return None
    overrun_s = sum(round_.interleaving.get("overrun_s", 0.0) for round_ in rounds)
    elapsed_s = sum(round_.elapsed_s or 0.0 for round_ in rounds)
    return overrun_s / elapsed_s if overrun_s > _OVERRUN * elapsed_s else None


@finding(
    "overrun",
    needs=("warning", "share"),
    meaning="Blocking system calls such as fsync overran the time slices of interleaved cells.",
    remedy="Use longer slices (`--interleave`).",
)
def overrun(material: Material) -> Iterator[Finding]:
    """Report cells whose syncs overran their slices and disturbed other cells."""
    shares = {cell.id: share for cell in material.cells if (share := _overran(cell)) is not None}
    if shares:
        text = (
            f"Blocking system calls such as fsync overran their time slices for {span(shares, 0.01)} % of the time and "
            "overlapped with other cells. Longer slices (`--interleave`) reduce this."
        )
        yield overrun.found(text, shares, {"warning": overrun.name, "share": shares})


@finding(
    "indexes on another device",
    needs=("system", "directory"),
    meaning="The indexes were on another file system than the tables and the log, and only the latter was observed.",
    remedy="Watch the device of the indexes yourself, for instance with iostat.",
)
def indexes_on_another_device(material: Material) -> Iterator[Finding]:
    """Report that device figures don't include the device of the indexes."""
    directories = {each["system"]: each["directory"] for each in material.observed(indexes_on_another_device.kind)}
    for system, directory in directories.items():
        cells = [cell.id for cell in material.cells if cell.system.name == system]
        words = f"The indexes were in {directory}, on another file system than the tables and the log: "
        words += "the device's reads, writes, queue and latency don't include index I/O."
        yield indexes_on_another_device.found(words, cells, {"system": system, "directory": directory})
