"""Throughput per minute."""

from __future__ import annotations

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
