"""How PostgreSQL keeps B-trees (nbtree), by the settings in force."""

import re
from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules
from dbdyno.engines.postgresql.advice import cache_bytes, size_bytes

_PAGE = 8192
# Less the page's header (24 bytes) and nbtree's own (16).
_LEAF = 8152
_FILLFACTOR = 0.9
# `checkpoint_completion_target` of version 14 and later, where it was not read back.
_COMPLETION = "0.9"
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def rules(settings: Mapping[str, str], kind: str) -> BtreeRules | None:
    """Give the rules of an index; tables are no B-trees here, and without ``shared_buffers`` nothing can be told."""
    cache = cache_bytes(settings)
    if kind != "index" or cache is None:
        return None
    most = size_bytes(settings.get("max_wal_size", ""))
    time = re.fullmatch(r"(\d+)(s|min|h|d)", settings.get("checkpoint_timeout", ""))
    completion = float(settings.get("checkpoint_completion_target", _COMPLETION))
    return BtreeRules(
        page_bytes=_PAGE,
        leaf_bytes=_LEAF,
        split={"rule": "middle", "rightmost": _FILLFACTOR},
        cache_pages=int(cache // _PAGE),
        policy={"kind": "clock"},
        # CalculateCheckpointSegments in xlog.c.
        checkpoint_log_bytes=None if most is None else most / (1.0 + completion),
        checkpoint_seconds=None if time is None else float(time[1]) * _SECONDS[time[2]],
        page_images=settings.get("full_page_writes", "on") == "on",
    )
