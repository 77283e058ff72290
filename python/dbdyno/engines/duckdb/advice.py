"""What would help against a bottleneck of DuckDB in the worker."""

from dataclasses import dataclass

from dbdyno.engines.embedded import Embedded
from dbdyno.model.events.trial import TrialResult


@dataclass(frozen=True)
class Database(Embedded):
    """DuckDB as it was read back."""

    memory_limit: str | None

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> "Database":
        """Read what a trial's result says of its database."""
        return cls("DuckDB", clients, result.engine.settings.get("memory_limit"))

    def against_reads(self) -> str:
        """Give what would help against reading blocks that are not in memory."""
        given = f" (it is {self.memory_limit})" if self.memory_limit else ""
        return f"a longer warm-up, or a larger memory_limit{given}"

    def against_writes(self) -> str:
        """Give what would help against writing."""
        return "more rows per transaction, or a higher checkpoint_threshold"

    def against_syncs(self) -> str:
        """Give what would help against waiting for the device to sync."""
        return "put more rows into a transaction: DuckDB syncs its log at each commit"
