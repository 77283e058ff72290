"""Facts about MySQL and MariaDB servers for advice: commits, cache and storage engines."""

from collections.abc import Iterator

from dbdyno.engines.server.facts import Server


class MysqlServer(Server):
    """Facts read back from a MySQL or MariaDB server."""

    @property
    def buffer(self) -> str:
        """The variable for the size of its page cache."""
        return "innodb_buffer_pool_size"

    @property
    def flushes_commits(self) -> bool | None:
        """Whether a commit waits until InnoDB's log, or the binary log, is on the device."""
        flush = self.setting("innodb_flush_log_at_trx_commit")
        if self.setting("innodb_flush_method") in ("nosync", "littlesync"):
            return False
        return None if not flush else flush in ("1", "3") or self._syncs_binary_log

    @property
    def _syncs_binary_log(self) -> bool:
        return self.is_on("log_bin") and self.setting("sync_binlog") not in ("", "0")

    def without_flush(self) -> str:
        """Return the variables that make commits flush, with values that avoid it."""
        saves: list[str] = []
        if self.setting("innodb_flush_log_at_trx_commit") in ("1", "3"):
            saves.append("innodb_flush_log_at_trx_commit=2")
        if self._syncs_binary_log:
            saves.append("sync_binlog=0")
        verbs = ("save", "lose") if len(saves) > 1 else ("saves", "loses")
        return f"{' and '.join(saves)} {verbs[0]} it, and {verbs[1]} the last commits if the machine crashes"

    def against_table_locks(self) -> Iterator[str]:
        """Also suggest a storage engine with row locks, if tables have another."""
        others = self.storage_engines - {"innodb"}
        if others:
            yield f"a storage engine with row locks (engine=innodb instead of {', '.join(sorted(others))})"
        yield "fewer writers at a time"
