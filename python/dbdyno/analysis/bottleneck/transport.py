"""Delays between clients and a server: full accept queues, and replies split into two segments."""

from dbdyno.analysis.bottleneck.common import WAITING, Bottleneck, bottleneck
from dbdyno.model.events.surroundings import Listeners
from dbdyno.model.events.trial import TrialResult

# From this share of transactions, dropped connections determine p99.
_DROPPED = 0.01


def in_transport(result: TrialResult, listeners: Listeners | None) -> Bottleneck | None:
    """Name an accept queue that overflowed, or replies in two segments; ``None`` if neither delayed many requests.

    ``listeners``: the listening sockets of the system on this machine.
    """
    return _accept_queue(result, listeners) or _delayed_ack(result)


def _accept_queue(result: TrialResult, listeners: Listeners | None) -> Bottleneck | None:
    full = [] if listeners is None else [listener for listener in listeners.sockets if listener.dropped]
    dropped = sum(listener.dropped for listener in full)
    if listeners is None or not full or dropped < _DROPPED * max(result.accounting.issued, 1):
        return None
    worst = max(full, key=lambda listener: listener.dropped)
    text = f"the accept queue of {worst.address} holds {worst.backlog:,} connections and overflowed: the kernel dropped"
    text += f" {dropped:,}, and each of their clients tried again after 1 s or more"
    limit = f"net.core.somaxconn ({listeners.somaxconn:,})"
    return bottleneck("accept queue", text, f"a longer listen backlog (up to {limit}), or kept connections")


def _delayed_ack(result: TrialResult) -> Bottleneck | None:
    observed = result.observed
    if observed is None or not observed.acknowledged:
        return None
    share = observed.counters.get("late_parts", 0.0) / observed.acknowledged
    if share < WAITING:
        return None
    text = f"{min(share, 1.0) * 100:.0f} % of the replies came in two segments, the second about 40 ms after the first:"
    text += " the service waits for the client's delayed ACK (Nagle's algorithm)"
    return bottleneck("delayed ACK", text, "set TCP_NODELAY in the service, or write head and body at once")
