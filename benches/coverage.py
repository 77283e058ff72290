"""How often intervals and verdicts are right by simulation, as the table of docs/explanation/validation.md has it.

``python benches/coverage.py [RUNS]``. The noise is drawn; all else is the code that decides in a run.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/support"))

from simulated_families import KINDS, simulated

SIZES = ((2, 3), (2, 5), (2, 10), (3, 4), (4, 3), (4, 5), (8, 4), (12, 3), (12, 5), (12, 10))


def main(runs: int) -> None:
    """Print the share of runs in which all intervals of a table hold, by noise, cells and rounds."""
    print("| noise | " + " | ".join(f"{cells}x{rounds}" for cells, rounds in SIZES) + " |")
    print("|---" * (1 + len(SIZES)) + "|")
    for kind in KINDS:
        held = [f"{100 * simulated(kind, runs, *size).held:.1f}" for size in SIZES]
        print(f"| {kind} | " + " | ".join(held) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
