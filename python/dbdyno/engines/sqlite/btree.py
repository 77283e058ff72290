"""How SQLite keeps B-trees, by the settings in force."""

from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules
from dbdyno.engines.sqlite.advice import cache_bytes

# The header of a leaf page.
_HEADER = 8
_AUTOCHECKPOINT = "1000"


def rules(settings: Mapping[str, str], kind: str, *, numbered: bool) -> BtreeRules | None:
    """Give the rules of a tree in WAL mode, the only one that is known; ``None`` elsewhere, or where sizes are not.

    ``numbered``: keys are numbers that count up. A table of other keys has no row numbers, and splits as an index does.
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
