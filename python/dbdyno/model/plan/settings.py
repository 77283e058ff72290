"""The settings of a system, as far as all engines have them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str

DEFAULT = "default"
"""A setting with this value is not set at all."""


@dataclass(frozen=True)
class Settings:
    """The settings of one system, checked. An engine's own are a class of its own."""

    @property
    def of_files(self) -> Any:
        """Those that decide the bytes in which loaded data are kept."""
        return ()

    def shown(self) -> Iterator[tuple[str, str]]:
        """Give what is set, by name, for people to read."""
        yield from ()
