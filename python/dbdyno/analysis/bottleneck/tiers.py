"""The tier that limits a trial on a system of several: web servers, what is before them, the database behind them."""

import re
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.analysis.bottleneck.common import CLIENT, FULL, Bottleneck, bottleneck, percent
from dbdyno.model.events.machine import BusyThread, TierCpu
from dbdyno.model.events.trial import TrialResult

DATABASE = "database"
"""The tier behind all others, as bottlenecks name it."""

# What those call the database who name their parts themselves.
_DATABASES = ("database", "db")

_NUMBER = re.compile(r"[\s_-]*\d+$")

# What one thread and what is started beside it use at most, of a processor.
_ONE_THREAD = 1.1

# Of what a part of a tier used: what its full threads must have used for the rest to be no help of theirs.
_NEARLY_ALL = 0.9

# Of the time that few clients wait: a tier that computes for that much of it is what they wait for.
_COMPUTING = 0.5


def full_tier(
    result: TrialResult, processors: Mapping[str, Sequence[int]], load: Sequence[int] | None = None
) -> Bottleneck | None:
    """Name the tier that kept ``FULL`` of its processors busy; ``None`` where none did, or it is not known.

    Of tiers that share processors and keep them busy together, it is the one that used the most. ``processors``: those
    that the parts of tiers may use, by name; of one that is not in it, all of the machine's. ``load``: those that the
    clients are kept to, who are then judged as a tier is; ``None``: they may use all. What other programs did meanwhile
    took little from such a tier.
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
        return _of(fullest, text)
    for shared in dict.fromkeys(allowed.values()):
        sharing = [tier for tier in used if allowed[tier] == shared]
        # What all of the machine's do is known only with what other programs did.
        if len(sharing) > 1 and len(shared) < result.cpu.cores and _sum(used, sharing) >= FULL * len(shared):
            most = max(sharing, key=lambda tier: used[tier])
            return _of(most, f"{' and '.join(sharing)} kept {_number(len(shared))} busy that they share: {text}")
    return None


def full_threads(result: TrialResult, clients: int, processors: Mapping[str, Sequence[int]]) -> Bottleneck | None:
    """Name a tier that computes in few threads, each of which kept ``FULL`` of a processor busy while it may use more.

    Of each of its parts such threads used nearly all that the part did: there was no other to take a share of the work.
    Where there are no more clients than such threads, each waits for its own answer, and none is named. ``None`` too
    where no tier is so, or that is not known. ``processors``: as :func:`full_tier`.
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
        else f"{len(threads)} threads, as {named}, which each kept"
    )
    least = min(thread.cpu_percent for thread in threads)
    text = f"the {tier} computes in {how} {least:.0f} % of a processor busy"
    if used:
        text += f": {_all(result, used, allowed)}"
    if tier == DATABASE:
        return bottleneck(tier, text, "cheaper statements, or more connections to the database where each has a thread")
    return bottleneck(tier, text, f"more threads or processes of the {tier}, or another server of it")


def busiest_tier(result: TrialResult, clients: int, processors: Mapping[str, Sequence[int]]) -> Bottleneck | None:
    """Name the tier that used the most where no tier is full and the machine is, unless the clients used more.

    Clients that are fewer than the processors wait for each answer: then it is the tier that computed for half of that
    time. ``None`` where neither is so, or it is not known. ``processors``: as :func:`full_tier`.
    """
    known, allowed = _known(result), _allowed(result, processors)
    if not known:
        return None
    shares = _all(result, known, allowed)
    cores, client = result.cpu.cores, result.cpu.process_percent / 100
    largest = max(known, key=lambda tier: known[tier])
    if client + sum(known.values()) >= FULL * cores:
        text = f"all processors were busy: {shares} of {cores * 100} %"
        if client > known[largest]:
            return bottleneck(CLIENT, text, "a machine of its own for the load")
        return _of(largest, text)
    if (clients == 1 or clients < cores) and known[largest] >= _COMPUTING * clients:
        waited = f"{clients} client{'s' if clients > 1 else ''} waited for each answer: the {largest} computed for "
        return _of(largest, f"{waited}{percent(known[largest] / clients)} of the time ({shares})")
    return None


def told_tiers(result: TrialResult, processors: Mapping[str, Sequence[int]]) -> str:
    """Say what each tier used; nothing where there is none."""
    known = {tier: share for tier, share in _used(result).items() if share is not None}
    return _shares(known, _allowed(result, processors)) if known else ""


def perhaps_one_thread(result: TrialResult) -> str:
    """Give what to look at where a tier used as much as one thread can, and none of its threads did; else nothing.

    That is not known of runs whose threads were not read. Threads that take turns at a lock use no more than one does.
    """
    used = _known(result)
    alike = [tier for tier, share in used.items() if FULL <= share <= _ONE_THREAD]
    if not alike or result.cpu.cores < 2:
        return ""
    tier = max(alike, key=lambda each: used[each])
    told = f"the {tier} used {used[tier] * 100:.0f} % of a processor, all that one thread can"
    threads = sum(len(each.threads) for each in result.tiers if tier_of(each.name) == tier)
    if threads > 1:
        return f"{told}, in {threads} threads: if they take turns at a lock, as Python's do, start several of it"
    return f"{told}: if it computes in one alone (`top -H` tells), start several of it"


def tier_of(part: str) -> str:
    """Name the tier that a part is of: ``web 2`` is of the web tier, and what is behind all is the database."""
    name = _NUMBER.sub("", part)
    return DATABASE if name.lower() in _DATABASES else f"{name} tier"


def _of(tier: str, text: str) -> Bottleneck:
    if tier == CLIENT:
        return bottleneck(CLIENT, text, "more processors for the load, or a machine of its own")
    if tier == DATABASE:
        return bottleneck(tier, text, "cheaper statements, or more processors for the database")
    return bottleneck(tier, text, f"more processors for the {tier}, or another server of it on processors of its own")


def _full_threads(part: TierCpu) -> list[BusyThread] | None:
    """Give the threads that a part of a tier computes in, where they are full; ``None`` where others take a share."""
    full = [thread for thread in part.threads if thread.cpu_percent >= FULL * 100]
    if not full or part.cpu_percent is None:
        return None
    return full if sum(thread.cpu_percent for thread in full) >= _NEARLY_ALL * part.cpu_percent else None


def _used(result: TrialResult) -> dict[str, float | None]:
    """Add up the processors that each tier used."""
    used: dict[str, float | None] = {}
    for each in result.tiers:
        tier = tier_of(each.name)
        before = used.get(tier, 0.0)
        used[tier] = None if before is None or each.cpu_percent is None else before + each.cpu_percent / 100
    return used


def _known(result: TrialResult) -> dict[str, float]:
    """Give the processors that each tier used; nothing where that of one is not known."""
    used = _used(result)
    known = {tier: share for tier, share in used.items() if share is not None}
    return known if len(known) == len(used) else {}


def _all(result: TrialResult, known: Mapping[str, float], allowed: Mapping[str, frozenset[int]]) -> str:
    return f"{_shares(known, allowed)}; client {result.cpu.process_percent:.0f} %"


def _allowed(result: TrialResult, processors: Mapping[str, Sequence[int]]) -> dict[str, frozenset[int]]:
    """Give the processors that each tier may use: those of all its parts."""
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
        for tier, share in sorted(used.items(), key=lambda each: -each[1] / len(allowed[each[0]]))
    )


def _number(processors: int) -> str:
    return f"{processors} processor{'s' if processors > 1 else ''}"
