"""Limits are told from the codes of all failures: synthetic results, a service, and servers that take few clients."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Cli
from dbdyno.analysis.findings.failures import failures, limit_findings
from dbdyno.analysis.measured.merged_results import merge_results
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import Server, start_server
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.model.result.cell import Cell as MeasuredCell
from dbdyno.model.result.convert import from_json
from dbdyno.runtime.worker import Worker
from fresh_data import fresh_data
from http_service import service
from installed_servers import needs_mysql, needs_postgresql
from synthetic_events import result_of
from test_finding_evidence import Cell as Measured
from test_finding_evidence import found


def cell(name: str, engine: str, codes: dict[tuple[str, str], int], error_code: str | None = None) -> Any:
    failed: dict[str, int] = {}
    for (kind, _), count in codes.items():
        failed[kind] = failed.get(kind, 0) + count
    told = [
        {"kind": kind, "code": code, "count": count, "message": f"no {code}"} for (kind, code), count in codes.items()
    ]
    one = {"status": "done", "issued": 100, "failed": failed, "failures": {}, "failed_by_code": told}
    made = {
        "id": name,
        "system": {"name": name, "engine": engine},
        "latency_ms": {},
        "rounds": [one | {"error_code": error_code}],
    }
    return from_json(MeasuredCell, made)


@pytest.mark.parametrize(
    ("engine", "code", "limit"),
    [
        ("PostgreSQL", "53300", "max_connections"),
        ("MariaDB", "1040", "max_connections"),
        ("MySQL", "1203", "max_user_connections"),
        ("http", "503 pool-exhausted", "pool-exhausted"),
        ("web", "503 out-of-ports", "out-of-ports"),
        # The load generator's own, whatever is measured.
        ("PostgreSQL", "EADDRNOTAVAIL", "load-out-of-ports"),
        ("http", "EMFILE", "load-open-files"),
    ],
)
def test_a_limit_is_known_by_the_code_of_failures(engine: str, code: str, limit: str) -> None:
    # Another failure came more often, and first.
    codes = {("connection", "ECONNRESET"): 60, ("connection", code): 7}
    (one,) = limit_findings([cell("a", engine, codes)])
    assert one.evidence == {"limit": limit, "cells": 1, "failed": 7, "trials": 0, "codes": [code]}
    assert "7 transactions failed" in one.text and "To raise it: " in one.text


def test_codes_that_tell_of_no_limit_are_none() -> None:
    assert list(limit_findings([cell("a", "PostgreSQL", {("connection", "1040"): 3, ("other", "other"): 5})])) == []


def test_cells_of_one_limit_are_one_finding() -> None:
    known = {("connection", "53300"): 7}
    cells = [cell("a", "PostgreSQL", known), cell("b", "PostgreSQL", {}, "53300"), cell("c", "PostgreSQL", known)]
    (one,) = limit_findings(cells)
    assert one.cells == ["a", "b", "c"]
    assert "14 transactions failed, 1 trial could not begin" in one.text


def test_failures_of_one_kind_are_told_by_code() -> None:
    (one,) = failures([cell("a", "http", {("status", "401"): 20, ("status", "503 full"): 3})])
    assert "; by code 20 of 401, 3 of 503 full; they do not count towards throughput" in one.text
    many = {("status", str(code)): code - 399 for code in range(400, 407)}
    (one,) = failures([cell("a", "http", many)])
    assert "; by code 7 of 406, 6 of 405, 5 of 404, 4 of 403 and 6 of others;" in one.text
    (one,) = failures([cell("a", "http", {("status", "401"): 20})])
    assert "by code" not in one.text


def test_processes_of_one_trial_are_added_by_code() -> None:
    def part(code: str, count: int) -> TrialResult:
        told = {"kind": "status", "code": code, "count": count, "message": code}
        return TrialResult.model_validate(result_of(failed_by_code=[told]))

    merged = merge_results([part("401", 2), part("503", 1), part("401", 5)])
    assert [(each.code, each.count) for each in merged.failed_by_code] == [("401", 7), ("503", 1)]


SERVICE = """
name = "mixed"
title = "Some are refused, others have no place"
rounds = 1

[load]
clients = 3
stop = { transactions = 40 }

[[transactions]]
name = "wrong"
weight = 3
steps = [{ request = "GET /status/401" }]

[[transactions]]
name = "full"
steps = [{ request = "GET /refused/too-many-connections" }]

[[transactions]]
name = "served"
steps = [{ request = "GET /item/1" }]
"""


@pytest.mark.slow
def test_a_service_that_refuses_some_and_is_full_for_others_names_the_limit(cli: Cli) -> None:
    with service() as (_, port):
        document = cli.run(cli.write("mixed.toml", SERVICE), "--system", f"http://127.0.0.1:{port}/")
    (measured,) = document["cells"]
    (one,) = measured["rounds"]
    counts = {each["code"]: each["count"] for each in one["failed_by_code"]}
    ended = {name: each["failed"] for name, each in one["transactions"].items()}
    assert counts == {"401": ended["wrong"], "503 too-many-connections": ended["full"]}
    assert sum(counts.values()) == one["failed"]["status"]
    (limit,) = [each for each in document["findings"] if each["kind"] == "limit met"]
    assert limit["evidence"]["limit"] == "too-many-connections"
    assert limit["evidence"]["failed"] == ended["full"]


def of_postgresql(server: Server) -> socket.socket | None:
    """A connection that has logged in; none where the server has no place for it."""
    opened = socket.socket(socket.AF_UNIX)
    opened.connect(f"{server.socket}/.s.PGSQL.{server.port}")
    words = b"".join(word.encode() + b"\0" for word in ("user", server.user, "database", "postgres", ""))
    opened.sendall(struct.pack("!ii", 8 + len(words), 196_608) + words)
    return _unless(opened, opened.recv(1) == b"E")


def of_mysql(server: Server) -> socket.socket | None:
    """The same, which has yet to log in and takes a place all the same."""
    opened = socket.socket(socket.AF_UNIX)
    opened.connect(str(server.socket))
    return _unless(opened, opened.recv(5)[4:] == b"\xff")


def _unless(opened: socket.socket, is_refused: bool) -> socket.socket | None:
    if is_refused:
        opened.close()
    return None if is_refused else opened


@contextlib.contextmanager
def taken(server: Server, seconds: float) -> Iterator[None]:
    """All places for connections that a server has, for so long and as those who come and go leave them."""
    connect = {"postgresql": of_postgresql, "mysql": of_mysql}[server.installation.engine]
    with contextlib.ExitStack() as stack:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            one = connect(server)
            if one is not None:
                stack.enter_context(one)
            else:
                time.sleep(0.01)
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "other", "limit"),
    [
        pytest.param("postgresql", "42P01", "53300", marks=needs_postgresql),
        pytest.param("mysql", "1146", "1040", marks=needs_mysql),
    ],
)
def test_a_server_without_places_is_told_where_clients_fail_otherwise_too(
    server_cli: Cli, engine: str, other: str, limit: str
) -> None:
    installation = find_installations(engine)[0]
    data = server_cli.directory / "data"
    fresh_data(installation, data)
    with start_server(installation, data, server_cli.directory, {"max_connections": "12"}) as server:
        statements = ["select 1", "select * from nowhere"]
        task = {
            "kind": "trial",
            "target": target(server),
            "clients": 2,
            "connect": "per-transaction",
            "prepare": "never",
            "window": {"seconds": 4},
            "record": {"interval_ms": 200},
            "statements": [{"name": each, "sql": each} for each in statements],
            "transactions": [
                {"name": each, "steps": [{"do": "execute", "statement": number}]}
                for number, each in enumerate(statements)
            ],
        }
        said: dict[str, Any] = {}
        for heard in Worker({"schema": PLAN, "seed": 1, "task": task}, 60):
            if heard.event.event == "interval" and heard.event.index == 1:
                with taken(server, 1.0):
                    pass
            said = heard.raw
    counts = {each["code"]: each["count"] for each in said["failed_by_code"]}
    assert counts.keys() >= {other, limit} and said["accounting"]["ok"] > 0, said["failed_by_code"]
    assert sum(counts.values()) == sum(said["accounting"]["failed"].values())
    (met,) = [each for each in found(Measured([said], f"{engine}://host/")) if each.kind == "limit met"]
    assert met.evidence["limit"] == "max_connections"
    assert met.evidence["failed"] == counts[limit]
