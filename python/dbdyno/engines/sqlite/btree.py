"""How SQLite stores B-trees, under the settings in effect."""

from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules
from dbdyno.engines.sqlite.advice import cache_bytes

# Bytes of a leaf page's header.
_HEADER = 8
_AUTOCHECKPOINT = "1000"


def rules(settings: Mapping[str, str], kind: str, *, numbered: bool) -> BtreeRules | None:
    """Return the rules of a tree in WAL mode; ``None`` in other modes, or if a size is unknown.

    ``numbered``: keys are ascending numbers. A table with other keys has no row ids and splits like an index.
    """
    page, cache = settings.get("page_size", ""), cache_bytes(settings)
    frames = settings.get("wal_autocheckpoint", _AUTOCHECKPOINT)
    logged = settings.get("journal_mode", "").lower() == "wal"
    if not logged or not page.isdigit() or cache is None or not frames.isdigit():
        return None
    size = int(page)
    return BtreeRules(
        page_bytes=size,
        leaf_bytes=size - _HEADER,
        split={"rule": "neighbours", "empty_edge": kind == "table" and numbered},
        cache_pages=int(cache // size),
        policy={"kind": "clean_first"},
        checkpoint_log_bytes=int(frames) * size if frames != "0" else None,
        commits_log_pages=True,
        writer_checkpoints=True,
        one_writer=True,
    )
