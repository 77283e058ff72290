"""The databases that the web application supports, and their URLs in its syntax."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

Target = Mapping[str, Any]


def _sqlite(target: Target) -> str:
    return f"sqlite:{quote(target['path'])}"


def _postgresql(target: Target) -> str:
    settings = {"host": target["host"], "port": target["port"], "user": target["user"]}
    if target.get("password"):
        settings["password"] = target["password"]
    return f"postgresql:///{quote(target['database'])}?{urlencode(settings)}"


def _mysql(target: Target) -> str:
    password = f":{quote(target['password'], safe='')}" if target.get("password") else ""
    account = quote(target["user"], safe="") + password
    host = str(target["host"])
    if host.startswith("/"):
        return f"mysql://{account}@localhost/{quote(target['database'])}?{urlencode({'socket': host})}"
    return f"mysql://{account}@{host}:{target['port']}/{quote(target['database'])}"


_URLS: Mapping[str, Callable[[Target], str]] = {"sqlite": _sqlite, "postgresql": _postgresql, "mysql": _mysql}

DATABASES = tuple(_URLS)
"""The names of the engines that it supports."""


def database_url(target: Target) -> str:
    """Return the URL of a database, given as a plan's target."""
    return _URLS[target["engine"]](target)


def statements_at_connect(target: Target) -> Iterator[str]:
    """Yield a web server's options for the statements to execute on each new connection."""
    for name, value in target.get("pragmas", ()):
        yield "--on-connect"
        yield f"pragma {name} = {value}"
