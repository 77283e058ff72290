"""What a worker counted of the calls that a trial changes on purpose."""

from dbdyno.model.events.base import Count, Part


class Calls(Part):
    """Calls of a kind in the window: how many, seconds in the calls themselves, and seconds that were added to them.

    ``own_s``: of messages, from the sending until the answer began to come; null for transactions.
    """

    calls: Count
    own_s: float | None
    added_s: float


class ChangedCalls(Part):
    """Calls by kind: flushes of the device, reads and writes of data files, messages, openings of sessions, and so on.

    Null where the plan does not name the kind, or the server was never seen to make such a call: then it may make them
    in a way that the preloaded library does not see.
    """

    sync: Calls | None
    read: Calls | None
    write: Calls | None
    message: Calls | None
    connect: Calls | None
    transaction: Calls | None
