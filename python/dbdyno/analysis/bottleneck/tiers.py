"""The tier that limits a trial on a multi-tier system: proxy, web servers, database."""

import re
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.analysis.bottleneck.common import CLIENT, FULL, Bottleneck, bottleneck
from dbdyno.base.numbers import percent
from dbdyno.model.events.machine import BusyThread, TierCpu
from dbdyno.model.events.trial import TrialResult

DATABASE = "database"
"""The name of the last tier in bottlenecks."""

# Names of the database among user-defined parts.
_DATABASES = ("database", "db")

_NUMBER = re.compile(r"[\s_-]*\d+$")

# Maximum share of a CPU that a single thread and its helpers use.
_ONE_THREAD = 1.1

# Saturated threads limit a part of a tier if they used at least this share of its CPU time.
_NEARLY_ALL = 0.9

# A few clients wait for a tier that computes for at least this share of their time.
_COMPUTING = 0.5


def full_tier(
    result: TrialResult, processors: Mapping[str, Sequence[int]], load: Sequence[int] | None = None
) -> Bottleneck | None:
    """Return the tier that kept ``FULL`` of its CPUs busy, or ``None`` if no tier did or it is unknown.

    If tiers share CPUs and keep them busy together, returns the tier that used the most. ``processors``: the CPUs that
    each part is pinned to, by name; other parts can use all. ``load``: the CPUs that the clients are pinned to, which
    makes them a tier; ``None``: they can use all. Other programs took little from a saturated tier.
    """
    used, allowed = _known(result), _allowed(result, processors)
    if not used:
        return None
    text = _all(result, used, allowed)
    if load:
        used, allowed = used | {CLIENT: result.cpu.process_percent / 100}, allowed | {CLIENT: frozenset(load)}
        text = _shares(used, allowed)
    fullest = max(used, key=lambda tier: used[tier] / len(allowed[tier]))
    if used[fullest] >= FULL * len(allowed[fullest]):
        return _tier_bottleneck(fullest, text)
    for shared in dict.fromkeys(allowed.values()):
        sharing = [tier for tier in used if allowed[tier] == shared]
        # For all CPUs of the machine, the use by other programs matters too.
        if len(sharing) > 1 and len(shared) < result.cpu.cores and _sum(used, sharing) >= FULL * len(shared):
            most = max(sharing, key=lambda tier: used[tier])
            both = f"{' and '.join(sharing)} saturated the {_number(len(shared))} that they share"
            return _tier_bottleneck(most, f"{both}: {text}")
    return None


def full_threads(result: TrialResult, clients: int, processors: Mapping[str, Sequence[int]]) -> Bottleneck | None:
    """Return a tier that computes in a few threads, each of which kept ``FULL`` of a CPU busy though it can use more.

    In each part of the tier, these threads used nearly all of its CPU time, so that no other thread shared the work.
    Returns ``None`` if there are no more clients than such threads (each client then waits for its own answer), if no
    tier qualifies, or if it is unknown. ``processors``: see :func:`full_tier`.
    """
    parts: dict[str, list[list[BusyThread] | None]] = {}
    for part in result.tiers:
        parts.setdefault(tier_of(part.name), []).append(_full_threads(part))
    full = {
        tier: [thread for threads in known for thread in threads or ()] for tier, known in parts.items() if all(known)
    }
    if not full:
        return None
    used, allowed = _known(result), _allowed(result, processors)
    tier = max(full, key=lambda each: full[each][0].cpu_percent)
    threads = full[tier]
    if clients <= len(threads) or len(allowed[tier]) <= len(threads):
        return None
    first = threads[0]
    named = f"`{first.name}` of process {first.pid}"
    how = (
        f"one thread, {named}, which kept"
        if len(threads) == 1
        else f"{len(threads)} threads, such as {named}, each of which kept"
    )
    least = min(thread.cpu_percent for thread in threads)
    text = f"the {tier} computes in {how} {least:.0f} % of one CPU busy"
    if used:
        text += f": {_all(result, used, allowed)}"
    if tier == DATABASE:
        return bottleneck(tier, text, "cheaper statements, or more connections if each has its own thread")
    return bottleneck(tier, text, f"more threads or processes of the {tier}, or another server for it")


def busiest_tier(result: TrialResult, clients: int, processors: Mapping[str, Sequence[int]]) -> Bottleneck | None:
    """Return the tier that used the most CPU on a saturated machine without a saturated tier, or the clients.

    With fewer clients than CPUs, clients wait for each answer: then returns the tier that computed for half of that
    time. ``None`` if neither applies or it is unknown. ``processors``: see :func:`full_tier`.
    """
    known, allowed = _known(result), _allowed(result, processors)
    if not known:
        return None
    shares = _all(result, known, allowed)
    cores, client = result.cpu.cores, result.cpu.process_percent / 100
    largest = max(known, key=lambda tier: known[tier])
    if client + sum(known.values()) >= FULL * cores:
        text = f"all CPUs were busy: {shares} of {cores * 100} %"
        if client > known[largest]:
            return bottleneck(CLIENT, text, "a separate load machine")
        return _tier_bottleneck(largest, text)
    if (clients == 1 or clients < cores) and known[largest] >= _COMPUTING * clients:
        waited = f"{clients} client{'s' if clients > 1 else ''} waited for each answer: the {largest} computed for "
        return _tier_bottleneck(largest, f"{waited}{percent(known[largest] / clients)} of the time ({shares})")
    return None


def tier_cpu_words(result: TrialResult, processors: Mapping[str, Sequence[int]]) -> str:
    """Return the CPU use of each tier as text, or an empty string if there are no tiers."""
    known = {tier: share for tier, share in _used(result).items() if share is not None}
    return _shares(known, _allowed(result, processors)) if known else ""


def perhaps_one_thread(result: TrialResult) -> str:
    """Return a hint if a tier used as much CPU as a single thread can, but none of its threads did; otherwise "".

    Threads that take turns at a lock together use no more than one CPU. Older runs lack the CPU time of threads.
    """
    used = _known(result)
    alike = [tier for tier, share in used.items() if FULL <= share <= _ONE_THREAD]
    if not alike or result.cpu.cores <= 1:
        return ""
    tier = max(alike, key=lambda each: used[each])
    evidence = f"the {tier} used {used[tier] * 100:.0f} % of one CPU, as much as one thread can use"
    threads = sum(len(each.threads) for each in result.tiers if tier_of(each.name) == tier)
    if threads > 1:
        return f"{evidence}, in {threads} threads: if they take turns at a lock, as in Python, start several processes"
    return f"{evidence}: if it computes in a single thread (see `top -H`), start several processes"


def tier_of(part: str) -> str:
    """Return the tier of a part: ``web 2`` belongs to the web tier, ``db`` is the database."""
    name = _NUMBER.sub("", part)
    return DATABASE if name.lower() in _DATABASES else f"{name} tier"


def _tier_bottleneck(tier: str, text: str) -> Bottleneck:
    if tier == CLIENT:
        return bottleneck(CLIENT, text, "more CPUs for the load, or a separate load machine")
    if tier == DATABASE:
        return bottleneck(tier, text, "cheaper statements, or more CPUs for the database")
    return bottleneck(tier, text, f"more CPUs for the {tier}, or another server for it on separate CPUs")


def _full_threads(part: TierCpu) -> list[BusyThread] | None:
    """Return the saturated threads of a part of a tier, or ``None`` if other threads share the work."""
    full = [thread for thread in part.threads if thread.cpu_percent >= FULL * 100]
    if not full or part.cpu_percent is None:
        return None
    return full if sum(thread.cpu_percent for thread in full) >= _NEARLY_ALL * part.cpu_percent else None


def _used(result: TrialResult) -> dict[str, float | None]:
    """Sum the CPU use of each tier, in CPUs; ``None`` if unknown for one of its parts."""
    used: dict[str, float | None] = {}
    for each in result.tiers:
        tier = tier_of(each.name)
        before = used.get(tier, 0.0)
        used[tier] = None if before is None or each.cpu_percent is None else before + each.cpu_percent / 100
    return used


def _known(result: TrialResult) -> dict[str, float]:
    """Return the CPU use of each tier, in CPUs; empty if it is unknown for any tier."""
    used = _used(result)
    known = {tier: share for tier, share in used.items() if share is not None}
    return known if len(known) == len(used) else {}


def _all(result: TrialResult, known: Mapping[str, float], allowed: Mapping[str, frozenset[int]]) -> str:
    return f"{_shares(known, allowed)}; client {result.cpu.process_percent:.0f} %"


def _allowed(result: TrialResult, processors: Mapping[str, Sequence[int]]) -> dict[str, frozenset[int]]:
    """Return the CPUs that the parts of each tier can use."""
    allowed: dict[str, frozenset[int]] = {}
    for each in result.tiers:
        tier = tier_of(each.name)
        own = processors.get(each.name) or range(max(result.cpu.cores, 1))
        allowed[tier] = allowed.get(tier, frozenset()) | frozenset(own)
    return allowed


def _sum(used: Mapping[str, float], tiers: Iterable[str]) -> float:
    return sum(used[tier] for tier in tiers)


def _shares(used: Mapping[str, float], allowed: Mapping[str, frozenset[int]]) -> str:
    return ", ".join(
        f"{tier} {share * 100:.0f} % of {_number(len(allowed[tier]))}"
        for tier, share in sorted(used.items(), key=lambda pair: -pair[1] / len(allowed[pair[0]]))
    )


def _number(processors: int) -> str:
    return f"{processors} CPU{'s' if processors > 1 else ''}"
