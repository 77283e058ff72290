"""An experiment: the content of its file, and its definition for each cell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from dbdyno.base.errors import InputError
from dbdyno.base.resources import builtin_names, package_path
from dbdyno.engines.statements import Statements
from dbdyno.engines.url import parse_url
from dbdyno.experiment.checks import check
from dbdyno.experiment.document import Document, parse, read_experiment_file
from dbdyno.experiment.factors import SYSTEM, Exclusion, Factor, read_exclusions, read_factors
from dbdyno.experiment.growth import growth_errors
from dbdyno.experiment.head import Head
from dbdyno.experiment.optional_levels import optional_errors, without_optional
from dbdyno.experiment.recommendations import recommendation_errors
from dbdyno.experiment.substitute import references, substitute, unknown_references
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.levels import Level
from dbdyno.model.experiment.strict import validate
from dbdyno.model.experiment.validation import (
    UNKNOWN,
    Invalid,
    Location,
    drop_repeated_errors,
    nearest,
    raise_all,
    show,
)

_ENGINES = Statements()
_FACTOR_KEYS = ("factors", "exclude")


@dataclass(frozen=True)
class Experiment:
    """An experiment file. ``location``: its name in messages. ``folder``: the base of relative paths in it.

    ``text``: the content of the file, which is stored with each run. ``places``: file and line of each statement of a
    SQL file, by its name.
    """

    head: Head
    factors: Mapping[str, Factor]
    exclusions: tuple[Exclusion, ...]
    location: str
    folder: Path
    document: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)
    places: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.head.name

    @property
    def title(self) -> str:
        """The experiment's title, one line."""
        return self.head.title

    @property
    def question(self) -> str:
        """The experiment's question; may be empty."""
        return self.head.question

    @property
    def rounds(self) -> int | Literal["auto"]:
        """The number of blocks (rounds)."""
        return self.head.rounds

    def first_levels(self) -> dict[str, Level]:
        """Return the first level of each factor: the combination that ``dbdyno describe`` shows."""
        return {name: factor.levels[0] for name, factor in self.factors.items()}

    def usual_factors(self) -> dict[str, Factor]:
        """Return the factors with the levels that are measured by default.

        These are all levels except optional ones and those of recommendations.
        """
        return {name: without_optional(factor, self.head) for name, factor in self.factors.items()}

    def translated(self) -> "Experiment":
        """Return the experiment with the dialect ``sqlite``, so that statements are translated for other engines."""
        return replace(self, document={**self.document, "dialect": "sqlite"})

    def definition(self, levels: Mapping[str, Level]) -> Definition:
        """Return the experiment's definition for a combination of levels, one per factor.

        Raises InputError if a level is invalid where the file refers to its factor.
        """
        definition, errors = _define(self.document, levels)
        raise_all(self.location, errors)
        assert definition is not None  # noqa: S101 - without validation errors there is one
        return definition

    def factor_settings(self, engine: str, levels: Mapping[str, Level]) -> dict[str, str]:
        """Return the settings of an engine that refer to factors, each with its first factor."""
        settings = self.document.get("system", {}).get(engine, {})
        found: dict[str, str] = {}
        for location, reference in references(settings):
            found.setdefault(str(location[0]) if location else "", reference.partition(".")[0])
        return {setting: factor for setting, factor in found.items() if factor in levels}


def load_experiment(name_or_path: str) -> Experiment:
    """Read an experiment: a built-in one by its name, or a TOML file by its path.

    Every level of every factor is checked once. Raises InputError, or ValidationErrors for several errors, each with
    file, key, problem and hint.
    """
    document = read_experiment_file(name_or_path)
    made = make_experiment(document)
    # Not in make_experiment(), so that stored runs with such a factor can still be read.
    raise_all(document.location, _unused(made))
    return made


def builtin_experiments() -> list[Experiment]:
    """Read all built-in experiments, sorted by name."""
    return [load_experiment(name) for name in builtin_names()]


def programs_experiment() -> Experiment:
    """Return the default experiment for systems that are the user's programs (``exec:``)."""
    path = package_path("experiment", "command.toml")
    return make_experiment(parse(path.read_text(encoding="utf-8"), "command", path.parent))


def make_experiment(document: Document) -> Experiment:
    """Create an experiment from a file's content; raises the errors of :func:`load_experiment`."""
    data = document.data
    factors, errors = read_factors(data.get("factors", {}))
    exclusions, more = read_exclusions(data.get("exclude", []), factors)
    errors += more
    head_keys = {key: value for key, value in data.items() if key in Head.model_fields}
    head, more = validate(Head, head_keys, _ENGINES)
    errors += more
    errors += _unknown_keys(data)
    errors += _wrong_factors(head, factors)
    errors += _wrong_systems(head, factors)
    errors += growth_errors(head, factors)
    errors += recommendation_errors(head.recommendations if head else [], factors)
    errors += optional_errors(head, factors) if head else []
    body = {key: value for key, value in data.items() if key in Definition.model_fields}
    if not any(error.location[:1] == ("factors",) for error in errors):
        errors += _body_errors(body, factors)
    raise_all(document.location, _in_order(drop_repeated_errors(errors), data))
    assert head is not None  # noqa: S101 - without validation errors there is one
    return Experiment(head, factors, tuple(exclusions), document.location, document.folder, body, document.text)


def _unknown_keys(data: Mapping[str, Any]) -> list[Invalid]:
    known = [*Head.model_fields, *_FACTOR_KEYS, *Definition.model_fields]
    return [Invalid((key,), UNKNOWN, nearest(key, known)) for key in data if key not in known]


def _unused(made: Experiment) -> list[Invalid]:
    """Return errors for unused factors, except in experiments with programs, whose commands may use them."""
    if not made.document.get("transactions"):
        return []
    used = {name.partition(".")[0] for _, name in references(made.document)}
    # growth_errors() checks the factor of a growing table.
    used |= {made.head.growth.factor} if made.head.growth is not None else set()
    return [
        Invalid(("factors", name), "unused factor: its levels have no effect", f"refer to it as `${{{name}}}`")
        for name in made.factors
        if name != SYSTEM and name not in used
    ]


def _wrong_factors(head: Head | None, factors: Mapping[str, Factor]) -> list[Invalid]:
    if head is None:
        return []
    named: list[tuple[Location, str | None]] = [(("report", "x"), head.report.x), (("report", "by"), head.report.by)]
    named.append((("report", "along"), head.report.along))
    named += [(("report", "questions", index), name) for index, name in enumerate(head.report.questions)]
    named += [(("report", "roles", name), name) for name in head.report.roles]
    if head.published:
        named += [(("published", "match", key), key.partition(".")[0]) for key in head.published.match]
    if head.published and head.published.rounds and head.published.rounds.times:
        times = head.published.rounds.times
        if times not in head.published.match:
            problem = f"the factor `{times}` is missing in `match`"
            return [Invalid(("published", "rounds", "times"), problem, nearest(times, head.published.match))]
    return [
        Invalid(location, f"unknown factor `{factor}`", nearest(factor, factors))
        for location, factor in named
        if factor is not None and factor not in factors and factor != SYSTEM
    ]


def _wrong_systems(head: Head | None, factors: Mapping[str, Factor]) -> Iterator[Invalid]:
    levels = factors[SYSTEM].levels if SYSTEM in factors else ()
    urls: list[tuple[Location, str]] = [(("factors", SYSTEM, index), level.name) for index, level in enumerate(levels)]
    if head and head.published and head.published.systems:
        urls += [(("published", "systems", "urls", name), url) for name, url in head.published.systems.urls.items()]
    for location, url in urls:
        try:
            parse_url(url)
        except InputError as error:
            yield Invalid(location, f"`{url}`: {error.problem}", error.hint)


def _body_errors(body: Mapping[str, Any], factors: Mapping[str, Factor]) -> list[Invalid]:
    found: dict[Location, Invalid] = {}
    for levels in _each_level_once(factors):
        known = _bindings(levels)
        errors = unknown_references(body, known) or _define(body, levels)[1]
        for error in errors:
            found.setdefault(error.location, error)
    return list(found.values())


def _each_level_once(factors: Mapping[str, Factor]) -> Iterator[dict[str, Level]]:
    first = {name: factor.levels[0] for name, factor in factors.items()}
    yield first
    for name, factor in factors.items():
        for level in factor.levels[1:]:
            yield first | {name: level}


def _bindings(levels: Mapping[str, Level]) -> dict[str, Any]:
    return {key: value for name, level in levels.items() for key, value in level.bindings(name).items()}


def _define(document: Mapping[str, Any], levels: Mapping[str, Level]) -> tuple[Definition | None, list[Invalid]]:
    bindings = _bindings(levels)
    definition, errors = validate(Definition, substitute(document, bindings), _ENGINES)
    if definition is not None:
        errors = list(check(definition))
    return definition, [_with_origin(error, document, bindings) for error in errors]


def _with_origin(error: Invalid, document: Any, bindings: Mapping[str, Any]) -> Invalid:
    """Add the factor to an error if a factor's level caused it."""
    for part in error.location:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            break
    if not isinstance(document, str):
        return error
    origins = [f"${{{name}}} = {show(bindings[name])}" for _, name in references(document) if name in bindings]
    if not origins:
        return error
    return error._replace(problem=f"{error.problem} (with {', '.join(origins)})")


def _in_order(errors: list[Invalid], data: Mapping[str, Any]) -> list[Invalid]:
    order = {key: index for index, key in enumerate(data)}
    return sorted(errors, key=lambda error: order.get(str(error.location[0]), -1) if error.location else -1)
