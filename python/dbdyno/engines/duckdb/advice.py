"""Advice for bottlenecks of DuckDB in the worker's process."""

from dataclasses import dataclass

from dbdyno.engines.embedded_advice import Embedded
from dbdyno.model.events.trial import TrialResult


@dataclass(frozen=True)
class Database(Embedded):
    """Facts read back from DuckDB."""

    memory_limit: str | None

    @classmethod
    def of(cls, result: TrialResult, clients: int) -> "Database":
        """Create the facts from a trial's result."""
        return cls("DuckDB", clients, result.engine.settings.get("memory_limit"))

    def against_reads(self) -> str:
        """Return advice against reads of blocks that aren't in memory."""
        given = f" (it is {self.memory_limit})" if self.memory_limit else ""
        return f"a longer warm-up, or a larger memory_limit{given}"

    def against_writes(self) -> str:
        """Return advice against writes."""
        return "more rows per transaction, or a higher checkpoint_threshold"

    def against_syncs(self) -> str:
        """Return advice against waiting for device syncs."""
        return "put more rows into a transaction: DuckDB syncs its log at each commit"
