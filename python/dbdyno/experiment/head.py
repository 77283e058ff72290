"""The keys of an experiment that are the same for all cells: name, question, rounds, and its presentation."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dbdyno.base.errors import InputError
from dbdyno.experiment.recommendations import Recommendation
from dbdyno.model.experiment.objective import Objective, read_objective
from dbdyno.model.experiment.strict import EngineName, Name, Number, Positive, Strict
from dbdyno.model.experiment.validation import show, wrong
from dbdyno.model.limits import MAX_ROUNDS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    hint = "use letters, digits, `-`, `_` and `.`, beginning with a letter or digit, such as `pk-lookup`"
    raise wrong(f"{show(name)} is not a valid name", hint)


def _read_rounds(value: Any) -> int | str:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_ROUNDS):
        return value  # type: ignore[no-any-return]
    raise wrong(f"{show(value)} is not a number of rounds", f'give a number from 1 to {MAX_ROUNDS}, or `"auto"`')


def _read_slo(value: Any) -> Objective:
    if not isinstance(value, str):
        raise wrong(f"{show(value)} is not an objective", 'write `slo = "p99 < 50 ms"`')
    try:
        return read_objective(value, "slo")
    except InputError as error:
        raise wrong(error.problem, error.hint) from None


class Report(Strict):
    """The presentation of the results. ``x``: the factor on a chart's axis. ``by``: the factor of its lines.

    ``along``: the factor whose levels findings compare, by default ``x``. ``questions``: factors whose levels are
    different questions, so that their cells are not compared. ``times``: tables contain execution times. ``roles``:
    roles of factors that differ from the default (:mod:`dbdyno.experiment.roles`). ``operations``: the answer contains
    the times of each transaction and statement. ``weights``: how often each statement of a file is executed, in
    proportion to all weights.
    """

    x: Name | None = None
    by: Name | None = None
    chain: bool = False
    along: Name | None = None
    questions: list[Name] = Field(default_factory=list)
    times: bool = False
    roles: dict[Name, Literal["load", "choice"]] = Field(default_factory=dict)
    operations: bool = False
    weights: dict[Name, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)


class PublishedRounds(Strict):
    """Columns with the milliseconds of each round. ``work``: work per round. ``times``: a factor to multiply it by."""

    columns: Annotated[list[Name], Field(min_length=1)]
    work: Annotated[Number, Field(gt=0)]
    times: Name | None = None


class PublishedSystems(Strict):
    """The column with the name of the measured system, and the systems' URLs by name."""

    column: Name
    urls: Annotated[dict[Name, Name], Field(min_length=1)]


class Published(Strict):
    """Published reference results: a CSV file, and the mapping of its rows to cells.

    ``seconds``: the results are seconds per transaction and are converted to rates. The columns of ``phases`` contain
    seconds, too.
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
    """A table that grows from trial to trial. ``factor``: its levels are the sizes of the table in rows.

    ``windows``: number of trials at each size.
    """

    factor: Name
    table: Name
    windows: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] = 3


class Claim(Strict):
    """A claim of the experiment's source, which a run confirms or refutes.

    ``of``: levels that are ``faster`` or ``slower`` than, or ``equivalent`` to, the levels ``against``; or that make
    requests fail (``fails``) or prevent failures (``cures``). ``first`` and ``last``: the first and the last measured
    level. ``finding``: alternatively, the kind of finding that confirms the claim.
    """

    says: Name
    of: dict[Name, bool | int | float | str] = Field(default_factory=dict)
    against: dict[Name, bool | int | float | str] = Field(default_factory=dict)
    expect: Literal["faster", "slower", "equivalent", "fails", "cures"] | None = None
    finding: Name | None = None


class Head(Strict):
    """The keys of a file that can't refer to factors.

    ``optional``: by factor, the levels that are measured only on request. ``slo``: the objective for the search of the
    highest rate.
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
