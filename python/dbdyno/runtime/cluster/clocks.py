"""Estimate the offset between this machine's clock and another's from round trips."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Number of round trips, of which the fastest is used.
EXCHANGES = 16


@dataclass(frozen=True)
class Exchange:
    """A round trip, in nanoseconds: our clock when sending, their clock, our clock when receiving the answer."""

    sent: int
    shown: int
    received: int

    @property
    def round_trip_ns(self) -> int:
        """Duration of the round trip."""
        return self.received - self.sent


@dataclass(frozen=True)
class Offset:
    """How many nanoseconds another clock is ahead of ours (``ns``), plus or minus ``uncertainty_ns``."""

    ns: int
    uncertainty_ns: int


def offset_of(exchanges: Sequence[Exchange]) -> Offset:
    """Return the offset from the fastest exchange (the clock filter of NTP, RFC 5905, section 10).

    Their clock was read at an unknown time between sending and receiving. Assuming the middle is wrong by at most half
    the round trip, even if the two directions differ. Raises ValueError without an exchange.
    """
    best = min(exchanges, key=lambda exchange: exchange.round_trip_ns)
    return Offset(best.shown - (best.sent + best.received) // 2, (best.round_trip_ns + 1) // 2)


def measure_offset(ours: Callable[[], int], theirs: Callable[[], int], exchanges: int = EXCHANGES) -> Offset:
    """Measure the offset with a number of exchanges. ``ours`` and ``theirs`` read the clocks, in nanoseconds."""
    seen = []
    for _ in range(exchanges):
        sent = ours()
        shown = theirs()
        seen.append(Exchange(sent, shown, ours()))
    return offset_of(seen)
