"""DuckDB's settings: the library, and the settings that the library supports."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dbdyno.base.errors import InputError
from dbdyno.model.plan.settings import DEFAULT, Scalar, Settings

_LIBRARY = "library"

# Settings that determine the format of a new file.
_OF_FILES = ("default_block_size", "storage_compatibility_version", "force_compression")

_SWITCHES = {"1": True, "on": True, "true": True, "yes": True, "0": False, "off": False, "false": False, "no": False}

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?(?:ytes?)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

# Sizes are read back truncated to one digit after the decimal point.
_SHORTENED = 0.1


@dataclass(frozen=True)
class DuckdbSettings(Settings):
    """The settings of one system. ``library``: its path; ``options``: names and values in DuckDB's syntax."""

    library: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    @property
    def file_settings(self) -> tuple[tuple[str, str], ...]:
        """The settings that determine the format of a new file."""
        return tuple((name, value) for name, value in self.options if name in _OF_FILES)

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the settings: the library, then the database's."""
        if self.library is not None:
            yield _LIBRARY, self.library
        yield from self.options

    @property
    def reads_only(self) -> bool:
        """Whether the database is opened read-only."""
        return dict(self.options).get("access_mode", "").lower() == "read_only"


def read_settings(settings: Mapping[str, Scalar], place: str) -> DuckdbSettings:
    """Check the names of settings. Raises InputError at ``place``.

    The library's version determines which settings exist; opening a database reports unknown ones.
    """
    values: dict[str, str] = {}
    for name, value in settings.items():
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            problem, hint = "not a setting's name", "use letters, digits and `_`, e.g. `memory_limit`"
            raise InputError(f"{place}: {name}", problem, hint)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if text != DEFAULT:
            values[name] = text
    library = values.pop(_LIBRARY, None)
    return DuckdbSettings(library=library, options=tuple(values.items()))


def is_in_effect(name: str, asked: str, found: str | None) -> bool | None:
    """Whether a setting has the requested value; ``found``: the value read back, ``None`` if it has none.

    ``None``: it is not a setting of the database.
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
    """Return a size and its unit in bytes; ``None`` if it isn't a size. ``1KB`` is 1,000 bytes, ``1KiB`` is 1,024."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    unit = (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]
    return float(found[1]) * unit, unit
