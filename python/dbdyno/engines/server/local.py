"""Whether a named server runs on this machine, and the Unix socket by which its clients could connect as well."""

import socket
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.questions import SocketQuestions
from dbdyno.model.events.answers import Answer
from dbdyno.model.plan.cell import PLAN
from dbdyno.runtime.worker import ask

# Seconds for an answer.
_LONGEST_S = 10.0


def runs_here(host: str | None) -> bool:
    """Whether a host is this machine, by its addresses; without one the system is dbdyno's own.

    Where a name is not resolved, it is not. A tunnel or a container behind an address of this machine cannot be told
    from it.
    """
    if host is None or host.startswith("/"):
        return True
    own = {each.address.partition("%")[0] for of in psutil.net_if_addrs().values() for each in of}
    try:
        resolved = {str(each[4][0]) for each in socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    # Debian has a machine's name at 127.0.1.1, which no interface has.
    return all(each in own or ip_address(each).is_loopback for each in resolved)


def unix_socket(target: Mapping[str, Any], questions: SocketQuestions) -> dict[str, Any] | None:
    """Give what a plan names a server by to reach it over its Unix socket; ``None`` where it cannot be reached so.

    ``target``: the server as it is reached over TCP. A server that answers there has to be the same one, and to let the
    same user in.
    """
    host = str(target.get("host") or "")
    if host.startswith("/") or not runs_here(host):
        return None
    identity = _answer(target, questions.identity)
    if not identity:
        return None
    for place in dict.fromkeys([_answer(target, questions.place) or "", *questions.usual]):
        path = Path(place) / questions.file.format(port=target.get("port"))
        if not place.startswith("/") or not path.is_socket():
            continue
        # Nothing that stays on the machine is encrypted.
        address: dict[str, Any] = {"host": place} | ({"tls": None} if "tls" in target else {})
        if _answer({**target, **address}, questions.identity) == identity:
            return address
    return None


def _answer(target: Mapping[str, Any], sql: str) -> str | None:
    try:
        task = {"kind": "ask", "target": dict(target), "sql": sql}
        return ask({"schema": PLAN, "seed": 1, "task": task}, Answer, _LONGEST_S).answer
    except SystemFailed:
        return None
