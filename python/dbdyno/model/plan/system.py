"""A system, as its URL names it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SystemSpec:
    """What a URL says. Without a ``host`` (SQLite: without a ``database``) dbdyno manages the system itself.

    ``name`` is the URL as it is shown and stored: in one form, and without the password. ``label``, after a ``#``,
    tells systems apart that are otherwise the same. ``command``: of ``exec:``, the command line of a program;
    ``folder``: where it is run, None for the current one. ``scheme``: what the URL calls the engine, where that says
    how it is connected to.
    """

    engine: str
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    label: str = ""
    command: str = ""
    folder: str | None = None
    scheme: str = ""
