"""Whether the scalability model tells the truth: runs that follow the law with known terms, and runs that do not.

Prints a line for each figure and ends with 1 when one misses its target. It takes some twenty minutes. `--only NAME`
picks those whose name contains it.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

from figures import Figure, run

from simulated_scalability import RATE, TERMS, Simulated, Told, tell

BLOCKS = (3, 5, 10)
NOISE = (0.01, 0.03, 0.1)
RUNS = 200
# Of fewer intervals a share says little.
MIN_INTERVALS = 100
COVERAGE = 0.90


class Bench:
    """Nothing is kept."""

    def __init__(self, _directory: Path) -> None:
        """Simulations need no place."""


def to_8(_bench: Bench) -> Iterator[Figure]:
    """Runs that follow the law: how often each interval that is told holds the truth, of all terms the worst."""
    yield from known_terms((1, 2, 4, 8))


def to_16(_bench: Bench) -> Iterator[Figure]:
    """The same up to 16 clients."""
    yield from known_terms((1, 2, 4, 8, 16))


def to_50(_bench: Bench) -> Iterator[Figure]:
    """The same up to 50 clients."""
    yield from known_terms((1, 5, 10, 25, 50))


def to_64(_bench: Bench) -> Iterator[Figure]:
    """The same from 2 to 64 clients: that of one is not measured."""
    yield from known_terms((2, 4, 8, 16, 32, 64))


def known_terms(clients: tuple[int, ...]) -> Iterator[Figure]:
    """Give the figures of each number of blocks and each noise."""
    for blocks in BLOCKS:
        for noise in NOISE:
            yield from coverage(Simulated(clients, 0.0, 0.0, blocks, noise))


def louder(_bench: Bench) -> Iterator[Figure]:
    """The same where the noise at the largest number of clients is three times that at the smallest."""
    for blocks in BLOCKS:
        yield from coverage(Simulated((1, 2, 4, 8, 16), 0.0, 0.0, blocks, 0.03, louder=3.0))


def other_forms(_bench: Bench) -> Iterator[Figure]:
    """Runs that do not follow the law: how often it is refused."""
    forms = {
        "a ceiling met at once": lambda clients: RATE * min(clients, 4),
        "a fall from one step to the next": lambda clients: (
            RATE * clients / (1 + 0.02 * clients) * (0.4 ** (clients > 8))
        ),
        "more than in proportion": lambda clients: RATE * clients**1.3,
    }
    for name, form in forms.items():
        for blocks in (3, 5):
            for noise in (0.01, 0.03):
                told = tell(Simulated((1, 2, 4, 8, 16), 0.0, 0.0, blocks, noise, form=form), RUNS, seed=5)
                what = f"{name}, {blocks} blocks, {noise:.0%}: refused"
                yield Figure(what, told.refused.total() / told.runs, f"n={told.runs}", 0.95, at_most=False)


def coverage(design: Simulated) -> Iterator[Figure]:
    """Give the worst coverage of any interval with any terms, that of all, and what was refused."""
    whole, worst = Told(), (1.0, "none")
    for place, (contention, coherency) in enumerate(TERMS):
        told = tell(replace(design, contention=contention, coherency=coherency), RUNS, seed=100 * design.blocks + place)
        whole.add(told)
        for name, share in told.coverage.items():
            if told.stated[name] >= MIN_INTERVALS:
                worst = min(worst, (share, f"{name} of {contention:g}, {coherency:g}"))
    loud = "" if design.louder == 1 else f" to {design.noise * design.louder:.0%}"
    what = f"{design.clients[0]} to {design.clients[-1]} clients, {design.blocks} blocks, {design.noise:.0%}{loud}"
    yield Figure(f"{what}: worst", worst[0], worst[1], COVERAGE, at_most=False)
    held, stated = whole.held.total(), whole.stated.total()
    yield Figure(f"{what}: all", held / stated, f"n={stated}", 0.94, at_most=False)
    yield Figure(f"{what}: refused", 1 - whole.curves / whole.runs, f"n={whole.runs}", 1.0, at_most=True)
    yield Figure(f"{what}: peaks told", whole.peaks / whole.runs, f"n={whole.runs}", 0.0, at_most=False)


if __name__ == "__main__":
    sys.exit(run(Bench, [to_8, to_16, to_50, to_64, louder, other_forms], __doc__))
