"""Levels of factors."""

from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str


@dataclass(frozen=True)
class Level:
    """One value of a factor.

    ``name``: the value as text. ``values``: the keys and values of a level that is a table; its ``value`` is its name.
    """

    name: str
    value: Scalar
    values: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def of(value: Scalar) -> "Level":
        """Return the level of a single value."""
        return Level(as_text(value), value)

    def bindings(self, factor: str) -> dict[str, Any]:
        """Return the values of ``factor`` and ``factor.key``, which replace ``${factor}`` and ``${factor.key}``."""
        return {factor: self.value} | {f"{factor}.{key}": value for key, value in self.values}


def as_text(value: Any) -> str:
    """Return a level's value as text, for cell ids, tables and strings that refer to the factor."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
