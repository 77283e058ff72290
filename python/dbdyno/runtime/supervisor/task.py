"""The task of a supervisor: the program, its user, how to stop it, and what to remove afterwards."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Task:
    """A program that a supervisor runs. Paths are absolute.

    ``owner``: user id, group id and supplementary group ids; None for the supervisor's own. ``make``: directories to
    create for the program, with mode 0700. ``log``: a file for its output, in one of these directories; None keeps only
    the end of the output. ``stop``: signals to send in this order; SIGKILL follows automatically. ``death_signal``: the
    signal that the kernel sends to the program if its supervisor is killed.

    ``remove``: directories to remove when the program has ended. ``abandoned``: directories to remove in addition if
    dbdyno ends without writing `over`.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str
    owner: tuple[int, int, tuple[int, ...]] | None
    stop: tuple[int, ...]
    death_signal: int
    input: str = ""
    log: str | None = None
    make: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    abandoned: tuple[str, ...] = ()

    def to_line(self) -> str:
        """Serialize it as a line of JSON for the supervisor."""
        return json.dumps(asdict(self)) + "\n"
