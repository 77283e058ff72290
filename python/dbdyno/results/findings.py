"""Findings that follow from the numbers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence

from dbdyno.limit import OVERLOADED
from dbdyno.results.cell_document import Cell
from dbdyno.results.document import Finding
from dbdyno.results.durable import class_of
from dbdyno.results.judging import FAILED, ROWS, not_comparable, other_factors
from dbdyno.results.metrics import done
from dbdyno.results.reading import JsonObject, number

# FerretDB 1 with SQLite reads a document and writes it back in two steps that nothing holds together.
_LOSES = " It acknowledges updates that several clients make to one document at once, and loses some of them."

# Times as long as it was measured to take that a sync takes, from which the measurement is in doubt: a sync of ours can
# be of more pages than one, which alone makes it two or three times as long.
_SLOWER = 5.0

# Cells whose failures are told one by one.
_MOST_CELLS = 5


def unlike_work(cells: Sequence[Cell], told: Container[str] = ()) -> list[Finding]:
    """Say where systems with otherwise equal factors did not do the same work, once for each difference.

    ``told``: cells of which it has been said that they return other rows.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(str(other_factors(cell)), []).append(cell)
    covered: dict[str, list[str]] = {}
    for group in groups.values():
        for words, apart in _differences(group, told):
            covered.setdefault(words, []).extend(cell["id"] for cell in apart)
    return [
        {"text": text, "cells": list(dict.fromkeys(ids)), "evidence": {"unlike": text}} for text, ids in covered.items()
    ]


def _differences(group: Sequence[Cell], told: Container[str]) -> Iterator[tuple[str, list[Cell]]]:
    """Give what differs between the systems of a group: a sentence, and the cells it is about."""
    pairs = [
        (a, b) for index, b in enumerate(group) for a in group[:index] if a["system"]["name"] != b["system"]["name"]
    ]
    found: dict[str, list[tuple[Cell, Cell, str]]] = {}
    for a, b in pairs:
        for difference in not_comparable(a, b):
            if not (difference.startswith(ROWS) and a["id"] in told and b["id"] in told):
                found.setdefault(difference.partition(":")[0], []).append((a, b, difference))
    for what, hits in found.items():
        apart = [cell for cell in group if any(cell is a or cell is b for a, b, _ in hits)]
        if len(apart) == 2:
            a, b, difference = hits[0]
            names = f"{a['system']['name']} and {b['system']['name']}"
            yield f"{names} did unlike work ({difference}); they are not ranked.{_why_rows(what, apart)}", apart
            continue
        by_value: dict[str, list[str]] = {}
        for cell in apart:
            by_value.setdefault(_value(what, cell), []).append(cell["system"]["name"])
        values = "; ".join(f"{value} on {', '.join(names)}" for value, names in by_value.items())
        text = f"The systems did unlike work ({what}: {values}); those that differ are not ranked."
        yield text + _why_rows(what, apart), apart


def _value(what: str, cell: Cell) -> str:
    """Give what a cell has of what systems differ in."""
    if what == ROWS:
        return f"{cell['rows_per_transaction']:.4g}"
    if what == FAILED:
        rounds = [each for each in done(cell) if each["issued"]]
        return f"{sum(sum(each['failed'].values()) for each in rounds) / sum(each['issued'] for each in rounds):.1%}"
    return str(class_of(cell))


def _why_rows(what: str, apart: Sequence[Cell]) -> str:
    """Add why rows may differ although the statements are alike: transactions failed, or change rows themselves."""
    if what != ROWS:
        return ""
    rounds = [each for cell in apart for each in cell["rounds"]]
    may = "rows returned may differ because"
    why = ""
    if any(each["failed"] for each in rounds):
        why += f" Some transactions failed and do not count: {may} those left are another mix."
    if any(each["rows_changed"] for each in rounds):
        why += f" Their transactions also change rows: {may} the data changed at different speed."
    return why


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
    """Say how many transactions failed in the trials that count, by kind and message, with each cell's own share.

    A cell's message is the one that most of its rounds met first.
    """
    found: dict[tuple[str, str], list[tuple[Cell, int, int]]] = {}
    for cell in cells:
        done = [each for each in cell["rounds"] if each["status"] == "done"]
        issued = sum(each["issued"] for each in done)
        for kind, times in sum((Counter(each["failed"]) for each in done), Counter()).items():
            messages = Counter(message for each in done if (message := each["failures"].get(kind)))
            first = messages.most_common(1)[0][0] if messages else ""
            found.setdefault((kind, first), []).append((cell, times, issued))
    return [_failures(kind, message, hit) for (kind, message), hit in found.items()]


def _failures(kind: str, message: str, hit: list[tuple[Cell, int, int]]) -> Finding:
    hit.sort(key=lambda each: -each[1] / each[2])
    what = f"transactions failed ({kind})" + (f': "{message}"' if message else "")
    what += "; they are not in the throughput"
    if len(hit) == 1:
        text = f"{hit[0][1]:,} of {hit[0][2]:,} {what}.{_how_long(hit[0][0])}"
    else:
        parts = [f"{times:,} of {issued:,} ({_percent(times / issued)}) at {cell['id']}" for cell, times, issued in hit]
        more = [f"and {len(parts) - _MOST_CELLS:,} more"] if len(parts) > _MOST_CELLS else []
        text = f"In {len(hit):,} cells {what}: {'; '.join([*parts[:_MOST_CELLS], *more])}."
    shares = {cell["id"]: {"failed": times, "issued": issued} for cell, times, issued in hit}
    return {"text": text, "cells": [cell["id"] for cell, _, _ in hit], "evidence": {"kind": kind, "by_cell": shares}}


def _how_long(cell: Cell) -> str:
    """Say how long transactions took until they failed: that is a lower bound of the time that clients waited."""
    times = cell["latency_ms"].get("failed")
    if times is None or times["p50"] is None or times["max"] is None:
        return ""
    return f" It took {times['p50']:,.4g} ms at the median until they failed, {times['max']:,.4g} ms at the most."


def never_begun(cells: Sequence[Cell]) -> list[Finding]:
    """Say where an open loop did not begin 1 % or more of the arrivals that were due, by cell."""
    found: list[Finding] = []
    for cell in cells:
        done = [each for each in cell["rounds"] if each["status"] == "done"]
        due, skipped = sum(each["issued"] for each in done), sum(each["skipped"] for each in done)
        elapsed = sum(each["elapsed_s"] or 0.0 for each in done)
        if not skipped or skipped < OVERLOADED * due or not elapsed:
            continue
        served = sum(each["ok"] for each in done)
        found.append(
            {
                "text": f"{_percent(skipped / due)} of arrivals were never begun: {_rate(served / elapsed)} of "
                f"{_rate(due / elapsed)} transactions/s offered were served. In the response times the others count as "
                "lower bounds: how long they had waited at the end.",
                "cells": [cell["id"]],
                "evidence": {"skipped": skipped, "issued": due, "ok": served},
            }
        )
    return found


def _percent(share: float) -> str:
    """Write a share as a percentage, one below 10 % with a digit more."""
    return f"{share * 100:.{1 if share < 0.0995 else 0}f} %"


def _rate(value: float) -> str:
    """Write a rate without a fraction where it has three digits before it."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


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
        syncs = cell["io_per_transaction"].get("syncs") or 0.0
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


def slower_device(cells: Sequence[Cell], device: JsonObject) -> list[Finding]:
    """Say where syncs took several times as long as the device had been measured to take, so that figure is in doubt.

    ``device``: as in the document. Once for all cells, for which the share of the device's syncs is known.
    """
    measured = number(device, "sync_us")
    slow: dict[str, float] = {}
    for cell in cells:
        done = [each for each in cell["rounds"] if each["status"] == "done"]
        syncs = sum(each["io"].get("syncs") or 0 for each in done)
        seconds = sum(each["segments"].get("sync") or 0.0 for each in done)
        if cell["share_of_ceiling"]["device_sync"] is None or not measured or not syncs:
            continue
        if seconds / syncs * 1e6 >= _SLOWER * measured:
            slow[cell["id"]] = seconds / syncs * 1000
    if not slow or not measured:
        return []
    least, most = (f"{each:.3g}" for each in (min(slow.values()), max(slow.values())))
    took = least if least == most else f"{least} to {most}"
    return [
        {
            "text": "The device was slower during the trials than when it was measured: a sync took "
            f"{took} ms on average, and {measured / 1000:.3g} ms on the idle device; its speed changes, or another "
            "program uses it: repeat the run before relying on `of syncs`.",
            "cells": list(slow),
            "evidence": {"sync_ms": slow, "measured_ms": measured / 1000},
        }
    ]


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
