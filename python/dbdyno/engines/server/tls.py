"""How connections to a named server are encrypted: URL options that are not server parameters."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.base.paths import expand_user

_MODES = ("disable", "prefer", "require", "verify-ca", "verify-full")


@dataclass(frozen=True)
class TlsOptions:
    """An engine's TLS options. ``names``: ``mode`` or ``roots``, by option; ``modes``: libpq's modes, by its own."""

    names: Mapping[str, str]
    modes: Mapping[str, str]


LIBPQ = TlsOptions({"sslmode": "mode", "sslrootcert": "roots"}, {})
"""Libpq's names, which every engine accepts."""


@dataclass(frozen=True)
class Tls:
    """``mode``: as libpq's ``sslmode``. ``roots``: a file with trusted CA certificates, instead of the system's."""

    mode: str = "prefer"
    roots: str | None = None

    def plan(self) -> dict[str, Any]:
        """Return it as in a plan."""
        return {"mode": self.mode, "roots": self.roots}


def split_tls(options: TlsOptions, values: Mapping[str, str], location: str) -> tuple[Tls, dict[str, str]]:
    """Separate TLS options from a named server's settings. Raises InputError at ``location``."""
    given: dict[str, str] = {}
    rest: dict[str, str] = {}
    for name, value in values.items():
        key = options.names.get(name)
        if key is None:
            rest[name] = value
        elif key in given:
            raise InputError(f"{location}: {name}", "this option is given twice, by two names", "remove one")
        else:
            given[key] = _mode(options, name, value, location) if key == "mode" else _file(name, value, location)
    mode, roots = given.get("mode", Tls.mode), given.get("roots")
    # As in libpq: naming CA certificates implies verifying the server. MySQL's client verifies with VERIFY_… only.
    if "sslrootcert" in values and mode == "require":
        mode = "verify-ca"
    return Tls(mode, roots), rest


def asks_for_tls(name: str, value: str) -> bool:
    """Whether a URL option requires an encrypted connection or a certificate check."""
    option = name.lower().replace("-", "").replace("_", "")
    if option in ("sslrootcert", "sslca"):
        return True
    return option == "sslmode" and value.lower() not in ("disable", "disabled", "allow", "prefer", "preferred")


def _mode(options: TlsOptions, name: str, value: str, location: str) -> str:
    known = [*_MODES, *options.modes]
    mode = value.lower()
    if mode not in known:
        close = difflib.get_close_matches(mode, known, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"
        raise InputError(f"{location}: {name}", f"unknown mode `{value}`", hint)
    return options.modes.get(mode, mode)


def _file(name: str, value: str, location: str) -> str:
    path = expand_user(value, f"{location}: {name}").absolute()
    if not path.is_file():
        raise InputError(f"{location}: {name}", f"no such file: {path}", "name a file with certificates (PEM)")
    return str(path)
