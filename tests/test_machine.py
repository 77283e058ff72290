"""What is measured of the machine itself, with the real worker."""

from pathlib import Path

from dbdyno.compile import CompiledCell, compile_cell
from dbdyno.design import Cell
from dbdyno.engines.url import parse_url
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.run.machine import ceiling

# Whoever thinks here does so for longer than anything is measured.
THINKING = """
name = "thinking"
title = "Clients that think"

[load]
clients = 2
arrival = { rate = 1 }
stop = { transactions = 1 }

[[transactions]]
name = "t"
steps = [
    { think = 3600000 },
    { think = 3600000000, unit = "us" },
    { set = "i", value = { uniform = [1, 9] } },
    { when = "i > 0", then = [{ think = 3600000 }], else = [{ think = 3600000 }] },
    { chance = 1.0, then = [{ repeat = 2, steps = [{ think = 3600000 }, { execute = "select 1" }] }] },
    { repeat = 1000000000, steps = [{ repeat = 1000000000, steps = [{ think = 3600000 }] }] },
]
"""


def compiled(text: str) -> CompiledCell:
    experiment = make_experiment(parse(text, "test", Path()))
    return compile_cell(experiment, Cell("a", {}, parse_url("sqlite:")))


def test_the_ceiling_is_of_clients_that_do_not_think() -> None:
    cell = compiled(THINKING)
    assert ceiling(cell)["operations_per_s"] > 0
    assert cell.trial["transactions"][0]["steps"][0]["do"] == "think", "the trial itself is left as it is"
