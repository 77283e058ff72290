"""The configuration to take where none is shown to be faster by itself, but what choices do over all others is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.answer.configurations import Configuration, Ranking
from dbdyno.document.effects import Effect


@dataclass(frozen=True)
class ByEffects:
    """A configuration of levels that are each shown to be faster over all else, and their effects."""

    configuration: Configuration
    effects: Sequence[Effect]


def by_effects(ranking: Ranking, effects: Sequence[Effect]) -> ByEffects | None:
    """Find the configuration of all levels whose effects are shown and have no price; ``None`` where there is none.

    An effect is pooled over all other levels, so that it may be settled where two cells of its pairs are not. It
    counts where it lowers neither durability nor success anywhere, and, where it depends on another factor, at each
    level of that one. The configuration must have been measured, have no price, and not look slower itself.
    """
    first = ranking.first
    shown: dict[str, Effect] = {}
    for each in effects:
        if _counts(each, ranking.metric) and _everywhere(each, effects):
            known = shown.get(each["factor"])
            if known is None or (each["ratio"] or 0.0) > (known["ratio"] or 0.0):
                shown[each["factor"]] = each
    wanted = {**dict(first.levels), **{name: each["level"] for name, each in shown.items()}}
    if not shown:
        return None
    found = next((each for each in ranking.free if _levels(each) == wanted and each is not first), None)
    if found is None or found.against is None or found.against.mean <= 1:
        return None
    return ByEffects(found, list(shown.values()))


def _levels(configuration: Configuration) -> Mapping[str, Any]:
    return dict(configuration.levels)


def _counts(effect: Effect, metric: str) -> bool:
    failed = effect["failed"]
    return (
        effect["role"] == "choice"
        and not effect["at"]
        and effect["metric"] == metric
        and effect["verdict"] == "faster"
        and effect["durability"] is None
        and (failed is None or failed[1] <= failed[0])
    )


def _everywhere(effect: Effect, effects: Sequence[Effect]) -> bool:
    """Whether it is shown at each level of what it depends on."""
    same = [
        each
        for each in effects
        if each["at"] and all(each[name] == effect[name] for name in ("factor", "level", "metric"))
    ]
    return all(each["verdict"] == "faster" for each in same)
