"""Full queues of listening sockets, and local ports that are used up: really met, and told with what lifts them."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from authenticated import Place
from conftest import Cli
from dbdyno.analysis.findings.connections import backlog_findings
from dbdyno.engines.web.application import find_application
from dbdyno.model.plan.tasks import Tier, TrialTask
from dbdyno.model.result.cell import Cell as MeasuredCell
from dbdyno.model.result.convert import from_json
from dbdyno.run.listen_queues import new_drops, read_queues
from http_service import service
from installed_servers import needs_mysql, needs_postgresql
from test_web_login import LOGIN, found
from test_web_tiers import running, tiers
from waiting import eventually
from web_database import TABLES

needs_application = pytest.mark.skipif(find_application() is None, reason="the web application is not built")
needs_queues = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of queues")


@contextlib.contextmanager
def listening(backlog: int) -> Iterator[tuple[socket.socket, int]]:
    """A socket that accepts nothing by itself; and its port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(backlog)
        yield one, one.getsockname()[1]


@contextlib.contextmanager
def knocking(port: int, connections: int) -> Iterator[None]:
    """Connections that are begun, and not waited for."""
    with contextlib.ExitStack() as stack:
        for _ in range(connections):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield


def task(port: int, **parts: int) -> TrialTask:
    named = [Tier(name=name, pids=[pid]) for name, pid in parts.items()]
    return TrialTask(target={"host": "127.0.0.1", "port": port}, tiers=named)


@needs_queues
def test_what_found_a_queue_full_is_counted_for_the_socket_alone() -> None:
    with listening(1) as (_, full), listening(100) as (_, empty):
        before = read_queues()
        with knocking(full, 8), knocking(empty, 8):
            assert eventually(lambda: _dropped(before, task(full)) > 0)
            told = new_drops(before, task(full))
            assert told is not None
            (one,) = told.sockets
            assert (one.part, one.address, one.backlog) == ("", f"127.0.0.1:{full}", 1)
            assert told.somaxconn == int(Path("/proc/sys/net/core/somaxconn").read_text())
            assert _dropped(before, task(empty)) == 0
            # What was dropped before is none of the next trial's.
            assert _dropped(read_queues(), task(empty)) == 0
            # A part's sockets are those that its processes have open.
            parts = new_drops(before, task(1, web=os.getpid()))
            assert parts is not None
            assert {(each.part, each.address) for each in parts.sockets} >= {("web", f"127.0.0.1:{full}")}
    assert new_drops(read_queues(), task(full)) is None


def _dropped(before: Any, asked: TrialTask) -> int:
    told = new_drops(before, asked)
    assert told is not None
    return sum(each.dropped for each in told.sockets)


def cell(name: str, engine: str, **listener: Any) -> Any:
    told = {"part": "", "address": "127.0.0.1:1", "backlog": 128, "somaxconn": 4096, "dropped": 0, **listener}
    made = {"id": name, "system": {"name": name, "engine": engine}, "rounds": [{"listeners": [told]}]}
    return from_json(MeasuredCell, made)


def test_a_full_queue_is_told_with_whose_it_is_and_what_lifts_it() -> None:
    assert list(backlog_findings([cell("a", "web", part="web 1")])) == []
    cells = [cell(name, "web", part=part, dropped=3) for name, part in (("a", "web 1"), ("b", "web 2"), ("c", "proxy"))]
    web, proxy = backlog_findings(cells)
    assert web.evidence == {
        "tier": "web tier",
        "dropped": 6,
        "backlog": 128,
        "lifted_by": "`backlog` of the web tier, up to `net.core.somaxconn` (4096)",
        "cells": 2,
    }
    assert (web.cells, proxy.cells, proxy.evidence["tier"]) == (["a", "b"], ["c"], "proxy tier")
    # What the kernel cuts is lifted there first.
    (one,) = backlog_findings([cell("a", "MariaDB", dropped=1, backlog=4096)])
    assert one.evidence["lifted_by"] == "`net.core.somaxconn` (4096) and the server's `back_log`"
    (one,) = backlog_findings([cell("a", "http", dropped=1)])
    assert "the backlog that the server requests (listen(2))" in one.evidence["lifted_by"]


@needs_queues
@needs_application
@pytest.mark.slow
@pytest.mark.parametrize("proxy", ["haproxy", "nginx"])
def test_the_queue_of_a_proxy_is_as_long_as_the_setting_says(proxy: str) -> None:
    if shutil.which(proxy, path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip(f"{proxy} is not installed")
    with running(f"web:?database=sqlite&proxy={proxy}&backlog=3") as ready:
        first = psutil.Process(tiers(ready)["proxy"])
        before = read_queues()
        asked = task(ready.target["port"], **tiers(ready))
        for each in (first, *first.children()):
            each.suspend()
        with knocking(ready.target["port"], 20):
            assert eventually(lambda: _dropped(before, asked) > 0)
            told = new_drops(before, asked)
            assert told is not None
            by_part = {each.part: (each.backlog, each.dropped > 0) for each in told.sockets}
            assert by_part == {"proxy": (3, True), "web 1": (3, False)}
        for each in (first, *first.children()):
            each.resume()


@needs_queues
@needs_application
@pytest.mark.slow
def test_a_full_queue_of_the_web_servers_is_told(server_cli: Cli) -> None:
    text = TABLES.replace('{ execute = "select count(*) from users" }', LOGIN)
    text = text.replace("clients = 1", 'clients = 60\nconnect = "per-transaction"')
    text = text.replace("stop = { transactions = 1 }", "stop = { seconds = 1 }")
    url = "web:?database=sqlite&db.journal_mode=wal&threads=1&hash_rounds=20000&backlog=1"
    document = server_cli.run(server_cli.write("web.toml", text), "--rounds", "1", "--system", url)
    (full,) = found(document, "backlog full")
    assert (full["evidence"]["tier"], full["evidence"]["backlog"]) == ("web tier", 1)
    assert full["evidence"]["lifted_by"].startswith("`backlog` of the web tier, up to `net.core.somaxconn`")
    (told,) = document["cells"][0]["rounds"][0]["listeners"]
    assert (told["part"], told["dropped"]) == ("web 1", full["evidence"]["dropped"])


def may_have_a_network() -> bool:
    """Whether this user may make a network namespace, in which to use up the ports of none but itself."""
    asked = [
        "unshare",
        "--net",
        "sh",
        "-c",
        "ip link set lo up && echo 1024 1100 > /proc/sys/net/ipv4/ip_local_port_range",
    ]
    return bool(shutil.which("unshare")) and subprocess.run(asked, capture_output=True, check=False).returncode == 0


# Few ports, in a network of its own that ends with the processes in it.
FEW_PORTS = 'ip link set lo up && echo 20000 20019 > /proc/sys/net/ipv4/ip_local_port_range && exec "$@"'

OVER_HTTP = """
name = "ports"
title = "A connection for each transaction"
rounds = 1

[load]
clients = 3
connect = "per-transaction"
stop = { seconds = 2 }

[[transactions]]
name = "get"
steps = [{ request = "GET /item/1" }]
"""

OVER_SQL = OVER_HTTP.replace('{ request = "GET /item/1" }', '{ execute = "select 1" }')

# Runs within the network: starts what is measured, and the command line on it.
WITHIN = """
import json, os, subprocess, sys
from pathlib import Path
sys.path[:0] = {paths!r}
from conftest import Cli
from test_listeners import {what}
cli = Cli(Path({directory!r}))
{what}(cli)
"""


def in_a_network_of_few_ports(cli: Cli, what: str) -> dict[str, Any]:
    program = WITHIN.format(paths=sys.path, what=what, directory=str(cli.directory))
    asked = ["unshare", "--net", "sh", "-c", FEW_PORTS, "sh", sys.executable, "-c", program]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    document: dict[str, Any] = json.loads((cli.directory / "out.json").read_text())
    return document


def over_http(cli: Cli) -> None:
    with service() as (_, port):
        cli.run(cli.write("ports.toml", OVER_HTTP), "--system", f"http://127.0.0.1:{port}/")


def over_postgresql(cli: Cli) -> None:
    over_tcp(cli, "postgresql")


def over_mysql(cli: Cli) -> None:
    over_tcp(cli, "mysql")


def over_tcp(cli: Cli, engine: str) -> None:
    place = Place(engine, cli.directory)
    with place.start(None, demanded=False) as server:
        url = f"{engine}://{place.login}@127.0.0.1:{server.port}/"
        cli.run(cli.write("ports.toml", OVER_SQL), "--system", url)


@pytest.mark.slow
@pytest.mark.skipif(not may_have_a_network(), reason="only root makes network namespaces and sets their ports")
@pytest.mark.parametrize(
    "what",
    [
        "over_http",
        pytest.param("over_postgresql", marks=needs_postgresql),
        pytest.param("over_mysql", marks=needs_mysql),
    ],
)
def test_ports_that_are_used_up_are_told(server_cli: Cli, what: str) -> None:
    document = in_a_network_of_few_ports(server_cli, what)
    (one,) = document["cells"][0]["rounds"]
    counts = {each["code"]: each["count"] for each in one["failed_by_code"]}
    assert one["ok"] > 0 and counts.get("EADDRNOTAVAIL", 0) > 0, one
    (limit,) = found(document, "limit met")
    assert limit["evidence"]["limit"] == "load-out-of-ports"
    assert limit["evidence"]["failed"] == counts["EADDRNOTAVAIL"]
    assert "`net.ipv4.ip_local_port_range`" in limit["text"]
