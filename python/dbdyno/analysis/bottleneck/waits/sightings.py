"""Of how much of the clients' time a wait is, from looks at the server's sessions.

A look sees what each session does at one moment. The share of a wait is the sessions seen in it, of all looks, divided
by looks times clients: a client whose session was not seen, or waited for its client, was not at work in the server.

**How sure it is.** What one look sees are not independent sightings: one flush holds all sessions at once. Let X be the
share of the clients that a look sees in a wait. It lies between 0 and 1, so it varies by no more than a coin of the
same mean does, whatever the sessions have to do with one another; and as much as that where all wait together. So the
number of looks bounds what is known, and not that of sightings: the interval is that of Clopper and Pearson (1934,
doi:10.1093/biomet/26.4.404) for a share seen in so many looks. It is not Wilson's because causes are named by the lower
end, which theirs has above the truth in 2.5 % of cases at most, and Wilson's in up to 5.4 % (of 12 looks at a share of
a quarter). The looks come at random distances (crates/engines/src/waits.rs), so that they are a sample of the
window also where the load repeats itself. Waits that last from one look to the next do no harm: the share is that of
this window, and looks that are alike follow it more closely than such as are drawn anew.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbdyno.analysis.bottleneck.waits.meanings import Meaning, meaning_of
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.events.watched import Waits

#: Looks, and sightings, of which at least so many are wanted before anything is said of a wait.
FEWEST = 10

# The chance of either end to be on the wrong side.
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the clients' time, with its interval of 95 %."""

    mean: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The share and its interval, as ``41 % (32 to 51 %)``."""
        return f"{self.mean * 100:.0f} % ({self.low * 100:.0f} to {self.high * 100:.0f} %)"


def share_of(sightings: float, looks: int, clients: int) -> Share:
    """Give the share of the clients' time that so many sightings are, with its interval for so many looks.

    With what was seen worth ``s`` of ``n`` looks: from the 2.5 % quantile of the beta distribution ``(s, n - s + 1)``
    to the 97.5 % quantile of ``(s + 1, n - s)``. No more than all of the time is possible.
    """
    from scipy.special import betaincinv

    mean = min(sightings / (looks * clients), 1.0)
    seen = mean * looks
    low = float(betaincinv(seen, looks - seen + 1, _TAIL)) if seen > 0 else 0.0
    high = float(betaincinv(seen + 1, looks - seen, 1 - _TAIL)) if seen < looks else 1.0
    return Share(mean, low, high)


@dataclass(frozen=True)
class Sightings:
    """Sessions as they were seen: in how many ``looks``, of how many ``clients``, and how often in each wait."""

    looks: int
    clients: int
    seen: Mapping[str, int]
    meanings: Mapping[str, Meaning] = field(default_factory=dict)

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> "Sightings | None":
        """Read those of a trial's result; ``None`` where nobody looked, or what was seen cannot be the clients'.

        Where more sessions were seen than there are clients, others' were among them.
        """
        waits = result.waits
        if not isinstance(waits, Waits):
            return None
        looks, seen = waits.samples, {name: count for name, count in waits.seen.items() if count}
        if looks <= 0 or clients <= 0 or sum(seen.values()) > looks * clients:
            return None
        product, version = result.engine.engine, result.engine.version
        return cls(looks, clients, seen, {name: meaning_of(name, product, version) for name in seen})

    def share(self, waits: Iterable[str]) -> Share:
        """Give the share of the clients' time that went into some waits."""
        return share_of(self.count(waits), self.looks, self.clients)

    def count(self, waits: Iterable[str]) -> int:
        """Count the sightings in some waits."""
        return sum(self.seen[name] for name in waits)

    def away(self) -> Share:
        """Give the share of the time in which sessions were not at work: not seen, or waiting for their client."""
        return share_of(self.looks * self.clients - self.count(self.at_work()), self.looks, self.clients)

    def at_work(self) -> list[str]:
        """Give the waits in which a session was at work in the server, or held up there."""
        return [name for name in self.seen if self.meanings[name].state != "away"]

    def working(self) -> list[str]:
        """Give those in which it waited for nothing that is known."""
        return [name for name in self.seen if self.meanings[name].state == "working"]

    def unknown(self) -> list[str]:
        """Give those of which it is not known what they wait for."""
        return [name for name in self.seen if self.meanings[name].state == "unknown"]

    def bottlenecks(self) -> dict[str, list[str]]:
        """Group the waits that are known by what they are for."""
        found: dict[str, list[str]] = {}
        for name in self.seen:
            if self.meanings[name].state == "waiting":
                found.setdefault(self.meanings[name].bottleneck, []).append(name)
        return found

    def largest(self, waits: Iterable[str], most: int = 3) -> str:
        """Write the most frequent of some waits with their shares of the clients' time, the greatest first."""
        ordered = sorted(waits, key=lambda name: -self.seen[name])[:most]
        # Some events of different classes have one name, as IO:WALWrite and LWLock:WALWrite.
        short = [name.partition(":")[2] for name in ordered]
        return ", ".join(
            f"{name if short.count(event) > 1 or not self._is_known(name) else event}"
            f" {self.share([name]).mean * 100:.0f} %{'' if self._is_known(name) else ' (not known what for)'}"
            for event, name in zip(short, ordered, strict=True)
        )

    def _is_known(self, name: str) -> bool:
        return self.meanings[name].state != "unknown"
