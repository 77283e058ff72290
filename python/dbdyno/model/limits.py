"""Upper limits of numbers in an experiment. Larger numbers would lead to endless runs or exhaust memory.

The worker checks each plan against the same limits (``crates/protocol/src/plan/limits.rs``).
"""

YEAR_S = 365 * 24 * 3600
"""Longest window, warm-up or pause in seconds. The arithmetic of the clocks would overflow at about 10^10."""

MAX_CLIENTS = 100_000
MAX_THREADS = 10_000
"""Clients of an embedded engine that are threads of one process."""

MAX_PROCESSES = 1_000
"""Clients that are separate processes."""

MAX_RATE = 10_000_000
"""Transactions per second of an open loop."""

MAX_STAGES = 100
"""Stages of an open loop."""

MAX_VALUES = 100_000
"""Values of the rows that a step copies."""

MAX_INTERVALS = 100_000
"""Intervals of the timeline of a window."""

MAX_TEXT_LENGTH = 100_000_000
"""Characters of a generated text."""

MAX_WORDS = 10_000_000
"""Words of a generated text."""

MAX_REPETITIONS = 1_000_000_000
"""Repetitions of a step."""

MAX_ATTEMPTS = 1_000_000
"""Attempts of a transaction."""

MAX_ROWS = 1_000_000_000_000
"""Rows of a table."""

MAX_SCALE = 10_000
"""Scale of pgbench's tables: a billion accounts."""

MAX_ROUNDS = 100_000
MAX_CELLS = 10_000
"""Combinations of levels."""
