"""What a keeper is told to do: one program, as whom, how it is stopped, and what is removed behind it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Task:
    """One program that a keeper runs. Paths are absolute.

    ``owner``: the user id, group id and further group ids it runs with; ``None``: the keeper's own. ``make``:
    directories that the keeper makes for it, the owner's alone. ``log``: the file for what it writes, in one of these;
    ``None``: only its end is kept. ``stop``: the signals that ask it to end, the mildest first; SIGKILL comes behind
    them by itself. ``death_signal``: what it gets when its keeper is killed.

    ``remove``: directories that go when the program has ended. ``abandoned``: those that go besides where dbdyno has
    ended without saying that it is done with them.
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
        """Write it as one line of JSON, which a keeper reads."""
        return json.dumps(asdict(self)) + "\n"
