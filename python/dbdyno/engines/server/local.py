"""Detect whether a named server runs on this machine, and find the Unix socket of a server reached over TCP."""

import socket
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.socket_queries import SocketQueries
from dbdyno.model.events.answers import Answer
from dbdyno.model.plan.tasks import AskTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask

# Time limit in seconds for an answer.
_TIMEOUT_S = 10.0


def runs_here(host: str | None) -> bool:
    """Whether a host is this machine, judged by its addresses. ``None`` is: dbdyno itself runs such systems.

    False if the name can't be resolved. A tunnel or container at an address of this machine also counts as local.
    """
    if host is None or host.startswith("/"):
        return True
    own = {address.address.partition("%")[0] for addresses in psutil.net_if_addrs().values() for address in addresses}
    try:
        resolved = {str(each[4][0]) for each in socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    # Debian resolves the machine's name to 127.0.1.1, which is not the address of an interface.
    return all(each in own or ip_address(each).is_loopback for each in resolved)


def unix_socket(target: Mapping[str, Any], questions: SocketQueries) -> dict[str, Any] | None:
    """Return the fields of a plan's target that select a server's Unix socket; ``None`` if there is no usable one.

    ``target``: the server as reached over TCP. The server at the socket must be the same one and accept the same user.
    """
    host = str(target.get("host") or "")
    if host.startswith("/") or not runs_here(host):
        return None
    identity = _answer(target, questions.identity)
    if not identity:
        return None
    for directory in dict.fromkeys([_answer(target, questions.place) or "", *questions.usual]):
        path = Path(directory) / questions.file.format(port=target.get("port"))
        if not directory.startswith("/") or not path.is_socket():
            continue
        # Connections to a Unix socket are not encrypted.
        address: dict[str, Any] = {"host": directory} | ({"tls": None} if "tls" in target else {})
        if _answer({**target, **address}, questions.identity) == identity:
            return address
    return None


def _answer(target: Mapping[str, Any], sql: str) -> str | None:
    try:
        task = AskTask(target=dict(target), sql=sql)
        return ask(WorkerPlan(task=task), Answer, _TIMEOUT_S).answer
    except SystemFailed:
        return None
