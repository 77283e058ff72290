"""`dbdyno show` of a small stored run, by the real command line, in terminals of several widths and in a pipe."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Cli

WIDTHS = (60, 80, 100, 200)

# With a mix and three choices, so that there is every table, and with names that leave them little room.
TEXT = """
name = "widths"
title = "A small mix"
question = "What do two settings and an index do to a small mix of reads and writes, told in a long question?"
rounds = 2

[factors]
clients = [1, 2]
index = [false, true]
journal_mode = ["delete", "wal"]
mmap_size = [0, 268_435_456]

[tables.account]
rows = 1000

[tables.account.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
branch = { type = "integer", fill = { uniform = [1, 50] } }

[[tables.account.indexes]]
columns = ["branch"]
include = "${index}"

[system.sqlite]
journal_mode = "${journal_mode}"
mmap_size = "${mmap_size}"
synchronous = "off"
busy_timeout = 5000

[load]
clients = "${clients}"
stop = { transactions = 100 }

[[transactions]]
name = "count"
weight = 4
steps = [{ execute = "select count(*) from account where branch = ?", params = [{ uniform = [1, 50] }] }]

[[transactions]]
name = "move"
steps = [{ execute = "update account set branch = branch + 1 where id = ?", params = [{ key = "account.id" }] }]
"""


def shown(cli: Cli, width: int | None) -> str:
    """What a terminal of that width shows; without one, a pipe."""
    if width is None:
        cli.environment.pop("COLUMNS", None)
    else:
        cli.environment["COLUMNS"] = str(width)
    return cli.spawn("show", "--store", "runs.db", "--verbose")


def words(text: str) -> set[str]:
    """All words, but those that a sentence or a statement was shortened behind."""
    return {each for each in text.split() if "…" not in each and not set(each) <= set("─")}


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(["clients=1", "index=true", "mmap_size=0"], id="two cells"),
        pytest.param(["clients=1"], id="one load"),
        pytest.param([], id="two loads"),
    ],
)
def test_nothing_is_cut_at_any_width(cli: Cli, chosen: list[str]) -> None:
    levels = [word for each in chosen for word in ("--set", each)]
    document: dict[str, Any] = cli.run(cli.write("widths.toml", TEXT), *levels)
    texts = {width: shown(cli, width) for width in WIDTHS}
    # What is shown below the answer is all that is known, however wide.
    details = words(texts[200].partition("\n\n")[2])
    for width, text in texts.items():
        lines = text.splitlines()
        assert all(len(line) <= width or " " not in line.strip() for line in lines), (width, lines)
        told = " ".join(text.split())
        assert document["answer"]["configurations"][0]["name"] in told, width
        missing = {each for each in details - words(text) if each[0].isdigit()}
        assert not missing, (width, missing)
        for head in ("p50 ms", "p99 ms", "max ms", "CPU %", "rounds", "journal_mode"):
            assert head in text, (width, head)
    assert shown(cli, None) == texts[80]
