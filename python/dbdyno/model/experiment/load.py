"""The load: number of clients, arrivals, end of the trial, and measurements."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dbdyno.model.experiment.strict import Count, Name, Positive, Seconds, Strict
from dbdyno.model.experiment.validation import MISSING, show, wrong
from dbdyno.model.limits import MAX_ATTEMPTS, MAX_CLIENTS, MAX_PROCESSES, MAX_RATE, MAX_STAGES, YEAR_S

FailureKind = Literal["locked", "deadlock", "serialization", "timeout", "connection", "constraint", "status", "other"]


def _read_stage_rate(value: Any) -> Any:
    numbers = value if isinstance(value, list) else [value]
    if len(numbers) > len(("from", "to")) or not numbers:
        raise wrong(f"{show(value)} is not a rate", "write a number, or two for a ramp, such as `[100, 500]`")
    return numbers


def _two_ends(rates: list[float]) -> list[float]:
    return [rates[0], rates[-1]]


_Rate = Annotated[float, Field(ge=0, le=MAX_RATE, allow_inf_nan=False)]


class Stage(Strict):
    """A part of the window. ``rate``: transactions per second when it begins and when it ends, over all clients."""

    seconds: Annotated[float, Field(gt=0, le=YEAR_S, allow_inf_nan=False)]
    rate: Annotated[list[_Rate], BeforeValidator(_read_stage_rate), AfterValidator(_two_ends)]

    @property
    def expected(self) -> float:
        """The expected number of transactions."""
        return sum(self.rate) / 2 * self.seconds


class Open(Strict):
    """An open loop: transactions start on a schedule.

    ``rate``: per second, over all clients; the mean over all stages if there are any. ``stages``: the window's parts if
    the rate changes.
    """

    rate: Annotated[float, Field(gt=0, le=MAX_RATE, allow_inf_nan=False)] = 0.0
    stages: Annotated[list[Stage], Field(max_length=MAX_STAGES)] = Field(default_factory=list)
    gaps: Literal["even", "poisson"] = "poisson"

    @model_validator(mode="after")
    def _has_a_rate(self) -> Self:
        if not self.stages:
            if not self.rate:
                hint = "write `rate = 1000` or `stages = [{ seconds = 10, rate = 1000 }]`"
                raise wrong("an open loop needs a rate", hint)
            return self
        if "rate" in self.model_fields_set:
            raise wrong("the stages have rates of their own", "remove `rate` or `stages`", key="rate")
        expected = sum(stage.expected for stage in self.stages)
        if not expected:
            raise wrong("no transaction would ever start", "give a stage a rate above 0", key="stages")
        # The model is frozen for its users.
        object.__setattr__(self, "rate", expected / self.seconds)
        return self

    @property
    def seconds(self) -> float:
        """The length of all stages."""
        return math.fsum(stage.seconds for stage in self.stages)


def _read_arrival(value: Any) -> Any:
    if value == "closed":
        return None
    if not isinstance(value, dict):
        raise wrong(f"unknown value {show(value)}", 'write `"closed"` or `{ rate = 1000 }`')
    return value


class Warmup(Strict):
    """The warm-up of each client before the measured window. If both limits are given, both must be reached."""

    seconds: Seconds = 0.0
    transactions: Count = 0


class Stop(Strict):
    """The end of the measured window: each client stops at the first of these limits."""

    seconds: Annotated[float, Field(gt=0, le=YEAR_S, allow_inf_nan=False)] | None = None
    transactions: Positive | None = None
    statements: Positive | None = None
    rows: Positive | None = None

    @property
    def amounts(self) -> list[int]:
        """The limits that are amounts of work."""
        return [each for each in (self.transactions, self.statements, self.rows) if each is not None]

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.seconds is None and not self.amounts:
            raise wrong("the trial would never end", "give `seconds`, `transactions`, `statements` or `rows`")
        return self


class Retry(Strict):
    """Retries of failed transactions.

    ``attempts``: the maximum number, including the first. ``on``: kinds of failure that are retried. ``wait_ms``:
    milliseconds between attempts.
    """

    attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = 1
    on: list[FailureKind] = Field(default_factory=list)
    wait_ms: Annotated[float, Field(ge=0, le=YEAR_S * 1000, allow_inf_nan=False)] = 0.0


def _read_retry(value: Any) -> Any:
    if not isinstance(value, dict | Retry):
        raise wrong(f"{show(value)} is not a table", "write `{ attempts = 3 }`")
    return value


class Load(Strict):
    """The load on a system.

    ``arrival``: None is a closed loop, in which each client starts a transaction when its previous one has ended.
    ``memory_limit_mb``: limit for the system and the kernel's cache of its files, in megabytes (10^6 bytes).
    """

    clients: Annotated[int, Field(ge=1, le=MAX_CLIENTS)] = 1
    clients_as: Literal["threads", "processes"] = "threads"
    connect: Literal["once", "per-transaction"] = "once"
    prepare: Literal["once", "per-transaction", "never"] = "once"
    arrival: Annotated[Open | None, BeforeValidator(_read_arrival)] = None
    warmup: Warmup = Warmup()
    stop: Stop = Stop.model_construct()
    retry: Annotated[Retry, BeforeValidator(_read_retry)] = Retry()
    os_cache: Literal["warm", "cold"] = "warm"
    memory_limit_mb: Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)] | None = None
    give_way: bool = False

    @model_validator(mode="after")
    def _ends(self) -> Self:
        stages = [] if self.arrival is None else self.arrival.stages
        if not stages or self.arrival is None:
            if "stop" not in self.model_fields_set:
                raise wrong(MISSING, "add it", key="stop")
            return self
        seconds = self.arrival.seconds
        if "stop" in self.model_fields_set and self.stop != Stop(seconds=seconds):
            raise wrong(f"the stages end after {seconds:g} s", "remove `stop`", key="stop")
        if self.warmup != Warmup() and not stages[0].rate[0]:
            problem = "the warm-up has the rate with which the first stage begins, which is 0"
            raise wrong(problem, "begin with a rate above 0, or remove `warmup`", key="warmup")
        object.__setattr__(self, "stop", Stop(seconds=seconds))
        return self

    @model_validator(mode="after")
    def _processes_are_few(self) -> Self:
        if self.processes > MAX_PROCESSES:
            problem = f"{self.clients} clients would need {self.clients} processes"
            raise wrong(problem, f'give at most {MAX_PROCESSES}, or `clients_as = "threads"`', key="clients")
        return self

    @property
    def fresh_os_cache(self) -> Literal["warm", "cold"]:
        """The state of the kernel's cache after copying the data.

        It is cold with a memory limit, because the limit wouldn't include pages that were cached before.
        """
        return self.os_cache if self.memory_limit_mb is None else "cold"

    @property
    def sharing(self) -> int:
        """Number of clients that share a process and its library."""
        return 1 if self.clients_as == "processes" else self.clients

    @property
    def processes(self) -> int:
        """Number of processes with clients."""
        return self.clients if self.clients_as == "processes" else 1


def _one_or_several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Measure(Strict):
    """The unit of throughput, its name in reports, and additional measurements.

    ``per``: the unit of time of throughput. ``transactions``: those that throughput counts; empty for all.
    ``statements``: names of statements, whose executions it counts instead; empty for none.
    ``operations``: the time of each statement.
    ``space``: the sizes of tables and indexes and the fill of leaf pages after a trial. ``estimates``: the planner's
    row estimates, from an execution of each statement before the first trial. ``processes``: the processes of each part
    of the system, by the part's name, as ids or commands.
    """

    unit: Literal["transaction", "statement", "row"] = "transaction"
    label: Name | None = None
    per: Literal["second", "minute"] = "second"
    transactions: list[Name] = Field(default_factory=list)
    statements: list[Name] = Field(default_factory=list)
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

    @model_validator(mode="after")
    def _counts_transactions(self) -> Self:
        named = "statements" if self.statements else "transactions"
        if self.transactions and self.statements:
            raise wrong("throughput counts transactions or statements, not both", "remove one", key="statements")
        if (self.transactions or self.statements) and self.unit != "transaction":
            problem = f"throughput counts {named}, but `unit` is `{self.unit}`"
            raise wrong(problem, f"remove `unit` or `{named}`", key=named)
        return self
