"""How InnoDB stores B-trees, under the settings in effect."""

from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules

_PAGE = "16384"
# Bytes of a leaf that entries can't use: file and page headers, two system records, ends of the page directory.
_HEADERS = 132
# Pages are written before the log is full: `log_t::max_modified_age_sync` is 7/8 of its capacity.
_LOG_SHARE = 7 / 8


def rules(settings: Mapping[str, str], kind: str) -> BtreeRules | None:
    """Return the rules of a tree; ``None`` if the size of the buffer pool is unknown."""
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
