"""Recommendations: changes that an experiment offers against a finding, which a run can measure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dbdyno.experiment.factors import SYSTEM, Factor
from dbdyno.model.experiment.levels import as_text
from dbdyno.model.experiment.strict import EngineName, Name, Strict
from dbdyno.model.experiment.validation import Invalid, nearest, wrong

# The findings that a recommendation can address. `prefix-scan`: a prefix search that could use an index, but doesn't.
Answerable = Literal["prefix-scan"]
PREFIX_SCAN: Answerable = "prefix-scan"


def _read_texts(value: Any) -> Any:
    """Convert levels and settings to strings."""
    if not isinstance(value, dict):
        return value
    return {key: as_text(item) if isinstance(item, bool | int | float) else item for key, item in value.items()}


Texts = Annotated[dict[Name, Name], BeforeValidator(_read_texts)]


class Recommendation(Strict):
    """A change against a finding on systems with one engine: levels of factors, and settings of the system.

    ``does``: a clause that describes the change.
    """

    name: Name
    answers: Answerable
    engine: EngineName
    does: Name
    levels: Texts = Field(default_factory=dict)
    settings: Texts = Field(default_factory=dict)

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.levels and not self.settings:
            raise wrong("missing change", "give `levels` of factors, or `settings` of the system")
        return self


def recommendation_errors(
    recommendations: Iterable[Recommendation], factors: Mapping[str, Factor]
) -> Iterator[Invalid]:
    """Yield errors for duplicate names, and for levels that don't exist or leave a factor without other levels."""
    seen: set[str] = set()
    kept: dict[str, set[str]] = {name: {level.name for level in factor.levels} for name, factor in factors.items()}
    for index, recommendation in enumerate(recommendations):
        where = ("recommendations", index)
        if recommendation.name in seen:
            yield Invalid((*where, "name"), f"duplicate name `{recommendation.name}`", "choose another")
        seen.add(recommendation.name)
        for name, level in recommendation.levels.items():
            inside = (*where, "levels", name)
            factor = factors.get(name)
            if name == SYSTEM:
                yield Invalid(inside, "a recommendation can't change the system", "use `settings`")
            elif factor is None:
                yield Invalid(inside, "unknown factor", nearest(name, factors))
            elif factor.named and factor.level(level) is None:
                yield Invalid(inside, f"unknown level `{level}`", nearest(level, kept[name]))
            else:
                kept[name].discard(level)
                if not kept[name]:
                    yield Invalid(
                        inside, "all levels belong to recommendations", "add a level that is measured by default"
                    )
                    kept[name].add("")
