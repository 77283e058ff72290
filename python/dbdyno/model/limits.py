"""Upper limits of numbers in an experiment. Larger numbers would lead to endless runs or exhaust memory.

The worker checks each plan against the same limits (``crates/protocol/src/plan/limits.rs``).
"""

YEAR_S = 365 * 24 * 3600
"""Longest window, warm-up or pause in seconds. The arithmetic of the clocks would overflow at about 10^10."""

MOST_CLIENTS = 100_000
MOST_THREADS = 10_000
"""Clients of an embedded engine that are threads of one process."""

MOST_PROCESSES = 1_000
"""Clients that are separate processes."""

HIGHEST_RATE = 10_000_000
"""Transactions per second of an open loop."""

MOST_STAGES = 100
"""Stages of an open loop."""

MOST_VALUES = 100_000
"""Values of the rows that a step copies."""

MOST_INTERVALS = 100_000
"""Intervals of the timeline of a window."""

LONGEST_TEXT = 100_000_000
"""Characters of a generated text."""

MOST_WORDS = 10_000_000
"""Words of a generated text."""

MOST_REPETITIONS = 1_000_000_000
"""Repetitions of a step."""

MOST_ATTEMPTS = 1_000_000
"""Attempts of a transaction."""

MOST_ROWS = 1_000_000_000_000
"""Rows of a table."""

MOST_SCALE = 10_000
"""Scale of pgbench's tables: a billion accounts."""

MOST_ROUNDS = 100_000
MOST_CELLS = 10_000
"""Combinations of levels."""
