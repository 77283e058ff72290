"""How InnoDB keeps B-trees, by the settings in force."""

from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules

_PAGE = 16384
# Less the headers of file and page, the two system records and the page directory's ends.
_LEAF = 16252
# Clustered leaves keep 1/16 free where rows come in order.
_BULK_FILL = 15 / 16
# Pages are written before the log has come round: `log_t::max_modified_age_sync` is 7/8 of what it holds.
_LOG_SHARE = 7 / 8


def rules(settings: Mapping[str, str], kind: str) -> BtreeRules | None:
    """Give the rules of a tree; ``None`` where the size of the buffer pool is not known."""
    pool = settings.get("innodb_buffer_pool_size", "")
    if not pool.isdigit():
        return None
    log = settings.get("innodb_redo_log_capacity") or settings.get("innodb_log_file_size", "")
    return BtreeRules(
        page_bytes=_PAGE,
        leaf_bytes=_LEAF,
        split={"engine": "innodb", "clustered": kind == "table"},
        bulk_fill=_BULK_FILL,
        cache_pages=int(pool) // _PAGE,
        policy={"kind": "midpoint", "old_inserts": 0},
        checkpoint_log_bytes=float(log) * _LOG_SHARE if log.isdigit() else None,
        fuzzy=True,
    )
