"""Where an engine's folder keeps the list of what its sessions wait for, and how the list is to be read."""

from dataclasses import dataclass
from importlib.resources.abc import Traversable


@dataclass(frozen=True)
class WaitList:
    """``file``: in TOML, ``groups`` of ``events`` (:mod:`dbdyno.analysis.bottleneck.waits.meanings`).

    ``versions``: whether each event has behind it the versions that have it. ``regards_case``: whether names that
    differ in case are two.
    """

    file: Traversable
    versions: bool = False
    regards_case: bool = False
