"""The queues of listening sockets: how many unaccepted connections each can hold, and how many it dropped.

The kernel counts the connections that found a queue full (``sk_drops``) and reports them by sock_diag(7). ``ss -ltm``
shows them, too: ``Send-Q`` is the queue's length, ``d`` in ``skmem`` the number of drops.
"""

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from dbdyno.model.events.surroundings import Listeners, Listening
from dbdyno.model.plan.tasks import TrialTask

_SOMAXCONN = Path("/proc/sys/net/core/somaxconn")

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
# NLM_F_REQUEST and NLM_F_DUMP.
_DUMP = 0x301
_DONE, _ERROR = 3, 2

# struct nlmsghdr; what follows it in a request (struct inet_diag_req_v2) and in an answer (struct inet_diag_msg).
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_SOCKET = struct.Struct("=BBBB2s2s16s16sI8sIIIII")
_ATTRIBUTE = struct.Struct("=HH")

# INET_DIAG_SKMEMINFO, of whose numbers SK_MEMINFO_DROPS is one.
_MEMORY, _DROPS = 7, 8
_LISTEN = 10

_RECEIVED = 1 << 16
_ALIGNED = 4

# The part's name if the plan has none: the system that clients connect to.
_TARGET = ""


class _Socket(NamedTuple):
    host: str
    port: int
    backlog: int
    dropped: int


Queues = Mapping[int, _Socket]
"""Listening sockets by inode; empty if the kernel doesn't report them."""


def read_queues() -> Queues:
    """Return the listening sockets of this machine."""
    found: dict[int, _Socket] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            found.update(_listening(family))
        except OSError:
            # Not Linux, or a kernel without sock_diag.
            continue
    return found


def new_drops(before: Queues, task: TrialTask) -> Listeners | None:
    """Return the drops since ``before``, for the sockets that a trial's clients or its system's parts connect to.

    ``task``: the task of the trial's plan. None if there are no such TCP sockets on this machine.
    """
    now = read_queues()
    parts = {inode: tier.name for tier in task.tiers for inode in _inodes(tier.pids, now)}
    parts |= {inode: _TARGET for inode in now if inode not in parts and _is_at(now[inode], task.target)}
    sockets = [
        Listening(
            part=part,
            address=f"{now[inode].host}:{now[inode].port}",
            backlog=now[inode].backlog,
            # A 32-bit counter. A socket that is new since the reading started at 0.
            dropped=(now[inode].dropped - (before[inode].dropped if inode in before else 0)) % (1 << 32),
        )
        for inode, part in parts.items()
    ]
    return Listeners(sockets=sockets, somaxconn=int(_SOMAXCONN.read_text())) if sockets else None


def _listening(family: int) -> Iterator[tuple[int, _Socket]]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        request = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_MEMORY - 1), 1 << _LISTEN)
        kernel.sendall(_HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _DUMP, 1, 0) + request)
        while True:
            data = kernel.recv(_RECEIVED)
            for kind, body in _attributes(data, _HEADER):
                if kind in (_DONE, _ERROR):
                    return
                yield _read(family, body)


def _read(family: int, body: bytes) -> tuple[int, _Socket]:
    fields = _SOCKET.unpack_from(body)
    port, address, backlog, inode = int.from_bytes(fields[4], "big"), fields[6], fields[12], fields[14]
    dropped = 0
    for kind, memory in _attributes(body[_SOCKET.size :], _ATTRIBUTE):
        if kind == _MEMORY and len(memory) >= 4 * (_DROPS + 1):
            (dropped,) = struct.unpack_from("=I", memory, 4 * _DROPS)
    host = socket.inet_ntop(family, address[:4] if family == socket.AF_INET else address)
    return inode, _Socket(host, port, backlog, dropped)


def _attributes(data: bytes, header: struct.Struct) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the content of each attribute, which starts with its length and type."""
    while len(data) >= header.size:
        length, kind = header.unpack_from(data)[:2]
        if length < header.size:
            return
        yield kind, data[header.size : length]
        data = data[-(-length // _ALIGNED) * _ALIGNED :]


def _inodes(pids: Sequence[int], known: Queues) -> Iterator[int]:
    """Return the listening sockets that processes or their descendants have open."""
    for pid in pids:
        try:
            first = psutil.Process(pid)
            family = [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for process in family:
            yield from _open(process.pid, known)


def _open(pid: int, known: Queues) -> Iterator[int]:
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        # The process has ended, or belongs to another user.
        return
    for entry in entries:
        try:
            name = str(entry.readlink())
        except OSError:
            continue
        if name.startswith("socket:[") and (inode := int(name[8:-1])) in known:
            yield inode


def _is_at(listening: _Socket, target: Mapping[str, Any]) -> bool:
    """Whether clients connect to this socket, on an address of this machine."""
    return listening.port == target.get("port") and target.get("host") in ("127.0.0.1", "::1", "localhost")
