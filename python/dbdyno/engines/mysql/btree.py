"""How InnoDB keeps B-trees, by the settings in force."""

from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules

_PAGE = "16384"
# A leaf is a page less the headers of file and page, the two system records and the page directory's ends.
_HEADERS = 132
# Pages are written before the log has come round: `log_t::max_modified_age_sync` is 7/8 of what it holds.
_LOG_SHARE = 7 / 8


def rules(settings: Mapping[str, str], kind: str) -> BtreeRules | None:
    """Give the rules of a tree; ``None`` where the size of the buffer pool is not known."""
    pool = settings.get("innodb_buffer_pool_size", "")
    if not pool.isdigit():
        return None
    page = int(settings.get("innodb_page_size", _PAGE))
    log = settings.get("innodb_redo_log_capacity") or settings.get("innodb_log_file_size", "")
    files = int(settings.get("innodb_log_files_in_group", "1")) if "innodb_redo_log_capacity" not in settings else 1
    return BtreeRules(
        page_bytes=page,
        leaf_bytes=page - _HEADERS,
        split={"rule": "last_insert", "reserve": kind == "table"},
        cache_pages=int(pool) // page,
        policy={"kind": "midpoint", "old_inserts": 0},
        checkpoint_log_bytes=float(log) * files * _LOG_SHARE if log.isdigit() else None,
        fuzzy=True,
    )
