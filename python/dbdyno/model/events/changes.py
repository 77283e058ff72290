"""Counts of the calls that a trial delays on purpose."""

from dbdyno.model.events.base import Count, Part


class Calls(Part):
    """Calls of one kind in the window. ``added_s``: seconds of injected delay.

    ``own_s``: seconds in the calls themselves; for messages, from sending until the first byte of the answer; null for
    transactions.
    """

    calls: Count
    own_s: float | None
    added_s: float


class ChangedCalls(Part):
    """Calls by kind: device flushes, reads and writes of data files, messages, new sessions, transactions.

    A kind is null if the plan doesn't name it, or if the preloaded library never saw the server make such a call. The
    server may then make these calls in a way that the library can't intercept.
    """

    sync: Calls | None
    read: Calls | None
    write: Calls | None
    message: Calls | None
    connect: Calls | None
    transaction: Calls | None
