"""A part of a design: what it holds, what it tells, and that a run says so."""

import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.screening import screened, worth_screening
from experiment_files import experiment

FACTORS = """
name = "many"
title = "Many factors"
question = "Which of them matter?"
rounds = 3

[factors]
{factors}

[load]
stop = {{ transactions = 20 }}

[[transactions]]
name = "t"
steps = [{{ execute = "select ? + 0", params = [{{ uniform = [0, 9] }}] }}]
"""


def design_of(levels: list[int]) -> Any:
    factors = "\n".join(f"f{place} = {list(range(count))}" for place, count in enumerate(levels))
    used = ", ".join(f'{{ constant = "${{f{place}}}" }}' for place in range(len(levels)))
    marks = ", ".join("?" for _ in levels)
    text = FACTORS.format(factors=factors).replace(
        '"select ? + 0", params = [{ uniform = [0, 9] }]', f'"select {marks}", params = [{used}]'
    )
    return make_cells(experiment(text))


def keys(cells: list[Any]) -> set[tuple[str, ...]]:
    return {tuple(level.name for level in cell.levels.values()) for cell in cells}


def held_against_the_first(cells: list[Any]) -> set[tuple[int, str]]:
    """The levels that a pair of cells, which differ in nothing else, holds against the factor's first one."""
    there = keys(cells)
    found = set()
    for key in there:
        for place, name in enumerate(key):
            if name != "0" and (*key[:place], "0", *key[place + 1 :]) in there:
                found.add((place, name))
    return found


@given(st.lists(st.integers(2, 4), min_size=2, max_size=4))
def test_each_level_is_held_against_the_first(levels: list[int]) -> None:
    design = design_of(levels)
    cells, kept = list(design.cells), screened(design.cells, design.levels)
    wanted = {(place, str(level)) for place, count in enumerate(levels) for level in range(1, count)}
    assert {(place, name) for place, name in held_against_the_first(kept) if place < len(levels)} == wanted
    assert len(kept) <= 2 * (1 + sum(count - 1 for count in levels))
    assert [cell.id for cell in kept] == [cell.id for cell in cells if cell in kept]


@given(st.integers(0, 10_000))
def test_levels_are_held_against_the_first_where_cells_are_excluded(seed: int) -> None:
    design = design_of([2, 3, 3])
    cells = list(design.cells)
    drawn = random.Random(seed)
    left = [cell for cell in cells if drawn.random() < 0.7] or cells
    assert held_against_the_first(screened(left, design.levels)) == held_against_the_first(left)


def test_a_design_of_many_factors_becomes_small() -> None:
    design = design_of([2, 2, 2, 2, 3])
    cells, kept = design.cells, screened(design.cells, design.levels)
    assert len(cells) == 48 and len(kept) == 14
    assert worth_screening(len(kept), len(cells)) and not worth_screening(4, 6)
    # Both bases have a cell that differs from the other in every factor.
    assert any(sum(a != b for a, b in zip(*pair, strict=True)) >= 5 for pair in product(keys(kept), repeat=2))


QUEUE = """
name = "queue"
title = "Settings"
question = "Which settings matter?"
rounds = 3

[factors]
journal_mode = ["delete", "wal"]
page_size = [1024, 4096]
cache_size = [10, 2000]
there = [false, true]

[tables.job]
rows = 3000

[tables.job.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
customer = { type = "integer", fill = { uniform = [0, 300] } }

[[tables.job.indexes]]
columns = ["customer"]
include = "${there}"

[system.sqlite]
journal_mode = "${journal_mode}"
page_size = "${page_size}"
cache_size = "${cache_size}"

[load]
stop = { seconds = 0.05 }

[[transactions]]
name = "count"
steps = [{ execute = "select count(*) from job where customer = ?", params = [{ uniform = [0, 300] }] }]
"""


def test_a_screening_run_tells_effects_and_what_to_measure_whole(cli: Cli) -> None:
    path = cli.write("queue.toml", QUEUE)
    document = cli.run(path, "--design", "screening")
    assert len(document["cells"]) == 10
    answer = document["answer"]
    assert answer["text"][0].startswith(("Measurably faster: ", "No level is measurably faster "))
    assert "10 of 16 cells were measured" in answer["text"][1]
    command = answer["text"][1].partition("dbdyno run ")[2]
    assert command.startswith("./queue.toml ") and "--set there=false,true" in command
    assert answer["recommended"] is None and answer["configurations"] == []
    effects = [each for each in document["effects"] if each["metric"] == "throughput" and not each["at"]]
    assert {each["factor"] for each in effects} == {"journal_mode", "page_size", "cache_size", "there"}
    (index,) = [each for each in effects if each["factor"] == "there"]
    assert len(index["cells"]) == 2 and index["ratio"] > 2


def test_a_long_run_offers_a_part_and_says_of_how_many(cli: Cli) -> None:
    path = cli.write("queue.toml", QUEUE.replace("rounds = 3", "rounds = 1"))
    process = cli.start("run", path, "--design", "screening", "--store", "runs.db")
    _, progress = process.communicate(timeout=300)
    assert process.returncode == 0, progress
    assert progress.startswith("10 cells of 16, 1 round: about ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--design", "half"], "unknown design `half`"),
        (
            ["--design", "screening", "--set", "there=false", "--set", "cache_size=10", "--set", "page_size=1024"],
            "can be left out",
        ),
    ],
)
def test_what_is_no_part_is_refused(cli: Cli, arguments: list[str], words: str) -> None:
    process = cli.start("run", cli.write("queue.toml", QUEUE), *arguments, "--store", "runs.db")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and words in err
