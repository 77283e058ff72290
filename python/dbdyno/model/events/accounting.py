"""Outcomes, rates and work of transactions."""

from typing import Literal

from dbdyno.model.events.base import Count, Part

EndedBy = Literal["transactions", "statements", "rows", "seconds", "interrupted"]

FailureKind = Literal["locked", "deadlock", "serialization", "timeout", "connection", "constraint", "status", "other"]


class Accounting(Part):
    """Transactions that were due, by outcome: issued = ok + failed + skipped + in_flight.

    ``failed``: by kind; ``retries``: further attempts, which don't count as transactions.
    """

    issued: Count
    ok: Count
    failed: dict[str, Count]
    skipped: Count
    in_flight: Count
    retries: Count


class Few(Part):
    """Clients that completed few transactions. All values are sums over these clients.

    ``completed``: transactions; ``seconds``: the time that they took; ``within``: transactions completed within the
    window, with fractions for those that the ends of the window cut; ``window_s``: the window's length.
    """

    clients: Count
    completed: Count
    seconds: float
    within: float
    window_s: float


class Whole(Part):
    """Transactions completed in ``seconds``, with fractions for those that the end of the window cut."""

    completed: float
    seconds: float


class Rate(Part):
    """The transaction rate, in parts that can be added across processes (``crates/load/src/rate.rs``).

    ``many_per_s``: the sum of the rates of clients with many transactions; ``client_s``: seconds that the counted
    transactions took, summed over all clients.
    """

    many_per_s: float
    few: Few
    whole: Whole
    client_s: float
    clients: Count


class Cycles(Part):
    """Transaction times: the number of transactions, and the sums of their times (s) and squared times (s²)."""

    count: Count
    seconds: float
    squares: float


class FailedByCode(Part):
    """Transactions that failed with one code of the system, and the first message.

    The code is ``other`` if the system gave none, and for all codes after the first 20.
    """

    kind: FailureKind
    code: str
    count: Count
    message: str


class Warmup(Part):
    """The time before the window, in seconds."""

    seconds: float


class TransactionCounts(Part):
    """Successful and failed transactions of one name."""

    ok: Count
    failed: Count


class StatementCounts(Part):
    """Executions of a statement, and the rows that it returned and changed."""

    executions: Count
    rows: Count
    changed: Count


class Work(Part):
    """The work of the completed transactions.

    ``rows_returned_squared``: the sum over the transactions of the square of the rows returned;
    ``transactions_changing``: transactions that changed rows.
    """

    transactions: Count
    statements: Count
    rows_returned: Count
    rows_returned_squared: float
    rows_changed: Count
    transactions_changing: Count
