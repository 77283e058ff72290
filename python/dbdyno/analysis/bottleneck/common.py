"""The type of a bottleneck, and the rules and bounds for embedded systems and servers."""

from collections.abc import Collection, Mapping

from dbdyno.base.numbers import percent
from dbdyno.base.text import shortened
from dbdyno.engines import engine_of_product
from dbdyno.engines.searches import has_indexable_condition
from dbdyno.model.events.machine import CpuShare
from dbdyno.model.events.observations import Segments
from dbdyno.model.events.trial import TrialResult

# ``resource``, ``evidence`` and ``advice``.
Bottleneck = dict[str, str]

# Maximum length of a displayed statement.
_MAX_SQL_LENGTH = 80

CLIENT = "client"
"""The name of the bottleneck if the load generator itself is the limit."""

# Bounds; docs/explanation/bottlenecks.md explains them. Shares of the clients' time: idle, and in a wait.
IDLE = 0.5
WAITING = 0.25

# An open loop is overloaded if it skips at least this share of its arrivals.
OVERLOADED = 0.01

# If a larger share of the started transactions failed, failures are the bottleneck.
_FAILED = 0.5

# Shares of all CPUs: used by other programs, and by the clients and the system under test.
_DISTURBED = 0.3
FULL = 0.85

# Other programs must use at least this share of one CPU to explain threads that waited for a CPU.
_TAKEN = 0.2
# Report CPU time taken by the host above this share of one CPU.
_STOLEN = 0.05

# Seconds. Clients start and stop, and CPU time is read, within some tenths of a millisecond: some percent of a shorter
# window, so that its shares can exceed 100 %.
_TOO_SHORT_S = 0.01

# Seconds. The kernel reports idle time in units of 10 ms, so the use by other programs is unknown for shorter windows.
MIN_WINDOW_S = 0.2


def bottleneck(resource: str, evidence: str, advice: str) -> Bottleneck:
    """Make a bottleneck: the resource, the evidence, and a change to try."""
    return {"resource": resource, "evidence": evidence, "advice": advice}


def shares_of(segments: Segments, total: float) -> dict[str, float]:
    """Convert the seconds of each segment of the clients' time to shares of the total."""
    return {name: seconds / total for name, seconds in segments}


def too_short(elapsed: float) -> Bottleneck | None:
    """Return an unclear bottleneck if a window of ``elapsed`` seconds is too short to judge."""
    if elapsed >= _TOO_SHORT_S:
        return None
    text = f"the window took {elapsed * 1e3:.2g} ms, too short for reliable shares of time and CPU"
    return bottleneck("unclear", text, "lengthen the window: increase `load.stop`")


def failing(result: TrialResult, begins: Collection[str] | None = None) -> Bottleneck | None:
    """Name failures as the bottleneck if most of the started transactions failed.

    ``begins``: the BEGIN modes of the transactions, empty if each statement is its own transaction; ``None``: unknown.
    """
    accounting = result.accounting
    failed = {kind: times for kind, times in accounting.failed.items() if times}
    begun, total = accounting.issued - accounting.skipped, sum(failed.values())
    if total <= _FAILED * begun:
        return None
    kind = max(failed, key=lambda each: failed[each])
    text = f"{total:,} of {begun:,} transactions failed ({percent(total / begun)}), "
    text += "all" if len(failed) == 1 else f"{failed[kind]:,}"
    most = max(
        (failure for failure in result.failed_by_code if failure.kind == kind),
        key=lambda failure: failure.count,
        default=None,
    )
    message = result.failures.get(kind) if most is None else most.message
    text += f" of the kind {kind}" + (f': "{message}"' if message else "")
    text += f"; {holder} held the lock" if kind == "locked" and (holder := lock_holder_name(result)) else ""
    return bottleneck("failures", text, _against(kind, result, begins, accounting.retries))


def _against(kind: str, result: TrialResult, begins: Collection[str] | None, retries: int) -> str:
    if kind == "locked":
        own = engine_of_product(result.engine.engine).against_locked(result, begins)
        if own is not None:
            return own
    if kind in ("locked", "deadlock", "serialization"):
        advice = "shorter transactions, or work that conflicts less often on the same rows"
        return advice if retries else f"{advice}; load.retry retries them"
    return "fix the cause that the error message gives before you look at other results"


def lock_holder_name(result: TrialResult) -> str:
    """Return the program that locked the data most often, such as ``process 12 (backup.sh)``, or an empty string."""
    if result.lock_holders is None or not result.lock_holders.holders:
        return ""
    holder = result.lock_holders.holders[0]
    if holder.samples < WAITING * result.lock_holders.samples:
        return ""
    named = f"process {holder.pid}" if holder.pid else "a process of another namespace or machine"
    return named + (f" ({shortened(holder.command, _MAX_SQL_LENGTH)})" if holder.command else "")


MORE_LOAD = (
    "use more clients, or run without pauses: remove `-- think:` and `think`, or make the workload with "
    "`dbdyno distil TRACE -o FILE --think none`"
)
"""How clients with pauses offer more load."""


def offered_load(shares: Mapping[str, float], result: TrialResult) -> Bottleneck | None:
    """Name the offered load as the bottleneck if the clients were mostly idle, due to the rate or think time.

    ``shares``: of their time, by segment. If arrivals were skipped, the load was not too low: then there are too few
    clients, or the system stalled for a part of the window.
    """
    idle = shares.get("idle", 0.0)
    if idle < IDLE:
        return None
    text = f"the clients were idle for {percent(idle)} of the time"
    issued, skipped = result.accounting.issued, result.accounting.skipped
    if skipped < OVERLOADED * issued or not skipped:
        # Only an open loop has response times, and a rate to raise.
        rate = "response" in result.latency_ms
        return bottleneck("offered load", text, "raise the rate, or use more clients" if rate else MORE_LOAD)
    text += f", yet {skipped:,} of {issued:,} arrivals were skipped"
    advice = "use more clients if they have think time; otherwise look for stalls in the timeline"
    return bottleneck("number of clients", text, advice)


def cheaper(result: TrialResult, statements: Mapping[str, str] | None) -> str:
    """Advise cheaper statements, or an index for a statement that searches for some rows but scans a whole table.

    ``statements``: SQL by name, ``None`` if unknown.
    """
    known = engine_of_product(result.engine.engine)
    plans, over = result.engine.plans, result.engine.passed_over
    scanning = [
        sql
        for statement, sql in (statements or {}).items()
        if known.looks_up(plans.get(statement) or ()) is False
        # The planner rejected an existing index as more expensive than a scan.
        and not over.get(statement)
        and has_indexable_condition(sql, known.name)
    ]
    if not scanning:
        return "cheaper statements"
    more = f" and {len(scanning) - 1} more" if len(scanning) > 1 else ""
    return f"cheaper statements, or an index for `{shortened(' '.join(scanning[0].split()), _MAX_SQL_LENGTH)}`{more}"


def cpu_quota(result: TrialResult, clients: int, waiting: float) -> Bottleneck | None:
    """Name a control group's CPU quota if it stopped clients or server for longer than any other wait took.

    ``waiting``: share of the largest other wait in the clients' time.
    """
    at_once = max(min(clients, result.cpu.cores), 1)
    stopped = {
        whose: throttling.throttled_s / max(result.elapsed_s * min(at_once, max(round(throttling.cpus + 0.5), 1)), 1e-9)
        for whose, throttling in result.throttling.items()
        if throttling.throttled_periods
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
    """Name the machine as disturbed if other programs, or the host of a virtual machine, used its CPUs.

    ``own``: number of CPUs used by clients and system; ``elapsed``: seconds; ``delayed``: share of the clients' time in
    which they or their server were ready but had no CPU. ``delayed`` is exact, so it is also valid for short windows,
    unless clients and server may compete with each other (``crowded``).
    """
    known = elapsed >= MIN_WINDOW_S
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
        parts.append(f"other programs used {percent(other)} of one CPU")
    if stolen > _STOLEN:
        parts.append(f"the host took {percent(stolen)}")
    return bottleneck("disturbed machine", ", ".join(parts), "measure again when the machine is idle")


def add_disturbance(found: Bottleneck, disturbed: Bottleneck | None) -> Bottleneck:
    """Return a bottleneck with a disturbance of the machine appended to its evidence."""
    if disturbed is None:
        return found
    return bottleneck(found["resource"], f"{found['evidence']}; {disturbed['evidence']}", found["advice"])


MORE_ROUNDS = "repeat with --rounds 10, or measure one cell for longer"


def unclear(shares: str, hint: str = MORE_ROUNDS) -> Bottleneck:
    """Return an unclear bottleneck. ``shares``: a clause with the largest shares; ``hint``: how to find out more."""
    return bottleneck("unclear", f"no cause stands out: {shares}", hint)
