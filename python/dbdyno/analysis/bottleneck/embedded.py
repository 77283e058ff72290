"""The bottleneck of a trial on an embedded engine: the limiting resource, the evidence, and a change to try.

The evidence is where the clients' time went (``docs/reference/result-document.md``, ``time``), the CPU, and the
engine's own counts. The first rule that matches wins; docs/explanation/bottlenecks.md explains the bounds:

1. More than half of the started transactions failed: failures.
2. A window of less than 10 ms: unclear.
3. Idle half of the time (open loop, think time): the offered load; if an open loop skipped arrivals nevertheless, the
   number of clients.
4. A CPU quota that stopped the process for a quarter of the time or more, and longer than any wait: the quota.
5. A wait (sync, mutex, file lock) that takes a quarter of the time or more and is the largest share: that wait.
6. The clients' threads used 85 % or more of the CPUs available to them: the CPU, with the most expensive work.
7. A wait of a quarter or more that is the largest wait, and longer than the clients were ready without a CPU: that
   wait; also reads, if the device was busy with reads for at least half as long. Mentions the use by other programs.
8. Other programs kept the CPUs busy, or clients were ready without a CPU for a quarter of the time: a disturbed
   machine.
9. Reads or writes of a quarter or more: reads or writes.
10. Anything else is unclear; the evidence lists the shares.
"""

from collections.abc import Collection, Mapping

from dbdyno.analysis.bottleneck.common import (
    FULL,
    WAITING,
    Bottleneck,
    add_disturbance,
    bottleneck,
    cheaper,
    cpu_quota,
    disturbed_machine,
    failing,
    lock_holder_name,
    offered_load,
    shares_of,
    too_short,
    unclear,
)
from dbdyno.base.numbers import percent
from dbdyno.engines import engine_of_product
from dbdyno.engines.embedded_advice import Embedded
from dbdyno.model.events.trial import TrialResult

# Phrases for the kinds of work.
_WORK = {
    "engine": "computing in {title}",
    "read": "reading pages that were not in the page cache",
    "lock_calls": "system calls that lock and unlock the file",
    "write": "writing pages",
    "prepare": "parsing statements",
}

# Shares of the CPU time: parsing that is worth a sentence, and the least part that is listed.
_MUCH_PARSING, _SHOWN_SHARE = 0.2, 0.05


def diagnose(  # noqa: PLR0911 - the first rule that applies
    result: TrialResult,
    clients: int,
    begins: Collection[str] | None = None,
    statements: Mapping[str, str] | None = None,
) -> Bottleneck | None:
    """Return the bottleneck of a trial, or ``None`` if the clients spent no time.

    ``result``: the worker's result event; ``clients``: their number; ``begins``: the BEGIN modes of the transactions,
    ``None`` if unknown; ``statements``: SQL by name.
    """
    total = result.time.client_s
    if total <= 0:
        return None
    shares = shares_of(result.time.segments, total)
    cores, elapsed = result.cpu.cores, result.elapsed_s
    library = engine_of_product(result.engine.engine).embedded(result, clients)
    # Clients can run longer than the window, so divide by their own time.
    used = result.time.cpu_s / max(total / clients, 1e-9)
    possible = min(clients, cores)
    waits = {name: shares.get(name, 0.0) for name in ("sync", "mutex_wait", "file_lock_wait")}
    wait = max(waits, key=lambda name: waits[name])
    largest = max(shares, key=lambda name: shares[name], default="")
    first = failing(result, begins) or too_short(elapsed) or offered_load(shares, result)
    if first is not None:
        return first
    delayed = shares.get("run_queue", 0.0)
    quota = cpu_quota(result, clients, waits[wait])
    if quota is not None:
        return quota
    own = result.cpu.process_percent / 100
    disturbed = disturbed_machine(result.cpu, own, elapsed, delayed, crowded=clients > cores)
    if waits[wait] >= WAITING and largest == wait:
        return add_disturbance(_wait(wait, waits[wait], result, library, clients), disturbed)
    if used >= FULL * possible:
        return _cpu(shares, used, possible, cores=cores, library=library, cheaper_words=cheaper(result, statements))
    if waits[wait] >= max(WAITING, delayed):
        return add_disturbance(_wait(wait, waits[wait], result, library, clients), disturbed)
    reads = shares.get("read", 0.0)
    if reads >= max(WAITING, delayed) and _device_read_share(result) >= reads / 2:
        return add_disturbance(_storage("read", reads, result, library), disturbed)
    if disturbed is not None:
        return disturbed
    for name in ("read", "write"):
        if shares.get(name, 0.0) >= WAITING:
            return _storage(name, shares[name], result, library)
    return unclear(f"{_largest(shares)}; CPU {used * 100:.0f} % of {possible * 100} %")


def _wait(name: str, share: float, result: TrialResult, library: Embedded, clients: int) -> Bottleneck:
    if name == "mutex_wait":
        return _mutex(share, result, library)
    if name == "file_lock_wait":
        waits = result.io.file_lock_waits
        text = f"clients waited {percent(share)} of their time for a lock on the database file ({waits:,} times)"
        holder = lock_holder_name(result)
        if holder and result.lock_holders is not None:
            seen, samples = result.lock_holders.holders[0].samples, result.lock_holders.samples
            text += f"; another program, {holder}, held it in {seen:,} of {samples:,} samples"
            return bottleneck("file lock", text, "end that program, or shorten its transactions")
        if clients == 1:
            text += "; the one client can only wait for another program"
        return bottleneck("file lock", text, library.against_file_locks())
    syncs, transactions = result.io.syncs, max(result.completed, 1)
    seconds = result.time.segments.sync
    each = f"{syncs / transactions:.3g} syncs per transaction of {seconds / max(syncs, 1) * 1000:.3g} ms each"
    text = f"{percent(share)} of the time went into waiting for the device to sync: {each}"
    return bottleneck("device sync", text, library.against_syncs())


def _mutex(share: float, result: TrialResult, library: Embedded) -> Bottleneck:
    sites = [] if result.mutex is None else result.mutex.sites
    text = f"clients waited {percent(share)} of their time for a mutex"
    if not sites:
        return bottleneck("mutex", text, library.against_mutex(""))
    by_holder: dict[tuple[str, str], float] = {}
    for site in sites:
        key = (site.mutex, site.function)
        by_holder[key] = by_holder.get(key, 0.0) + site.wait_s
    (mutex, function), seconds = max(by_holder.items(), key=lambda item: item[1])
    part = seconds / max(sum(by_holder.values()), 1e-12)
    text += f", {percent(part)} of that for the {mutex} mutex, which {function} acquires"
    return bottleneck("mutex", text, library.against_mutex(mutex))


def _cpu(
    shares: Mapping[str, float], used: float, possible: int, *, cores: int, library: Embedded, cheaper_words: str
) -> Bottleneck:
    work = {name: float(shares.get(name, 0.0)) for name in _WORK}
    total = max(sum(work.values()), 1e-12)
    top = max(work, key=lambda name: work[name])
    # Name avoidable work first: report parsing if it takes a fifth of the time or more.
    if work["prepare"] / total >= _MUCH_PARSING:
        top = "prepare"
    advice = _against(top, library, cheaper_words)
    if top == "prepare":
        advice = "prepare each statement once and bind its values"
    parts = ", ".join(
        f"{percent(part / total)} {_WORK[name].format(title=library.title)}"
        for name, part in sorted(work.items(), key=lambda item: -item[1])
        if part / total >= _SHOWN_SHARE
    )
    if possible < cores:
        whose = f"{possible} client{'s' if possible > 1 else ''} kept {used * 100:.0f} % of {possible * 100} % CPU busy"
        more = f"{cores - possible} more CPU{'s' if cores - possible > 1 else ''} can serve more clients"
        advice = "; ".join(each for each in (advice, more) if each)
    else:
        whose = f"the clients kept {used * 100:.0f} % of the machine's {cores * 100} % CPU busy"
    return bottleneck("CPU", f"{whose}: {parts}", advice)


def _against(work: str, library: Embedded, otherwise: str) -> str:
    """Return advice to reduce a kind of work."""
    match work:
        case "read":
            return library.against_reads()
        case "lock_calls":
            return library.against_lock_calls()
        case "write":
            return library.against_writes()
    return otherwise


def _storage(name: str, share: float, result: TrialResult, library: Embedded) -> Bottleneck:
    disk = result.disk
    done, each_ms = (0, 0.0) if disk is None else (disk.reads, disk.read_ms)
    if disk is not None and name == "write":
        done, each_ms = disk.writes, disk.write_ms
    requests = done / max(result.watched_s, 1e-9)
    text = f"{percent(share)} of the time went into {_WORK[name]}; the device served {requests:,.0f} {name}s/s"
    text += f" of {each_ms:.3g} ms"
    return bottleneck(f"device {name}s" if requests >= 1 else "page cache", text, _against(name, library, ""))


def _device_read_share(result: TrialResult) -> float:
    """Return the share of the window in which the device was busy with reads, assuming that reads don't overlap."""
    disk = result.disk
    return 0.0 if disk is None else disk.reads * disk.read_ms / 1e3 / max(result.watched_s, 1e-9)


def _largest(shares: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {percent(share)}"
        for name, share in sorted(shares.items(), key=lambda item: -item[1])[:3]
    )
