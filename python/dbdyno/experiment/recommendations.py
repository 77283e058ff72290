"""Recommendations: what an experiment has against what a report may find, to be measured."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dbdyno.experiment.factors import SYSTEM, Factor
from dbdyno.model.experiment.levels import as_text
from dbdyno.model.experiment.strict import EngineName, Name, Strict
from dbdyno.model.experiment.validation import Invalid, nearest, wrong

# The findings that a recommendation can answer: a search that could use an index, and does not.
Answerable = Literal["prefix-scan"]
PREFIX_SCAN: Answerable = "prefix-scan"


def _read_texts(value: Any) -> Any:
    """Write levels and settings as they are named: a number or a truth value is one too."""
    if not isinstance(value, dict):
        return value
    return {key: as_text(each) if isinstance(each, bool | int | float) else each for key, each in value.items()}


Texts = Annotated[dict[Name, Name], BeforeValidator(_read_texts)]


class Recommendation(Strict):
    """What is done against a finding on systems of one engine: levels of factors, and settings of the system.

    ``does``: a clause that says it, for people.
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
            raise wrong("it changes nothing", "give `levels` of factors, or `settings` of the system")
        return self


def wrong_recommendations(
    recommendations: Iterable[Recommendation], factors: Mapping[str, Factor]
) -> Iterator[Invalid]:
    """Find the validation errors that lie between the recommendations and the factors."""
    seen: set[str] = set()
    kept: dict[str, set[str]] = {name: {level.name for level in factor.levels} for name, factor in factors.items()}
    for index, recommendation in enumerate(recommendations):
        where = ("recommendations", index)
        if recommendation.name in seen:
            yield Invalid((*where, "name"), f"`{recommendation.name}` is there already", "choose another")
        seen.add(recommendation.name)
        for name, level in recommendation.levels.items():
            inside = (*where, "levels", name)
            factor = factors.get(name)
            if name == SYSTEM:
                yield Invalid(inside, "a recommendation cannot take another system", "use `settings`")
            elif factor is None:
                yield Invalid(inside, "there is no such factor", nearest(name, factors))
            elif factor.named and factor.level(level) is None:
                yield Invalid(inside, f"there is no level `{level}`", nearest(level, kept[name]))
            else:
                kept[name].discard(level)
                if not kept[name]:
                    yield Invalid(
                        inside, "no level is left without the recommendations", "add one that is measured always"
                    )
                    kept[name].add("")
