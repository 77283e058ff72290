"""What a trace says about itself, and how statements of a session become transactions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from dbdyno.base.errors import InputError
from dbdyno.trace.fingerprint import CURSOR

if TYPE_CHECKING:
    from dbdyno.model.plan.tasks import PrepareMode

VERSION = 1
KEY = "dbdyno.trace"

_CODE = re.compile(r"[A-Za-z0-9_.]{1,64}")
_MOST_KNOWN = 100_000
_VERBS = frozenset(("call", "delete", "insert", "merge", "replace", "select", "update", "with"))
_RUNNABLE = frozenset((*_VERBS, "release", "rollback", "savepoint", "table", "values"))
_CURSOR_STATEMENTS = ("close", "fetch", "move")
_BEGIN = re.compile(r"begin\b|start transaction\b", re.IGNORECASE)
_END = re.compile(r"(?:commit|end|rollback|abort)(?! to\b| prepared\b)\b", re.IGNORECASE)

# The function by which PostgreSQL's drivers set a parameter of the session.
_SETS = re.compile(r"select (?:pg_catalog\.)?set_config\([^()]*\)$", re.IGNORECASE)

Role = Literal["begin", "end", "query", "cursor", "session"]


@dataclass
class ReplayFacts:
    """What a replay knows beyond a recording.

    ``system``: its name; ``transactions``: their number, with statements outside of transactions; ``cpu_s``: CPU
    seconds of the database, null if unknown; ``counters``: the engine's counts by name; ``plans``: of each statement,
    one step per line.
    """

    system: str
    transactions: int
    cpu_s: float | None
    counters: dict[str, float]
    plans: dict[str, list[str]]


@dataclass
class Header:
    """A trace as a whole.

    ``engine``: whose SQL it contains; ``source``: what it was recorded from; ``values``: ``hashed`` or ``kept``;
    ``ordered``: whether the statements have times and an order, or are totals; ``statements``, ``sessions``,
    ``dropped``: numbers of executions; ``begin_us``, ``end_us``: microseconds since 1970, null if unknown;
    ``resolution_us``: the resolution of times; ``bound``, ``inline``: statements with values that were sent with bound
    parameters, and as a part of the text, 0 if unknown; ``parsed``: how many of ``bound`` were parsed for one
    execution; ``replay``: only of a replay.
    """

    engine: str
    source: str
    values: str = "hashed"
    ordered: bool = True
    statements: int = 0
    sessions: int = 0
    dropped: int = 0
    begin_us: int | None = None
    end_us: int | None = None
    version: int = VERSION
    resolution_us: int = 1
    bound: int = 0
    inline: int = 0
    parsed: int = 0
    replay: ReplayFacts | None = None

    @property
    def seconds(self) -> float | None:
        """How long the recording lasted."""
        if self.begin_us is None or self.end_us is None:
            return None
        return (self.end_us - self.begin_us) / 1e6

    @property
    def begun(self) -> str:
        """When the recording began, in UTC."""
        if self.begin_us is None:
            return "at an unknown time"
        return datetime.fromtimestamp(self.begin_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    @property
    def prepare(self) -> PrepareMode:
        """How most statements with values were prepared; ``once`` if unknown."""
        counts: dict[PrepareMode, int] = {
            "once": self.bound - self.parsed,
            "per-transaction": self.parsed,
            "never": self.inline,
        }
        return max(counts, key=counts.__getitem__)

    def json(self) -> str:
        """Return the header as JSON."""
        made = asdict(self)
        if self.replay is None:
            del made["replay"]
        return json.dumps(made)


def read_header(text: str | bytes, place: str) -> Header:
    """Read a header. Raises InputError for a newer version, or one that can't be read."""
    try:
        found: Any = json.loads(text)
        version = int(found["version"])
        if version == VERSION:
            replay = found.pop("replay", None)
            return Header(**found, replay=None if replay is None else ReplayFacts(**replay))
    except (ValueError, TypeError, LookupError):
        raise InputError(place, "its header can't be read", "record it again") from None
    problem = f"the trace has version {version}; this dbdyno reads version {VERSION}"
    raise InputError(place, problem, "read it with a newer dbdyno")


def error_code(text: str | None) -> str | None:
    """Return an error's code or class; a text that may be a message is reduced to ``error``."""
    if not text:
        return None
    return text if _CODE.fullmatch(text) else "error"


def begins_transaction(statement: str) -> bool:
    """Whether a fingerprint begins a transaction."""
    return _BEGIN.match(statement) is not None


def ends_transaction(statement: str) -> bool:
    """Whether a fingerprint ends a transaction."""
    return _END.match(statement) is not None


def role_of(statement: str) -> Role:
    """Return what a fingerprint does. ``cursor``: it reads or closes one; ``session``: a workload can't contain it."""
    if begins_transaction(statement):
        return "begin"
    if ends_transaction(statement):
        return "end"
    first = statement.split(maxsplit=1)[0].lower()
    if first in _CURSOR_STATEMENTS:
        return "cursor"
    if _SETS.match(statement):
        return "session"
    return "query" if first in _RUNNABLE or statement.startswith(CURSOR) else "session"


class Failures:
    """Hides the texts of statements that only failed: what is no valid SQL may contain values anywhere."""

    def __init__(self) -> None:
        self._succeeded: set[str] = set()

    def text(self, statement: str, error: str | None) -> str:
        """Return the fingerprint to record."""
        if error is None:
            if len(self._succeeded) < _MOST_KNOWN:
                self._succeeded.add(statement)
            return statement
        if statement in self._succeeded or begins_transaction(statement) or ends_transaction(statement):
            return statement
        first = statement.split(maxsplit=1)[0].lower()
        return f"{first} (failed)" if first in _VERBS else "(failed)"


class Transactions:
    """Numbers the transactions of all sessions. Also knows sessions without autocommit, which need no ``begin``."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._implicit: set[int] = set()
        self._count = 0
        self._kinds: dict[str, Callable[[int], int | None]] = {}

    def of(self, session: int, statement: str, is_open: bool | None = None) -> int | None:
        """Return the number of the transaction that a statement is in; ``None`` outside of transactions.

        ``is_open``: whether the server said that a transaction was open afterwards.
        """
        if is_open is not None:
            if statement.startswith("set autocommit"):
                self._kind(statement)(session)
            number = self._open.get(session)
            if is_open:
                return self._begin(session) if number is None or begins_transaction(statement) else number
            return self._end(session)
        kind = self._kinds.get(statement)
        if kind is None:
            kind = self._kinds[statement] = self._kind(statement)
        return kind(session)

    def _kind(self, statement: str) -> Callable[[int], int | None]:
        if begins_transaction(statement):
            return self._begin
        if ends_transaction(statement):
            return self._end
        if statement.startswith("set autocommit"):
            return self._off if statement.endswith(("0", "off")) else self._on
        return self._inside

    def _begin(self, session: int) -> int:
        self._count += 1
        self._open[session] = self._count
        return self._count

    def _end(self, session: int) -> int | None:
        return self._open.pop(session, None)

    def _inside(self, session: int) -> int | None:
        known = self._open.get(session)
        return self._begin(session) if known is None and session in self._implicit else known

    def _off(self, session: int) -> None:
        self._implicit.add(session)

    def _on(self, session: int) -> None:
        self._implicit.discard(session)
        self._open.pop(session, None)
