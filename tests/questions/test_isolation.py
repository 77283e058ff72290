"""Question 38: what SERIALIZABLE costs, retries included, and which anomalies it prevents."""

from __future__ import annotations

from typing import Any

from conftest import Cli
from installed_servers import needs_postgresql

# A withdrawal checks the balance of both accounts. Under snapshot isolation, two withdrawals may do so at once.
PAIRS = """
name = "pairs"
title = "Withdrawals from pairs of accounts"
rounds = 2

[factors]
isolation = ["repeatable read", "serializable"]
balance = [1_000]

[tables.account]
rows = 20
[tables.account.columns]
id = { type = "integer", primary_key = true, fill = { serial = 0 } }
pair = { type = "integer", fill = { expression = ":row / 2" } }
balance = { type = "integer", fill = "${balance}" }

[system.postgresql]
default_transaction_isolation = "${isolation}"

[load]
clients = 8
stop = { seconds = 1 }
retry = { attempts = 1000 }

[[transactions]]
name = "withdraw"
steps = [
    { set = "id", value = { key = "account.id" } },
    { begin = "deferred" },
    { execute = "select sum(balance) from account where pair = ?", params = [{ expression = ":id / 2" }], into = ["total"] },
    { think = 1 },
    { when = "total >= 100", then = [{ execute = "update account set balance = balance - 100 where id = ?", params = [{ variable = "id" }] }] },
    { commit = true },
]

[[check]]
name = "no pair is overdrawn"
sql = "select count(*) from (select pair from account group by pair having sum(balance) < 0) as overdrawn"
equals = 0
"""  # noqa: E501


def cells(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {cell["factors"]["isolation"]: cell["rounds"] for cell in document["cells"]}


@needs_postgresql
def test_38_what_does_serializable_cost(server_cli: Cli) -> None:
    """With enough money, no check fails: fewer transactions, more attempts, no failure."""
    file = server_cli.write("pairs.toml", PAIRS)
    document = server_cli.run(file, "--system", "postgresql:", "--set", "balance=100_000_000")
    found = cells(document)
    for trial in (each for trials in found.values() for each in trials):
        assert trial["error"] is None
        assert not trial["failed"]
    retried = {name: sum(each["retries"] for each in trials) for name, trials in found.items()}
    assert retried["serializable"] > 0
    rates = {name: max(each["throughput"] for each in trials) for name, trials in found.items()}
    assert rates["serializable"] < rates["repeatable read"]


@needs_postgresql
def test_38_which_anomaly_does_it_prevent(server_cli: Cli) -> None:
    file = server_cli.write("pairs.toml", PAIRS)
    found = cells(server_cli.run(file, "--system", "postgresql:", "--rounds", "1", code=1))
    assert found["serializable"][0]["error"] is None
    assert found["repeatable read"][0]["error"].startswith("the check `no pair is overdrawn` failed: expected 0")
