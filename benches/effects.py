"""Whether effects of factors are told rightly: designs of 2 to 200 cells with 3 to 10 blocks, whose effects are known.

Prints a line for each figure and ends with 1 when one misses its target. It takes half an hour. `--only NAME` picks
those whose name contains it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

from figures import Figure, run

from simulated_effects import Simulated, tell

LEVELS = ((2,), (2, 2), (2, 3, 4), (4, 4, 3), (4, 5, 10))
BLOCKS = (3, 5, 10)
# So many cells in all, so that each design takes about as long.
CELLS = 12_000
# The intervals of a run are not independent: with fewer runs, chance moves the share that holds by more than 1 %.
MIN_RUNS = 500


class Bench:
    """Nothing is kept."""

    def __init__(self, _directory: Path) -> None:
        """Simulations need no place."""


def no_effects(_bench: Bench) -> Iterator[Figure]:
    """Factors that do nothing."""
    for levels in LEVELS:
        for blocks in BLOCKS:
            yield from figures("nothing", Simulated(levels, blocks))


def disturbed(_bench: Bench) -> Iterator[Figure]:
    """Factors that do nothing, where each block disturbs all cells of a level alike."""
    for levels in LEVELS:
        yield from figures("disturbed", Simulated(levels, 5, of_level=0.05))


def planted(_bench: Bench) -> Iterator[Figure]:
    """A first factor that adds 35 % a level, and one that depends on it."""
    for levels in LEVELS:
        for blocks in BLOCKS:
            yield from figures("planted", Simulated(levels, blocks, planted={"f0": 0.3}))
            if len(levels) > 1:
                made = Simulated(levels, blocks, planted={"f0": 0.3}, interacting=0.4, of_level=0.03)
                yield from figures("depending", made)


def figures(name: str, simulated: Simulated) -> Iterator[Figure]:
    """Give coverage, false effects, and how many of those that there are were found."""
    cells = 1
    for count in simulated.levels:
        cells *= count
    runs = max(MIN_RUNS, min(2000, CELLS // cells))
    told = tell(simulated, runs, seed=3)
    what = f"{name}, {cells} cells, {simulated.blocks} blocks"
    yield Figure(f"{what}: coverage", told.coverage, f"n={told.intervals}", 0.94, at_most=False)
    yield Figure(f"{what}: runs with a false effect", told.false_share, f"n={told.runs}", 0.02, at_most=True)
    if told.differing:
        yield Figure(f"{what}: found", told.found / told.differing, f"n={told.differing}", 0.0, at_most=False)


if __name__ == "__main__":
    sys.exit(run(Bench, [no_effects, disturbed, planted], __doc__))
