"""Compare the syncs and flushes counted during a cell's rounds with its durability class.

The durability class is derived from settings. A transaction can override them, a lower layer can ignore syncs, and a
setting can do less than its name promises. The syncs and flushes that really happened are therefore counted too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.base.numbers import rough
from dbdyno.model.events.observations import Observed as EngineCounts
from dbdyno.model.plan.steps import Rollback, flat
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell, Observed, Round
from dbdyno.model.result.reading import mean, ratio

POWER_SAFE = "power-safe"

# With fewer commits, a single checkpoint or a file's first sync is a large part of the count.
_MIN_COMMITS = 20

# Failed transactions sync too but are not commits. Rounds with a larger share of failures are left out.
_FAILED = 0.01

# A commit waits for a sync that it may share with one commit of each other client. Require only half of these syncs.
_MIN_SYNCS = 0.5

# Deferred work per transaction that is worth reporting: bytes, and pages or versions.
_BYTES = 10.0
_THINGS = 0.01

# A sync did not reach the device if it took less than this share of the idle device's fastest sync. The device may have
# been busy when that was measured, so the sync must also be as short as a system call that does nothing.
_SWALLOWED = 0.1
_NO_SYNC_US = 20.0


@dataclass(slots=True)
class _Counted:
    """Sums over a cell's rounds.

    ``commits``: acknowledged transactions that changed rows, in rounds in which ``syncs`` were counted;
    ``flushed_commits``: the same, in rounds in which the disk's ``flushes`` were counted.
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

    def add(self, round_: Round, engine: EngineCounts | None) -> None:
        """Add a round. ``engine``: the engine's own counts."""
        changing = float(round_.transactions_changing or 0)
        acknowledged = 0 if engine is None else engine.acknowledged
        counters = {} if engine is None else engine.counters
        clients = int(round_.window["clients"] or 1)
        # A server's counts include all interleaved cells.
        alone = not round_.interleaving
        files, disk = round_.io.get("syncs"), round_.flushes
        flushes = None if not disk else float(disk["flushes"] + disk["forced_writes"])
        commits = in_window = changing
        if files is not None:
            # A row updated to the same value counts as changed, but the engine writes nothing for it.
            written = round_.io.get("writes")
            commits = in_window = changing if written is None else min(changing, float(written))
            self.sync_s += round_.segments.get("sync") or 0.0
            self._add_syncs(commits, files, "files", 1.0)
        elif alone and "syncs" in counters:
            # As above: the server counts only the rows that it wrote.
            share = ratio(changing, round_.completed) or 0.0
            commits = min(acknowledged * share, counters.get("rows", acknowledged))
            # The server's counts include the warm-up, the disk's don't.
            in_window = commits * (ratio(round_.completed, acknowledged) or 0.0)
            self._add_syncs(commits, counters["syncs"], "server", clients)
        elif alone and flushes is not None:
            self._add_syncs(commits, flushes, "device", clients)
        if flushes is not None:
            self.flushed_commits, self.flushes = self.flushed_commits + in_window, (self.flushes or 0.0) + flushes
            self.disk, self.clients = disk["device"], max(self.clients, float(clients))

    def _add_syncs(self, commits: float, syncs: float, seen_by: str, most_per_sync: float) -> None:
        self.commits, self.syncs = self.commits + commits, self.syncs + syncs
        self.seen_by, self.most_per_sync = seen_by, max(self.most_per_sync, most_per_sync)

    def contradiction(self, quickest_us: float | None) -> str:
        """Return why commits cannot have been durable; empty if they can. ``quickest_us``: see :func:`observe`."""
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
        if each_us is not None and each_us < none_us and self.commits >= _MIN_COMMITS:
            quickest = f"the fastest sync of the idle device took {rough(quickest_us or 0.0)} µs"
            found.append(f"a sync took {rough(each_us)} µs, but {quickest}")
        return "; ".join(found)

    @staticmethod
    def _lacks(syncs: float, commits: float, most_per_sync: float) -> bool:
        return commits >= _MIN_COMMITS and syncs < _MIN_SYNCS * commits / most_per_sync


_COUNTED_BY = {"files": "its files received", "server": "the server counted"}


def observe(
    done: Sequence[Round],
    counts: Sequence[EngineCounts | None],
    durability: str | None,
    rolls_back: bool,
    quickest_us: float | None = None,
) -> Observed:
    """Sum the counts of a cell's rounds and compare them with its durability class.

    ``counts``: the engine's own counts of each round; ``rolls_back``: transactions may roll back; ``quickest_us``: the
    fastest sync of the idle device in microseconds.
    """
    counted = _Counted()
    put_off: list[dict[str, float]] = []
    counters: list[dict[str, float]] = []
    for round_, engine in zip(done, counts, strict=True):
        if sum(round_.failed.values()) > _FAILED * round_.issued:
            continue
        counted.add(round_, engine)
        alone = not round_.interleaving
        if engine is not None and engine.acknowledged and (alone or round_.io.get("syncs") is not None):
            put_off.append(_put_off(engine))
            risen = {name: value / engine.acknowledged for name, value in engine.counters.items()}
            counters.append(risen if alone else {})
    safe = durability == POWER_SAFE and not rolls_back
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
    """Return a cell's durability class, marked if the counts contradict it; None if unknown."""
    durability = cell.system.durability
    return f"{durability} (contradicted)" if cell.observed.contradiction else durability


def notable_backlog(backlog: dict[str, float]) -> dict[str, float]:
    """Return the work deferred per transaction without negligible amounts."""
    return {name: value for name, value in backlog.items() if value >= (_BYTES if "bytes" in name else _THINGS)}


def _means(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each value over the dictionaries that contain it."""
    names = sorted({name for figure in figures for name in figure})
    return {name: mean(figure.get(name) for figure in figures) or 0.0 for name in names}


def _put_off(counts: EngineCounts) -> dict[str, float]:
    """Return the growth of each kind of deferred work per transaction."""
    return {
        name: max(value - counts.backlog_before.get(name, 0.0), 0.0) / counts.acknowledged
        for name, value in counts.backlog.items()
    }


def _times(count: float, what: str) -> str:
    many = f"{what}es" if what.endswith("sh") else f"{what}s"
    return f"no {what}" if count < 1 else f"{count:,.0f} {what if round(count) == 1 else many}"


def rolls_back(task: TrialTask | None) -> bool:
    """Whether transactions may roll back, so that their changes need not be durable."""
    transactions = () if task is None else task.transactions
    return any(isinstance(step, Rollback) for transaction in transactions for step in flat(transaction.steps))
