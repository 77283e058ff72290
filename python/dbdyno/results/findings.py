"""Findings that follow from the numbers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dbdyno.results.comparing import differences, other_factors
from dbdyno.results.document import Cell, Finding

# FerretDB 1 with SQLite reads a document and writes it back in two steps that nothing holds together.
_LOSES = " It acknowledges updates that several clients make to one document at once, and loses some of them."


def unlike_work(cells: Sequence[Cell]) -> list[Finding]:
    """Say where two systems with otherwise equal factors did not do the same work, once for each difference."""
    covered: dict[tuple[str, str, str], list[str]] = {}
    for index, b in enumerate(cells):
        for a in cells[:index]:
            if a["system"]["name"] == b["system"]["name"] or other_factors(a) != other_factors(b):
                continue
            for difference in differences(a, b):
                key = (a["system"]["name"], b["system"]["name"], difference)
                covered.setdefault(key, []).extend([a["id"], b["id"]])
    return [
        {
            "text": f"{a} and {b} did unlike work ({difference}); they are not ranked.",
            "cells": list(dict.fromkeys(ids)),
            "evidence": {"unlike": difference},
        }
        for (a, b, difference), ids in covered.items()
    ]


def other_products(cells: Sequence[Cell]) -> list[Finding]:
    """Say where what was measured speaks MongoDB's protocol and is not MongoDB."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        system = cell["system"]
        if system["name"].startswith("mongodb:") and system["engine"] not in (None, "", "mongodb", "MongoDB"):
            product = " ".join(each for each in (system["engine"], system["version"]) if each)
            found.setdefault((system["name"], product), []).append(cell["id"])
    return [
        {
            "text": f"`{name}` is {product} here, and not MongoDB.{_LOSES if product.startswith('FerretDB 1') else ''}",
            "cells": ids,
            "evidence": {"product": product},
        }
        for (name, product), ids in found.items()
    ]


def failures(cells: Sequence[Cell]) -> list[Finding]:
    """Say how many transactions failed, by kind, with the first message of each."""
    found: list[Finding] = []
    for kind in dict.fromkeys(kind for cell in cells for kind in cell["failed"]):
        hit = [cell for cell in cells if cell["failed"].get(kind)]
        total = sum(cell["failed"][kind] for cell in hit)
        issued = sum(each["issued"] for cell in hit for each in cell["rounds"])
        messages = Counter(
            message for cell in hit for each in cell["rounds"] if (message := each["failures"].get(kind))
        )
        first = f': "{messages.most_common(1)[0][0]}"' if messages else ""
        found.append(
            {
                "text": f"{total:,} of {issued:,} transactions failed ({kind}){first}; they are not in the throughput.",
                "cells": [cell["id"] for cell in hit],
                "evidence": {"kind": kind, "failed": total, "issued": issued},
            }
        )
    return found


def cut_short(cells: Sequence[Cell]) -> list[Finding]:
    """Say where the time limit came before the number of transactions or statements that a trial was to do."""
    found: list[Finding] = []
    for cell in cells:
        done = [each for each in cell["rounds"] if each["status"] == "done" and each["ended_by"] == "seconds"]
        for unit, key in (("transactions", "ok"), ("statements", "statements")):
            asked = next((int(each["window"][unit]) for each in done if each["window"].get(unit)), None)
            if asked is None:
                continue
            asked *= int(done[0]["window"].get("clients") or 1)
            counts = [int(each[key] or 0) for each in done]  # type: ignore[literal-required]
            reached = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
            found.append(
                {
                    "text": f"The time limit of {done[0]['elapsed_s']:g} s came first: {reached} of {asked:,} {unit} "
                    "were done.",
                    "cells": [cell["id"]],
                    "evidence": {"asked": asked, "done": counts},
                }
            )
    return found


def beyond_the_device(cells: Sequence[Cell]) -> list[Finding]:
    """Say where there were more synced commits than the device's own figure allows, so that figure is in doubt."""
    found: list[Finding] = []
    for cell in cells:
        share = cell["share_of_ceiling"]["device_sync"]
        syncs = cell["io_per_transaction"].get("syncs", 0.0)
        # One client's commits cannot share a sync.
        if share is None or share <= 1.0 or syncs < 1.0:
            continue
        found.append(
            {
                "text": f"{share:.3g} times as many commits a second as syncs were measured on the idle device: its "
                "speed changes, or another program used it then; repeat the run before relying on `of syncs`.",
                "cells": [cell["id"]],
                "evidence": {"device_sync": share, "syncs_per_transaction": syncs},
            }
        )
    return found


def outlying_rounds(cells: Sequence[Cell]) -> list[Finding]:
    """Point out rounds far from the others of their cell."""
    hit = {cell["id"]: [each["block"] for each in cell["rounds"] if each["outlier"]] for cell in cells}
    hit = {cell: blocks for cell, blocks in hit.items() if blocks}
    if not hit:
        return []
    total = sum(len(blocks) for blocks in hit.values())
    words = "1 round lies" if total == 1 else f"{total} rounds lie"
    return [
        {
            "text": f"{words} far from the others of the same cell; outliers are kept and marked with an asterisk.",
            "cells": list(hit),
            "evidence": {"blocks": hit},
        }
    ]
