"""What a run says by itself of a chain of changes, and of clients that found SQLite's file locked."""

from conftest import Cli

CHAIN = """
name = "chain"
title = "Two kinds of BEGIN"
rounds = 2

[factors]
begin = ["deferred", "immediate"]

[tables.t]
rows = 100
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
v = { type = "integer", fill = { constant = 0 } }

[system.sqlite]
journal_mode = "wal"
synchronous = "off"
busy_timeout = 5000

[load]
clients = 4
stop = { transactions = 1500 }

[[transactions]]
name = "add"
steps = [
    { begin = "${begin}" },
    { execute = "select v from t where id = ?", params = [{ key = "t.id" }], into = ["v"] },
    { execute = "update t set v = v + 1 where id = ?", params = [{ key = "t.id" }] },
    { commit = true },
]

[report]
x = "begin"
chain = true
"""


def test_a_plain_begin_that_upgrades_is_explained_and_its_cure_named(cli: Cli) -> None:
    document = cli.run(cli.write("chain.toml", CHAIN))
    deferred, immediate = document["cells"]
    assert deferred["failed"]["locked"] > 0
    assert immediate["failed"] == {}
    # What failed is not work: the accounting say so, and the throughput counts only what succeeded.
    for each in deferred["rounds"]:
        assert each["issued"] == each["ok"] + each["failed"].get("locked", 0) == 6000
    texts = [each["text"] for each in document["findings"]]
    (text,) = [text for text in texts if text.startswith("A plain BEGIN does not lock.")]
    assert text.endswith("With only this change, no transaction failed: begin=immediate versus begin=deferred.")


def cures(cli: Cli, text: str) -> dict[str, str]:
    """By the cell in which transactions failed the one that is told to have cured it."""
    document = cli.run(cli.write("matched.toml", text), "--rounds", "1")
    (found,) = [each for each in document["findings"] if each["kind"] == "locked while upgrading"]
    assert all(each > 0 for each in found["evidence"]["failed"].values())
    (read, write), *_ = found["evidence"]["statements"].values()
    assert read.startswith("select") and write.startswith("update")
    return dict(found["evidence"]["cured"])


def test_a_cure_is_told_of_a_cell_that_differs_in_nothing_else(cli: Cli) -> None:
    # Deferred with four clients against immediate with one is no evidence, whatever the levels are called.
    modes = """
[factors.mode.upgrading]
begin = "deferred"
clients = 4
[factors.mode.alone]
begin = "immediate"
clients = 1
"""
    one = CHAIN.replace('[factors]\nbegin = ["deferred", "immediate"]\n', modes).replace('x = "begin"', 'x = "mode"')
    one = one.replace("${begin}", "${mode.begin}").replace("clients = 4\nstop", 'clients = "${mode.clients}"\nstop')
    assert "${mode.clients}" in one and "${mode.begin}" in one
    assert cures(cli, one) == {}
    # Of several cells that begin so, it is the one with as many clients.
    several = CHAIN.replace("clients = 4", 'clients = "${clients}"').replace("chain = true\n", "")
    several = several.replace('"immediate"]', '"immediate"]\nclients = [1, 3]')
    assert cures(cli, several) == {"begin=deferred,clients=3": "begin=immediate,clients=3"}


def test_clients_that_do_not_wait_for_a_lock_are_told_how(cli: Cli) -> None:
    text = CHAIN.replace("busy_timeout = 5000\n", "").replace('["deferred", "immediate"]', '["immediate"]')
    document = cli.run(cli.write("chain.toml", text), "--rounds", "1")
    assert document["cells"][0]["failed"]["locked"] > 0
    assert any(each["text"].startswith("Without a busy_timeout") for each in document["findings"])


def test_each_step_of_a_chain_is_compared_with_the_one_before(cli: Cli) -> None:
    text = CHAIN.replace('begin = ["deferred", "immediate"]', "n = [1, 3000, 2]").replace("${begin}", "immediate")
    text = text.replace("clients = 4", "clients = 1").replace('x = "begin"', 'x = "n"')
    old = '    { execute = "update t set v = v + 1 where id = ?", params = [{ key = "t.id" }] },\n'
    assert old in text
    text = text.replace(old, '    { repeat = "${n}", steps = [\n' + old + "    ] },\n")
    # Of windows equally long none is so short that a moment without a processor is most of it. Beside other programs
    # one may do ten times as much as another: of 3,000 changes a transaction takes a hundred times as long.
    text = text.replace("stop = { transactions = 1500 }", "stop = { seconds = 0.2 }")
    document = cli.run(cli.write("chain.toml", text), "--rounds", "6")
    changes = [each["text"] for each in document["findings"] if each["text"].startswith("Throughput ")]
    assert any("falls" in each and "from n=1 to n=3000" in each for each in changes), changes
    assert any("rises" in each and "from n=3000 to n=2" in each for each in changes), changes
