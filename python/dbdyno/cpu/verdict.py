"""A joint verdict on time and instructions."""

from collections.abc import Iterator

from dbdyno.analysis.compare import Compared
from dbdyno.base.numbers import rough
from dbdyno.model.result.shape import Comparison


def joint_verdicts(time: Compared, instructions: Compared) -> Iterator[str]:
    """Yield a line per cell with both metrics: the change in instructions, and the verdict on time.

    ``time``: a comparison of throughput; ``instructions``: the same runs or cells by instructions. The change in time
    is per unit of work, with half the width of its 95 % interval.
    """
    for clock, count in zip(time.comparisons, instructions.comparisons, strict=True):
        if (
            clock.metric != "throughput"
            or clock.ratio is None
            or clock.ci95 is None
            or clock.verdict is None
            or count.ratio is None
        ):
            continue
        change = (count.ratio - 1) * 100
        yield f"{clock.b}: {rough(change, '+')} % instructions, {_in_time(clock)}"


def _in_time(clock: Comparison) -> str:
    ratio, interval = clock.ratio, clock.ci95
    assert ratio is not None and interval is not None  # noqa: S101
    low, high = 1 / interval[1], 1 / interval[0]
    change, half = (1 / ratio - 1) * 100, (high - low) / 2 * 100
    match clock.verdict:
        case "faster" | "slower":
            return f"{clock.verdict}: {rough(change, '+')} % time (±{rough(half)} %)"
        case "equivalent":
            return f"no change in time beyond {clock.margin * 100:.3g} % ({rough(change, '+')} %, ±{rough(half)} %)"
    return f"no visible change in time (±{rough(half)} %)"
