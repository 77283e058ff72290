"""What an experiment says once for all cells: its name and question, its rounds, and how it is shown."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dbdyno.base.errors import InputError
from dbdyno.experiment.recommendations import Recommendation
from dbdyno.model.experiment.objective import Objective, read_objective
from dbdyno.model.experiment.strict import EngineName, Name, Number, Positive, Strict
from dbdyno.model.experiment.validation import show, wrong
from dbdyno.model.limits import MOST_ROUNDS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    hint = "write letters, digits, `-`, `_` and `.`, and begin with a letter or a digit, as in `pk-lookup`"
    raise wrong(f"{show(name)} is not a name", hint)


def _read_rounds(value: Any) -> int | str:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_ROUNDS):
        return value  # type: ignore[no-any-return]
    raise wrong(f"{show(value)} is not a number of rounds", f'give a number from 1 to {MOST_ROUNDS}, or `"auto"`')


def _read_slo(value: Any) -> Objective:
    if not isinstance(value, str):
        raise wrong(f"{show(value)} is not an objective", 'write `slo = "p99 < 50 ms"`')
    try:
        return read_objective(value, "slo")
    except InputError as error:
        raise wrong(error.problem, error.hint) from None


class Report(Strict):
    """The factors along a chart's axis and of its lines, and the one whose levels findings compare, else ``x``.

    ``questions``: factors each of whose levels asks something else, so that cells of different levels are not compared.
    ``times``: tables have the time of an execution. ``roles``: factors that are another than their places in the file
    say (:mod:`dbdyno.experiment.roles`).
    """

    x: Name | None = None
    by: Name | None = None
    chain: bool = False
    along: Name | None = None
    questions: list[Name] = Field(default_factory=list)
    times: bool = False
    roles: dict[Name, Literal["load", "choice"]] = Field(default_factory=dict)


class PublishedRounds(Strict):
    """Columns with the milliseconds of each round, and the work done in a round: ``work``, times a factor's level."""

    columns: Annotated[list[Name], Field(min_length=1)]
    work: Annotated[Number, Field(gt=0)]
    times: Name | None = None


class PublishedSystems(Strict):
    """The column that names what was measured, and the URL of the system that each name in it stands for."""

    column: Name
    urls: Annotated[dict[Name, Name], Field(min_length=1)]


class Published(Strict):
    """Reference figures that others published: a CSV file, and which of its rows belong to which cell.

    ``seconds``: the figures are seconds for one, and are turned into rates; so are the columns of ``phases`` seconds.
    """

    file: Name
    machine: Name
    year: Positive
    engine: EngineName | None = None
    value: Name
    unit: Name = "1/s"
    match: dict[Name, Name]
    where: dict[Name, str] = Field(default_factory=dict)
    seconds: bool = False
    rounds: PublishedRounds | None = None
    cpu_percent: Name | None = None
    systems: PublishedSystems | None = None
    phases: dict[Literal["connect", "prepare", "execute", "fetch", "commit"], Name] = Field(default_factory=dict)
    rows: Name | None = None


class Growth(Strict):
    """A table that grows from trial to trial, through the levels of a factor, which are its sizes in rows.

    ``windows``: how many trials there are at each size.
    """

    factor: Name
    table: Name
    windows: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = 3


class Claim(Strict):
    """What the source of an experiment found, which a run confirms or refutes.

    ``of``: levels that were found ``faster``, ``slower`` or ``equivalent`` ``against`` others, to make requests fail
    (``fails``) or to end failures (``cures``); ``first`` and ``last`` are those that were measured. Or ``finding``: the
    kind of finding that answers it.
    """

    says: Name
    of: dict[Name, bool | int | float | str] = Field(default_factory=dict)
    against: dict[Name, bool | int | float | str] = Field(default_factory=dict)
    expect: Literal["faster", "slower", "equivalent", "fails", "cures"] | None = None
    finding: Name | None = None


class Head(Strict):
    """The keys of a file whose values no factor changes.

    ``optional``: by factor, the levels that are measured only where they are asked for; ``slo``: the objective whose
    highest rate is searched for.
    """

    name: Annotated[str, AfterValidator(_check_name)]
    title: Name
    question: str = ""
    source: str = ""
    rounds: Annotated[int | Literal["auto"], BeforeValidator(_read_rounds)] = 5
    slo: Annotated[Objective | None, BeforeValidator(_read_slo)] = None
    growth: Growth | None = None
    optional: dict[Name, Annotated[list[bool | int | float | str], Field(min_length=1)]] = Field(default_factory=dict)
    report: Report = Report()
    claims: list[Claim] = Field(default_factory=list)
    published: Published | None = None
    recommendations: list[Recommendation] = Field(default_factory=list)
