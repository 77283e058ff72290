"""What the limit of a trial is, and the rules and bounds that hold for embedded systems and servers alike."""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

# ``resource``, ``evidence`` and ``advice``.
Limit = dict[str, str]

# Bounds; docs/architecture.md gives the reasons for them. Shares of the clients' time, idle and in a wait; of the
# processors, kept busy by other programs or by what is measured.
IDLE = 0.5
WAITING = 0.25
DISTURBED = 0.3
FULL = 0.85


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
    if idle < IDLE:
        return None
    text = f"the clients had nothing to do for {percent(idle)} of the time"
    return limit("offered load", text, "raise the rate, or use more clients")


def unclear(shares: str) -> Limit:
    """Say that nothing stands out. ``shares``: how the largest parts came out, a clause."""
    return limit("unclear", f"no cause stands out: {shares}", "repeat with --rounds 10, or watch one cell for longer")
