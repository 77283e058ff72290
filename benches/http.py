"""The load over HTTP against `wrk` and `oha`: the same service (nginx, where it is installed), in turn, all recorded.

Prints a line for each figure and ends with 1 when one misses its target; some six minutes. `--only NAME` picks
those whose name contains it. CPU is the client's whole process, its start and its end included, by request. `oha` is
looked for on the PATH and in target/oha: `cargo install oha --version 1.16.0 --locked --root target/oha`.
"""

import json
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from figures import Figure, NotMeasuredError, descriptors_of, in_turn, run

from dbdyno.analysis.measured.histograms import Histogram
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import worker_path

BLOCKS = 10
SECONDS = 2
PORT = 18_980

# Where HTTP/2 is spoken, in the clear.
TWO = 18_981

CONFIGURATION = """
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=16384;
    listen 127.0.0.1:{two} http2 backlog=16384;
    location / {{ return 200 "hello, world\\n"; }}
  }}
}}
"""


class Services:
    """Nginx, with one process that serves."""

    def __init__(self, directory: Path) -> None:
        self.nginx: subprocess.Popen[bytes] | None = None
        self.directory = directory

    def start(self) -> None:
        if self.nginx is not None:
            return
        program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
        if program is None:
            raise NotMeasuredError("nginx is not installed")
        path = self.directory / "nginx.conf"
        path.write_text(CONFIGURATION.format(directory=self.directory, port=PORT, two=TWO))
        self.nginx = subprocess.Popen([program, "-c", str(path), "-g", "daemon off;"])
        target = {"kind": "inspect", "target": {"engine": "http", "host": "127.0.0.1", "port": PORT}}
        while self._asked(target)["event"] != "facts":
            if self.nginx.poll() is not None:
                raise NotMeasuredError((self.directory / "error.log").read_text())
            time.sleep(0.05)

    def close(self) -> None:
        if self.nginx is not None:
            self.nginx.terminate()
            self.nginx.wait()

    def _asked(self, task: dict[str, Any]) -> dict[str, Any]:
        plan = json.dumps({"schema": PLAN, "seed": 1, "task": task})
        done = subprocess.run([worker_path()], input=plan, capture_output=True, text=True, check=False)
        event: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return event

    def ours(self, clients: int, threads: int, **more: Any) -> dict[str, Any]:
        """The result of a trial."""
        request = {"method": "GET", "path": ["/"]}
        task = {
            "kind": "trial",
            "target": {"engine": "http", "host": "127.0.0.1", "port": PORT} | more.pop("target", {}),
            "clients": clients,
            "threads": threads,
            "window": {"seconds": SECONDS},
            "statements": [{"name": "get", "sql": "GET /", "request": request}],
            "transactions": [{"name": "get", "steps": [{"do": "execute", "statement": 0}]}],
        }
        return self._asked(task | more)


def cpu(run: Callable[[], tuple[float, int]]) -> tuple[float, float]:
    """The rate of a client, and the microseconds of CPU that a request took of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate, requests = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, used * 1e6 / requests


def by_dbdyno(services: Services, clients: int, threads: int, **more: Any) -> tuple[float, int]:
    result = services.ours(clients, threads, **more)
    accounting = result["accounting"]
    if accounting["failed"] or not accounting["ok"]:
        raise NotMeasuredError(f"requests failed: {result['failures']}")
    return accounting["ok"] / result["elapsed_s"], result["completed"] + result["besides"]


def by_wrk(clients: int, threads: int, *options: str) -> tuple[float, int]:
    program = shutil.which("wrk")
    if program is None:
        raise NotMeasuredError("wrk is not installed")
    url = f"http://127.0.0.1:{PORT}/"
    asked = [program, f"-t{threads}", f"-c{clients}", f"-d{SECONDS}s", *options, url]
    out = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    requests, rate = re.search(r"(\d+) requests in", out), re.search(r"Requests/sec:\s+([\d.]+)", out)
    if requests is None or rate is None or "Socket errors" in out:
        raise NotMeasuredError(out)
    return float(rate[1]), int(requests[1])


def against_wrk(services: Services, clients: int, threads: int) -> Iterator[Figure]:
    services.start()
    rates, used = [], []
    for block in range(BLOCKS):
        ours, theirs = in_turn(
            lambda: cpu(partial(by_dbdyno, services, clients, threads)),
            lambda: cpu(partial(by_wrk, clients, threads)),
            block,
        )
        rates.append(ours[0] / theirs[0])
        used.append(ours[1] / theirs[1])
    what = f"{clients} clients, {threads} thread{'s' if threads > 1 else ''}"
    yield Figure.of(f"{what}: rate / wrk's", rates, 0.9, at_most=False)
    yield Figure.of(f"{what}: CPU / wrk's", used, 1.1, at_most=True)


def one_thread(services: Services) -> Iterator[Figure]:
    yield from against_wrk(services, 50, 1)


def two_threads(services: Services) -> Iterator[Figure]:
    yield from against_wrk(services, 50, 2)


def one_client(services: Services) -> Iterator[Figure]:
    yield from against_wrk(services, 1, 1)


def a_connection_each(services: Services) -> Iterator[Figure]:
    """Connections that are not kept: `wrk` closes those whose reply says so."""
    services.start()
    rates = []
    for block in range(BLOCKS):
        ours, theirs = in_turn(
            lambda: by_dbdyno(services, 50, 1, target={"keepalive": False}),
            lambda: by_wrk(50, 1, "-H", "Connection: close"),
            block,
        )
        rates.append(ours[0] / theirs[0])
    yield Figure.of("50 clients, connections not kept: rate / wrk's", rates, 0.9, at_most=False)


def ten_thousand(services: Services) -> Iterator[Figure]:
    """Ten thousand connections of one worker: its memory, and the descriptors that connecting again leaves."""
    services.start()
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 10_000
    if files < most + 500:
        raise NotMeasuredError(f"this process may have {files} open files at most")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    for version, target, limit in (("HTTP/1.1", {}, 200), ("HTTP/2", {"version": "2", "port": TWO}, 400)):
        result = services.ours(most, 1, target=target)
        if result["accounting"]["failed"]:
            raise NotMeasuredError(f"requests failed: {result['failures']}")
        megabytes = result["memory"]["peak_rss_bytes"] / 1e6
        yield Figure(f"{most:,} connections, {version}, memory, MB", megabytes, "n=1", limit, at_most=True)
    yield descriptors()


def version_two(services: Services) -> Iterator[Figure]:
    """HTTP/2 against HTTP/1.1, both with dbdyno."""
    services.start()
    two = {"version": "2", "port": TWO}
    for clients in (1, 50):
        rates, used = [], []
        for block in range(BLOCKS):
            ours, other = in_turn(
                partial(cpu, partial(by_dbdyno, services, clients, 1, target=two)),
                partial(cpu, partial(by_dbdyno, services, clients, 1)),
                block,
            )
            rates.append(ours[0] / other[0])
            used.append(ours[1] / other[1])
        yield Figure.of(f"HTTP/2, {clients} clients: rate / HTTP/1.1's", rates, 0.5, at_most=False)
        yield Figure.of(f"HTTP/2, {clients} clients: CPU / HTTP/1.1's", used, 1.5, at_most=True)


def descriptors() -> Figure:
    """Connections opened and closed for some seconds; how many descriptors there are more in the end."""
    request = {"method": "GET", "path": ["/"]}
    task = {
        "kind": "trial",
        "target": {"engine": "http", "host": "127.0.0.1", "port": PORT, "keepalive": False},
        "clients": 20,
        "arrival": {"loop": "open", "rate": 1000},
        "window": {"seconds": 10},
        "statements": [{"name": "get", "sql": "GET /", "request": request}],
        "transactions": [{"name": "get", "steps": [{"do": "execute", "statement": 0}]}],
    }
    plan = {"schema": PLAN, "seed": 1, "task": task}
    result, seen = descriptors_of(plan, 9, 1)
    # Of a connection that is just being made there may be one for each client.
    first, last = min(seen[:3]), min(seen[-3:])
    name = f"descriptors left by {result['accounting']['ok']:,} connections"
    return Figure(name, max(last - first, 0), f"{min(seen)} to {max(seen)}, n={len(seen)}", 0, at_most=True)


# The service stands still for the third of five seconds, as long as each of the tools asks for.
FROZEN_ROUNDS = 3
FROZEN_SECONDS, FROZEN_AT, FROZEN_FOR = 5, 2.0, 1.0
FROZEN_CLIENTS, FROZEN_RATE = 10, 1000

Times = Mapping[str, float]
"""``requests``, and of their times in milliseconds ``p50``, ``p90``, ``p99`` and ``max``."""


def frozen(services: Services) -> Iterator[Figure]:
    """What each tool shows of a service that stands still for a second; of the others it is printed, with no target."""
    services.start()
    url = f"http://127.0.0.1:{PORT}/"
    oha = shutil.which("oha") or shutil.which(str(Path(__file__).parents[1] / "target/oha/bin/oha"))
    wrk = shutil.which("wrk")
    paced = [oha or "", "-z", f"{FROZEN_SECONDS}s", "-c", str(FROZEN_CLIENTS), "-q", str(FROZEN_RATE)]
    paced += ["--no-tui", "--output-format", "json"]
    closed = [wrk or "", "-t1", f"-c{FROZEN_CLIENTS}", f"-d{FROZEN_SECONDS}s", "--latency", url]
    sides: dict[str, Callable[[], Mapping[str, Times]]] = {
        "dbdyno, open": partial(_frozen_ours, services, open_loop=True)
    }
    sides["dbdyno, closed"] = partial(_frozen_ours, services, open_loop=False)
    if wrk is None:
        print("wrk: NOT MEASURED, it is not installed", flush=True)
    else:
        sides["wrk"] = lambda: {"": _of_wrk(_output(closed))}
    if oha is None:
        print("oha: NOT MEASURED, neither on the PATH nor in target/oha", flush=True)
    else:
        sides["oha -q"] = lambda: {"": _of_oha(_output([*paced, url]))}
        sides["oha -q --latency-correction"] = lambda: {"": _of_oha(_output([*paced, "--latency-correction", url]))}
    seen: dict[str, list[Times]] = {}
    for number in range(FROZEN_ROUNDS):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for side in order:
            with freezing(services):
                for name, times in sides[side]().items():
                    seen.setdefault(f"{side} {name}".strip(), []).append(times)
    for name, rounds in seen.items():
        shown = {each: statistics.median(one[each] for one in rounds) for each in rounds[0]}
        print(f"  {name:30}" + "".join(f" {each} {value:,.4g}" for each, value in shown.items()), flush=True)
    late = [one["p90"] for one in seen["dbdyno, open response"]]
    # A fifth of all was due while nothing was answered, and waited for as long as was left of that second.
    least = FROZEN_FOR * 1000 * (1 - 0.1 / (FROZEN_FOR / FROZEN_SECONDS)) * 0.9
    yield Figure.of("a second's stall: p90 of response, ms", late, least, at_most=False)


@contextmanager
def freezing(services: Services) -> Iterator[None]:
    """Stop the service for a while, some time after what is within has begun."""
    assert services.nginx is not None
    serving = psutil.Process(services.nginx.pid).children()

    def freeze() -> None:
        time.sleep(FROZEN_AT)
        for each in serving:
            each.send_signal(signal.SIGSTOP)
        time.sleep(FROZEN_FOR)
        for each in serving:
            each.send_signal(signal.SIGCONT)

    thread = threading.Thread(target=freeze)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _frozen_ours(services: Services, *, open_loop: bool) -> Mapping[str, Times]:
    more: dict[str, Any] = {"window": {"seconds": FROZEN_SECONDS}}
    if open_loop:
        more["arrival"] = {"loop": "open", "rate": FROZEN_RATE}
    result = services.ours(FROZEN_CLIENTS, 1, **more)
    shown = {}
    for name in ("response", "service"):
        if name in result["histograms"]:
            histogram = Histogram(result["histograms"][name])
            told = histogram.latency_ms()
            shown[name] = {"requests": histogram.count} | {
                each: getattr(told, each) or 0.0 for each in ("p50", "p90", "p99", "max")
            }
    return shown


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _of_oha(out: str) -> Times:
    told = json.loads(out)
    percentiles = told["latencyPercentiles"]
    times = {name: percentiles[name] * 1000 for name in ("p50", "p90", "p99")}
    return (
        {"requests": sum(told["statusCodeDistribution"].values())} | times | {"max": told["summary"]["slowest"] * 1000}
    )


def _of_wrk(out: str) -> Times:
    units = {"us": 0.001, "ms": 1.0, "s": 1000.0}
    times = {}
    for name, pattern in (
        ("p50", r"50%\s+([\d.]+)(us|ms|s)"),
        ("p90", r"90%\s+([\d.]+)(us|ms|s)"),
        ("p99", r"99%\s+([\d.]+)(us|ms|s)"),
        ("max", r"Latency\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)"),
    ):
        found = re.search(pattern, out)
        if found is None:
            raise NotMeasuredError(out)
        times[name] = float(found[1]) * units[found[2]]
    requests = re.search(r"(\d+) requests in", out)
    return {"requests": int(requests[1]) if requests else 0} | times


ALL = (one_thread, two_threads, one_client, a_connection_each, ten_thousand, version_two, frozen)


if __name__ == "__main__":
    sys.exit(run(Services, ALL, __doc__))
