"""Time and instructions in one verdict."""

import re
import shutil
from collections.abc import Callable
from typing import Any, cast

import pytest

from conftest import Cli
from dbdyno.analysis.compare import Compared
from dbdyno.cpu.verdict import joint_verdicts
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.shape import Comparison


def compared(**values: Any) -> Compared:
    comparison = {
        "b": "one",
        "metric": "throughput",
        "ratio": None,
        "ci95": None,
        "verdict": None,
        "margin": 0.02,
    } | values
    return Compared(cast(Any, {}), cast(Any, {}), "throughput", [], [from_json(Comparison, comparison)])


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("inconclusive", "one: +0.4 % instructions, no visible change in time (±1.1 %)"),
        ("equivalent", "one: +0.4 % instructions, no change in time beyond 2 % (+0.2 %, ±1.1 %)"),
        ("slower", "one: +0.4 % instructions, slower: +0.2 % time (±1.1 %)"),
    ],
)
def test_both_in_one_line(verdict: str, said: str) -> None:
    time = compared(ratio=1 / 1.002, ci95=[1 / 1.013, 1 / 0.991], verdict=verdict)
    assert list(joint_verdicts(time, compared(ratio=1.004))) == [said]


def test_without_either_there_is_none() -> None:
    time = compared(ratio=1.0, ci95=[0.99, 1.01], verdict="inconclusive")
    assert list(joint_verdicts(time, compared())) == []
    assert list(joint_verdicts(compared(), compared(ratio=1.004))) == []


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_runs_with_instructions_are_compared_by_both(cli: Cli, small: Callable[..., str]) -> None:
    few = (
        ("clients = [1, 2]", "clients = [1]"),
        ("rows = 2000", "rows = 200"),
        ("transactions = 500", "transactions = 100"),
    )
    name = cli.write("small.toml", small(*few))
    ids = [cli.run(name, "--instructions")["id"] for _ in range(2)]
    said = cli("compare", *ids, "--store", "runs.db")
    # Each run draws other parameters, so that their counts differ a little.
    assert re.search(r"^single: [+-][\d.e+-]+ % instructions, .*time", said, re.MULTILINE)
