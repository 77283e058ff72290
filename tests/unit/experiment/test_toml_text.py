"""Experiments as TOML: what is written reads back, and comments are where they belong."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dbdyno.experiment.mix import mix_experiment
from dbdyno.experiment.queries import read_statements
from dbdyno.experiment.toml_text import COMMENT, write_toml

KEYS = st.text(min_size=1, max_size=4).filter(lambda key: key != COMMENT)
SCALARS = st.none().map(lambda _: True) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
PARTS = st.sampled_from(["factors", "system", "tables", "report", "load", "transactions", "name"])


@given(st.dictionaries(PARTS, VALUES))
def test_what_is_written_reads_back(document: dict[str, Any]) -> None:
    commented = {COMMENT: ["about the file"], **document}
    assert tomllib.loads(write_toml(commented)) == document


MIX = """\
-- Made by hand.

-- About the file.

-- What a buyer does.
-- weight: 3
-- transaction: buy
-- Buyers read first.
-- think: 5ms
-- name: stock
-- `item`: a popular one
-- :item = 1..20
-- The stock is cached.
select stock from items where id = :item; -- fast
/* kept */ insert into orders (item) values (:item);
-- end
-- A report.
-- think: 1s
-- name: report
-- Once an hour.
select count(*) from orders;
"""


def test_comments_of_a_file_reach_the_experiment() -> None:
    text = mix_experiment(read_statements(MIX, "x.sql", "sqlite"), {}, "x.sql", "sqlite").text
    assert text.startswith("# Made by hand.\n# About the file.\n\nname = ")
    first, second = text.split("[[transactions]]\n")[1:]
    lines = [line.strip() for line in first.splitlines()]
    assert lines[0] == "# What a buyer does."
    below = {line: lines[at + 1] for at, line in enumerate(lines) if line.startswith("# ")}
    assert below["# `item`: a popular one"].startswith('{ set = "item"')
    assert below["# Buyers read first."].startswith("{ think = ")
    assert below["# The stock is cached."] == "# fast"
    assert below["# fast"].startswith('{ execute = { sqlite = "select stock')
    assert "/* kept */ insert" in first
    assert second.startswith('# A report.\n# Once an hour.\nname = "report"\n')
