"""How an engine stores a B-tree, as input for predictions: its pages, splits, cache and checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class BtreeRules:
    """An engine's rules for one tree, under the settings in effect. ``docs/explanation/prediction.md`` cites sources.

    ``leaf_bytes``: bytes of a leaf page available for entries; ``split`` and ``policy``: as in the worker's plan;
    ``cache_pages``: size of the engine's own cache in pages.
    """

    page_bytes: int
    leaf_bytes: int
    split: Mapping[str, Any]
    cache_pages: int
    policy: Mapping[str, Any]
    checkpoint_log_bytes: float | None = None
    """Bytes of log between checkpoints; ``None``: the size of the log doesn't trigger checkpoints."""
    checkpoint_seconds: float | None = None
    """Seconds between checkpoints; ``None``: time doesn't trigger checkpoints."""
    fuzzy: bool = False
    """Whether each page is written once its oldest change is one checkpoint distance old, not all pages at once."""
    page_images: bool = False
    """Whether the first change of a page after a checkpoint logs the whole page."""
    commits_log_pages: bool = False
    """Whether a commit logs the pages that it changed."""
    writer_checkpoints: bool = False
    """Whether the inserting session writes the checkpoint itself and waits for it."""
    one_writer: bool = False
    """Whether only one session can insert at a time."""
