"""Open loops whose rate changes in stages."""

from __future__ import annotations

import re

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from experiment_files import experiment
from installed_servers import needs_postgresql

HEAD = 'name = "rush"\ntitle = "A rush"\nrounds = 2\n'
TABLE = """
[tables.account]
rows = 100
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.balance = { type = "integer", fill = { constant = 100 } }

[[transactions]]
name = "read"
steps = [{ execute = "select balance from account where id = ?", params = [{ key = "account.id" }] }]
"""
STAGES = """
[load]
clients = 4
warmup = { transactions = 5 }
arrival = { stages = [
    { seconds = 0.5, rate = 200 },
    { seconds = 0.5, rate = [200, 1000] },
    { seconds = 0.25, rate = 0 },
    { seconds = 0.5, rate = 100 },
], gaps = "even" }
"""
EXPECTED = [100, 300, 0, 50]


def check_stages(cli: Cli, system: str) -> None:
    document = cli.run(cli.write("rush.toml", HEAD + STAGES + TABLE), "--system", system)
    (cell,) = document["cells"]
    stages = cell["stages"]
    assert [each["start_s"] for each in stages] == [0, 0.5, 1, 1.25]
    assert [each["rate"] for each in stages] == [[200, 200], [200, 1000], [0, 0], [100, 100]]
    for stage, expected in zip(stages, EXPECTED, strict=True):
        # Each client's schedule is even, so at most one start per client is at the edge.
        assert abs(stage["offered"] * stage["seconds"] - expected) <= 4
        assert stage["latency_ms"]["count"] == round(stage["offered"] * stage["seconds"] * 2)
    trials = cell["rounds"]
    assert sum(round(each["throughput"] * each["seconds"] * 2) for each in stages) == sum(each["ok"] for each in trials)
    issued = sum(each["issued"] for each in trials)
    assert sum(round(each["offered"] * each["seconds"] * 2) for each in stages) == issued
    assert [each["latency_ms"]["p99"] is None for each in stages] == [False, False, True, False]


def test_each_stage_has_its_rate_and_times(cli: Cli) -> None:
    check_stages(cli, "sqlite:")
    shown = cli("show", "last", "--store", "runs.db", "--verbose")
    assert re.search(
        r"^stage +planned/s +offered/s +completed/s +p50 ms +p99 ms +failed +skipped$", shown, re.MULTILINE
    )
    assert re.search(r"^0.5 to 1 s +200.0 to 1,000 ", shown, re.MULTILINE)


@needs_postgresql
def test_a_server_has_stages(server_cli: Cli) -> None:
    check_stages(server_cli, "postgresql:")


def test_processes_share_the_stages(cli: Cli) -> None:
    load = STAGES.replace("clients = 4", 'clients = 2\nclients_as = "processes"')
    document = cli.run(cli.write("rush.toml", HEAD + load + TABLE), "--rounds", "1")
    (cell,) = document["cells"]
    for stage, expected in zip(cell["stages"], EXPECTED, strict=True):
        assert abs(stage["offered"] * stage["seconds"] - expected) <= 2


def test_transactions_count_in_the_stage_that_scheduled_them(cli: Cli) -> None:
    """One client is overloaded in the first stage and catches up in the second."""
    load = """
[load]
arrival = { stages = [{ seconds = 0.5, rate = 80 }, { seconds = 1.5, rate = 10 }], gaps = "even" }
"""
    table = TABLE.replace("steps = [", 'steps = [{ execute = "select 1" }, { execute = "SLOW" }, ')
    # About 20 ms of work.
    slow = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) select count(*) from n"
    document = cli.run(cli.write("rush.toml", HEAD + load + table.replace("SLOW", slow)), "--rounds", "1")
    busy, quiet = document["cells"][0]["stages"]
    assert abs(busy["offered"] - 80) <= 2
    assert abs(quiet["offered"] - 10) <= 1
    assert busy["latency_ms"]["p99"] > busy["latency_ms"]["p50"]
    if busy["throughput"] < 70:
        assert quiet["throughput"] > quiet["offered"]


def test_the_description_lists_the_stages(cli: Cli) -> None:
    shown = cli("describe", cli.write("rush.toml", HEAD + STAGES + TABLE))
    assert (
        "    open loop: stages, even gaps\n"
        "        0.5 s: 200 transactions per second\n"
        "        0.5 s: 200 to 1000 transactions per second\n"
    ) in shown
    assert "until 1.75 seconds of each client" in shown


@pytest.mark.parametrize(
    ("load", "error"),
    [
        ("arrival = {}", "load.arrival: an open loop needs a rate; write `rate = 1000`"),
        (
            "arrival = { rate = 5, stages = [{ seconds = 1, rate = 5 }] }",
            "load.arrival.rate: the stages have rates of their own; remove `rate` or `stages`",
        ),
        ("arrival = { stages = [{ seconds = 1, rate = 0 }] }", "load.arrival.stages: no transaction would ever start"),
        (
            "arrival = { stages = [{ seconds = 1, rate = [1, 2, 3] }] }",
            "load.arrival.stages[0].rate: [1, 2, 3] is not a rate; write a number, or two for a ramp",
        ),
        ("arrival = { stages = [{ seconds = 1, rate = -1 }] }", "load.arrival.stages[0].rate[0]: -1 is out of range"),
        (
            "arrival = { stages = [{ seconds = 1, rate = 5 }] }\nstop = { seconds = 3 }",
            "load.stop: the stages end after 1 s; remove `stop`",
        ),
        (
            "arrival = { stages = [{ seconds = 1, rate = [0, 5] }] }\nwarmup = { seconds = 1 }",
            "load.warmup: the warm-up has the rate with which the first stage begins, which is 0",
        ),
        ("clients = 2", "load.stop: this key is missing; add it"),
    ],
)
def test_wrong_stages_are_refused(load: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        experiment(HEAD, f"\n[load]\n{load}\n", TABLE)
    assert error in str(caught.value)
