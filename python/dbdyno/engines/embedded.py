"""What would help against a bottleneck of an engine in the worker's own process, as far as all such engines have it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Embedded:
    """An engine in the worker. ``title``: as people call it; ``clients``: how many there were."""

    title: str
    clients: int

    def against_reads(self) -> str:
        """Give what would help against reading what is not in the engine's cache."""
        return "a longer warm-up, or a larger cache"

    def against_writes(self) -> str:
        """Give what would help against writing."""
        return "more rows per transaction"

    def against_lock_calls(self) -> str:
        """Give what would help against system calls that lock and unlock files."""
        return "more work in a transaction"

    def against_file_locks(self) -> str:
        """Give what would help against waiting for a lock on a file."""
        return "shorter write transactions, or fewer writers at a time"

    def against_syncs(self) -> str:
        """Give what would help against waiting for the device to sync."""
        return "put more rows into a transaction"

    def against_mutex(self, mutex: str) -> str:
        """Give what would help against waiting for a mutex, by what it guards; empty: for any."""
        return "use fewer clients, or connections that share less"
