"""Throughput per minute."""

from __future__ import annotations

import re

import pytest

from conftest import Cli

EXPERIMENT = """
name = "orders"
title = "Orders per minute"
rounds = 2
factors = { clients = [1, 2] }

[measure]
label = "orders"
per = "minute"

[load]
clients = "${clients}"
stop = { seconds = 0.2 }

[[transactions]]
name = "order"
steps = [{ execute = "select 1" }]
"""


def test_throughput_is_shown_per_minute(cli: Cli) -> None:
    document = cli.run(cli.write("orders.toml", EXPERIMENT))
    assert document["measure"] == {"unit": "transaction", "label": "orders", "per": "minute"}
    for cell in document["cells"]:
        assert cell["throughput"]["unit"] == "orders/min"
        for trial in cell["rounds"]:
            assert trial["throughput"] == pytest.approx(trial["transactions_per_s"] * 60)
        low, high = cell["throughput"]["ci95"]
        assert low < cell["throughput"]["mean"] < high
    assert " orders/min" in document["answer"]["text"][0]
    shown = cli("show", "last", "--store", "runs.db", "--verbose")
    assert "orders/min" in shown
    assert "orders/s" not in shown


OVERLOADED = """
name = "jobs"
title = "Jobs per minute"
rounds = 2

[measure]
label = "jobs"
per = "minute"
transactions = ["job"]

[load]
arrival = { rate = 200, gaps = "even" }
stop = { seconds = 0.5 }

[[transactions]]
name = "job"
steps = [{ execute = "select 1" }, { think = 50 }]
"""


def test_arrivals_have_the_unit_of_throughput(cli: Cli) -> None:
    """With another transaction, throughput doesn't count all that arrives, so that they aren't compared."""
    lost, rate = r"never started.*", r"[\d,]+(\.\d)? jobs/min .*"
    said = cli.run(cli.write("jobs.toml", OVERLOADED), "--markdown", "jobs.md")["answer"]["text"][0]
    assert "()" not in (cli.directory / "jobs.md").read_text()
    assert re.fullmatch(rf"{rate}of the 12,\d{{3}}/min offered were served; \d+ % {lost}", said)
    other = '[[transactions]]\nname = "other"\nsteps = [{ execute = "select 2" }, { think = 50 }]\n'
    said = cli.run(cli.write("jobs.toml", OVERLOADED + other))["answer"]["text"][0]
    assert re.fullmatch(rf"{rate}; \d+ % of the 12,\d{{3}} transactions/min offered {lost}", said)


def test_an_open_loop_that_keeps_up_has_its_throughput_in_the_table(cli: Cli) -> None:
    text = OVERLOADED.replace("rate = 200", "rate = 100").replace("think = 50", "think = 1")
    factors = 'factors = { journal_mode = ["wal", "delete"] }\n[system.sqlite]\njournal_mode = "${journal_mode}"\n'
    file = cli.write("jobs.toml", text.replace("rounds = 2", f"rounds = 2\n{factors}"))
    head = next(line for line in cli("run", file, "--store", "runs.db").splitlines() if "p99 ms" in line)
    assert head.split()[:4] == ["journal_mode", "p99", "ms", "jobs/min"]
