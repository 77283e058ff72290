"""How PostgreSQL stores B-trees (nbtree), under the settings in effect."""

import re
from collections.abc import Mapping

from dbdyno.engines.btree import BtreeRules
from dbdyno.engines.postgresql.advice import cache_bytes, size_bytes

_PAGE = 8192
# A page without its header (24 bytes) and nbtree's special space (16 bytes).
_LEAF = 8152
_FILLFACTOR = 0.9
# Default of `checkpoint_completion_target` since version 14, used if it was not read back.
_COMPLETION = "0.9"
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def rules(settings: Mapping[str, str], kind: str) -> BtreeRules | None:
    """Return the rules of an index; ``None`` for tables, which aren't B-trees, or if ``shared_buffers`` is unknown."""
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
