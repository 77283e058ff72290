"""More synced commits than the device was measured to sync."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.analysis.findings.words import span
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

BEYOND = Kind("more commits than syncs", ("device_sync", "syncs_per_transaction"))


def beyond_the_device(cells: Sequence[Cell]) -> list[Finding]:
    """Report cells with more synced commits than the device's own figure allows, so that figure is wrong.

    A cell whose syncs did not reach the device is reported as such (``durability_contradicted``).
    """
    shares: dict[str, float] = {}
    syncs: dict[str, float] = {}
    for cell in cells:
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
    return [BEYOND.found(text, shares, {"device_sync": shares, "syncs_per_transaction": syncs})]


RULE = Rule(lambda material: beyond_the_device(material.cells), (BEYOND,))
