"""The file that lists an engine's wait events, and how to read it."""

from dataclasses import dataclass
from importlib.resources.abc import Traversable


@dataclass(frozen=True)
class WaitList:
    """``file``: TOML with ``groups`` of ``events`` (:mod:`dbdyno.analysis.bottleneck.waits.meanings`).

    ``versions``: whether each event is followed by the versions that have it. ``regards_case``: whether event names are
    case-sensitive.
    """

    file: Traversable
    versions: bool = False
    regards_case: bool = False
