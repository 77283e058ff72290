"""What makes counted instructions differ from one time to the next is told."""

from pathlib import Path

import pytest

from dbdyno.analysis.findings.rounds import unrepeatable
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment

EXPERIMENT = """
name = "counted"
title = "Counted"
[load]
clients = 1
stop = { transactions = 1 }
[[transactions]]
name = "t"
steps = [{ execute = "select ?", params = [1] }]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("clients = 1", "clients = 1", []),
        ("params = [1]", 'params = [{ uuid = "v4" }]', []),
        ("select ?", "select ?, randomly(1), current_date_of", []),
        ("clients = 1", "clients = 2", ["only one client is counted, not 2"]),
        (
            "clients = 1",
            "arrival = { rate = 10 }",
            ["transactions are counted back to back, not on their schedule"],
        ),
        ("params = [1]", 'params = [{ now = "text" }]', ["values are generated from the clock"]),
        ("params = [1]", 'params = [{ uuid = "v7" }]', ["values are generated from the clock"]),
        ("params = [1]", 'params = [{ uuid = { version = "time_blocked" } }]', ["values are generated from the clock"]),
        ("params = [1]", 'params = [{ uuid = "ulid" }]', ["values are generated from the clock"]),
        ("select ?", "select ?, random (), CURRENT_TIMESTAMP", ["statements use current_timestamp and random"]),
        ("select ?", "select datetime('now'), ?", ["statements use 'now'"]),
    ],
)
def test_what_is_not_the_same_each_time(old: str, new: str, said: list[str]) -> None:
    assert old in EXPERIMENT
    experiment = make_experiment(parse(EXPERIMENT.replace(old, new), "counted.toml", Path()))
    (cell,) = make_cells(experiment, {}, []).cells
    assert unrepeatable(compile_cell(experiment, cell).task) == said
