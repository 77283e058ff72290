"""What holds up requests between clients and a service."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno.analysis.bottleneck.transport import in_transport
from dbdyno.analysis.findings.services import one_at_a_time
from dbdyno.model.events.surroundings import Listeners, Listening
from dbdyno.model.result.cell import CpuPercent, Latency
from synthetic_cells import cell, some
from synthetic_events import result_of


def result(counters: dict[str, float] | None = None) -> Any:
    observed = {"acknowledged": 100, "counters": counters or {}, "backlog": {}, "backlog_before": {}}
    return result_of(accounting={"issued": 1000, "ok": 1000}, observed=observed)


def listeners(dropped: int) -> Listeners:
    socket = Listening(part="", address="127.0.0.1:8000", backlog=5, dropped=dropped)
    return Listeners(sockets=[socket], somaxconn=4096)


def test_an_accept_queue_that_overflows_is_the_bottleneck() -> None:
    found = in_transport(result(), listeners(1521))
    assert found is not None and found["resource"] == "accept queue"
    assert found["evidence"].startswith("the accept queue of 127.0.0.1:8000 holds 5 connections and overflowed: ")
    assert "dropped 1,521" in found["evidence"] and "net.core.somaxconn (4,096)" in found["advice"]
    # A few of many do not decide how fast it is.
    assert in_transport(result(), listeners(3)) is None
    assert in_transport(result(), None) is None


def test_replies_in_two_segments_are_the_bottleneck() -> None:
    found = in_transport(result({"late_parts": 96.0}), None)
    assert found is not None and found["resource"] == "delayed ACK"
    assert found["evidence"].startswith("96 % of the replies came in two segments")
    assert in_transport(result({"late_parts": 4.0}), None) is None


def service(clients: int, per_s: float, median_ms: float, machine: float = 20.0) -> Any:
    made = cell(f"clients={clients}", [per_s], system="http://a/")
    made.latency_ms = {"service": some(Latency, p50=median_ms)}
    made.cpu_percent = some(CpuPercent, machine=machine, cores=2)
    made.system.engine = "http"
    return made


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([service(1, 190, 4.8), service(8, 205, 39.0)], "4.8 ms each, so at most 205 per second"),
        # Two at a time, a load that computes on all CPUs, and one that is never too much.
        ([service(1, 190, 4.8), service(8, 410, 19.0)], ""),
        ([service(1, 190, 4.8), service(8, 205, 39.0, machine=195.0)], ""),
        ([service(1, 190, 4.8), service(2, 205, 5.0)], ""),
        # Another program keeps the machine as busy at both.
        ([service(1, 190, 4.8, machine=196.0), service(8, 205, 39.0, machine=196.0)], "at most 205 per second"),
    ],
)
def test_a_service_that_serves_one_request_at_a_time_is_named_with_its_cap(cells: Any, said: str) -> None:
    found = [each.text for each in one_at_a_time(cells)]
    assert len(found) == bool(said)
    assert said in "".join(found)
