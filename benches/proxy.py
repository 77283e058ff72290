"""The cost of recording as a proxy, compared with a program that only forwards: pgbench through both, alternately.

Prints throughput with eight clients, the time per round trip with one, and memory with idle connections. It needs
PostgreSQL with pgbench, and builds the forwarder (crates/proxy/examples). `--blocks` and `--seconds` set the length,
`--connections` the number of idle ones: each needs four file descriptors (`prlimit --nofile`).
"""

import argparse
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import start_server
from dbdyno.trace.reading import open_trace
from directories import server_directory
from fresh_data import fresh_data

ROOT = Path(__file__).parents[1]
CLIENTS = 8


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def forwarder(port: int) -> Iterator[tuple[int, psutil.Process]]:
    """Run the program that only forwards."""
    build: list[str | Path] = ["cargo", "build", "--quiet", "--offline", "-p", "dbdyno-proxy", "--example", "forward"]
    release = os.environ.get("DBDYNO_BENCH_PROFILE", "release")
    subprocess.run([*build, *(["--release"] if release == "release" else [])], cwd=ROOT, check=True)
    own = free_port()
    program = ROOT / "target" / release / "examples" / "forward"
    process = subprocess.Popen([program, f"127.0.0.1:{own}", f"127.0.0.1:{port}"])
    try:
        yield own, psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


@contextmanager
def proxy(port: int, trace: Path) -> Iterator[tuple[int, psutil.Process, psutil.Process]]:
    """Record through a proxy. Gives its port, its process, and the recorder's."""
    command: list[str | Path] = [
        Path(sys.executable).parent / "dbdyno",
        "capture",
        "--listen",
        "127.0.0.1:0",
        "-o",
        trace,
        "--to",
    ]
    process = subprocess.Popen(
        [*command, f"postgresql://127.0.0.1:{port}/?sslmode=disable"], stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert process.stdout is not None
    found = re.match(r"Listening at 127\.0\.0\.1:(\d+)\.", process.stdout.readline())
    assert found is not None
    (worker,) = psutil.Process(process.pid).children()
    try:
        yield int(found[1]), worker, psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def pgbench(program: Path, port: int, clients: int, seconds: float) -> float:
    """Return transactions per second: one query by its primary key, a prepared statement."""
    options = ["-S", "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-T", str(max(1, round(seconds)))]
    command: list[str | Path] = [program, *options, "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "postgres"]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert found is not None
    return float(found[1])


def cpu_s(process: psutil.Process) -> float:
    """Return the CPU time of a process."""
    times = process.cpu_times()
    return float(times.user + times.system)


def shown(values: Sequence[float], form: str = ".3f") -> str:
    """A median with the middle half of the values."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:{form}} (middle half {low:{form}} to {high:{form}})"


@contextmanager
def silent_server() -> Iterator[int]:
    """Run a server that lets each client in, answers each message as a query, and needs little memory for it."""
    answer = b"C" + (13).to_bytes(4, "big") + b"SELECT 1\0" + b"Z" + (5).to_bytes(4, "big") + b"I"
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)

    def serve() -> None:
        while True:
            for key, _ in waiting.select():
                if key.fileobj is listener:
                    waiting.register(listener.accept()[0], selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    sent = key.fileobj.recv(1 << 16)
                    if sent:
                        key.fileobj.sendall(answer if sent[:1] == b"Q" else answer[14:])
                    else:
                        waiting.unregister(key.fileobj)

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]


def idle_connections(port: int, number: int) -> list[socket.socket]:
    """Open connections that log in, send a query, and wait."""
    startup = b"\0\3\0\0user\0me\0\0"
    made = []
    for _ in range(number):
        each = socket.create_connection(("127.0.0.1", port))
        each.sendall((len(startup) + 4).to_bytes(4, "big") + startup)
        assert each.recv(100)
        each.sendall(b"Q" + (13).to_bytes(4, "big") + b"select 1\0")
        assert each.recv(100)
        made.append(each)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--connections", type=int, default=2000)
    options = parser.parse_args()
    installation = find_installations("postgresql")[0]
    program = installation.server.with_name("pgbench")
    with ExitStack() as stack:
        work = stack.enter_context(server_directory("dbdyno-proxy-"))
        fresh_data(installation, work / "data")
        (work / "data" / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
        settings = {"fsync": "off", "max_connections": "100"}
        port = free_port()
        stack.enter_context(start_server(installation, work / "data", work, settings, tcp_port=port))
        initialize: list[str | Path] = [
            program,
            "-i",
            "-q",
            "-s",
            "2",
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            "-U",
            "postgres",
            "postgres",
        ]
        subprocess.run(initialize, check=True, capture_output=True)
        trace = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "day.trace"
        forwarded, plain = stack.enter_context(forwarder(port))
        with proxy(port, trace) as (recorded, worker, recorder):
            for clients in (CLIENTS, 1):
                pairs, costs = [], []
                for block in range(options.blocks):
                    ports = [forwarded, recorded] if block % 2 == 0 else [recorded, forwarded]
                    used = [-cpu_s(each) for each in (plain, worker, recorder)]
                    rates = {each: pgbench(program, each, clients, options.seconds) for each in ports}
                    used = [value + cpu_s(each) for value, each in zip(used, (plain, worker, recorder), strict=True)]
                    pairs.append((rates[forwarded], rates[recorded]))
                    counts = [rates[each] * max(1, round(options.seconds)) for each in (forwarded, recorded, recorded)]
                    costs.append([1e6 * each / count for each, count in zip(used, counts, strict=True)])
                direct = pgbench(program, port, clients, options.seconds)
                print(f"{clients} clients: direct {direct:,.0f}/s; forwarded {shown([a for a, _ in pairs], ',.0f')}/s")
                print(f"  throughput of the proxy / of the forwarder: {shown([b / a for a, b in pairs])}")
                print(f"  µs per round trip more: {shown([1e6 * clients * (1 / b - 1 / a) for a, b in pairs], '.1f')}")
                for name, values in zip(("forwarder", "proxy", "recorder"), zip(*costs, strict=True), strict=True):
                    print(f"  µs of CPU per statement, {name}: {shown(values, '.1f')}")
        header = open_trace(trace).header
        print(f"recorded {header.statements:,} statements, dropped {header.dropped:,}")
        silent = stack.enter_context(silent_server())
        with proxy(silent, trace) as (recorded, worker, _):
            before = worker.memory_info().rss
            connections = idle_connections(recorded, options.connections)
            grown = worker.memory_info().rss - before
            print(f"memory: {before / 1e6:.0f} MB, and {grown / options.connections / 1e3:.1f} KB per connection")
            for each in connections:
                each.close()


if __name__ == "__main__":
    main()
