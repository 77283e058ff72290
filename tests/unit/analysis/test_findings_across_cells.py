"""What a run says of its cells together holds as often as the table's verdicts do. All results are synthetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest

from dbdyno.analysis.findings.factors import cross_cell_findings
from dbdyno.analysis.measured.cell_pairs import baseline_pairs
from dbdyno.analysis.measured.comparisons import judge
from dbdyno.model.result import Document, Finding
from dbdyno.stats import CONFIDENCE, MARGIN
from synthetic_cells import cell, some


def document(rounds: Sequence[Sequence[float]], *, chain: bool = False, groups: int = 1) -> Document:
    """A document of cells with the throughputs ``rounds`` in each block, along the factor ``n``, in so many groups."""
    size = len(rounds) // groups
    levels = [{"group": index // size, "n": index % size} for index in range(len(rounds))]
    cells: Any = [
        cell(f"group={own['group']},n={own['n']}", values, own) for own, values in zip(levels, rounds, strict=True)
    ]
    return some(Document, report={"x": "n", "chain": chain}, cells=cells)


def with_table(made: Document) -> Document:
    return replace(made, comparisons=judge(baseline_pairs(made.cells, CONFIDENCE, ()), MARGIN))


def noisy(seed: int, means: Sequence[float], rounds: int, deviation: float) -> list[list[float]]:
    random = numpy.random.default_rng(seed)
    return [[float(mean * each) for each in numpy.exp(random.normal(0, deviation, rounds))] for mean in means]


def found_in(made: Document) -> list[Finding]:
    return cross_cell_findings(made.cells, made.report, made.comparisons)


def claims(made: Document) -> list[str]:
    return [text for each in found_in(made) if "not conclusive" not in (text := each.text)]


@pytest.mark.slow
@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize(("cells", "rounds"), [(2, 2), (5, 2), (7, 2), (2, 5), (5, 5), (7, 5)])
def test_of_equal_cells_at_most_5_percent_of_runs_claim_anything(cells: int, rounds: int, chain: bool) -> None:
    # Without the table, which only ever takes claims back.
    runs = 400
    false = sum(bool(claims(document(noisy(seed, [1000.0] * cells, rounds, 0.1), chain=chain))) for seed in range(runs))
    assert false / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_of_answers_to_other_questions_nothing_is_told() -> None:
    made = document([[1000.0, 1010.0, 990.0], [2000.0, 2010.0, 2000.0]])
    assert len(claims(made)) == 1
    made.report["questions"] = ["n"]
    assert claims(made) == []


def test_all_groups_of_a_run_are_decided_together() -> None:
    runs = 400
    false = sum(bool(claims(document(noisy(seed, [1000.0] * 8, 3, 0.1), groups=4))) for seed in range(runs))
    assert false / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_the_best_and_the_worst_that_differ_are_told() -> None:
    made = with_table(document(noisy(1, [1000.0, 2000.0, 1500.0, 500.0], 5, 0.01)))
    (best, worst) = claims(made)
    assert best.startswith("Throughput rises to ")
    assert best.endswith(" from n=0 to n=1.")
    assert worst.startswith("Throughput falls to ")
    assert worst.endswith(" from n=0 to n=3.")


def test_the_group_is_named_where_there_are_several() -> None:
    texts = claims(document(noisy(1, [1000.0, 2000.0, 1000.0, 500.0], 5, 0.01), groups=2))
    assert [text.split(" to ")[0] for text in texts] == [
        "With group=0, throughput rises",
        "With group=1, throughput falls",
    ]


def test_what_the_table_leaves_open_is_not_claimed() -> None:
    """Of two groups of two, the findings test two pairs and the table three: p between 0.02 / 3 and 0.02 / 2."""
    open_in_the_table = 0
    for seed in range(100):
        alone = document(noisy(seed, [1000.0, 1250.0, 1000.0, 1000.0], 4, 0.05), groups=2)
        made = with_table(alone)
        verdicts = {(each.a, each.b): each.verdict for each in made.comparisons}
        told = [each.cells for each in found_in(made)]
        for a, b in told:
            assert verdicts.get((a, b), "faster") in ("faster", "slower")
        open_in_the_table += len(told) < len(found_in(alone))
    # Else there was nothing to hold back.
    assert open_in_the_table > 0


def test_a_step_of_a_chain_that_is_open_is_told_as_open() -> None:
    (step, settled) = found_in(document([[100, 101, 99], [50, 900, 400], [100, 60, 900]], chain=True))
    assert step.text.startswith("Throughput from n=0 to n=1 is 4.5 times (")
    assert step.text.endswith("): not conclusive after 3 rounds.")
    assert step.cells == ["group=0,n=0", "group=0,n=1"]
    assert settled.text.endswith("not conclusive after 3 rounds.")


def test_one_round_says_nothing() -> None:
    assert found_in(document([[100], [900]], chain=True)) == []
