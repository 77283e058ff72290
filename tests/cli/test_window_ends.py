"""What the ends of a window cut, and what an open loop never begins, is no certainty: whole runs of the real worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import Cli
from repeated import repeated


def experiment(steps: str, load: str, factors: str) -> str:
    return f"""
name = "ends"
title = "The ends of a window"
rounds = 3

[factors]
{factors}

[load]
{load}

[[transactions]]
name = "t"
steps = [{steps}]
"""


def run(cli: Cli, text: str, *options: str) -> dict[str, Any]:
    return cli.run(cli.write("ends.toml", text), "--system", "null:", *options)


def thinking(*milliseconds: float, seconds: float = 0.2) -> str:
    return experiment(
        '{ think = "${us}", unit = "us" }',
        f"clients = 1\nstop = {{ seconds = {seconds} }}",
        f"us = [{', '.join(str(round(each * 1000)) for each in milliseconds)}]",
    )


def test_one_transaction_in_each_window_tells_how_long_it_took(cli: Cli) -> None:
    # One of each ends in a window of 200 ms, where a busy machine wakes them late, too: the counts are the same.
    document = run(cli, thinking(110, 150))
    (found,) = document["comparisons"]
    assert all(each["ok"] <= 1 for cell in document["cells"] for each in cell["rounds"])
    assert found["verdict"] in ("slower", "inconclusive")
    low, high = found["ci95"]
    assert low < high and low <= 110 / 150 * 1.05 and high >= 110 / 150 * 0.95
    shown = " ".join(cli("show", "last", "--store", "runs.db", "--verbose").split())
    assert "Each window contained only 2 transactions; results are unreliable below 100" in shown


def test_a_small_change_that_moves_a_count_is_as_small_as_it_is(cli: Cli) -> None:
    # Of 167 ms two end in 500 ms, of 166 three. A busy machine wakes them some milliseconds late.
    document = run(cli, thinking(167, 166, seconds=0.5))
    (found,) = document["comparisons"]
    assert found["ratio"] == pytest.approx(167 / 166, rel=0.1)
    assert found["ci95"][0] < 1.1


def test_cpu_and_counts_are_of_the_time_they_are_divided_by(cli: Cli) -> None:
    # A statement of half a second or so, on one processor, of which the window's end cuts the last.
    slow = "with recursive n(i) as (select 1 union all select i + 1 from n where i < ${n}) select count(*) from n"
    text = experiment(f'{{ execute = "{slow}" }}', "clients = 1\nstop = { seconds = 0.7 }", "n = [1500000]")
    document = cli.run(cli.write("slow.toml", text), "--rounds", "2")
    for each in document["cells"][0]["rounds"]:
        assert each["cpu_percent"]["client"] <= 103
        assert each["statements"] == each["completed"]
        parts = [seconds for seconds in each["segments"].values() if seconds is not None]
        assert sum(parts) == pytest.approx(each["client_s"], rel=1e-6)
        assert each["client_s"] * each["transactions_per_s"] == pytest.approx(each["completed"])
        assert each["segments"]["engine"] <= each["client_s"]


HANG = experiment(
    '{ set = "n", value = { serial = 1 } }, { when = "n = ${hang}", then = [{ think = 700 }], else = [{ think = 1 }] }',
    'clients = 10\narrival = { rate = 1000, gaps = "even" }\nstop = { seconds = 0.5 }',
    "hang = [0, 20]",
)


@repeated
def test_arrivals_that_a_hanging_client_never_began_are_in_the_percentiles(cli: Cli) -> None:
    document = run(cli, HANG)
    steady, hung = document["cells"]
    for each in hung["rounds"]:
        times = each["latency_ms"]["response"]
        assert each["skipped"] > 0
        assert times["count"] == each["issued"]
        assert "p99" in times["at_least"] and "p50" not in times["at_least"]
        # They waited until it came back.
        assert times["p99"] > 100
    assert hung["latency_ms"]["response"]["at_least"]
    # Where others leave no processor to it, some were skipped of the one that does not hang, too.
    if not any(each["skipped"] for each in steady["rounds"]):
        assert steady["latency_ms"]["response"]["at_least"] == []
    shown = cli("show", "last", "--store", "runs.db", "--verbose")
    assert "≥" in shown
    again = run(cli, HANG)
    cli(
        "gate",
        "--baseline",
        document["id"],
        again["id"],
        "--metric",
        "p99",
        "--inconclusive",
        "fail",
        "--store",
        "runs.db",
        code=4,
    )


@repeated
def test_open_loops_that_keep_up_are_judged_by_how_long_they_took(cli: Cli) -> None:
    text = experiment(
        '{ think = 0 }, { repeat = "${work}", steps = [{ set = "n", value = 1 }] }',
        'clients = 2\narrival = { rate = 50, gaps = "even" }\nstop = { seconds = 0.4 }',
        "work = [1, 100_000]",
    )
    # Loops that others leave no processor to do not keep up: measured until they do.
    for _ in range(20):
        document = run(cli, text)
        if not any(each["skipped"] for cell in document["cells"] for each in cell["rounds"]):
            break
    (found,) = document["comparisons"]
    assert (found["metric"], found["verdict"]) in [("p99", "slower"), ("p99", "inconclusive")]
    # By how much depends on what else the machine does.
    assert found["ratio"] > 1
    shown = " ".join(cli("show", "last", "--store", "runs.db", "--verbose").split())
    assert "compared by their response time (p99): their throughput is the offered rate" in shown
    compared = cli(
        "compare", f"{document['id']}/work=1", f"{document['id']}/work=100000", "--store", "runs.db", "--json", "c.json"
    )
    assert "(p99) is compared" in " ".join(compared.split())
    assert json.loads((cli.directory / "c.json").read_text())["metric"] == "p99"
