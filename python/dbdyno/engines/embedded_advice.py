"""General advice for bottlenecks of engines that run in the worker's process."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Embedded:
    """An engine in the worker's process. ``title``: its name; ``clients``: the number of clients."""

    title: str
    clients: int

    def against_reads(self) -> str:
        """Return advice against reads of pages that aren't in the engine's cache."""
        return "a longer warm-up, or a larger cache"

    def against_writes(self) -> str:
        """Return advice against writes."""
        return "more rows per transaction"

    def against_lock_calls(self) -> str:
        """Return advice against system calls that lock and unlock files."""
        return "more work per transaction"

    def against_file_locks(self) -> str:
        """Return advice against waiting for file locks."""
        return "shorter write transactions, or fewer writers at a time"

    def against_syncs(self) -> str:
        """Return advice against waiting for device syncs."""
        return "put more rows into a transaction"

    def against_mutex(self, mutex: str) -> str:
        """Return advice against waiting for a mutex. ``mutex``: what it protects; empty: any mutex."""
        return "use fewer clients, or connections that share less"
