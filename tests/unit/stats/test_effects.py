"""Effects of factors: on designs whose effects are known. `benches/effects.py` holds more of them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dbdyno.analysis.measured.effects import effects
from dbdyno.model.result.effects import Effect
from dbdyno.stats import MARGIN
from simulated_effects import Simulated, tell
from synthetic_cells import cell


def chance(share: float, of: int) -> float:
    """Three standard errors of a share."""
    return 3 * math.sqrt(share * (1 - share) / of)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [(2,), (2, 2), (2, 3, 2)])
@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_of_factors_without_an_effect_at_most_2_percent_of_runs_tell_one(levels: tuple[int, ...], blocks: int) -> None:
    told = tell(Simulated(levels, blocks), 300)
    assert told.false_share <= 0.02 + chance(0.02, told.runs)
    # Effects of a run share cells, and are fewer by themselves than they are in number.
    assert told.coverage >= 0.94 - chance(0.05, told.runs)


@pytest.mark.slow
@pytest.mark.parametrize("simulated", [
    Simulated((2, 2), 5, planted={"f0": 0.3}),
    Simulated((2, 2), 5, planted={"f0": 0.3}, interacting=0.4, of_level=0.03),
    Simulated((2, 3, 4), 5, planted={"f0": 0.3, "f1": -0.2}, of_level=0.03),
])  # fmt: skip
def test_planted_effects_are_found_and_their_intervals_hold(simulated: Simulated) -> None:
    told = tell(simulated, 100, seed=7)
    assert told.false_share <= 0.02 + chance(0.02, told.runs)
    assert told.coverage >= 0.94 - chance(0.05, told.runs)
    assert told.found >= 0.8 * told.differing


def one(found: list[Effect], factor: str, metric: str = "throughput", **at: Any) -> Effect:
    (effect,) = [each for each in found if each.factor == factor and each.metric == metric and dict(each.at) == at]
    return effect


def two_by_two(shared_at_four: float = 400.0, **changes: Any) -> list[Effect]:
    """Clients 1 and 4, cache private and shared: the rates of each in five rounds."""
    rates = {(1, "private"): 100.0, (1, "shared"): 100.0, (4, "private"): 400.0, (4, "shared"): shared_at_four}
    noise = {
        (1, "private"): (1.0, 1.01, 0.99, 1.005, 0.995),
        (1, "shared"): (0.99, 1.0, 1.01, 0.995, 1.005),
        (4, "private"): (1.01, 0.99, 1.0, 1.0, 0.99),
        (4, "shared"): (0.995, 1.005, 1.0, 0.99, 1.01),
    }
    cells: list[Any] = [
        cell(
            f"{clients},{cache}",
            [rate * each for each in noise[clients, cache]],
            {"clients": clients, "cache": cache},
            **(changes if cache == "shared" else {}),
        )
        for (clients, cache), rate in rates.items()
    ]
    return effects(
        cells,
        {"clients": "load"},
        margin=MARGIN,
        confidence=0.95,
        factors={"clients": [1, 4], "cache": ["private", "shared"]},
    )


def test_an_effect_that_depends_on_another_factor_stands_at_each_of_its_levels() -> None:
    found = two_by_two(100.0)
    assert one(found, "cache").depends_on == ["clients"]
    assert one(found, "cache", clients=4).verdict == "slower"
    assert one(found, "cache", clients=4).ratio == pytest.approx(0.25, rel=0.01)
    assert one(found, "cache", clients=1).verdict != "slower"
    assert one(found, "clients").role == "load"


def test_an_effect_that_depends_on_nothing_stands_once() -> None:
    found = two_by_two(400.0)
    assert [dict(each.at) for each in found if each.factor == "cache"] == [{}]
    assert one(found, "cache").ratio == pytest.approx(1.0, rel=0.01)


def test_what_a_level_costs_is_told_with_it() -> None:
    durable = two_by_two(durability="process-safe", rows_changed=1)
    # The others say nothing of it.
    assert one(durable, "cache").durability is None
    failing = two_by_two(failed={"locked": 50}, completed=950)
    assert one(failing, "cache").failed == [0.0, pytest.approx(0.05)]


def test_cells_of_which_hardly_anything_ended_well_are_left_out() -> None:
    assert [each for each in two_by_two(failed={"locked": 900}, completed=100) if each.factor == "cache"] == []


def test_a_block_that_lacks_a_cell_tells_of_the_others() -> None:
    rates = {("a", 0): [100.0, 101.0, 99.0, 100.0], ("b", 0): [200.0, 202.0, 198.0, None]}
    rates |= {("a", 1): [1000.0, 1010.0, 990.0, 1000.0], ("b", 1): [2000.0, 2010.0, 1990.0, 2000.0]}
    cells: list[Any] = [cell(f"{f}{g}", values, {"f": f, "g": g}) for (f, g), values in rates.items()]
    found = effects(cells, {}, margin=MARGIN, confidence=0.95, factors={"f": ["a", "b"], "g": [0, 1]})
    assert one(found, "f").blocks == 4
    assert one(found, "f").ratio == pytest.approx(2.0, rel=0.01)
