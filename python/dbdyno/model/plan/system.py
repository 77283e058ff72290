"""A system as its URL describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SystemSpec:
    """The parts of a system's URL. Without a ``host`` (SQLite: without a ``database``), dbdyno manages the system."""

    engine: str
    """The name of the engine."""
    host: str | None = None
    """The host name or address of a server, or the directory of its socket."""
    port: int | None = None
    """The port of a server; None for the engine's default."""
    user: str | None = None
    """The user name; None for the default."""
    password: str | None = field(default=None, repr=False)
    """The password; None if the URL has none."""
    database: str | None = None
    """The name of the database, or the path of the file."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings after the ``?``, by name."""
    name: str = ""
    """The URL in its normal form, without the password. It is displayed and stored."""
    label: str = ""
    """The text after the ``#``, which distinguishes otherwise identical systems."""
    command: str = ""
    """The command line of an ``exec:`` system."""
    folder: str | None = None
    """The directory that the command runs in; None for the current directory."""
    scheme: str = ""
    """The scheme of the URL if it determines how to connect; otherwise empty."""
