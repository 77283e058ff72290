"""Checks of the table ``growth`` of an experiment file."""

from collections.abc import Iterator, Mapping

from dbdyno.experiment.factors import Factor
from dbdyno.experiment.head import Head
from dbdyno.model.experiment.validation import Invalid, nearest


def growth_errors(head: Head | None, factors: Mapping[str, Factor]) -> Iterator[Invalid]:
    """Yield the validation errors of ``growth``."""
    if head is None or head.growth is None:
        return
    growth, where = head.growth, ("growth", "factor")
    factor = factors.get(growth.factor)
    if factor is None:
        yield Invalid(where, f"unknown factor `{growth.factor}`", nearest(growth.factor, factors))
        return
    sizes = [level.value for level in factor.levels]
    if factor.named or not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
        problem = f"the levels of `{growth.factor}` are not numbers of rows"
        yield Invalid(where, problem, "give integers, such as `rows = [0, 100_000, 1_000_000]`")
