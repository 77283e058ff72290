"""What an engine was seen to do for the commits that it acknowledged, and what it put off.

A class of durability is read from settings. A transaction can undo them for itself, a layer below can swallow what is
asked of it, and a setting can mean less than its name: so what was asked of the device is counted beside the class.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.document.cell import Cell, Observed, Round
from dbdyno.document.reading import JsonObject, mean, part, ratio
from dbdyno.events.watched import Observed as Told

POWER_SAFE = "power-safe"

# Of fewer commits a count says too little: one checkpoint, or one file's first sync, is a great part of it.
_FEWEST = 20

# Transactions that fail sync as well, and are no commits: where more do, there is no figure for a commit.
_FAILED = 0.01

# A commit waits for a sync, which it can share with one of each other client. Half of that still contradicts nothing.
_LEAST = 0.5

# What is put off for a transaction, from which it is worth a word: bytes, and else pages or versions.
_BYTES = 10.0
_THINGS = 0.01

_SEEN_BY = {
    "files": "as was counted at its files",
    "server": "as the server counts",
    "device": "as the kernel counts for the device",
}


def observe(done: Sequence[Round], told: Sequence[Told | None], durability: str | None, plan: JsonObject) -> Observed:
    """Take together what was seen in a cell's rounds of a class of durability.

    ``told``: what the engine told of each of them; ``plan``: what was run.
    """
    commits, syncs, seen_by, most_per_sync = 0.0, 0.0, None, 1.0
    put_off: list[dict[str, float]] = []
    counted: list[dict[str, float]] = []
    for each, engine in zip(done, told, strict=True):
        changing = float(each["transactions_changing"] or 0)
        share = ratio(changing, each["completed"]) or 0.0
        clients = int(each["window"]["clients"] or 1)
        acknowledged = 0 if engine is None else engine.acknowledged
        counters = {} if engine is None else engine.counters
        files = each["io"].get("syncs")
        # What a server did it did for all that were interleaved.
        alone = not each["interleaving"]
        if sum(each["failed"].values()) > _FAILED * each["issued"]:
            continue
        if files is not None:
            # Rows set to what they are have changed for the client, and nothing was written for them.
            written = each["io"].get("writes")
            commits += changing if written is None else min(changing, float(written))
            syncs, seen_by = syncs + files, "files"
        elif alone and "syncs" in counters:
            # The same, and the server wrote none.
            commits += min(acknowledged * share, counters.get("rows", acknowledged))
            syncs, seen_by, most_per_sync = syncs + counters["syncs"], "server", float(clients)
        elif alone and each["disk"]["device"] is not None and each["elapsed_s"]:
            asked = (each["disk"]["flushes_per_s"] or 0.0) + (each["disk"]["writes_per_s"] or 0.0)
            commits, syncs = commits + changing, syncs + asked * each["elapsed_s"]
            seen_by, most_per_sync = "device", float(clients)
        if engine is not None and acknowledged and (alone or files is not None):
            put_off.append(_put_off(engine))
            counted.append({name: value / acknowledged for name, value in counters.items()} if alone else {})
    found: Observed = {
        "commits": round(commits),
        "syncs": syncs if seen_by else None,
        "syncs_per_commit": ratio(syncs, commits) if seen_by else None,
        "seen_by": seen_by,
        "contradiction": "",
        "counters": _means(counted),
        "backlog": _means(put_off),
    }
    contradicts = seen_by is not None and commits >= _FEWEST and syncs < _LEAST * commits / most_per_sync
    if durability == POWER_SAFE and contradicts and not _rolls_back(plan):
        found["contradiction"] = (
            f"{commits:,.0f} transactions that changed rows were acknowledged, and the device was asked to make "
            f"{_times(syncs)} durable, {_SEEN_BY[seen_by or 'device']}"
        )
    return found


def class_of(cell: Cell) -> str | None:
    """Return a cell's class of durability; one that was contradicted is marked as such."""
    durability = cell["system"]["durability"]
    return f"{durability} (contradicted)" if cell["observed"]["contradiction"] else durability


def worth_telling(backlog: dict[str, float]) -> dict[str, float]:
    """Return what a transaction left unpaid, as far as it is more than next to nothing."""
    return {name: value for name, value in backlog.items() if value >= (_BYTES if "bytes" in name else _THINGS)}


def _means(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    """Give the mean of each figure over those that have it."""
    names = sorted({name for each in figures for name in each})
    return {name: mean(each.get(name) for each in figures) or 0.0 for name in names}


def _put_off(told: Told) -> dict[str, float]:
    """Give by how much what is put off grew for each transaction."""
    return {
        name: max(value - told.backlog_before.get(name, 0.0), 0.0) / told.acknowledged
        for name, value in told.backlog.items()
    }


def _times(syncs: float) -> str:
    return "nothing" if syncs < 1 else f"no more than {syncs:,.0f}"


def _rolls_back(plan: JsonObject) -> bool:
    """Whether transactions may take back what they changed, so that nothing need be durable."""
    return _holds_rollback(part(plan, "task").get("transactions"))


def _holds_rollback(source: object) -> bool:
    if isinstance(source, dict):
        return source.get("do") == "rollback" or any(_holds_rollback(each) for each in source.values())
    return isinstance(source, list) and any(_holds_rollback(each) for each in source)
