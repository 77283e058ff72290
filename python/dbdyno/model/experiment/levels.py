"""The levels of factors."""

from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str


@dataclass(frozen=True)
class Level:
    """One value of a factor. A named level binds several values; its own ``value`` is its name."""

    name: str
    value: Scalar
    values: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def of(value: Scalar) -> "Level":
        """Make the level of a single value."""
        return Level(as_text(value), value)

    def bindings(self, factor: str) -> dict[str, Any]:
        """Give what ``${factor}`` and ``${factor.key}`` stand for."""
        return {factor: self.value} | {f"{factor}.{key}": value for key, value in self.values}


def as_text(value: Any) -> str:
    """Write a level's value as it stands in a longer text, a cell's id or a table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
