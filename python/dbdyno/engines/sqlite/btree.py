"""How SQLite keeps B-trees, by the settings in force."""

from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules
from dbdyno.engines.sqlite.advice import cache_bytes

# The header of a leaf page.
_HEADER = 8
_AUTOCHECKPOINT = "1000"


def rules(settings: Mapping[str, str], kind: str) -> BtreeRules | None:
    """Give the rules of a tree; ``None`` where the sizes of a page, of the cache or of the log are not known."""
    page, cache = settings.get("page_size", ""), cache_bytes(settings)
    frames = settings.get("wal_autocheckpoint", _AUTOCHECKPOINT)
    if not page.isdigit() or cache is None or not frames.isdigit():
        return None
    size = int(page)
    logged = settings.get("journal_mode", "").lower() == "wal"
    return BtreeRules(
        page_bytes=size,
        leaf_bytes=size - _HEADER,
        split={"engine": "sqlite", "table": kind == "table"},
        bulk_fill=1.0,
        cache_pages=int(cache // size),
        policy={"kind": "pcache"},
        checkpoint_log_bytes=int(frames) * size if logged and frames != "0" else None,
        commits_log_pages=True,
        writer_checkpoints=True,
        one_writer=True,
    )
