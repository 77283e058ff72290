"""Shares of the clients' time in each wait, from samples of the server's sessions.

A sample records what each session does at one moment. The share of a wait is the number of sessions in that wait over
all samples, divided by samples times clients: a client without a session in the sample, or whose session waits for it,
was not at work in the server.

**Uncertainty.** The sessions of one sample are not independent: one flush blocks all of them. Let X be the share of the
clients that a sample shows in a wait. X is between 0 and 1, so its variance is at most the variance of a coin with the
same mean, however the sessions depend on each other, and reaches it if all wait together. So the number of samples
limits the certainty, not the number of sessions seen. The interval is by Clopper and Pearson (1934,
doi:10.1093/biomet/26.4.404) for a share of that many samples. Causes are named by its lower end, which exceeds the
truth in at most 2.5 % of cases; Wilson's does in up to 5.4 % (12 samples at a share of a quarter). Samples are taken at
random intervals (crates/engines/src/waits.rs), so they represent the window even if the load is periodic. Waits that
last from one sample to the next do no harm: the share describes this window, and correlated samples follow it more
closely than independent ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbdyno.analysis.bottleneck.waits.meanings import Meaning, meaning_of
from dbdyno.model.events.observations import Waits
from dbdyno.model.events.trial import TrialResult

#: Minimum number of samples, and of sessions seen in a wait, to report the wait.
MIN_SAMPLES = 10

# Probability of error at either end of the interval.
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the clients' time with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The share and its interval, such as ``41 % (32 to 51 %)``."""
        return f"{self.mean * 100:.0f} % ({self.low * 100:.0f} to {self.high * 100:.0f} %)"


def share_of(sessions: float, samples: int, clients: int) -> Share:
    """Return the share of the clients' time for a number of sessions seen in a wait, with its interval.

    If the sessions are worth ``s`` of ``n`` samples, the interval reaches from the 2.5 % quantile of the beta
    distribution ``(s, n - s + 1)`` to the 97.5 % quantile of ``(s + 1, n - s)``. The share is capped at 1.
    """
    from scipy.special import betaincinv

    mean = min(sessions / (samples * clients), 1.0)
    seen = mean * samples
    low = float(betaincinv(seen, samples - seen + 1, _TAIL)) if seen > 0 else 0.0
    high = float(betaincinv(seen + 1, samples - seen, 1 - _TAIL)) if seen < samples else 1.0
    return Share(mean, low, high)


@dataclass(frozen=True)
class WaitSamples:
    """Sampled sessions: number of ``samples``, number of ``clients``, and sessions ``seen`` in each wait."""

    samples: int
    clients: int
    seen: Mapping[str, int]
    meanings: Mapping[str, Meaning] = field(default_factory=dict)

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> "WaitSamples | None":
        """Return the samples of a trial, or ``None`` if there are none or they include sessions of other programs.

        That is the case if there are more sessions than clients.
        """
        waits = result.waits
        if not isinstance(waits, Waits):
            return None
        samples, seen = waits.samples, {name: count for name, count in waits.seen.items() if count}
        if samples <= 0 or clients <= 0 or sum(seen.values()) > samples * clients:
            return None
        product, version = result.engine.engine, result.engine.version
        return cls(samples, clients, seen, {name: meaning_of(name, product, version) for name in seen})

    def share(self, waits: Iterable[str]) -> Share:
        """Return the share of some waits in the clients' time."""
        return share_of(self.count(waits), self.samples, self.clients)

    def count(self, waits: Iterable[str]) -> int:
        """Return the number of sessions seen in some waits."""
        return sum(self.seen[name] for name in waits)

    def away(self) -> Share:
        """Return the share of the time in which sessions were not at work: absent, or waiting for their client."""
        return share_of(self.samples * self.clients - self.count(self.at_work()), self.samples, self.clients)

    def at_work(self) -> list[str]:
        """Return the waits in which a session worked or waited in the server."""
        return [name for name in self.seen if self.meanings[name].state != "away"]

    def working(self) -> list[str]:
        """Return the states in which a session worked."""
        return [name for name in self.seen if self.meanings[name].state == "working"]

    def unknown(self) -> list[str]:
        """Return the waits with an unknown meaning."""
        return [name for name in self.seen if self.meanings[name].state == "unknown"]

    def bottlenecks(self) -> dict[str, list[str]]:
        """Group the known waits by their bottleneck."""
        found: dict[str, list[str]] = {}
        for name in self.seen:
            if self.meanings[name].state == "waiting":
                found.setdefault(self.meanings[name].bottleneck, []).append(name)
        return found

    def largest(self, waits: Iterable[str], most: int = 3) -> str:
        """Format the most frequent of some waits with their shares of the clients' time, largest first."""
        ordered = sorted(waits, key=lambda name: -self.seen[name])[:most]
        # Events of different classes can have the same name, such as IO:WALWrite and LWLock:WALWrite.
        short = [name.partition(":")[2] for name in ordered]
        return ", ".join(
            f"{name if short.count(event) > 1 or not self._is_known(name) else event}"
            f" {self.share([name]).mean * 100:.0f} %{'' if self._is_known(name) else ' (unknown reason)'}"
            for event, name in zip(short, ordered, strict=True)
        )

    def _is_known(self, name: str) -> bool:
        return self.meanings[name].state != "unknown"
