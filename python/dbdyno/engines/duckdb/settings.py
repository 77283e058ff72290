"""What can be set on DuckDB: the library, and whatever that has settings for."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.base.errors import InputError
from dbdyno.model.plan.settings import DEFAULT, Scalar, Settings

_LIBRARY = "library"

# Those that decide the bytes of a file when it is made.
_OF_FILES = ("default_block_size", "storage_compatibility_version", "force_compression")

_SWITCHES = {"1": True, "on": True, "true": True, "yes": True, "0": False, "off": False, "false": False, "no": False}

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?(?:ytes?)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

# What is read back of a size has one digit after the point, and is not rounded.
_SHORTENED = 0.1


@dataclass(frozen=True)
class DuckdbSettings(Settings):
    """The settings of one system. ``library``: its path; ``options``: names and values, as DuckDB takes them."""

    library: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    @property
    def of_files(self) -> tuple[tuple[str, str], ...]:
        """Those that decide the bytes of a file when it is made."""
        return tuple((name, value) for name, value in self.options if name in _OF_FILES)

    def shown(self) -> Iterator[tuple[str, str]]:
        """Give what is set: the library, then the database's settings."""
        if self.library is not None:
            yield _LIBRARY, self.library
        yield from self.options

    @property
    def reads_only(self) -> bool:
        """Whether the database is opened to be read alone."""
        return dict(self.options).get("access_mode", "").lower() == "read_only"


def read_settings(settings: Mapping[str, Scalar], place: str) -> DuckdbSettings:
    """Check settings by their names. Raises InputError that begins with ``place``.

    Which settings there are depends on the library's version: what it does not know is told when it is opened.
    """
    values: dict[str, str] = {}
    for name, value in settings.items():
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            problem, hint = "DuckDB has no such setting", "give names of letters, digits and `_`, as `memory_limit`"
            raise InputError(f"{place}: {name}", problem, hint)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if text != DEFAULT:
            values[name] = text
    library = values.pop(_LIBRARY, None)
    return DuckdbSettings(library=library, options=tuple(values.items()))


def in_force(name: str, asked: str, found: str | None) -> bool | None:
    """Whether a setting is what was asked for; ``found``: what was read back, ``None`` where it has no value.

    ``None``: it is none of the database's.
    """
    if name == _LIBRARY:
        return None
    if found is None:
        return False
    if asked.lower() == found.lower():
        return True
    if asked.lower() in _SWITCHES and found.lower() in _SWITCHES:
        return _SWITCHES[asked.lower()] == _SWITCHES[found.lower()]
    wanted, read = _bytes(asked), _bytes(found)
    if wanted is None or read is None:
        return False
    return abs(wanted[0] - read[0]) <= _SHORTENED * read[1]


def _bytes(text: str) -> tuple[float, int] | None:
    """Give a size in bytes, and its unit; ``None`` where it is none. ``1KB`` is 1,000 bytes, ``1KiB`` is 1,024."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    unit = (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]
    return float(found[1]) * unit, unit
