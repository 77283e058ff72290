"""What became of transactions, how fast they were, and what they did."""

from typing import Literal

from dbdyno.model.events.base import Count, Part

EndedBy = Literal["transactions", "statements", "rows", "seconds", "interrupted"]

FailureKind = Literal["locked", "deadlock", "serialization", "timeout", "connection", "constraint", "status", "other"]


class Accounting(Part):
    """Where each transaction that was due went: issued = ok + failed + skipped + in flight.

    ``failed``: by kind; ``retries``: further tries, which are no transactions of their own.
    """

    issued: Count
    ok: Count
    failed: dict[str, Count]
    skipped: Count
    in_flight: Count
    retries: Count


class Few(Part):
    """Clients of few transactions: how many clients, and what they completed in how many seconds, summed over them.

    ``within``: what they completed of the window's own time; ``window_s``: its length, summed over them.
    """

    clients: Count
    completed: Count
    seconds: float
    within: float
    window_s: float


class Whole(Part):
    """What was completed in a time, in seconds: a fraction where the window's end cut some."""

    completed: float
    seconds: float


class Rate(Part):
    """How fast transactions were, in parts that can be added (``crates/load/src/rate.rs``).

    ``many_per_s``: the sum over clients of many transactions; ``client_s``: seconds that the clients' transactions
    took, summed over clients.
    """

    many_per_s: float
    few: Few
    whole: Whole
    client_s: float
    clients: Count


class Cycles(Part):
    """The times that transactions took of their clients: how many, their sum in seconds, and that of their squares."""

    count: Count
    seconds: float
    squares: float


class FailedByCode(Part):
    """Transactions that failed with one code, the system's own name or number, and the first message.

    ``other``: they have none, or one beyond the 20 that are told apart.
    """

    kind: FailureKind
    code: str
    count: Count
    message: str


class Warmup(Part):
    """What came before the window, in seconds."""

    seconds: float


class TransactionCounts(Part):
    """How often transactions of a name ended well, and how often not."""

    ok: Count
    failed: Count


class StatementCounts(Part):
    """How often a statement was run, and the rows that it returned and changed."""

    executions: Count
    rows: Count
    changed: Count


class Work(Part):
    """What the completed transactions did.

    ``rows_returned_squared``: the sum of the squares of the rows that each returned; ``transactions_changing``: those
    that changed rows.
    """

    transactions: Count
    statements: Count
    rows_returned: Count
    rows_returned_squared: float
    rows_changed: Count
    transactions_changing: Count
