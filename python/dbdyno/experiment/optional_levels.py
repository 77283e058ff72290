"""Levels that are measured only on request: optional levels, and levels of recommendations."""

from collections.abc import Iterator, Mapping

from dbdyno.experiment.factors import Factor
from dbdyno.experiment.head import Head
from dbdyno.model.experiment.levels import as_text
from dbdyno.model.experiment.validation import Invalid, nearest


def optional_errors(head: Head, factors: Mapping[str, Factor]) -> Iterator[Invalid]:
    """Yield errors for optional levels that don't exist, and for factors with optional levels only."""
    for name, levels in head.optional.items():
        factor = factors.get(name)
        if factor is None:
            yield Invalid(("optional", name), "unknown factor", nearest(name, factors))
            continue
        known = [level.name for level in factor.levels]
        unknown = [as_text(level) for level in levels if as_text(level) not in known]
        for level in unknown:
            yield Invalid(("optional", name), f"unknown level `{level}`", nearest(level, known))
        if not unknown and not without_optional(factor, head).levels:
            yield Invalid(("optional", name), "all levels are optional", "remove one from `optional`")


def without_optional(factor: Factor, head: Head) -> Factor:
    """Return a factor with only the levels that are measured by default."""
    left_out = {as_text(level) for level in head.optional.get(factor.name, [])}
    left_out |= {
        recommendation.levels[factor.name]
        for recommendation in head.recommendations
        if factor.name in recommendation.levels
    }
    return Factor(factor.name, tuple(level for level in factor.levels if level.name not in left_out), factor.named)
