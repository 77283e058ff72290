"""More synced commits than the device was measured to sync."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Rule

BEYOND = Kind("more commits than syncs", ("device_sync", "syncs_per_transaction"))


def beyond_the_device(cells: Sequence[Cell]) -> list[Finding]:
    """Say where there were more synced commits than the device's own figure allows, so that figure is wrong."""
    found: list[Finding] = []
    for cell in cells:
        share = cell["share_of_ceiling"]["device_sync"]
        syncs = cell["io_per_transaction"].get("syncs") or 0.0
        # One client's commits cannot share a sync.
        if share is None or share <= 1.0 or syncs < 1.0:
            continue
        found.append(
            BEYOND.found(
                f"{share:.3g} times as many commits a second as syncs were measured on the idle device: its "
                "speed changes, or another program used it then; repeat the run before relying on `of syncs`.",
                [cell["id"]],
                {"device_sync": share, "syncs_per_transaction": syncs},
            )
        )
    return found


RULE = Rule(lambda material: beyond_the_device(material.cells), (BEYOND,))
