"""What ``--cluster`` names: a Ray cluster that runs, or nodes that dbdyno starts here."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from dbdyno.base.errors import InputError

_OPTION = "--cluster"
_HINT = "write `ray://HOST:PORT` for a cluster that runs, or `local:3` for nodes on this machine"

# A node of Ray is half a dozen processes.
_MOST_LOCAL = 32


@dataclass(frozen=True)
class ClusterAddress:
    """``address``: of the Ray client server, empty where dbdyno starts the nodes; ``machines``: how many, none: all."""

    address: str
    machines: int | None

    @property
    def is_local(self) -> bool:
        """Whether dbdyno starts the nodes, on this machine."""
        return not self.address

    @property
    def shown(self) -> str:
        """As it is written."""
        if self.is_local:
            return f"local:{self.machines}"
        return self.address + (f"?machines={self.machines}" if self.machines else "")


def read_cluster(text: str) -> ClusterAddress:
    """Read ``ray://HOST:PORT``, ``ray://HOST:PORT?machines=4`` or ``local:3``. Raises InputError."""
    if text.startswith("local:"):
        number = text.removeprefix("local:")
        if not number.isascii() or not number.isdecimal() or not 1 <= int(number) <= _MOST_LOCAL:
            raise InputError(
                _OPTION, f"`{text}` names no number of nodes", f"write `local:N`, N from 1 to {_MOST_LOCAL}"
            )
        return ClusterAddress("", int(number))
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "ray" or not parts.hostname or port is None or parts.path not in ("", "/") or parts.fragment:
        raise InputError(_OPTION, "this is not the address of a cluster", _HINT)
    if parts.username or parts.password:
        raise InputError(_OPTION, "the address of a cluster has no user and no password", _HINT)
    return ClusterAddress(f"ray://{parts.netloc}", _machines(parts.query))


def _machines(query: str) -> int | None:
    options = parse_qsl(query, keep_blank_values=True)
    if not options:
        return None
    if len(options) > 1 or options[0][0] != "machines":
        raise InputError(_OPTION, f"`{query}` is no option of a cluster", "the one there is: `?machines=4`")
    number = options[0][1]
    if not number.isascii() or not number.isdecimal() or int(number) < 1:
        raise InputError(_OPTION, f"`machines={number}` is no number of load machines", "write one from 1 on")
    return int(number)
