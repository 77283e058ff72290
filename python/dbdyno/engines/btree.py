"""What a prediction has to know of how an engine keeps a B-tree: its pages, splits, cache and checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class BtreeRules:
    """An engine's rules for one tree, by the settings in force. ``docs/explanation/prediction.md`` has the sources.

    ``leaf_bytes``: what entries can use of a page; ``split`` and ``policy``: as the worker's plan has them;
    ``cache_pages``: of the engine's own cache.
    """

    page_bytes: int
    leaf_bytes: int
    split: Mapping[str, Any]
    cache_pages: int
    policy: Mapping[str, Any]
    checkpoint_log_bytes: float | None = None
    """Bytes of log from one checkpoint to the next; ``None``: the log does not cause any."""
    checkpoint_seconds: float | None = None
    """Seconds from one checkpoint to the next; ``None``: time does not cause any."""
    fuzzy: bool = False
    """Whether each page is written when its oldest change is a checkpoint's distance back, rather than all at once."""
    page_images: bool = False
    """Whether the first change of a page after a checkpoint has the page logged."""
    commits_log_pages: bool = False
    """Whether the log consists of the pages that a commit changed."""
    writer_checkpoints: bool = False
    """Whether the session that inserts writes the checkpoint, and waits for it."""
    one_writer: bool = False
    """Whether only one session can insert at a time."""
