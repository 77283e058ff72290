"""Recognize an application's transactions: equal sequences of statements of its sessions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

import numpy as np

from dbdyno.trace.fingerprint import CURSOR
from dbdyno.trace.header import Header, Role, begins_transaction, role_of
from dbdyno.trace.parquet import Batch
from dbdyno.trace.reading import Trace, open_trace
from dbdyno.trace.values import UNKNOWN

LOOP_US = 2_000
"""Between statements of a loop outside of transactions, an application pauses less than this."""

# Statements of a transaction; more are a batch job, of which a workload has no use.
_LONGEST = 2000
_LONGEST_BODY = 4
_MOST_UNITS = 20_000
# Different sequences of statements whose loops are remembered.
_MOST_SEQUENCES = 50_000
# Values kept per parameter. Above, a random half of their uses is forgotten.
_MOST_VALUES = 20_000
_RANDOM = Random(1)
# Fewer uses of a parameter don't show which values are frequent.
_FEWEST_USES = 100
# Standard errors that chance hardly exceeds.
_CHANCE = 3.0
_NEARLY_ALL = 0.9
# Samples per transaction, and statements in all samples.
_SAMPLES = 200
_MOST_SAMPLED = 100_000
_ROLLBACKS = ("rollback", "abort")
_PLAIN_BEGIN = re.compile(r"begin(?: deferred)?(?: transaction| work)?|start transaction", re.IGNORECASE)
# Earlier values that a value may equal, of each value: few numbers are often equal by chance.
_MOST_EQUAL = 16
# Repetitions of a loop whose values are compared between transactions, and values of each.
_MOST_TURNS = 20
_MOST_TURN_VALUES = 50
# Parts of a recording in which transactions are counted.
PARTS = 1000
# A session that pauses longer is idle.
_IDLE_US = 60_000_000
# Different statements of a loop outside of transactions.
_LOOPED = 3
# If an application opens a connection for each request, there are many sessions. On average, they have few statements,
# and last a small part of the recording.
_FEWEST_SESSIONS = 5
_SHORT_STATEMENTS = 200
_SHORT_PART = 0.1
# Statements that show it.
_SAMPLED_STATEMENTS = 200_000
# Sessions whose statements are kept until the last one is known.
_MOST_OPEN = 1000

_T = TypeVar("_T")
# A statement, with the `begin` before it and the `commit` after it.
_Place = tuple[int, str, str]


@dataclass
class Counts:
    """How often each value was used, in all uses or in a random ``share`` of them."""

    by_value: Counter[str] = field(default_factory=Counter)
    share: float = 1.0
    _random: Random = field(default_factory=lambda: _RANDOM, repr=False)

    def add(self, value: str, count: int = 1) -> None:
        """Add uses of a value."""
        if self.share < 1 and self._random.random() >= self.share:
            return
        self.by_value[value] += count
        if len(self.by_value) > _MOST_VALUES:
            self._halve()

    def merge(self, other: Counts) -> None:
        """Add the uses of another parameter."""
        for value, count in other.by_value.items():
            self.add(value, count)

    @property
    def is_nearly_constant(self) -> bool:
        """Whether nearly all uses have the same value."""
        return max(self.by_value.values(), default=0) >= _NEARLY_ALL * self.by_value.total()

    def _halve(self) -> None:
        """Forget each use with a probability of one half, so that the rest is a random sample, too."""
        self.share /= 2
        kept: Counter[str] = Counter()
        for value, count in self.by_value.items():
            half = self._random.getrandbits(count).bit_count()
            if half:
                kept[value] = half
        self.by_value = kept


@dataclass
class Slot:
    """A statement at a place of a transaction. ``gap_us``: the pauses of the client before it, in total.

    ``values``: of each parameter; in a rare transaction, of all transactions with the statement.
    ``rows``: of ``counted`` executions whose rows are known. ``missed``: executions without a row. ``begin``, ``end``:
    in a request, the statements that begin a transaction before it, and end one after it; ``end_gap_us``: the pauses
    before the end.
    """

    statement: int
    begin: str = ""
    end: str = ""
    values: list[Counts] = field(default_factory=list)
    gap_us: int = 0
    end_gap_us: int = 0
    executions: int = 0
    duration_ns: int = 0
    most_rows: int = 0
    rows: int = 0
    counted: int = 0
    missed: int = 0
    # For each value of the statement, how often it equaled the transaction's earlier value of this number. In a loop,
    # that is a value of the same repetition.
    equals: list[Counter[int]] = field(default_factory=list)
    # For each value of the statement, in how many loops all repetitions had the same one.
    same: list[int] = field(default_factory=list)
    # The values of each repetition of a loop, by their number in the statement.
    turns: list[list[Counter[str]]] = field(default_factory=list)


@dataclass
class Item:
    """Statements that follow one another: once, or in a loop. ``repeats``: how often in a transaction, and its uses."""

    slots: list[Slot]
    repeats: Counter[int] = field(default_factory=Counter)

    @property
    def loops(self) -> int:
        """How often it was repeated, in any number of repetitions."""
        return sum(count for number, count in self.repeats.items() if number > 1)

    @property
    def mean_repeats(self) -> float:
        """The mean number of repetitions."""
        return sum(number * count for number, count in self.repeats.items()) / max(self.repeats.total(), 1)


@dataclass
class Unit:
    """A transaction of the application, a request, or a statement outside of transactions.

    A request is what an application does with a connection that it opens for this. ``is_transaction``: it begins and
    ends; ``is_request``: it has other statements, too, or several transactions; ``rolled_back``: the application ends
    it with a rollback. ``begin``: how it begins, such as ``begin immediate``; empty for a begin without options.
    ``before_us``: the pauses of the client before it, ``pauses`` of them; ``before_squares``: the sum of their
    squares; ``end_gap_us``: those before its end, in total. ``again``: how often it soon followed itself in a
    session, also with others between. ``samples``: the values of its first executions, a tuple per statement;
    ``None`` for a value that differs between the repetitions of a loop.
    """

    items: list[Item]
    is_transaction: bool
    rolled_back: bool = False
    begin: str = ""
    is_request: bool = False
    count: int = 0
    duration_ns: int = 0
    end_gap_us: int = 0
    before_us: float = 0.0
    before_squares: float = 0.0
    pauses: int = 0
    again: int = 0
    samples: list[list[tuple[str | None, ...]]] = field(default_factory=list)

    @property
    def mean_run(self) -> float:
        """How often it is executed in a loop of the application, on average."""
        return self.count / max(self.count - self.again, 1)

    @property
    def has_several(self) -> bool:
        """Whether it may have several statements."""
        return self.is_transaction or self.is_request

    @property
    def slots(self) -> list[Slot]:
        """All statements, those of loops once."""
        return [slot for item in self.items for slot in item.slots]


@dataclass
class Units:
    """The transactions of a trace. ``left_out``: executions of statements that a workload can't contain, by text.

    ``failed``: transactions that failed or were not finished; ``errors``: how many had each error. ``busy_us``: how
    long all sessions worked or paused.
    ``begun``: transactions that began in each of equal parts of the recording. ``connects``: the application opens a
    connection for each unit.
    """

    units: list[Unit]
    left_out: Counter[str]
    failed: int
    busy_us: int
    duration_ns: int
    errors: Counter[str] = field(default_factory=Counter)
    begun: list[int] = field(default_factory=lambda: [0] * PARTS)
    connects: bool = False


@dataclass(slots=True)
class _Executed:
    statement: int
    start: int | None
    duration_ns: int
    error: str | None
    values: Sequence[str]
    count: int = 1
    rows: int | None = None
    transaction: int | None = None
    gap_us: int = 0
    begin: str = ""
    finish: str = ""
    finish_gap_us: int = 0

    @property
    def end(self) -> int | None:
        return None if self.start is None else self.start + self.duration_ns // 1000


@dataclass
class _Session:
    is_request: bool
    open: list[_Executed] = field(default_factory=list)
    transaction: int | None = None
    last: Unit | None = None
    last_end: int | None = None
    # Different statements that were executed last, the last one first; empty after a pause.
    recent: list[Unit] = field(default_factory=list)


def recognize(trace: Trace, *, connects: bool = False) -> Units:
    """Read a trace to its end, in bounded memory. Raises InputError. ``connects``: see :func:`opens_connections`."""
    return _Recognizer(trace, connects=connects).read()


def opens_connections(header: Header, path: Path) -> bool:
    """Whether the application opens a connection for each request, so that sessions are many and short.

    Reads the beginning of the trace if there are many sessions. Raises InputError.
    """
    if not header.ordered or header.sessions < _FEWEST_SESSIONS:
        return False
    if header.statements > _SHORT_STATEMENTS * header.sessions:
        return False
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    read = 0
    for batch in open_trace(path).batches:
        for session, start, duration in zip(batch.session, batch.start, batch.duration_ns, strict=True):
            if start is not None:
                begins.setdefault(session, start)
                ends[session] = start + (duration or 0) // 1000
        read += len(batch.session)
        if read >= _SAMPLED_STATEMENTS:
            break
    lasted = sum(ends[session] - begins[session] for session in begins)
    return bool(begins) and lasted < _SHORT_PART * (max(ends.values()) - min(begins.values())) * len(begins)


class _Recognizer:
    def __init__(self, trace: Trace, *, connects: bool) -> None:
        self._trace = trace
        self._connects = connects
        self._units: dict[object, Unit] = {}
        self._sequences: dict[tuple[_Place, ...], list[tuple[tuple[_Place, ...], int]]] = {}
        self._sessions: dict[int, _Session] = {}
        self._roles: list[Role] = []
        # Statements in samples.
        self._sampled = 0
        self._result = Units([], Counter(), 0, 0, 0, connects=connects)
        header = trace.header
        self._begin_us = header.begin_us or 0
        self._part_us = max((header.end_us or 0) - self._begin_us, 1) / PARTS

    def read(self) -> Units:
        for batch in self._trace.batches:
            self._roles += [role_of(text) for text in self._trace.texts[len(self._roles) :]]
            self._add(batch)
        for session in self._sessions.values():
            self._finish_session(session)
        _pool_rare(self._units.values())
        self._result.units = sorted(self._units.values(), key=lambda each: (-each.duration_ns, -each.count))
        return self._result

    def _add(self, batch: Batch) -> None:
        columns = (batch.session, batch.transaction, batch.statement, batch.start, batch.duration_ns, batch.error)
        for number, transaction, statement, start, duration, error, values, count, rows in zip(
            *columns, batch.values, batch.count, batch.rows, strict=True
        ):
            session = self._sessions.get(number)
            if session is None:
                session = self._sessions[number] = _Session(is_request=self._connects)
                if self._connects and len(self._sessions) > _MOST_OPEN:
                    self._finish_session(self._sessions.pop(next(iter(self._sessions))))
            each = _Executed(statement, start, duration or 0, error, values, count, rows, transaction)
            role = self._roles[statement]
            if self._trace.header.ordered or role == "query":
                self._result.duration_ns += each.duration_ns
            if not session.is_request:
                self._take(session, each, role)
            else:
                session.open.append(each)
                if len(session.open) > _SHORT_STATEMENTS:
                    # It belongs to another program, such as a worker.
                    executed, session.open, session.is_request = session.open, [], False
                    for one in executed:
                        self._take(session, one, self._roles[one.statement])

    def _take(self, session: _Session, executed: _Executed, role: Role) -> None:
        """Take a statement of a session that has several transactions."""
        if session.open and executed.transaction != session.transaction:
            # A new transaction began without an end of the last one.
            self._result.failed += 1
            session.open = []
        session.transaction = executed.transaction
        if executed.transaction is None:
            if role == "query" or not self._trace.header.ordered:
                self._finish(session, [executed], is_transaction=False)
            else:
                self._pass(session, executed, role)
            return
        session.open.append(executed)
        if role == "end":
            whole, session.open = session.open, []
            self._finish(session, whole, is_transaction=True)

    def _finish_session(self, session: _Session) -> None:
        """Take what a session has left: a request, or a transaction without an end."""
        executed = session.open
        if not session.is_request:
            self._result.failed += bool(executed)
            return
        queries = sum(self._roles[each.statement] == "query" for each in executed)
        is_transaction = (
            len({each.transaction for each in executed}) == 1
            and executed[0].transaction is not None
            and self._roles[executed[-1].statement] == "end"
        )
        if is_transaction or (queries <= 1 and all(each.transaction is None for each in executed)):
            self._finish(session, executed, is_transaction=is_transaction)
        elif executed[-1].transaction is not None and self._roles[executed[-1].statement] != "end":
            self._result.failed += 1
        else:
            self._finish(session, executed, is_transaction=False, is_request=True)

    def _enclose(self, executed: Sequence[_Executed]) -> None:
        """Note at the statements of a request where its transactions begin and end."""
        last: _Executed | None = None
        begin = ""
        before: _Executed | None = None
        for each in executed:
            text, role = self._trace.texts[each.statement], self._roles[each.statement]
            is_new = each.transaction is not None and (before is None or before.transaction != each.transaction)
            if is_new:
                # Without autocommit, statements begin transactions.
                begin, last = text if role == "begin" else "begin", None
            if role == "end" and last is not None:
                last.finish = "rollback" if text.lower().startswith(_ROLLBACKS) else "commit"
                if before is not None and before.end is not None and each.start is not None:
                    last.finish_gap_us = each.start - before.end
            elif role == "query":
                each.begin, begin = begin if each.transaction is not None else "", ""
                last = each if each.transaction is not None else None
            before = each

    def _pass(self, session: _Session, executed: _Executed, role: Role) -> None:
        """Take a statement outside of transactions that a workload doesn't contain.

        Reading a cursor prolongs its query. Other statements are a part of the client's pause.
        """
        if role == "session":
            self._result.left_out[self._trace.texts[executed.statement]] += executed.count
        if role != "cursor" or session.last is None:
            return
        slot = session.last.slots[-1]
        if self._trace.texts[slot.statement].startswith(CURSOR):
            session.last.duration_ns += executed.duration_ns
            slot.duration_ns += executed.duration_ns
            slot.rows += executed.rows or 0
            session.last_end = executed.end

    def _finish(
        self, session: _Session, executed: list[_Executed], *, is_transaction: bool, is_request: bool = False
    ) -> None:
        begin, end = executed[0].start, executed[-1].end
        texts = self._trace.texts
        rolled_back = is_transaction and texts[executed[-1].statement].lower().startswith(_ROLLBACKS)
        first = texts[executed[0].statement]
        special = first if is_transaction and begins_transaction(first) and not _PLAIN_BEGIN.fullmatch(first) else ""
        if is_request:
            self._enclose(executed)
        inner: list[_Executed] = []
        duration = 0
        gap = 0
        before: int | None = None
        error = next((each.error for each in executed if each.error is not None), None)
        for each in executed:
            duration += each.duration_ns
            if before is not None and each.start is not None:
                gap += each.start - before
            before = each.end
            role = self._roles[each.statement]
            if role == "query":
                inner.append(each)
                each.gap_us, gap = gap, 0
            elif role == "session":
                self._result.left_out[self._trace.texts[each.statement]] += each.count
        pause = self._pause(session, begin)
        unit = None
        if error is not None or len(inner) > _LONGEST:
            self._result.failed += 1
            self._result.errors.update([] if error is None else [error])
        elif inner:
            unit = self._unit(inner, duration, (is_transaction, rolled_back, special, is_request))
            if unit is not None:
                unit.end_gap_us += gap
        if unit is not None and pause is not None:
            unit.before_us += pause
            unit.before_squares += pause * pause
            unit.pauses += 1
        if is_transaction or pause is None or pause >= LOOP_US:
            session.recent = []
        if unit is not None and not is_transaction:
            unit.again += any(each is unit for each in session.recent)
            session.recent = [unit, *(each for each in session.recent if each is not unit)][:_LOOPED]
        if begin is not None and end is not None:
            part = int((begin - self._begin_us) / self._part_us)
            self._result.begun[min(max(part, 0), PARTS - 1)] += 1
            self._result.busy_us += end - begin + max(pause or 0, 0)
        session.last, session.last_end = unit, end

    def _pause(self, session: _Session, begin: int | None) -> int | None:
        if begin is None or session.last_end is None:
            return None
        # Negative because of the log's resolution: on average, it doesn't change the pauses.
        pause = begin - session.last_end
        return pause if pause <= _IDLE_US else None

    def _unit(self, inner: list[_Executed], duration: int, kind: tuple[bool, bool, str, bool]) -> Unit | None:
        has_several = kind[0] or kind[3]
        groups = self._loops(tuple([(each.statement, each.begin, each.finish) for each in inner]))
        shape = tuple([(body, repeats > 1) for body, repeats in groups])
        key = (kind, shape)
        unit = self._units.get(key)
        if unit is None:
            if len(self._units) >= _MOST_UNITS:
                self._result.left_out["(rare transactions)"] += 1
                return None
            items = [Item([Slot(*place) for place in body]) for body, _ in shape]
            unit = self._units[key] = Unit(items, *kind)
        unit.count += 1 if has_several else inner[0].count
        unit.duration_ns += duration
        repeated = [repeats for _, repeats in groups]
        _record(unit, inner, repeated)
        if len(unit.samples) < _SAMPLES and self._sampled < _MOST_SAMPLED:
            self._sampled += len(inner)
            unit.samples.append(_sample(unit, inner, repeated))
        return unit

    def _loops(self, sequence: tuple[_Place, ...]) -> list[tuple[tuple[_Place, ...], int]]:
        known = self._sequences.get(sequence)
        if known is None:
            known = loops(sequence)
            if len(self._sequences) < _MOST_SEQUENCES:
                self._sequences[sequence] = known
        return known


def _pool_rare(units: Iterable[Unit]) -> None:
    """Give statements of rare transactions the values that they have in all transactions, unless theirs differ."""
    parameters: dict[tuple[int, int], list[tuple[Slot, int]]] = {}
    for unit in units:
        for slot in unit.slots:
            for place in range(len(slot.values)):
                parameters.setdefault((slot.statement, place), []).append((slot, place))
    for slots in parameters.values():
        all_uses = Counts()
        for slot, place in slots if len(slots) > 1 else ():
            all_uses.merge(slot.values[place])
        total = all_uses.by_value.total()
        shares = np.array(list(all_uses.by_value.values())) / max(total, 1)
        two, three = float((shares**2).sum()), float((shares**3).sum())
        for slot, place in slots:
            own = slot.values[place]
            is_rare = own.by_value.total() < min(_FEWEST_USES, total)
            if is_rare and not own.is_nearly_constant and _is_drawn(own, two, three):
                slot.values[place] = all_uses


def _is_drawn(few: Counts, two: float, three: float) -> bool:
    """Whether a few values may be a sample of a population, by the number of equal pairs.

    ``two``, ``three``: the probabilities that two and three values of the population are equal. For the variance of a
    U statistic, such as this number, see Hoeffding 1948, doi:10.1214/aoms/1177730196.
    """
    uses = few.by_value.total()
    pairs = uses * (uses - 1) / 2
    variance = pairs * (two - two**2) + 2 * pairs * (uses - 2) * (three - two**2)
    equal = sum(count * (count - 1) / 2 for count in few.by_value.values())
    return abs(equal - pairs * two) <= _CHANCE * math.sqrt(max(variance, 1.0))


def _record(unit: Unit, inner: Sequence[_Executed], repeats: Sequence[int]) -> None:
    """Add the values and pauses of one execution of a transaction."""
    at = 0
    seen: dict[str, tuple[int, ...]] = {}
    number = 0
    for item, repeated in zip(unit.items, repeats, strict=True):
        item.repeats[repeated] += 1
        firsts: list[int] = []
        before_loop = seen
        for iteration in range(repeated):
            own = dict(before_loop)
            for index, slot in enumerate(item.slots):
                each = inner[at]
                at += 1
                slot.executions += each.count
                slot.duration_ns += each.duration_ns
                slot.most_rows = max(slot.most_rows, each.rows or 0)
                if each.rows is not None:
                    slot.rows += each.rows
                    slot.counted += each.count
                    slot.missed += each.rows == 0
                slot.gap_us += each.gap_us
                slot.end_gap_us += each.finish_gap_us
                while len(slot.values) < len(each.values):
                    slot.values.append(Counts())
                    slot.equals.append(Counter())
                    slot.same.append(0)
                if iteration == 0:
                    firsts.append(number)
                    number += len(each.values)
                if repeated > 1 and iteration < _MOST_TURNS:
                    _add_turn(slot, iteration, each.values)
                for place, value in enumerate(each.values):
                    slot.values[place].add(value, each.count)
                    earlier = own.get(value, ())
                    for equal in earlier:
                        slot.equals[place][equal] += 1
                    if len(earlier) < _MOST_EQUAL:
                        own[value] = (*earlier, firsts[index] + place)
            if iteration == 0:
                seen = own
        if repeated > 1:
            _add_same(item, inner[at - repeated * len(item.slots) : at])


def _add_same(item: Item, executed: Sequence[_Executed]) -> None:
    for index, slot in enumerate(item.slots):
        turns = zip(*(each.values for each in executed[index :: len(item.slots)]), strict=False)
        for place, values in enumerate(turns):
            slot.same[place] += len(set(values)) == 1


def _add_turn(slot: Slot, iteration: int, values: Sequence[str]) -> None:
    while len(slot.turns) <= iteration:
        slot.turns.append([])
    turn = slot.turns[iteration]
    turn += [Counter() for _ in values[len(turn) :]]
    for counter, value in zip(turn, values, strict=False):
        counter[value if value in counter or len(counter) < _MOST_TURN_VALUES else UNKNOWN] += 1


def _sample(unit: Unit, inner: Sequence[_Executed], repeats: Sequence[int]) -> list[tuple[str | None, ...]]:
    """Return the values of one execution of a transaction, a tuple for each of its statements."""
    made = []
    at = 0
    for item, repeated in zip(unit.items, repeats, strict=True):
        size = len(item.slots)
        for number in range(size):
            executed = [inner[at + number + turn * size].values for turn in range(repeated)]
            same = zip(*executed, strict=False)
            made.append(tuple(each[0] if len(set(each)) == 1 else None for each in same))
        at += size * repeated
    return made


def loops(sequence: Sequence[_T]) -> list[tuple[tuple[_T, ...], int]]:
    """Divide a sequence into bodies and how often each is repeated, such as `a b b b c` into a, 3 times b, and c."""
    found: list[tuple[tuple[_T, ...], int]] = []
    at = 0
    while at < len(sequence):
        best: tuple[tuple[_T, ...], int] = ((sequence[at],), 1)
        for size in range(1, _LONGEST_BODY + 1):
            body = tuple(sequence[at : at + size])
            repeats, end = 1, at + size
            while len(body) == size and tuple(sequence[end : end + size]) == body:
                repeats, end = repeats + 1, end + size
            if repeats > 1 and repeats * size > best[1] * len(best[0]):
                best = (body, repeats)
        found.append(best)
        at += best[1] * len(best[0])
    return found
