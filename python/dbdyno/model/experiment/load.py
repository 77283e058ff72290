"""The load: number of clients, arrivals, end of the trial, and measurements."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dbdyno.model.experiment.strict import Count, Name, Positive, Seconds, Strict
from dbdyno.model.experiment.validation import show, wrong
from dbdyno.model.limits import HIGHEST_RATE, MOST_ATTEMPTS, MOST_CLIENTS, MOST_PROCESSES, YEAR_S

FailureKind = Literal["locked", "deadlock", "serialization", "timeout", "connection", "constraint", "status", "other"]


class Open(Strict):
    """An open loop: transactions start on a schedule. ``rate``: per second, over all clients."""

    rate: Annotated[float, Field(gt=0, le=HIGHEST_RATE, allow_inf_nan=False)]
    gaps: Literal["even", "poisson"] = "poisson"


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

    attempts: Annotated[int, Field(ge=1, le=MOST_ATTEMPTS)] = 1
    on: list[FailureKind] = Field(default_factory=list)
    wait_ms: Annotated[float, Field(ge=0, le=YEAR_S * 1000, allow_inf_nan=False)] = 0.0


class Load(Strict):
    """The load on a system.

    ``arrival``: None is a closed loop, in which each client starts a transaction when its previous one has ended.
    ``memory_limit_mb``: limit for the system and the kernel's cache of its files, in megabytes (10^6 bytes).
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
            problem = f"{self.clients} clients would need {self.clients} processes"
            raise wrong(problem, f'give at most {MOST_PROCESSES}, or `clients_as = "threads"`', key="clients")
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

    ``transactions``: those that throughput counts; empty for all. ``operations``: the time of each statement.
    ``space``: the sizes of tables and indexes and the fill of leaf pages after a trial. ``estimates``: the planner's
    row estimates, from an execution of each statement before the first trial. ``processes``: the processes of each part
    of the system, by the part's name, as ids or commands.
    """

    unit: Literal["transaction", "statement", "row"] = "transaction"
    label: Name | None = None
    transactions: list[Name] = Field(default_factory=list)
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
        if self.transactions and self.unit != "transaction":
            problem = f"throughput counts transactions, but `unit` is `{self.unit}`"
            raise wrong(problem, "remove `unit` or `transactions`", key="transactions")
        return self
