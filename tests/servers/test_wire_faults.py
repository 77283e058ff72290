"""Servers that send garbage, announce giant messages, stop answering or close: each ends with a clear error in time."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from conftest import Cli

# Seconds for logging in and for each of dbdyno's own questions, and a request's time limit.
LIMIT_S = 1

# The client must close the connection before it has received this many bytes, kernel buffers included.
MAX_BYTES = 32 << 20

REQUEST_FOR_TLS = 80877103

# Seconds until a fake server gives up: longer than any time limit of the client.
LONG_S = 100

Fault = Callable[[socket.socket], None]


class TookAll(Exception):
    """A client took more bytes than it may."""


class FakeServer:
    """A server on a port of loopback that does the same to each client. ``took_all``: a client took all its bytes."""

    def __init__(self, serve: Fault) -> None:
        self._serve = serve
        self.took_all = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError, struct.error), client:
                self._serve(client)
        except TookAll:
            self.took_all = True

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def serving() -> Iterator[Callable[[Fault], FakeServer]]:
    servers: list[FakeServer] = []

    def start(serve: Fault) -> FakeServer:
        servers.append(FakeServer(serve))
        return servers[-1]

    yield start
    for each in servers:
        each.close()


def wait_until_closed(client: socket.socket) -> None:
    client.settimeout(LONG_S)
    while client.recv(1 << 16):
        pass


def nothing(client: socket.socket) -> None:
    wait_until_closed(client)


def closes(_client: socket.socket) -> None:
    pass


def garbage(client: socket.socket) -> None:
    client.sendall(bytes(range(1, 256)) * 16)
    wait_until_closed(client)


def trickle(of: bytes) -> Fault:
    """Send bytes one by one, ten per second."""

    def serve(client: socket.socket) -> None:
        for number in range(10 * LONG_S):
            client.sendall(of[number % len(of) :][:1])
            time.sleep(0.1)

    return serve


def flood(head: bytes) -> Fault:
    """Announce a very long message and send zeros until the client closes the connection."""

    def serve(client: socket.socket) -> None:
        client.sendall(head)
        sent, zeros = 0, bytes(1 << 16)
        while sent < MAX_BYTES:
            sent += client.send(zeros)
        raise TookAll(sent)

    return serve


def without_tls(then: Fault) -> Fault:
    """Refuse PostgreSQL's request for TLS, if the client sends one, and read the startup message."""

    def serve(client: socket.socket) -> None:
        while True:
            length, code = struct.unpack("!ii", client.recv(8, socket.MSG_WAITALL))
            client.recv(length - 8, socket.MSG_WAITALL)
            if code != REQUEST_FOR_TLS:
                break
            client.sendall(b"N")
        then(client)

    return serve


def let_in_postgresql(then: Fault) -> Fault:
    def serve(client: socket.socket) -> None:
        client.sendall(b"R" + struct.pack("!ii", 8, 0) + b"Z" + struct.pack("!i", 5) + b"I")
        client.recv(1 << 16)
        then(client)

    return without_tls(serve)


def packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload) | number << 24) + payload


GREETING = (
    b"\x0a8.0.36\0" + struct.pack("<I", 7) + b"abcdefgh\0" + struct.pack("<H", 0xF7FF) + b"\x2d\x02\x00"
    + struct.pack("<H", 0x00FF) + b"\x15" + bytes(10) + b"ijklmnopqrst\0mysql_native_password\0"
)  # fmt: skip
OK = b"\0\0\0\x02\0\0\0"


def let_in_mysql(then: Fault) -> Fault:
    def serve(client: socket.socket) -> None:
        client.sendall(packet(0, GREETING))
        client.recv(1 << 16)
        client.sendall(packet(2, OK))
        client.recv(1 << 16)
        then(client)

    return serve


def after_asking(then: Fault) -> Fault:
    def serve(client: socket.socket) -> None:
        client.recv(1 << 16)
        then(client)

    return serve


def rows_without_end(client: socket.socket) -> None:
    client.sendall(b"T" + struct.pack("!ih", 6, 0))
    row = (b"D" + struct.pack("!ihi", 1018, 1, 1008) + bytes(1008)) * 64
    sent = 0
    while sent < 2 << 30:
        client.sendall(row)
        sent += len(row)
    raise TookAll(sent)


POSTGRESQL = {
    "nothing": (nothing, "login timed out after 1 s"),
    "closes": (closes, "closed the connection|the connection was lost"),
    "garbage": (garbage, "invalid PostgreSQL message"),
    "trickle": (without_tls(trickle(b"R\0\0\x40\0")), "login timed out after 1 s"),
    "TLS, nothing": (after_asking(lambda client: client.sendall(b"S") or nothing(client)), "login timed out after 1 s"),
    "giant": (without_tls(flood(b"R\xff\xff\xff\xff")), "announced a message of 4294967291 bytes; the limit is 1 MiB"),
    "short": (without_tls(flood(b"R\0\0\0\1")), "invalid PostgreSQL message"),
    "in, nothing": (let_in_postgresql(nothing), "did not answer within 1 s"),
    "in, closes": (let_in_postgresql(closes), "closed the connection|the connection was lost"),
    "in, garbage": (let_in_postgresql(garbage), "did not answer within 1 s"),
    "in, trickle": (let_in_postgresql(trickle(b"S\0\0\x40\0")), "did not answer within 1 s"),
    "in, giant": (let_in_postgresql(flood(b"D\xff\xff\xff\xff")), "a message of 4294967291 bytes; the limit is 1 GiB"),
    "in, endless": (let_in_postgresql(rows_without_end), "did not answer within 1 s|longer than 256 MiB"),
}

MYSQL = {
    "nothing": (nothing, "login timed out after 1 s"),
    "closes": (closes, "closed the connection|the connection was lost"),
    "garbage": (garbage, "login timed out after 1 s"),
    "trickle": (trickle(b"\x40" + bytes(3) + b"\x0a"), "login timed out after 1 s"),
    "giant": (flood(b"\xff\xff\xff\0"), "announced a message of 16777215 bytes; the limit is 1 MiB"),
    "in, nothing": (let_in_mysql(nothing), "did not answer within 1 s"),
    "in, closes": (let_in_mysql(closes), "closed the connection|the connection was lost"),
    "in, garbage": (let_in_mysql(garbage), "invalid MySQL packet|did not answer"),
    "in, trickle": (let_in_mysql(trickle(b"\x40" + bytes(3))), "did not answer within 1 s"),
    "in, columns": (let_in_mysql(flood(packet(1, b"\xfe" + b"\xff" * 7 + b"\x7f"))), "invalid MySQL packet"),
}

HEAD = b"HTTP/1.1 200 OK\r\n"
HTTP = {
    "nothing": (nothing, "within 1 s"),
    "closes": (closes, "closed the connection|the connection was lost"),
    "garbage": (after_asking(garbage), "not a valid HTTP/1.1 reply"),
    "trickle": (after_asking(trickle(HEAD)), "within 1 s|not a valid HTTP/1.1 reply"),
    "endless head": (after_asking(flood(HEAD + b"a: " + b"b" * (1 << 19))), "not a valid HTTP/1.1 reply"),
    "informs without end": (after_asking(trickle(b"HTTP/1.1 100 \r\n\r\n")), "within 1 s"),
    "no number": (after_asking(flood(HEAD + b"Content-Length: 99999999999999999999\r\n\r\n")), "an invalid length"),
}
HTTP2 = {
    "nothing": (nothing, "within 1 s"),
    "closes": (closes, "closed the connection|the connection was lost"),
    "garbage": (after_asking(garbage), "HTTP/2"),
    "giant": (after_asking(flood(b"\xff\xff\xff\0\0\0\0\0\1")), "frame with invalid size"),
    "trickle": (after_asking(trickle(b"\0\0\x40\1\0\0\0\0\1")), "within 1 s"),
    "endless head": (after_asking(flood(b"\0\x40\0\1\0\0\0\0\1")), "HTTP/2|within 1 s"),
}
HTTPS = {
    "nothing": (nothing, "within 1 s"),
    "garbage": (after_asking(garbage), "TLS"),
    "giant": (after_asking(flood(b"\x16\x03\x03\xff\xff")), "TLS"),
    "trickle": (after_asking(trickle(b"\x16\x03\x03\x40\x00\x02")), "within 1 s"),
}
MONGODB = {
    "nothing": (nothing, "login timed out after 1 s"),
    "closes": (closes, "closed the connection|the connection was lost"),
    "garbage": (after_asking(garbage), "invalid MongoDB message"),
    "giant": (
        after_asking(flood(struct.pack("<iiii", 2**31 - 1, 1, 1, 2013))),
        "announced a message of 2147483647 bytes",
    ),
    "trickle": (after_asking(trickle(struct.pack("<iiii", 1 << 20, 1, 1, 2013))), "login timed out after 1 s"),
}
FAULTS = {
    "postgresql": POSTGRESQL,
    "mysql": MYSQL,
    "http": HTTP,
    "http2": HTTP2,
    "https": HTTPS,
    "mongodb": MONGODB,
}

SQL = """
name = "fault"
title = "A server with a fault"
[load]
stop = { transactions = 5 }
[[transactions]]
name = "t"
steps = [{ execute = { any = "select 1", mongodb = '{ "ping": 1 }' } }]
"""
REQUEST = SQL[: SQL.index("{ execute")] + '{ request = "GET /" }]\n'


@pytest.mark.parametrize(("kind", "fault"), [(kind, fault) for kind, faults in FAULTS.items() for fault in faults])
def test_a_server_with_a_fault_ends_with_a_clear_error(
    cli: Cli, serving: Callable[[Fault], FakeServer], kind: str, fault: str
) -> None:
    serve, words = FAULTS[kind][fault]
    server = serving(serve)
    port = server.port
    cli.environment["DBDYNO_SERVER_TIMEOUT"] = str(LIMIT_S)
    if kind.startswith("http"):
        version = "&version=2" if kind == "http2" else ""
        scheme = "https" if kind == "https" else "http"
        text, system = REQUEST, f"{scheme}://127.0.0.1:{port}?timeout={LIMIT_S}{version}"
    else:
        text, system = SQL, f"{kind}://me:secret@127.0.0.1:{port}/db"
    process = cli.start("run", cli.write("f.toml", text), "--system", system, "--rounds", "1", "--store", "runs.db")
    out, errors = process.communicate(timeout=60)
    said = " ".join((out + errors).split())
    assert process.returncode in (1, 2), said
    assert "panicked" not in said and "Traceback" not in said
    assert any(each in said for each in words.split("|")), said
    assert f"127.0.0.1:{port}" in said
    assert not server.took_all


def postgresql_message(tag: bytes, body: bytes = b"") -> bytes:
    return tag + struct.pack("!i", len(body) + 4) + body


ANSWERS = {
    b"Q": postgresql_message(b"C", b"SELECT 0\0") + postgresql_message(b"Z", b"I"),
    b"P": postgresql_message(b"1"),
    b"D": postgresql_message(b"t", bytes(2)) + postgresql_message(b"n"),
    b"B": postgresql_message(b"2"),
    b"E": postgresql_message(b"C", b"SELECT 0\0"),
    b"S": postgresql_message(b"Z", b"I"),
}


def stops_answering(client: socket.socket) -> None:
    """Accept any login and answer each query until a statement was executed three times."""
    executed = 0
    client.sendall(postgresql_message(b"R", bytes(4)) + postgresql_message(b"Z", b"I"))
    while True:
        tag, length = struct.unpack("!ci", client.recv(5, socket.MSG_WAITALL))
        client.recv(length - 4, socket.MSG_WAITALL)
        executed += tag == b"B"
        if executed > 3:
            wait_until_closed(client)
            return
        client.sendall(ANSWERS.get(tag, b""))


def test_a_trial_whose_server_stops_answering_ends(cli: Cli, serving: Callable[[Fault], FakeServer]) -> None:
    port = serving(without_tls(stops_answering)).port
    cli.environment["DBDYNO_SERVER_TIMEOUT"] = str(LIMIT_S)
    path = cli.write("f.toml", SQL.replace("transactions = 5", "seconds = 1"))
    system = f"postgresql://me@127.0.0.1:{port}/db"
    out = cli("run", path, "--system", system, "--rounds", "1", "--allow-writes", code=1)
    assert "a statement takes long, or the server doesn't answer" in " ".join(out.split())


def test_a_time_limit_that_is_none_is_refused(cli: Cli) -> None:
    cli.environment["DBDYNO_SERVER_TIMEOUT"] = "soon"
    errors = cli(
        "run",
        cli.write("f.toml", SQL.replace("transactions = 5", "seconds = 1")),
        "--system",
        "sqlite:",
        "--rounds",
        "1",
        code=2,
    )
    assert (
        errors.splitlines()[-1]
        == "dbdyno: DBDYNO_SERVER_TIMEOUT: `soon` is not a positive number of seconds; set it to e.g. 30"
    )
