"""What the bottleneck of a trial is, and the rules and bounds that hold for embedded systems and servers alike."""

from collections.abc import Collection, Mapping

from dbdyno.base.text import shortened
from dbdyno.engines import engine_of_product
from dbdyno.engines.searches import looks_for_some
from dbdyno.model.events.machine import CpuShare
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.events.watched import Segments

# ``resource``, ``evidence`` and ``advice``.
Bottleneck = dict[str, str]

# Characters of a statement that are shown.
_LONGEST = 80

CLIENT = "client"
"""The bottleneck where it is the load generator's own computing."""

# Bounds; docs/explanation/bottlenecks.md gives the reasons for them. Of the clients' time: idle, and in a wait.
IDLE = 0.5
WAITING = 0.25

# Of the arrivals of an open loop: skipped, from which it counts as overloaded.
OVERLOADED = 0.01

# Of the transactions begun: failed, above which nothing else is worth a word.
_FAILED = 0.5

# Of the processors: kept busy by others, and by what is measured.
_DISTURBED = 0.3
FULL = 0.85

# Of one processor: what others must use for threads to have waited because of them.
_TAKEN = 0.2
# Of one: what the host took, to be worth a clause.
_STOLEN = 0.05

# Seconds. Clients begin and end, and CPU time is read, within some tenths of a millisecond: of a shorter window that is
# percents, and shares of it may come to more than the whole.
_TOO_SHORT_S = 0.01

# The kernel tells the processors' idle time in units of 10 ms: what other programs used is not known of a window that
# is shorter than this (seconds).
SHORTEST_S = 0.2


def bottleneck(resource: str, evidence: str, advice: str) -> Bottleneck:
    """Name a bottleneck: what it is, what shows it, and what to try."""
    return {"resource": resource, "evidence": evidence, "advice": advice}


def percent(share: float) -> str:
    """Write a share as a percentage: ``0.5`` as ``50 %``."""
    return f"{share * 100:.0f} %"


def shares_of(segments: Segments, total: float) -> dict[str, float]:
    """Give seconds of the clients' time, by segment, as shares of the total."""
    return {name: seconds / total for name, seconds in segments}


def too_short(elapsed: float) -> Bottleneck | None:
    """Say that nothing can be said of a window of so many seconds, where that is so."""
    if elapsed >= _TOO_SHORT_S:
        return None
    text = f"the window took {elapsed * 1e3:.2g} ms, too short for its shares of time and CPU to mean anything"
    return bottleneck("unclear", text, "give it more work: a greater `load.stop`")


def failing(result: TrialResult, begins: Collection[str] | None = None) -> Bottleneck | None:
    """Say that most of the transactions that were begun failed, where they did. ``result``: the worker's.

    ``begins``: the modes in which they begin, none where each statement is a transaction of its own; ``None``: it is
    not known.
    """
    accounting = result.accounting
    failed = {kind: times for kind, times in accounting.failed.items() if times}
    begun, total = accounting.issued - accounting.skipped, sum(failed.values())
    if total <= _FAILED * begun:
        return None
    kind = max(failed, key=lambda each: failed[each])
    text = f"{total:,} of {begun:,} transactions failed ({percent(total / begun)}), "
    text += "all" if len(failed) == 1 else f"{failed[kind]:,}"
    most = max((each for each in result.failed_by_code if each.kind == kind), key=lambda each: each.count, default=None)
    message = result.failures.get(kind) if most is None else most.message
    text += f" of the kind {kind}" + (f': "{message}"' if message else "")
    text += f"; {holder} held the lock" if kind == "locked" and (holder := held_by(result)) else ""
    return bottleneck("failures", text, _against(kind, result, begins, accounting.retries))


def _against(kind: str, result: TrialResult, begins: Collection[str] | None, retries: int) -> str:
    if kind == "locked":
        own = engine_of_product(result.engine.engine).against_locked(result, begins)
        if own is not None:
            return own
    if kind in ("locked", "deadlock", "serialization"):
        advice = "shorter transactions, or work that meets less often on the same rows"
        return advice if retries else f"{advice}; load.retry tries again"
    return "look at the message: nothing else counts before this is mended"


def held_by(result: TrialResult) -> str:
    """Name the other program that locked the data most often, as ``process 12 (backup.sh)``; empty if none did."""
    if result.lock_holders is None or not result.lock_holders.holders:
        return ""
    holder = result.lock_holders.holders[0]
    if holder.samples < WAITING * result.lock_holders.samples:
        return ""
    named = f"process {holder.pid}" if holder.pid else "a process of another namespace or machine"
    return named + (f" ({shortened(holder.command, _LONGEST)})" if holder.command else "")


def offered_load(shares: Mapping[str, float], result: TrialResult) -> Bottleneck | None:
    """Say that the clients had too little to do, where they had: because of the rate, or of what they are to think.

    ``shares``: of their time, by segment; ``result``: the worker's. Where arrivals were skipped, the load was not
    too low, and clients that were idle all the same are too few, or were held up for a part of the window.
    """
    idle = shares.get("idle", 0.0)
    if idle < IDLE:
        return None
    text = f"the clients had nothing to do for {percent(idle)} of the time"
    issued, skipped = result.accounting.issued, result.accounting.skipped
    if skipped < OVERLOADED * issued or not skipped:
        # Latencies from the scheduled start are an open loop's only; a closed one has no rate.
        rate = "response" in result.latency_ms
        advice = "raise the rate, or use more clients" if rate else "use more clients, or let them think less"
        return bottleneck("offered load", text, advice)
    text += f", yet {skipped:,} of {issued:,} arrivals were skipped"
    advice = "use more clients if they think; else see in the timeline when the system stood still"
    return bottleneck("number of clients", text, advice)


def cheaper(result: TrialResult, statements: Mapping[str, str] | None) -> str:
    """Advise cheaper statements; and an index for one that looks for some rows, and by its plan reads all of a table.

    ``result``: the worker's; ``statements``: their texts, by name, ``None`` where they are not known.
    """
    known = engine_of_product(result.engine.engine)
    plans, over = result.engine.plans, result.engine.passed_over
    scanning = [
        sql
        for statement, sql in (statements or {}).items()
        if known.looks_up(plans.get(statement) or ()) is False
        # An index that is there, and dearer than reading all, is none to be made.
        and not over.get(statement)
        and looks_for_some(sql, known.name)
    ]
    if not scanning:
        return "cheaper statements"
    more = f" and {len(scanning) - 1} more" if len(scanning) > 1 else ""
    return f"cheaper statements, or an index for `{shortened(' '.join(scanning[0].split()), _LONGEST)}`{more}"


def cpu_quota(result: TrialResult, clients: int, waiting: float) -> Bottleneck | None:
    """Name a control group's CPU quota if it stopped clients or server for longer than any other wait took.

    ``waiting``: the largest other wait, as a share of the clients' time.
    """
    at_once = max(min(clients, result.cpu.cores), 1)
    stopped = {
        whose: each.throttled_s / max(result.elapsed_s * min(at_once, max(round(each.cpus + 0.5), 1)), 1e-9)
        for whose, each in result.throttling.items()
        if each.throttled_periods
    }
    client = result.throttling.get("client")
    if client is not None and client.throttled_periods > client.periods / 2:
        # The kernel counts a part of the time that a stopped thread waits as time in the run queue.
        stopped["client"] += result.time.segments.run_queue / max(result.time.client_s, 1e-9)
    whose = max(stopped, key=lambda name: stopped[name], default="")
    if not whose or stopped[whose] < max(WAITING, waiting):
        return None
    quota = result.throttling[whose]
    used = result.cpu if whose == "client" or result.server is None else result.server.cpu
    text = f"a CPU quota of {quota.cpus:.3g} stopped the {whose} in {quota.throttled_periods:,} of {quota.periods:,}"
    text += (
        f" periods, for {percent(min(stopped[whose], 1.0))} of the time; it used {used.process_percent:.0f} % of a CPU"
    )
    return bottleneck("CPU quota", text, "a larger quota (cpu.max of its control group, `--cpus` of a container)")


def disturbed_machine(cpu: CpuShare, own: float, elapsed: float, delayed: float, *, crowded: bool) -> Bottleneck | None:
    """Say that others had the processors, where they had: other programs, or the host of a virtual machine.

    ``cpu``: as the worker gives it; ``own``: processors that client and system kept busy; ``elapsed``: seconds;
    ``delayed``: the share of the clients' time in which they, or their server, were ready but had no CPU. That is
    measured exactly, so it also tells of a short window, unless they may be in one another's way (``crowded``).
    """
    known = elapsed >= SHORTEST_S
    other = max(cpu.machine_percent / 100 - own, 0.0) if known else 0.0
    stolen = cpu.steal_percent / 100 if known else 0.0
    taken = other >= _TAKEN or stolen > _STOLEN if known else not crowded
    waited = delayed >= WAITING and own < FULL * cpu.cores and taken
    if other + stolen < _DISTURBED * cpu.cores and not waited:
        return None
    parts = []
    if waited:
        parts.append(f"clients or server were ready but had no CPU for {percent(min(delayed, 1.0))} of the time")
    if known:
        parts.append(f"other programs used {percent(other)} of a processor")
    if stolen > _STOLEN:
        parts.append(f"the host took {percent(stolen)}")
    return bottleneck("disturbed machine", ", ".join(parts), "measure again when the machine is quiet")


def beside(found: Bottleneck, disturbed: Bottleneck | None) -> Bottleneck:
    """Return a bottleneck that was measured, with a disturbance of the machine said after it."""
    if disturbed is None:
        return found
    return bottleneck(found["resource"], f"{found['evidence']}; {disturbed['evidence']}", found["advice"])


MORE_ROUNDS = "repeat with --rounds 10, or watch one cell for longer"


def unclear(shares: str, hint: str = MORE_ROUNDS) -> Bottleneck:
    """Say that nothing stands out. ``shares``: how the largest parts came out, a clause; ``hint``: what would tell."""
    return bottleneck("unclear", f"no cause stands out: {shares}", hint)
