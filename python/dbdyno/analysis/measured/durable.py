"""What an engine was seen to do for the commits that it acknowledged, and what it put off.

A class of durability is read from settings. A transaction can undo them for itself, a layer below can swallow what is
asked of it, and a setting can mean less than its name: so what was asked of the device is counted beside the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.base.numbers import rough
from dbdyno.model.events.watched import Observed as Told
from dbdyno.model.result.cell import Cell, Observed, Round
from dbdyno.model.result.reading import JsonObject, mean, part, ratio

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

# A sync did not reach the device if it took less than this share of the idle device's quickest one. The device may have
# been busy when it was measured, so the sync must also be as short as a call that does nothing.
_SWALLOWED = 0.1
_NO_SYNC_US = 20.0


@dataclass(slots=True)
class _Counted:
    """What was counted over a cell's rounds.

    ``commits``: acknowledged transactions that changed rows, in the rounds in which ``syncs`` were counted;
    ``flushed_commits``: the same, in those in which the disk's ``flushes`` were.
    """

    commits: float = 0.0
    syncs: float = 0.0
    seen_by: str | None = None
    most_per_sync: float = 1.0
    sync_s: float = 0.0
    flushed_commits: float = 0.0
    flushes: float | None = None
    disk: str = ""
    clients: float = 1.0

    def add(self, each: Round, engine: Told | None) -> None:
        """Add a round. ``engine``: what the engine told of it."""
        changing = float(each.transactions_changing or 0)
        acknowledged = 0 if engine is None else engine.acknowledged
        counters = {} if engine is None else engine.counters
        clients = int(each.window["clients"] or 1)
        # What a server did it did for all that were interleaved.
        alone = not each.interleaving
        files, disk = each.io.get("syncs"), each.flushes
        flushes = None if not disk else float(disk["flushes"] + disk["forced_writes"])
        commits = changing
        if files is not None:
            # Rows set to what they are have changed for the client, and nothing was written for them.
            written = each.io.get("writes")
            commits = changing if written is None else min(changing, float(written))
            self.sync_s += each.segments.get("sync") or 0.0
            self._add_syncs(commits, files, "files", 1.0)
        elif alone and "syncs" in counters:
            # The same, and the server wrote none.
            share = ratio(changing, each.completed) or 0.0
            commits = min(acknowledged * share, counters.get("rows", acknowledged))
            self._add_syncs(commits, counters["syncs"], "server", clients)
        elif alone and flushes is not None:
            self._add_syncs(commits, flushes, "device", clients)
        if flushes is not None:
            self.flushed_commits, self.flushes = self.flushed_commits + commits, (self.flushes or 0.0) + flushes
            self.disk, self.clients = disk["device"], max(self.clients, float(clients))

    def _add_syncs(self, commits: float, syncs: float, seen_by: str, most_per_sync: float) -> None:
        self.commits, self.syncs = self.commits + commits, self.syncs + syncs
        self.seen_by, self.most_per_sync = seen_by, max(self.most_per_sync, most_per_sync)

    def contradiction(self, quickest_us: float | None) -> str:
        """Say why commits cannot have been durable; empty if they can. ``quickest_us``: of the idle device's syncs."""
        commits, own = f"{self.commits:,.0f} commits were acknowledged", ""
        if self.seen_by in _COUNTED_BY:
            own = f"{_COUNTED_BY[self.seen_by]} {_times(self.syncs, 'sync')}"
            if self._lacks(self.syncs, self.commits, self.most_per_sync):
                return f"{commits}, but {own}"
        found = []
        if self.flushes is not None and self._lacks(self.flushes, self.flushed_commits, self.clients):
            flushes = f"the disk {self.disk} completed {_times(self.flushes, 'flush')}"
            found.append(f"{flushes} for {self.flushed_commits:,.0f} commits{f' ({own})' if own else ''}")
        each_us = ratio(self.sync_s * 1e6, self.syncs) if self.seen_by == "files" else None
        none_us = min(_SWALLOWED * (quickest_us or 0.0), _NO_SYNC_US)
        if each_us is not None and each_us < none_us and self.commits >= _FEWEST:
            quickest = f"the quickest one of the idle device took {rough(quickest_us or 0.0)} µs"
            found.append(f"a sync took {rough(each_us)} µs, but {quickest}")
        return "; ".join(found)

    @staticmethod
    def _lacks(syncs: float, commits: float, most_per_sync: float) -> bool:
        return commits >= _FEWEST and syncs < _LEAST * commits / most_per_sync


_COUNTED_BY = {"files": "its files got", "server": "the server counted"}


def observe(
    done: Sequence[Round],
    told: Sequence[Told | None],
    durability: str | None,
    plan: JsonObject,
    quickest_us: float | None = None,
) -> Observed:
    """Add up what was counted in a cell's rounds, and compare it with the class of durability.

    ``told``: each round's counts by the engine; ``plan``: that of the rounds; ``quickest_us``: microseconds of the
    shortest sync of the idle device.
    """
    counted = _Counted()
    put_off: list[dict[str, float]] = []
    counters: list[dict[str, float]] = []
    for each, engine in zip(done, told, strict=True):
        if sum(each.failed.values()) > _FAILED * each.issued:
            continue
        counted.add(each, engine)
        alone = not each.interleaving
        if engine is not None and engine.acknowledged and (alone or each.io.get("syncs") is not None):
            put_off.append(_put_off(engine))
            risen = {name: value / engine.acknowledged for name, value in engine.counters.items()}
            counters.append(risen if alone else {})
    safe = durability == POWER_SAFE and not _rolls_back(plan)
    return Observed(
        commits=round(counted.commits),
        syncs=counted.syncs if counted.seen_by else None,
        syncs_per_commit=ratio(counted.syncs, counted.commits) if counted.seen_by else None,
        seen_by=counted.seen_by,
        device_flushes=None if counted.flushes is None else round(counted.flushes),
        flushes_per_commit=ratio(counted.flushes, counted.flushed_commits),
        contradiction=counted.contradiction(quickest_us) if safe else "",
        counters=_means(counters),
        backlog=_means(put_off),
    )


def class_of(cell: Cell) -> str | None:
    """Return a cell's class of durability; one that was contradicted is marked as such."""
    durability = cell.system.durability
    return f"{durability} (contradicted)" if cell.observed.contradiction else durability


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


def _times(count: float, what: str) -> str:
    many = f"{what}es" if what.endswith("sh") else f"{what}s"
    return f"no {what}" if count < 1 else f"{count:,.0f} {what if round(count) == 1 else many}"


def _rolls_back(plan: JsonObject) -> bool:
    """Whether transactions may take back what they changed, so that nothing need be durable."""
    return _holds_rollback(part(plan, "task").get("transactions"))


def _holds_rollback(source: object) -> bool:
    if isinstance(source, dict):
        return source.get("do") == "rollback" or any(_holds_rollback(each) for each in source.values())
    return isinstance(source, list) and any(_holds_rollback(each) for each in source)
