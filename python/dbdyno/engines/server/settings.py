"""What can be set on a server: its own parameters, by name, and how dbdyno uses it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbdyno.base.errors import InputError
from dbdyno.engines.server.tls import LIBPQ, Tls, TlsOptions, split_tls
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from dbdyno.model.plan.cell import CompiledCell


@dataclass(frozen=True)
class ServerSettings(Settings):
    """The settings of one system. ``parameters``: as the server names them, with values in the form it takes.

    ``tls``: of a named server. ``program``: the server that dbdyno starts, where it is not the first found.
    ``index_directory``: where the indexes lie of the tables of a server that dbdyno starts; ``None``: with the rest.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    tls: Tls = field(default_factory=Tls)
    program: str | None = None
    index_directory: str | None = None

    def shown(self) -> Iterator[tuple[str, str]]:
        """Give what is set: what dbdyno does with it, then its parameters."""
        if self.program:
            yield "program", self.program
        if self.index_directory:
            yield "index_directory", self.index_directory
        yield from self.parameters.items()

    @property
    def asked(self) -> Mapping[str, str]:
        """Parameters that a server is given only to see whether it has what is set otherwise."""
        return {}

    def lacking(self, title: str) -> tuple[str, str, str]:
        """Say which setting a server (``title``) refused by :attr:`asked`, the problem, and what to do."""
        raise NotImplementedError


def server_settings_of(compiled: "CompiledCell") -> ServerSettings:
    """Give a cell's settings of its server."""
    return compiled.settings if isinstance(compiled.settings, ServerSettings) else ServerSettings()


def read_server_settings(
    settings: Mapping[str, Scalar],
    place: str,
    *,
    named: bool,
    index_directory: bool = False,
    truth: tuple[str, str] = ("on", "off"),
    tls_options: TlsOptions | None = LIBPQ,
) -> ServerSettings:
    """Check settings as far as can be without the server. Raises InputError that begins with ``place``.

    ``named``: of a server that runs already, among whose settings are those of the connection to it.
    ``index_directory``: whether the server can keep indexes in a directory of their own. ``truth``: what true and false
    are written as; ``tls_options``: by what names TLS is asked for, ``None``: it cannot be.
    """
    yes, no = truth
    values = {
        name: (yes if value else no) if isinstance(value, bool) else str(value) for name, value in settings.items()
    }
    tls = Tls()
    # Where there is no TLS, its option is refused as one that is not known.
    if named and tls_options is not None:
        tls, values = split_tls(tls_options, values, place)
    for name in ("program", "index_directory"):
        if values.get(name) == "":
            raise InputError(f"{place}: {name}", "the value is empty", "give a path, or leave it out")
    program = values.pop("program", None)
    if program is not None and named:
        raise InputError(f"{place}: program", "a server that runs already has its program", "leave it out")
    directory = values.pop("index_directory", None) if index_directory else None
    if directory is not None and named:
        hint = "leave it out, and make a tablespace on the server"
        raise InputError(f"{place}: index_directory", "a server that runs already places its indexes itself", hint)
    return ServerSettings(values, tls, program, directory)
