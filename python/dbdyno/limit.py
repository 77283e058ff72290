"""What the limit of a trial is, and the rules and bounds that hold for embedded systems and servers alike."""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

# ``resource``, ``evidence`` and ``advice``.
Limit = dict[str, str]

# Bounds; docs/architecture.md gives the reasons for them. Of the clients' time: idle, and in a wait.
_IDLE = 0.5
WAITING = 0.25

# Of the processors: kept busy by others, and by what is measured. Of one: what the host took, to be worth a clause.
_DISTURBED = 0.3
FULL = 0.85
_STOLEN = 0.05

# The kernel counts the processors' time in ticks of 10 ms: what other programs used is not known of a window that is
# shorter than this (seconds).
SHORTEST_S = 0.5


def limit(resource: str, evidence: str, advice: str) -> Limit:
    """Name a limit: what it is, what shows it, and what to try."""
    return {"resource": resource, "evidence": evidence, "advice": advice}


def percent(share: float) -> str:
    """Write a share as a percentage: ``0.5`` as ``50 %``."""
    return f"{share * 100:.0f} %"


def shares_of(segments: Mapping[str, float] | None, total: float) -> dict[str, float]:
    """Give seconds of the clients' time, by segment, as shares of the total."""
    return {name: float(seconds) / total for name, seconds in (segments or {}).items()}


def offered_load(shares: Mapping[str, float]) -> Limit | None:
    """Say that the clients had too little to do, where they had. ``shares``: of their time, by segment."""
    idle = shares.get("idle", 0.0)
    if idle < _IDLE:
        return None
    text = f"the clients had nothing to do for {percent(idle)} of the time"
    return limit("offered load", text, "raise the rate, or use more clients")


def disturbed_machine(cpu: Json, own: float, elapsed: float) -> Limit | None:
    """Say that others had the processors, where they had: other programs, or the host of a virtual machine.

    ``cpu``: as the worker gives it; ``own``: processors that client and system kept busy; ``elapsed``: seconds.
    """
    if elapsed < SHORTEST_S:
        return None
    other = float(cpu.get("machine_percent") or 0) / 100 - own
    stolen = float(cpu.get("steal_percent") or 0) / 100
    if other + stolen < _DISTURBED * int(cpu.get("cores") or 1):
        return None
    text = f"other programs used {percent(other)} of a processor"
    text += f", the host took {percent(stolen)}" if stolen > _STOLEN else ""
    return limit("disturbed machine", text, "measure again when the machine is quiet")


def unclear(shares: str) -> Limit:
    """Say that nothing stands out. ``shares``: how the largest parts came out, a clause."""
    return limit("unclear", f"no cause stands out: {shares}", "repeat with --rounds 10, or watch one cell for longer")
