"""The argument of ``--cluster``: a running Ray cluster, or nodes that dbdyno starts on this machine."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from dbdyno.base.errors import InputError

_OPTION = "--cluster"
_HINT = "use `ray://HOST:PORT` for a running cluster, or `local:3` for nodes on this machine"

# Each Ray node consists of about six processes.
_MAX_LOCAL = 32


@dataclass(frozen=True)
class ClusterAddress:
    """A Ray cluster. ``address``: its client server, empty if dbdyno starts the nodes. ``machines``: None for all."""

    address: str
    machines: int | None

    @property
    def is_local(self) -> bool:
        """Whether dbdyno starts the nodes on this machine."""
        return not self.address

    @property
    def shown(self) -> str:
        """The text that :func:`read_cluster` reads."""
        if self.is_local:
            return f"local:{self.machines}"
        return self.address + (f"?machines={self.machines}" if self.machines else "")


def read_cluster(text: str) -> ClusterAddress:
    """Read ``ray://HOST:PORT``, ``ray://HOST:PORT?machines=4`` or ``local:3``. Raises InputError."""
    if text.startswith("local:"):
        number = text.removeprefix("local:")
        if not number.isascii() or not number.isdecimal() or not 1 <= int(number) <= _MAX_LOCAL:
            raise InputError(
                _OPTION, f"`{text}`: invalid number of nodes", f"use `local:N` with N from 1 to {_MAX_LOCAL}"
            )
        return ClusterAddress("", int(number))
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "ray" or not parts.hostname or port is None or parts.path not in ("", "/") or parts.fragment:
        raise InputError(_OPTION, "not a cluster address", _HINT)
    if parts.username or parts.password:
        raise InputError(_OPTION, "a cluster address can't contain a user or a password", _HINT)
    return ClusterAddress(f"ray://{parts.netloc}", _machines(parts.query))


def _machines(query: str) -> int | None:
    options = parse_qsl(query, keep_blank_values=True)
    if not options:
        return None
    if len(options) > 1 or options[0][0] != "machines":
        raise InputError(_OPTION, f"`{query}`: unknown option", "the only option is `?machines=4`")
    number = options[0][1]
    if not number.isascii() or not number.isdecimal() or int(number) < 1:
        raise InputError(_OPTION, f"`machines={number}`: invalid number", "use a number of load machines from 1")
    return int(number)
