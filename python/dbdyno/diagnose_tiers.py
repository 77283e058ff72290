"""The tier that limits a trial on a system of several: web servers, what is before them, the database behind them."""

import re
from collections.abc import Mapping

from dbdyno.bottleneck import CLIENT, FULL, Bottleneck, bottleneck, percent
from dbdyno.events.trial import TrialResult

DATABASE = "database"
"""The tier behind all others, as bottlenecks name it."""

# What those call the database who name their parts themselves.
_DATABASES = ("database", "db")

_NUMBER = re.compile(r"[\s_-]*\d+$")

# Of the time that few clients wait: a tier that computes for that much of it is what they wait for.
_COMPUTING = 0.5


def full_tier(result: TrialResult, processors: Mapping[str, int], load: int | None = None) -> Bottleneck | None:
    """Name the tier that kept ``FULL`` of its processors busy; ``None`` where none did, or it is not known.

    ``processors``: how many the parts of tiers may use, by name; of one that is not in it, all of the machine's.
    ``load``: how many the clients are kept to, which are then judged as a tier is; ``None``: they may use all. What
    other programs did meanwhile took little from such a tier.
    """
    known, allowed = _known(result), _allowed(result, processors)
    if not known:
        return None
    fullest = max(known, key=lambda tier: known[tier] / allowed[tier])
    client = result.cpu.process_percent / 100
    if load and client / load >= max(FULL, known[fullest] / allowed[fullest]):
        text = f"client {client * 100:.0f} % of {_number(load)}; {_shares(known, allowed)}"
        return bottleneck(CLIENT, text, "more processors for the load, or a machine of its own")
    return _of(fullest, _all(result, known, allowed)) if known[fullest] >= FULL * allowed[fullest] else None


def busiest_tier(result: TrialResult, clients: int, processors: Mapping[str, int]) -> Bottleneck | None:
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


def told_tiers(result: TrialResult, processors: Mapping[str, int]) -> str:
    """Say what each tier used; nothing where there is none."""
    known = {tier: share for tier, share in _used(result).items() if share is not None}
    return _shares(known, _allowed(result, processors)) if known else ""


def tier_of(part: str) -> str:
    """Name the tier that a part is of: ``web 2`` is of the web tier, and what is behind all is the database."""
    name = _NUMBER.sub("", part)
    return DATABASE if name.lower() in _DATABASES else f"{name} tier"


def _of(tier: str, text: str) -> Bottleneck:
    if tier == DATABASE:
        return bottleneck(tier, text, "cheaper statements, or more processors for the database")
    return bottleneck(tier, text, f"more processors for the {tier}, or another server of it on processors of its own")


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


def _all(result: TrialResult, known: Mapping[str, float], allowed: Mapping[str, int]) -> str:
    return f"{_shares(known, allowed)}; client {result.cpu.process_percent:.0f} %"


def _allowed(result: TrialResult, processors: Mapping[str, int]) -> dict[str, int]:
    """Give the processors that each tier may use; its parts share theirs."""
    allowed: dict[str, int] = {}
    for each in result.tiers:
        tier = tier_of(each.name)
        allowed[tier] = max(allowed.get(tier, 0), processors.get(each.name) or result.cpu.cores, 1)
    return allowed


def _shares(used: Mapping[str, float], allowed: Mapping[str, int]) -> str:
    parts = []
    for tier, share in sorted(used.items(), key=lambda each: -each[1] / allowed[each[0]]):
        parts.append(f"{tier} {share * 100:.0f} % of {_number(allowed[tier])}")
    return ", ".join(parts)


def _number(processors: int) -> str:
    return f"{processors} processor{'s' if processors > 1 else ''}"
