"""The transport time of a message to a server and its answer, without the server's work."""

import contextlib
import socket
import threading
import time
from statistics import median

from dbdyno.engines import engine_of
from dbdyno.model.plan.system import SystemSpec

_TRIPS = 200
_CONNECTIONS = 5
_TIMEOUT_S = 2.0


def round_trip_us(system: SystemSpec) -> float | None:
    """Return microseconds, or None if they are unknown.

    For a system with a host name and port, it is the time of opening a TCP connection, which takes one round trip.
    Otherwise it is measured with a local socket between two threads, which also involves the kernel and its scheduler.
    """
    if not engine_of(system.engine).is_server:
        return None
    if system.host and not system.host.startswith("/") and system.port:
        taken = []
        for _ in range(_CONNECTIONS):
            began = time.perf_counter()
            with contextlib.suppress(OSError), socket.create_connection((system.host, system.port), _TIMEOUT_S):
                taken.append(time.perf_counter() - began)
        return min(taken) * 1e6 if taken else None
    return _between_threads()


def _between_threads() -> float:
    here, there = socket.socketpair()

    def answer() -> None:
        while told := there.recv(1):
            there.send(told)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    taken = []
    for _ in range(_TRIPS):
        began = time.perf_counter()
        here.send(b"?")
        here.recv(1)
        taken.append(time.perf_counter() - began)
    here.close()
    thread.join()
    there.close()
    return median(taken) * 1e6
