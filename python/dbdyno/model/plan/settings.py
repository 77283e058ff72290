"""The settings of a system: the part that all engines share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str

DEFAULT = "default"
"""The value of a setting that dbdyno leaves unset."""


@dataclass(frozen=True)
class Settings:
    """Validated settings of a system. Engines with settings have a subclass."""

    @property
    def file_settings(self) -> Any:
        """The settings that affect the stored bytes of loaded data."""
        return ()

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the names and values of the settings for display."""
        yield from ()
