"""The load: how many clients, when transactions start, when the trial ends, and what is measured."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dbdyno.model.experiment.strict import Count, Name, Positive, Seconds, Strict
from dbdyno.model.experiment.validation import show, wrong
from dbdyno.model.limits import HIGHEST_RATE, MOST_ATTEMPTS, MOST_CLIENTS, MOST_PROCESSES, YEAR_S

FailureKind = Literal["locked", "deadlock", "serialization", "timeout", "connection", "constraint", "status", "other"]


class Open(Strict):
    """An open loop: transactions start by a clock, ``rate`` a second over all clients."""

    rate: Annotated[float, Field(gt=0, le=HIGHEST_RATE, allow_inf_nan=False)]
    gaps: Literal["even", "poisson"] = "poisson"


def _read_arrival(value: Any) -> Any:
    if value == "closed":
        return None
    if not isinstance(value, dict):
        raise wrong(f"{show(value)} is not known here", 'write `"closed"` or `{ rate = 1000 }`')
    return value


class Warmup(Strict):
    """What comes before the measured window, for each client; the longer of the two."""

    seconds: Seconds = 0.0
    transactions: Count = 0


class Stop(Strict):
    """What ends the measured window: for each client, whichever comes first of those given."""

    seconds: Annotated[float, Field(gt=0, le=YEAR_S, allow_inf_nan=False)] | None = None
    transactions: Positive | None = None
    statements: Positive | None = None
    rows: Positive | None = None

    @property
    def amounts(self) -> list[int]:
        """The amounts of work that end it."""
        return [each for each in (self.transactions, self.statements, self.rows) if each is not None]

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.seconds is None and not self.amounts:
            raise wrong("nothing ends the trial", "give `seconds`, `transactions`, `statements` or `rows`")
        return self


class Retry(Strict):
    """What to do with a transaction that fails: tries in all, the kinds tried again, the wait between."""

    attempts: Annotated[int, Field(ge=1, le=MOST_ATTEMPTS)] = 1
    on: list[FailureKind] = Field(default_factory=list)
    wait_ms: Annotated[float, Field(ge=0, le=YEAR_S * 1000, allow_inf_nan=False)] = 0.0


class Load(Strict):
    """The load on a system. ``arrival`` ``None``: a closed loop, a client's next transaction follows its last.

    ``memory_limit_mb``: megabytes (10^6 bytes) that the system and what the kernel caches of its files may take.
    """

    clients: Annotated[int, Field(ge=1, le=MOST_CLIENTS)] = 1
    clients_as: Literal["threads", "processes"] = "threads"
    connect: Literal["once", "per-transaction"] = "once"
    prepare: Literal["once", "per-transaction", "never"] = "once"
    arrival: Annotated[Open | None, BeforeValidator(_read_arrival)] = None
    warmup: Warmup = Warmup()
    stop: Stop
    retry: Retry = Retry()
    os_cache: Literal["warm", "cold"] = "warm"
    memory_limit_mb: Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)] | None = None
    give_way: bool = False

    @model_validator(mode="after")
    def _processes_are_few(self) -> Self:
        if self.processes > MOST_PROCESSES:
            problem = f"{self.clients} clients would be as many processes"
            raise wrong(problem, f'give at most {MOST_PROCESSES}, or `clients_as = "threads"`', key="clients")
        return self

    @property
    def fresh_os_cache(self) -> Literal["warm", "cold"]:
        """The state of the kernel's cache of fresh data. What is cached beforehand no limit to memory would count."""
        return self.os_cache if self.memory_limit_mb is None else "cold"

    @property
    def sharing(self) -> int:
        """How many clients share a process, and the library in it."""
        return 1 if self.clients_as == "processes" else self.clients

    @property
    def processes(self) -> int:
        """How many processes there are with clients in them."""
        return self.clients if self.clients_as == "processes" else 1


def _one_or_several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Measure(Strict):
    """What throughput counts, how a report calls it, and what is recorded beside it.

    ``operations``: the time of each statement; ``space``: the bytes of tables and indexes, and how full leaves are,
    when a trial is over; ``estimates``: how many rows the planner expected, by an execution of each statement before
    the first trial; ``processes``: those of parts of the system, by the part's name, as ids or commands.
    """

    unit: Literal["transaction", "statement", "row"] = "transaction"
    label: Name | None = None
    phases: bool = False
    operations: bool = True
    interval_ms: Annotated[int, Field(ge=1, le=YEAR_S * 1000)] | None = None
    io: bool = True
    mutexes: bool | None = None
    waits: bool = True
    space: bool = False
    estimates: bool = False
    beyond_cache: bool = False
    processes: dict[Name, Annotated[list[Positive | Name], BeforeValidator(_one_or_several), Field(min_length=1)]] = (
        Field(default_factory=dict)
    )
