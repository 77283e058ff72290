"""HTTP as an engine, on a real service: what is sent, what is taken, what fails, and what is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from conftest import Cli
from dbdyno.analysis.measured.histograms import Histogram
from dbdyno.base.errors import SystemFailed
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.run.tiers import find_processes
from dbdyno.runtime.worker import Worker, ask
from http_service import service
from repeated import repeated

# Workers and a service are started.
pytestmark = pytest.mark.slow

EXPERIMENT = """
name = "service"
title = "A small service"
rounds = 1

[tables.user]
rows = 5
[tables.user.columns]
id = { type = "integer", fill = { serial = 3 } }

[load]
stop = { transactions = 4 }

[[transactions]]
name = "visit"

[[transactions.steps]]
request = "POST /login"
params = { id = { key = "user.id", row = 0 }, password = "it's \\"right\\"" }
json = { user = "user {id}", password = "{password}", tries = 1 }
expect = 201
into = { token = { json = "/session/token" } }

[[transactions.steps]]
request = "GET /private"
headers = { authorization = "Bearer {token}" }

[[transactions.steps]]
request = "GET /item/{odd}"
params = { odd = "a b/c?" }
query = { q = "{token}", n = 5 }
[transactions.steps.into]
id = { json = "/list/0/id" }
path = { json = "/path" }
q = { json = "/query/q/0" }
seen = { cookie = "seen" }
word = { regex = "pa.h" }

[[transactions.steps]]
when = "id = 7"
then = [{ request = "GET /item/{seen}/", query = { q = "{path}{q}{word}" }, into = { back = { json = "/query/q/0" } } }]
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with service() as (_, number):
        yield number


def plan(port: int, requests: list[dict[str, Any]], **task: Any) -> dict[str, Any]:
    made = {
        "kind": "trial",
        "target": {"engine": "http", "host": "127.0.0.1", "port": port} | task.pop("target", {}),
        "clients": 1,
        "window": {"transactions": 10},
        "statements": [{"name": f"r{n}", "sql": "", "request": each} for n, each in enumerate(requests)],
        "transactions": [{"name": "t", "steps": [{"do": "execute", "statement": n} for n in range(len(requests))]}],
    }
    return {"schema": PLAN, "seed": 1, "task": made | task}


def measured(port: int, path: str, **task: Any) -> TrialResult:
    return ask(plan(port, [{"method": "GET", "path": [path]}], **task), TrialResult, 60)


def test_a_visit_sends_what_it_took_before(cli: Cli, port: int) -> None:
    url = f"http://127.0.0.1:{port}/"
    document = cli.run(cli.write("service.toml", EXPERIMENT), "--system", url, "--allow-writes")
    (cell,) = document["cells"]
    assert cell["failed"] == {}
    executions = {name: each["executions"] for name, each in cell["rounds"][0]["statements_by_name"].items()}
    assert executions == dict.fromkeys(["POST /login", "GET /private", "GET /item/{odd}", "GET /item/{seen}/"], 4)
    assert cell["system"]["engine"] == "http"
    assert cell["system"]["durability"] is None
    assert cell["system"]["settings"]["version"] == "1.1"
    assert document["ceiling"]["operations_per_s"] > 0


def test_what_changes_a_service_must_be_allowed(cli: Cli, port: int) -> None:
    told = cli("run", cli.write("service.toml", EXPERIMENT), "--system", f"http://127.0.0.1:{port}/", code=2)
    assert "`POST" in told
    assert "--allow-writes" in told


@pytest.mark.parametrize("login", ["s3cret-user:s3cret-word", "s3cret-token"])
def test_no_password_and_no_user_is_kept(cli: Cli, port: int, login: str) -> None:
    text = EXPERIMENT.partition("[[transactions]]")[0]
    text += '[[transactions]]\nname = "t"\nsteps = [{ request = "GET /item/1" }]\n'
    url = f"http://{login}@127.0.0.1:{port}/"
    document = cli.run(cli.write("service.toml", text), "--system", url)
    assert document["cells"][0]["failed"] == {}
    for path in (cli.directory / "out.json", cli.directory / "runs.db"):
        assert b"s3cret" not in path.read_bytes()


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [("/status/503", "status", "status 503 (Service Unavailable)"), ("/nowhere", "status", "404")],
)
def test_a_wrong_status_is_a_failure_of_its_kind(port: int, path: str, kind: str, words: str) -> None:
    result = measured(port, path, clients=3)
    assert result.accounting.failed == {kind: 30}
    assert words in result.failures[kind]
    # The connection is as good as before.
    assert result.observed is not None
    assert result.observed.counters["connections"] == 3


@pytest.mark.parametrize("connect", ["once", "per-transaction"])
@pytest.mark.parametrize("keepalive", [True, False])
def test_connections_are_kept_or_not(port: int, connect: str, keepalive: bool) -> None:
    task = {"connect": connect, "target": {"keepalive": keepalive}, "record": {"phases": True}}
    result = measured(port, "/item/1", **task)
    assert result.accounting.ok == 10
    assert result.observed is not None
    # One that looks whether the service is there, and is closed again.
    expected = 1 if keepalive and connect == "once" else 10
    assert result.observed.counters["connections"] == expected + (connect == "per-transaction")
    assert set(result.histograms) == {"connect", "execute", "fetch", "service"}


def test_nobody_there_is_told() -> None:
    with pytest.raises(SystemFailed, match=r"connecting to 127.0.0.1:1: connection refused; no server listens there"):
        measured(1, "/")


@repeated
def test_a_service_that_stood_still_shows_in_all_that_were_due() -> None:
    """Frozen for a second, a service answers late to all that were due, and as fast as ever to what came later."""
    rate, clients, long_ns = 200.0, 4, 50_000_000
    with service() as (process, number):
        task = {
            "clients": clients,
            "arrival": {"loop": "open", "rate": rate, "gaps": "even"},
            "window": {"seconds": 4},
            "record": {"interval_ms": 200},
        }
        request = {"method": "GET", "path": ["/item/1"]}
        frozen, result = 0.0, None
        for heard in Worker(plan(number, [request], **task), 60):
            if heard.event.event == "interval" and not frozen:
                process.send_signal(signal.SIGSTOP)
                begun = time.monotonic()
                time.sleep(1)
                process.send_signal(signal.SIGCONT)
                frozen = time.monotonic() - begun
            if isinstance(heard.event, TrialResult):
                result = heard.event
        assert result is not None
        assert result.accounting.failed == {}

    def late(name: str) -> int:
        values, counts = Histogram(result.histograms[name]).points()
        return int(counts[values > long_ns].sum())

    # Those that were due so long before the end that they waited for it as long.
    due = rate * (frozen - long_ns / 1e9)
    assert late("response") >= 0.9 * due
    assert late("queue") >= 0.9 * due - clients
    # Only those that were under way.
    assert late("service") <= 2 * clients


def test_the_cpu_of_parts_is_told_apart(cli: Cli) -> None:
    with service() as (busy, port), service() as (idle, _):
        text = EXPERIMENT.partition("[[transactions]]")[0].replace("transactions = 4", "seconds = 1")
        text += f"[measure]\nprocesses = {{ web = [{busy.pid}], other = {idle.pid} }}\n"
        text += '[[transactions]]\nname = "t"\nsteps = [{ request = "GET /item/1" }]\n'
        document = cli.run(cli.write("service.toml", text), "--system", f"http://127.0.0.1:{port}/")
    cpu = document["cells"][0]["cpu_percent"]
    assert list(cpu["tiers"]) == ["web", "other"]
    assert cpu["tiers"]["web"] > 10 * cpu["tiers"]["other"]
    # The one is read after the other.
    assert cpu["server"] == pytest.approx(cpu["tiers"]["web"] + cpu["tiers"]["other"], abs=6)


def test_a_part_of_one_thread_is_told_with_the_thread(cli: Cli) -> None:
    serving = """
import threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        end = time.thread_time() + 0.005
        while time.thread_time() < end:
            pass
        self.send_response(204)
        self.end_headers()
    do_HEAD = do_GET
    def log_message(self, *words):
        pass
server = HTTPServer(("127.0.0.1", 0), Service)
print(server.server_port, flush=True)
server.serve_forever()
"""
    with subprocess.Popen([sys.executable, "-c", serving], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        text = EXPERIMENT.partition("[[transactions]]")[0].replace("transactions = 4", "seconds = 2")
        text = text.replace("[load]", "[load]\nclients = 4")
        text += f"[measure]\nprocesses = {{ web = [{process.pid}] }}\n"
        text += '[[transactions]]\nname = "t"\nsteps = [{ request = "GET /" }]\n'
        url = f"http://127.0.0.1:{port}/?keepalive=off"
        document = cli.run(cli.write("one.toml", text), "--system", url)
        process.kill()
    (cell,) = document["cells"]
    used = cell["cpu_percent"]
    # A tick is 10 ms, and the two are read one after the other.
    assert used["tier_threads"]["web"] == pytest.approx(used["tiers"]["web"], abs=5)
    # On a machine with nothing else to do, or as far as others let it.
    if used["tier_threads"]["web"] >= 86 and (os.cpu_count() or 1) > 1:
        assert cell["bottleneck"]["resource"] == "web tier"
        assert f"of process {process.pid}, which kept" in cell["bottleneck"]["evidence"]


def test_a_part_that_ends_in_mid_trial_fails_the_trial(cli: Cli) -> None:
    serving = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Service(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(204)
        self.end_headers()
    def do_GET(self):
        global left
        left -= 1
        if left < 0:
            os._exit(0)
        self.do_HEAD()
    def log_message(self, *words):
        pass
left, server = 20, HTTPServer(("127.0.0.1", 0), Service)
print(server.server_port, flush=True)
server.serve_forever()
"""
    with subprocess.Popen([sys.executable, "-c", serving], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        text = EXPERIMENT.partition("[[transactions]]")[0].replace("transactions = 4", "seconds = 1")
        text += f"[measure]\nprocesses = {{ web = [{process.pid}] }}\n"
        text += '[[transactions]]\nname = "t"\nsteps = [{ request = "GET /" }]\n'
        # Its number is taken until it is waited for, which is done here alone.
        document = cli.run(cli.write("ends.toml", text), "--system", f"http://127.0.0.1:{port}/", code=1)
    (round_,) = document["cells"][0]["rounds"]
    assert (round_["status"], round_["error_kind"]) == ("failed", "server")
    assert round_["error"] == "measure.processes: no process of web was left at the window's end"


def test_processes_are_found_by_id_and_by_command() -> None:
    with service() as (process, _):
        assert find_processes("web", [process.pid]) == [process.pid]
        assert process.pid in find_processes("web", ["tests/support/http_service.py"])
        # dbdyno itself, and what has started it, have the load generator below them.
        name = Path(psutil.Process().cmdline()[0]).name
        assert psutil.Process(process.pid).cmdline()[0].endswith(name)
        assert os.getpid() not in find_processes("web", [name])
        with pytest.raises(SystemFailed, match="is dbdyno or a parent of it"):
            find_processes("web", [os.getpid(), process.pid])
    with pytest.raises(SystemFailed, match=r"measure.processes.web: no process .* the command `no-such-program`"):
        find_processes("web", ["no-such-program"])


def test_one_process_below_another_is_found_with_it() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as shell:
        try:
            assert shell.stdout is not None
            below = int(shell.stdout.readline())
            assert find_processes("web", [shell.pid, below]) == [shell.pid]
        finally:
            os.kill(below, signal.SIGKILL)
            shell.kill()


def test_a_shell_that_was_told_of_both_is_no_part_of_the_service() -> None:
    looking = (
        "found = find_processes('web', ['tests/support/http_service.py']); print(json.dumps([found, os.getppid()]))"
    )
    looking = f"import json, os; from dbdyno.run.tiers import find_processes; {looking}"
    with service() as (process, _):
        # The last command would take the shell's place.
        script = f"# tests/support/http_service.py\n'{sys.executable}' -c \"$0\"; true"
        done = subprocess.run(["/bin/sh", "-c", script, looking], capture_output=True, text=True, check=True)
        found, shell = json.loads(done.stdout)
    assert process.pid in found
    assert shell not in found


def test_many_connections_beside_one_another_lose_nothing() -> None:
    """As many as the usual limit to open files lets be; `benches/http.py` takes ten thousand."""
    with service() as (_, port):
        result = measured(port, "/item/1", clients=300, window={"transactions": 3}, connect="per-transaction")
    assert result.accounting.ok == 900
    assert json.dumps(result.accounting.failed) == "{}"
