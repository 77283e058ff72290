"""Findings that follow from the numbers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from dbdyno.document.cell import Cell
from dbdyno.document.finding import finding
from dbdyno.document.reading import JsonObject, count, number
from dbdyno.document.shape import Finding
from dbdyno.engines import known_engine
from dbdyno.limit import OVERLOADED
from dbdyno.results.durable import class_of
from dbdyno.results.judging import FAILED, ROWS, not_comparable, other_factors
from dbdyno.results.metrics import done

# Times as long as a sync of as much was measured to take, from which the measurement is in doubt.
_SLOWER = 5.0

# Bytes of a sync that was measured, unless the device's figures say it; and up to which a sync counts as like it where
# none of another size was measured.
_MEASURED = 4096.0
_LIKE = 4 * _MEASURED

# Cells whose failures are told one by one.
_MOST_CELLS = 5


def unlike_work(cells: Sequence[Cell], told: Container[str] = ()) -> list[Finding]:
    """Say where systems with otherwise equal factors did not do the same work, once for each difference.

    ``told``: cells of which it has been said that they return other rows.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(str(other_factors(cell)), []).append(cell)
    covered: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for group in groups.values():
        for what, words, apart, differences in _differences(group, told):
            ids, all_of_them = covered.setdefault((what, words), ([], []))
            ids += [cell["id"] for cell in apart]
            all_of_them += differences
    return [
        finding("unlike work", words, dict.fromkeys(ids), {"unlike": what, "differences": list(dict.fromkeys(found))})
        for (what, words), (ids, found) in covered.items()
    ]


def _differences(group: Sequence[Cell], told: Container[str]) -> Iterator[tuple[str, str, list[Cell], list[str]]]:
    """Give in what the systems of a group differ, a sentence on it, the cells it is about, and how each two differ."""
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
        differences = [difference for _, _, difference in hits]
        if len(apart) == 2:
            a, b, difference = hits[0]
            names = f"{a['system']['name']} and {b['system']['name']}"
            text = f"{names} did unlike work ({difference}); they are not ranked.{_why_rows(what, apart)}"
            yield what, text, apart, differences
            continue
        by_value: dict[str, list[str]] = {}
        for cell in apart:
            by_value.setdefault(_value(what, cell), []).append(cell["system"]["name"])
        values = "; ".join(f"{value} on {', '.join(names)}" for value, names in by_value.items())
        text = f"The systems did unlike work ({what}: {values}); those that differ are not ranked."
        yield what, text + _why_rows(what, apart), apart, differences


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
    """Say where what was measured speaks another product's protocol."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        system = cell["system"]
        engine = known_engine(system["name"].partition(":")[0])
        if engine.original and system["engine"] not in (None, "", engine.name, engine.original):
            product = " ".join(each for each in (system["engine"], system["version"]) if each)
            found.setdefault((system["name"], product, engine.original), []).append(cell["id"])
    return [
        finding("other product", f"`{name}` is {product} here, and not {original}.", ids, {"product": product})
        for (name, product, original), ids in found.items()
    ]


def lost_updates(cells: Sequence[Cell]) -> list[Finding]:
    """Say where a server acknowledged updates that it lost, as was tried before each trial of cells that update."""
    found: dict[str, tuple[list[str], int, int, int]] = {}
    for cell in cells:
        tried = cell["system"]["lost_updates"]
        sessions, acknowledged, counted = (count(tried, name) for name in ("sessions", "acknowledged", "counted"))
        if sessions is None or acknowledged is None or counted is None or counted >= acknowledged:
            continue
        ids, _, done, kept = found.get(cell["system"]["name"], ([], 0, 0, 0))
        found[cell["system"]["name"]] = ([*ids, cell["id"]], sessions, done + acknowledged, kept + counted)
    return [
        finding(
            "lost updates",
            f"`{name}` loses updates that it acknowledges: {sessions} sessions added 1 to one document at once, before "
            f"the trials; of {acknowledged:,} updates acknowledged the document had {kept:,}.",
            ids,
            {"sessions": sessions, "acknowledged": acknowledged, "counted": kept},
        )
        for name, (ids, sessions, acknowledged, kept) in found.items()
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
    return finding("failures", text, shares, {"kind": kind, "by_cell": shares})


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
            finding(
                "skipped",
                f"{_percent(skipped / due)} of arrivals were skipped: {_rate(served / elapsed)} of "
                f"{_rate(due / elapsed)} transactions/s offered were served. In the response times the others count as "
                "lower bounds: how long they had waited at the end.",
                [cell["id"]],
                {"skipped": skipped, "issued": due, "ok": served},
            )
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
                finding(
                    "cut short",
                    f"The time limit of {done[0]['elapsed_s']:g} s came first: {reached} of {asked:,} {unit} were "
                    "done.",
                    [cell["id"]],
                    {"asked": asked, "done": counts},
                )
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
            finding(
                "more commits than syncs",
                f"{share:.3g} times as many commits a second as syncs were measured on the idle device: its "
                "speed changes, or another program used it then; repeat the run before relying on `of syncs`.",
                [cell["id"]],
                {"device_sync": share, "syncs_per_transaction": syncs},
            )
        )
    return found


def slower_device(cells: Sequence[Cell], device: JsonObject) -> list[Finding]:
    """Say where syncs took several times as long as the device had been measured to take, so that figure is in doubt.

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
        f"The device was slower during the trials than when it was measured: a sync took {_span(took)} ms on average "
        f"and wrote {_span(of_bytes, 1024)} KiB, for which the idle device takes {_span(measured)} ms; its speed "
        "changes, or another program uses it: repeat the run before relying on `of syncs`."
    )
    return [
        finding("slower device", text, took, {"sync_ms": took, "bytes_per_sync": of_bytes, "measured_ms": measured})
    ]


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


def _span(values: Mapping[str, float], unit: float = 1.0) -> str:
    least, most = (_rate(each / unit) for each in (min(values.values()), max(values.values())))
    return least if least == most else f"{least} to {most}"


def outlying_rounds(cells: Sequence[Cell]) -> list[Finding]:
    """Point out rounds far from the others of their cell."""
    hit = {cell["id"]: [each["block"] for each in cell["rounds"] if each["outlier"]] for cell in cells}
    hit = {cell: blocks for cell, blocks in hit.items() if blocks}
    if not hit:
        return []
    total = sum(len(blocks) for blocks in hit.values())
    words = "1 round lies" if total == 1 else f"{total} rounds lie"
    text = f"{words} far from the others of the same cell; outliers are kept and marked with an asterisk."
    return [finding("outliers", text, hit, {"blocks": hit})]
