"""How far the clock of another machine is ahead of this one's, from messages that go there and back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Of so many exchanges the quickest counts.
EXCHANGES = 16


@dataclass(frozen=True)
class Exchange:
    """Nanoseconds: what our clock showed when the question went, what theirs showed, and ours when the answer came."""

    sent: int
    shown: int
    received: int

    @property
    def round_trip_ns(self) -> int:
        """How long it took."""
        return self.received - self.sent


@dataclass(frozen=True)
class Offset:
    """How many nanoseconds a clock is ahead of ours, and by how many that may be wrong, either way."""

    ns: int
    uncertainty_ns: int


def offset_of(exchanges: Sequence[Exchange]) -> Offset:
    """Return what the quickest exchange tells (the clock filter of NTP, RFC 5905, section 10).

    Their clock was read at some moment between sending and receiving, nobody knows which. The middle is at most half of
    the round trip off, however unlike the two ways are. Raises ValueError without an exchange.
    """
    best = min(exchanges, key=lambda each: each.round_trip_ns)
    return Offset(best.shown - (best.sent + best.received) // 2, (best.round_trip_ns + 1) // 2)


def measure_offset(ours: Callable[[], int], theirs: Callable[[], int], exchanges: int = EXCHANGES) -> Offset:
    """Ask another machine's clock so many times. ``theirs`` raises what asking it may raise."""
    seen = []
    for _ in range(exchanges):
        sent = ours()
        shown = theirs()
        seen.append(Exchange(sent, shown, ours()))
    return offset_of(seen)
