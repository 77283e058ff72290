"""The settings of a server: its own parameters, and how dbdyno uses it."""

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
    """The settings of one system. ``parameters``: server parameters by name, with values in the server's syntax.

    ``tls``: how to encrypt connections to a named server. ``program``: the server program to start, instead of the
    newest. ``index_directory``: directory for the indexes of a server that dbdyno starts; ``None``: with its data.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    tls: Tls = field(default_factory=Tls)
    program: str | None = None
    index_directory: str | None = None

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the settings: dbdyno's own, then the server's parameters."""
        if self.program:
            yield "program", self.program
        if self.index_directory:
            yield "index_directory", self.index_directory
        yield from self.parameters.items()

    @property
    def asked(self) -> Mapping[str, str]:
        """Parameters set only to check that the server supports a setting that dbdyno applies another way."""
        return {}

    def lacking(self, title: str) -> tuple[str, str, str]:
        """Return the setting that the server ``title`` rejected through :attr:`asked`, the problem and a hint."""
        raise NotImplementedError


def server_settings_of(compiled: "CompiledCell") -> ServerSettings:
    """Return the server settings of a cell."""
    return compiled.settings if isinstance(compiled.settings, ServerSettings) else ServerSettings()


def read_server_settings(
    settings: Mapping[str, Scalar],
    location: str,
    *,
    named: bool,
    index_directory: bool = False,
    truth: tuple[str, str] = ("on", "off"),
    tls_options: TlsOptions | None = LIBPQ,
) -> ServerSettings:
    """Check settings as far as possible without the server. Raises InputError at ``location``.

    ``named``: the server already runs; its settings include connection options. ``index_directory``: whether the server
    can store indexes in a separate directory. ``truth``: the server's words for true and false; ``tls_options``: the
    names of TLS options, ``None``: TLS isn't supported.
    """
    yes, no = truth
    values = {
        name: (yes if value else no) if isinstance(value, bool) else str(value) for name, value in settings.items()
    }
    tls = Tls()
    # Without TLS, the server rejects TLS options as unknown parameters.
    if named and tls_options is not None:
        tls, values = split_tls(tls_options, values, location)
    for name in ("program", "index_directory"):
        if values.get(name) == "":
            raise InputError(f"{location}: {name}", "the value is empty", "give a path, or leave it out")
    program = values.pop("program", None)
    if program is not None and named:
        raise InputError(f"{location}: program", "only servers that dbdyno starts have this setting", "leave it out")
    directory = values.pop("index_directory", None) if index_directory else None
    if directory is not None and named:
        hint = "leave it out, and create a tablespace on the server"
        raise InputError(f"{location}: index_directory", "only servers that dbdyno starts have this setting", hint)
    return ServerSettings(values, tls, program, directory)
