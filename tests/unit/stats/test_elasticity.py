"""Elasticities: slopes over the sizes of a change, how often their intervals hold, and how often a verdict is wrong."""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dbdyno.stats.elasticity import Points, Slope, interval_of, saved, slope, verdict, verdict_of_slower
from dbdyno.stats.intervals import Ratio, ratio_of

# Of what a resource takes, three sizes of a delay that add 20, 50 and 100 % to a transaction.
ADDED = (0.2, 0.5, 1.0)


def blocks(share: float, number: int, noise: float, seed: int, power: float = 1.0) -> Points:
    """Blocks of a cell of which a resource decides a share of the time.

    Each trial has its own noise, a standard deviation of its logarithm, and a block what all of its trials have. With
    ``power`` the effect of a delay is not in proportion to it.
    """
    random = numpy.random.default_rng(seed)
    made = {}
    for block in range(number):
        together = random.normal(0, 0.1)
        own = math.exp(together + random.normal(0, noise))
        row = []
        for added in ADDED:
            # The multiple of the resource's time by which a call is longer.
            x = added / max(share, 0.02)
            time = (1 + share * x**power) * math.exp(together + random.normal(0, noise))
            row.append((x, math.log(time / own)))
        made[block] = row
    return made


def measured(share: float, number: int, noise: float, seed: int) -> Slope:
    found = slope(blocks(share, number, noise, seed))
    assert found is not None
    return found


@pytest.mark.parametrize("noise", [0.05, 0.25])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.4, 0.9])
@pytest.mark.slow
def test_its_interval_holds_as_often_as_it_says(share: float, noise: float) -> None:
    runs = 600
    ends = [measured(share, 5, noise, seed).interval() for seed in range(runs)]
    held = sum(each is not None and each[0] <= share <= each[1] for each in ends)
    # Three standard errors of a share of 0.95 below it.
    assert held / runs > 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("share", [0.0, 0.9])
@pytest.mark.slow
def test_of_much_noise_it_is_off_as_rarely_below_as_above(share: float) -> None:
    """Trials of which many are twice as fast as others: a slope's own interval lies below the share in 9 % of runs."""
    runs = 600
    ends = [measured(share, 5, 1.0, seed).interval() for seed in range(runs)]
    for off in (
        sum(each is not None and each[1] < share for each in ends),
        sum(each is not None and each[0] > share for each in ends),
    ):
        # Three standard errors of a share of 0.025 above it, and what choosing the smallest size costs.
        assert off / runs < 0.04 + 3 * math.sqrt(0.04 * 0.96 / runs)


@pytest.mark.slow
def test_verdicts_of_many_resources_are_hardly_ever_wrong() -> None:
    """Of ten resources of which none is a bottleneck or large, how many runs name one as such, or deny a large one."""
    runs, tests = 200, 10
    strict = 1 - 0.05 / tests
    named = denied = 0
    for run in range(runs):
        small = [verdict(measured(0.04, 5, 0.05, 1000 * run + each).interval(strict)) for each in range(tests - 1)]
        large = verdict(measured(0.7, 5, 0.05, 1000 * run + 999).interval(strict))
        named += "bottleneck" in small or "part" in small
        denied += large == "not"
    assert named / runs < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert denied == 0


@pytest.mark.slow
def test_a_large_share_is_found() -> None:
    found = [verdict(measured(0.8, 5, 0.04, seed).interval(1 - 0.05 / 8)) for seed in range(200)]
    assert found.count("bottleneck") / len(found) > 0.7


@given(some.floats(0, 1), some.lists(some.floats(0.01, 10), min_size=1, max_size=4, unique=True))
def test_without_noise_it_is_the_share(share: float, sizes: list[float]) -> None:
    row = [(x, math.log1p(share * x)) for x in sorted(sizes)]
    found = slope({0: row, 1: row})
    assert found is not None
    assert found.mean == pytest.approx(share)
    assert found.linear
    assert found.interval() is None, "blocks that all agree leave it unknown how sure it is"


@given(
    some.lists(some.lists(some.floats(-60, 60), min_size=3, max_size=3), min_size=2, max_size=6),
    some.tuples(some.floats(0.01, 1), some.floats(1.5, 5), some.floats(6, 50)),
)
def test_whatever_times_are_its_interval_has_it_and_no_time_below_nothing(
    logs: list[list[float]], sizes: tuple[float, float, float]
) -> None:
    found = slope({block: list(zip(sizes, row, strict=True)) for block, row in enumerate(logs)})
    assert found is not None
    ends = found.interval()
    assert ends is None or ends[0] <= found.mean <= ends[1]
    assert ends is None or ends[0] >= -1 / found.unit or ends[0] == found.mean


def test_of_one_size_its_interval_is_that_of_the_ratio() -> None:
    logs = [0.1, 0.7, -0.3, 0.4]
    found, ratio = slope({block: [(0.5, each)] for block, each in enumerate(logs)}), ratio_of(logs)
    assert found is not None
    assert ratio is not None
    assert ratio.ends is not None
    assert found.interval() == pytest.approx(tuple((end - 1) / 0.5 for end in ratio.ends))


@given(some.permutations(range(5)))
def test_the_order_of_blocks_is_the_blocks_own(order: Sequence[int]) -> None:
    points = blocks(0.5, 5, 0.05, 7)
    mixed = slope({block: points[block] for block in order})
    plain = slope(points)
    assert mixed is not None
    assert plain is not None
    assert mixed.values == plain.values


def test_what_is_not_in_proportion_is_told_by_the_smallest_size() -> None:
    found = slope(blocks(0.8, 8, 0.002, 3, power=2.0))
    assert found is not None
    assert not found.linear
    assert found.mean == pytest.approx(found.sizes[0])
    assert found.sizes == tuple(sorted(found.sizes))


def test_noise_alone_does_not_make_it_crooked() -> None:
    crooked = sum(not measured(0.6, 5, 0.03, seed).linear for seed in range(200))
    assert crooked / 200 < 0.1


def test_a_resource_that_was_not_slowed_tells_nothing() -> None:
    assert slope({}) is None
    assert slope({0: [(0.0, 0.1)], 1: [(0.0, 0.2)]}) is None
    assert slope({0: [], 1: []}) is None


def test_of_logarithms_it_is_their_slope() -> None:
    """Half the cache, and a quarter of it, each with the time doubled by each halving."""
    row = [(math.log(2), math.log(2)), (math.log(4), math.log(4))]
    found = slope({0: row, 1: row}, of_logarithms=True)
    assert found is not None
    assert found.mean == pytest.approx(1.0)


def test_a_block_that_was_fast_by_chance_does_not_decide() -> None:
    """The cell as it is was ten times as fast in one block of six: a mean of times would be far off."""
    plain = [(x, math.log1p(0.5 * x)) for x in (0.4, 1.0, 2.0)]
    wild = [(x, y + math.log(10)) for x, y in plain]
    found = slope(dict.fromkeys(range(5), plain) | {5: wild})
    assert found is not None
    assert found.mean < 1.2
    assert fmean(math.expm1(y) / x for x, y in [*(5 * plain), *wild]) > 1.9


def test_one_block_has_no_interval() -> None:
    found = slope({0: [(1.0, math.log(1.5))]})
    assert found is not None
    assert found.mean == pytest.approx(0.5)
    assert found.interval() is None


def test_a_stricter_interval_is_wider() -> None:
    found = measured(0.5, 5, 0.05, 1)
    usual, strict = found.interval(0.95), found.interval(0.995)
    assert usual is not None
    assert strict is not None
    assert strict[0] < usual[0] < found.mean < usual[1] < strict[1]


def test_an_interval_allows_for_neighbours_that_are_alike() -> None:
    alike = [0.1 * (block // 5) for block in range(20)]
    mixed = [alike[(7 * block) % 20] for block in range(20)]
    assert sorted(alike) == sorted(mixed)
    wide, usual = interval_of(alike), interval_of(mixed)
    assert wide is not None
    assert usual is not None
    assert wide[1] - wide[0] > 1.2 * (usual[1] - usual[0])


def test_what_is_saved_is_the_share_of_the_time_that_went() -> None:
    ratio = ratio_of([math.log(4), math.log(5), math.log(6)])
    assert ratio is not None
    share, ends = saved(ratio)
    assert share == pytest.approx(1 - 1 / ratio.mean)
    assert ends is not None
    assert ends[0] < share < ends[1] < 1
    assert saved(Ratio(2.0, None, 0.0, 1)) == (0.5, None)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((0.5, 1.2), "bottleneck"),
        ((0.49, 1.2), "part"),
        ((0.06, 0.07), "part"),
        ((-0.1, 0.09), "not"),
        ((-0.1, 0.2), "inconclusive"),
        (None, "inconclusive"),
    ],
)
def test_verdicts(ends: tuple[float, float] | None, said: str) -> None:
    assert verdict(ends) == said


@pytest.mark.parametrize(
    ("ends", "said"),
    [((-0.4, 0.05), "not"), ((-9.4, -3.2), "inconclusive"), ((-0.6, 0.2), "inconclusive"), ((0.06, 0.2), "part")],
)
def test_what_is_slower_and_makes_the_load_many_times_faster_is_noise(ends: tuple[float, float], said: str) -> None:
    assert verdict_of_slower(ends) == said
