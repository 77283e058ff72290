"""The URL of a system: its engine, location and settings."""

import difflib
import re
import shlex
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote, unquote

from dbdyno.base.errors import InputError
from dbdyno.base.paths import check_utf8
from dbdyno.engines.lookup import engine_named, engine_of
from dbdyno.engines.registry import ENGINES, NAMES
from dbdyno.model.plan.system import SystemSpec

_URL = re.compile(r"(?P<engine>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_OWN_NAME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)=(?P<url>[A-Za-z][A-Za-z0-9+.-]*(?::.*)?)", re.DOTALL)
_PROGRAMS_NAME = re.compile(r"(?P<command>.*)\s#(?P<name>[A-Za-z][A-Za-z0-9_.-]*)", re.DOTALL)
_AUTHORITY = re.compile(
    r"(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?(?P<host>\[[^\]]*\]|[^:@/\[\]]*)(?::(?P<port>[0-9]+))?"
)

_LAST_PORT = 65535

# Parts of a URL that libpq also accepts as settings.
_OF_CONNECTION = ("host", "port", "user", "password", "dbname")


def parse_url(url: str) -> SystemSpec:
    """Parse a URL such as ``sqlite:?journal_mode=wal``, ``sqlite:/path/file.db`` or ``postgresql://host/database``.

    An engine's name alone means the system that dbdyno manages: ``postgresql`` is ``postgresql:``.
    In a setting's value, write ``&``, ``%`` and ``#`` as ``%26``, ``%25`` and ``%23``; spaces and ``+`` have no special
    meaning. ``fast=sqlite:`` labels the system, like ``sqlite:#fast``. The engine checks the settings later. Raises
    InputError.
    """
    check_utf8(url, _shown(url))
    own = _OWN_NAME.fullmatch(url.strip())
    if own is not None:
        spec = parse_url(own["url"])
        if spec.label:
            raise InputError(_shown(url), f"it has two names, `{own['name']}` and `{spec.label}`", "leave out one")
        return _named(replace(spec, label=own["name"]))
    match = _URL.fullmatch(url.strip()) or _URL.fullmatch(f"{url.strip()}:")
    if not match:
        hint = "write one such as `sqlite:`, `sqlite:/path/to/file.db` or `postgresql:?fsync=off`"
        raise InputError(_shown(url), "this is not the URL of a system", hint)
    name = _engine_name(url, match["engine"])
    engine = engine_of(name)
    scheme = match["engine"].lower() if match["engine"].lower() in engine.schemes else ""
    if engine.location == "command":
        return _program(name, url, match["rest"])
    rest, _, label = match["rest"].partition("#")
    rest, _, query = rest.partition("?")
    settings = _settings(url, query, empty=engine.is_server)
    authority, path = (None, rest)
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        path = slash + path if engine.location == "file" else path
    if not engine.is_server:
        if authority or (path and engine.location == "nothing"):
            hint = f"write `{name}:/path/to/file.db`, or `{name}:`" if engine.location == "file" else f"write `{name}:`"
            raise InputError(_shown(url), f"`{name}` has no host", hint)
        return _named(SystemSpec(name, database=unquote(path) or None, settings=settings, label=label))
    if authority is None and path:
        raise InputError(_shown(url), "a host begins with `//`", f"write `{name}://host/database`, or `{name}:`")
    if authority is not None:
        authority, path, settings = _as_libpq_has_it(name, url, authority, path, settings)
    server = _server(name, url, authority or "", unquote(path) or None)
    return _named(replace(server, settings=settings, label=label, scheme=scheme))


def _engine_name(url: str, text: str) -> str:
    name = engine_named(text)
    if name is None:
        close = difflib.get_close_matches(text.lower(), NAMES, 1, 0.6)
        hint = f"did you mean `{close[0]}:`?" if close else "known: " + ", ".join(f"`{each}:`" for each in ENGINES)
        raise InputError(_shown(url), f"unknown engine `{text}`", hint)
    return name


def _server(name: str, url: str, authority: str, database: str | None) -> SystemSpec:
    parts = _read_authority(name, url, authority)
    if parts["user"] and not engine_of(name).shows_user:
        # Together they are the secret.
        parts |= {"user": None, "password": f"{parts['user']}:{parts['password'] or ''}"}
    return SystemSpec(
        name,
        host=parts["host"],
        port=_port(url, parts["port"]),
        user=parts["user"],
        password=parts["password"],
        database=database,
    )


def _read_authority(engine: str, url: str, authority: str) -> dict[str, str | None]:
    """Parse user, password, host and port. Raises InputError if a part is given without a host."""
    where = _AUTHORITY.fullmatch(authority)
    parts = {key: unquote(value) if value else None for key, value in where.groupdict().items()} if where else {}
    if not where or (authority and not parts["host"]):
        problem = "the host is missing" if where else "the host cannot be read"
        raise InputError(_shown(url), problem, f"write `{engine}://user:password@host:port/database`")
    return parts


def _as_libpq_has_it(
    engine: str, url: str, authority: str, path: str, settings: Mapping[str, str]
) -> tuple[str, str, dict[str, str]]:
    """Move host, port, user, password and database from the settings of a URL without a host to its authority.

    This is libpq's syntax: in `postgresql:///db?host=/run/postgresql&port=5433`, the host is a socket's directory.
    Raises InputError if a part is given twice or is empty, or if the host is missing.
    """
    rest = dict(settings)
    given = {name: rest.pop(name) for name in _OF_CONNECTION if name in rest}
    both = f"write `{engine}://user@host:port/database`, or `{engine}:///database?host=…&port=…&user=…`"
    if authority and given:
        raise InputError(_shown(url), f"the URL has a host and also the setting `{next(iter(given))}`", both)
    if authority or not (given or path.strip("/")):
        return authority, path, rest
    if "host" not in given:
        what = "a database" if path.strip("/") else f"`{next(iter(given))}`"
        hint = f"add one, as in `{engine}:///database?host=/run/socket`"
        raise InputError(_shown(url), f"{what} is given without a host", hint)
    empty = next((name for name, value in given.items() if not value), None)
    if empty is not None:
        raise InputError(_shown(url), f"`{empty}` is empty", "give a value, or leave it out")
    if "dbname" in given and path.strip("/"):
        raise InputError(_shown(url), "the database is given twice", both)
    user, password = (quote(given.get(name, ""), safe="") for name in ("user", "password"))
    host = given["host"]
    authority = f"{user}{':' if password else ''}{password}@" if user or password else ""
    authority += f"[{host}]" if ":" in host and not host.startswith("[") else quote(host, safe="[]:")
    return authority + (f":{given['port']}" if "port" in given else ""), path or given.get("dbname", ""), rest


def _port(url: str, text: str | None) -> int | None:
    if text is None:
        return None
    if len(text) > len(str(_LAST_PORT)) or not 1 <= int(text) <= _LAST_PORT:
        raise InputError(_shown(url), f"invalid port {text[:20]}", f"give one from 1 to {_LAST_PORT}")
    return int(text)


def _program(name: str, url: str, rest: str) -> SystemSpec:
    """Parse ``exec:./program --option {factor}``.

    A command may contain any characters. Only ``#2`` at its end, or a space and ``#name``, is a label.
    """
    command, _, label = rest.rpartition("#")
    if not label.isdecimal():
        named = _PROGRAMS_NAME.fullmatch(rest)
        command, label = (rest, "") if named is None else (named["command"], named["name"])
    command = command.strip()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(url, f"the command cannot be read: {str(error).lower()}", "close the quote") from None
    if not words:
        raise InputError(url, "the command is missing", f"write `{name}:./my-program --its-options`")
    return _named(SystemSpec(name, command=command, label=label))


def label_duplicates(specs: Sequence[SystemSpec]) -> list[SystemSpec]:
    """Label repeated systems ``#2`` and so on, so that a system can be compared with itself."""
    made: dict[str, SystemSpec] = {}
    for spec in specs:
        number, apart = 1, spec
        while apart.name in made:
            number += 1
            apart = _named(replace(spec, label=f"{spec.label}.{number}" if spec.label else str(number)))
        made[apart.name] = apart
    return list(made.values())


def with_settings(spec: SystemSpec, settings: Mapping[str, str]) -> SystemSpec:
    """Return a system with settings added or replaced."""
    return _named(replace(spec, settings={**spec.settings, **settings})) if settings else spec


def without_setting(spec: SystemSpec, name: str) -> SystemSpec:
    """Return a system without one of its settings."""
    return _named(replace(spec, settings={each: value for each, value in spec.settings.items() if each != name}))


def same_system(a: SystemSpec, b: SystemSpec) -> bool:
    """Whether two systems have the same engine and settings, regardless of their location."""
    return a.engine == b.engine and dict(a.settings) == dict(b.settings)


def serves_here(name: str) -> bool:
    """Whether a system, given by its stored name, is a server on this machine: at a socket or a local address."""
    try:
        spec = parse_url(name)
    except InputError:
        return False
    host = spec.host or "localhost"
    return engine_of(spec.engine).is_server and (is_loopback(host) or host == socket.gethostname())


def is_loopback(host: str) -> bool:
    """Whether a host is a socket's directory or a loopback address."""
    bare = host.strip("[]")
    return bare.startswith(("/", "127.")) or bare in ("localhost", "::1")


def _settings(url: str, query: str, *, empty: bool) -> dict[str, str]:
    """Parse settings. ``empty``: whether values may be empty, e.g. MariaDB's ``sql_mode``."""
    settings: dict[str, str] = {}
    known: set[str] = set()
    for item in filter(None, query.split("&")):
        name, equals, value = item.partition("=")
        name = unquote(name)
        if not equals or not name or not (value or empty):
            raise InputError(_shown(url), f"`{item}` is not a setting", "write `name=value`")
        # Servers treat `-` and `_` as equal and ignore case.
        plain = name.lower().replace("-", "_")
        if plain in known:
            raise InputError(_shown(url), f"`{name}` is set twice", "remove one")
        known.add(plain)
        settings[name] = unquote(value)
    return settings


def _named(spec: SystemSpec) -> SystemSpec:
    name = f"{spec.scheme or spec.engine}:{spec.command}"
    if spec.host:
        # A socket's directory contains slashes, and a user's name may contain `@`.
        user = f"{quote(spec.user, safe='')}@" if spec.user else ""
        name += f"//{user}{quote(spec.host, safe='[]:')}" + (f":{spec.port}" if spec.port else "") + "/"
    name += spec.database or ""
    if spec.settings:
        written = (f"{key}={_escaped(value)}" for key, value in spec.settings.items())
        name += "?" + "&".join(written)
    if spec.label:
        # A command may end with something like a label, so a space distinguishes the label.
        name += f" #{spec.label}" if spec.command and not spec.label.isdecimal() else f"#{spec.label}"
    return replace(spec, name=name)


def _shown(url: str) -> str:
    """Return a URL without its password, for messages."""
    return re.sub(r"(//[^:@/]*):[^@/]*@", r"\1@", re.sub(r"([?&]password=)[^&#]*", r"\1…", url))


def _escaped(value: str) -> str:
    for character in "%&#":
        value = value.replace(character, f"%{ord(character):02X}")
    return value
