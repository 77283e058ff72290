"""Write the workload of a trace as a .sql file."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Literal

from dbdyno.base.errors import InputError
from dbdyno.base.numbers import figure, percent, whole
from dbdyno.base.text import shortened
from dbdyno.engines import engine_of
from dbdyno.engines.url import parse_url, with_settings
from dbdyno.experiment.distil.parameters import Chooser, Chosen
from dbdyno.experiment.distil.phases import Phase, phases
from dbdyno.experiment.distil.ranges import range_widths
from dbdyno.experiment.distil.results import Finder, Result
from dbdyno.experiment.distil.rows import Tie, row_ties
from dbdyno.experiment.distil.selection import Selected, select
from dbdyno.experiment.distil.units import LOOP_US, Counts, Item, Slot, Unit, Units
from dbdyno.experiment.distil.uses import Parsed, Use, parse_uses
from dbdyno.experiment.factors import MIX_FACTORS
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import PrepareMode
from dbdyno.trace.fingerprint import CURSOR
from dbdyno.trace.header import Header
from dbdyno.trace.recording import may_write
from dbdyno.trace.values import UNKNOWN, key_path

# Statements of a .sql file, and repetitions of a loop that are written out.
_MOST_STATEMENTS = 190
_MOST_REPEATS = 20
# A client's and the network's own time is no pause.
_LEAST_PAUSE_US = 200
_COARSE_US = 100_000
_LONGEST_PAUSE_US = 3_600_000_000
_EQUAL_SHARE = 0.98
_FEWEST_EQUAL = 5
# Values that are more likely to be equal by chance have different names.
_LEAST_CHANCE = 0.001
# Longer statements are shortened, but not the reasons after them.
_SHOWN_LEFT_OUT = 400
_SHOWN_STATEMENT = 80
_ERRORS = 3
_LEFT_OUT = 8
# In an error.
_REASONS = 3
_LEAST_RUN = 3
# A shorter recording is one phase.
_LEAST_RECORDING_S = 10
_FEWEST_PHASES = 2
_SETTING = re.compile(r"pragma (?P<name>\w+) = (?P<value>\S+)")
# Pauses whose standard deviation is a smaller part of their mean are equal.
_REGULAR = 0.3


Form = Literal["statements", "experiment", "synthetic"]


@dataclass(frozen=True)
class Workload:
    """A .sql file for an engine.

    ``clients``: sessions that were busy on average, rounded up; ``covered``: its share ``of`` the recorded time, or
    of the statements; ``prepare``: how the application prepares them; ``writes``: it may change the tables of a
    server; ``connects``: the application opens a connection for each transaction; ``names``: the numbers of the
    trace's statements by their names in the file, ``texts``: their texts; ``settings``: that the application makes in
    its sessions; ``phases``: of its transactions, empty if their rate was constant; ``problem``: why recorded values
    weren't found in the database, if so; ``left_out``: what is not in it; ``errors``: of failed transactions;
    ``made_up``: statements with made-up values, ``made_up_share``: the part of the time that they take.
    """

    text: str
    engine: str
    clients: int
    covered: float
    of: str
    transactions: int
    prepare: PrepareMode
    connects: bool
    writes: bool
    names: Mapping[str, int]
    texts: Mapping[int, str]
    settings: Mapping[str, str]
    phases: Sequence[Phase] = ()
    problem: str = ""
    left_out: Sequence[str] = ()
    errors: str = ""
    made_up: int = 0
    made_up_share: float = 0.0


@dataclass
class _Names:
    """Gives each thing of a file a name of its own. ``statements``: the numbers of statements by name.

    ``transactions``: the statements of transactions, by name.
    """

    used: Counter[str] = field(default_factory=Counter)
    statements: dict[str, int] = field(default_factory=dict)
    transactions: dict[str, Sequence[tuple[int, bool]]] = field(default_factory=dict)

    def unique(self, name: str) -> str:
        self.used[name] += 1
        if self.used[name] == 1:
            return name
        return self.unique(f"{name} {self.used[name]}")

    def branch(self, name: str, unit: Unit) -> Iterator[str]:
        """Yield a comment on a transaction if it begins like an earlier one."""
        own = [(slot.statement, max(item.repeats) > 1) for item in unit.items for slot in item.slots]
        common = {other: _common(own, statements) for other, statements in self.transactions.items()}
        self.transactions[name] = own
        longest = max(common, key=common.__getitem__, default=None)
        if longest is not None and common[longest] > 0:
            number = common[longest]
            what = "statement is" if number == 1 else f"{number} statements are"
            yield f"-- Perhaps a branch of `{longest}`: the first {what} the same."


@dataclass(frozen=True)
class WorkloadWriter:
    """Writes workloads. ``think``: with the pauses of clients; ``top``: at most so many transactions.

    ``form``: statements, an experiment on the application's database, or an experiment on synthetic tables.
    """

    header: Header
    texts: Sequence[str]
    chooser: Chooser
    file: str
    think: bool = True
    top: int = 50
    form: Form = "statements"

    def write(self, units: Units, rejected: Mapping[int, str] = MappingProxyType({})) -> Workload:
        """Write the transactions with the largest shares of time. Raises InputError if there are none.

        ``rejected``: why the database rejects statements, by number; transactions with them are left out.
        """
        names = _Names()
        settings, left_out = _settings(units.left_out)
        parsed = {slot.statement: self._parsed(slot.statement) for each in units.units for slot in each.slots}
        accepted: list[Unit] = []
        for unit in units.units:
            wrong = next((slot.statement for slot in unit.slots if slot.statement in rejected), None)
            if wrong is not None:
                text = _short(self._text(wrong))
                left_out[f"{text}` and its transaction, rejected: `{rejected[wrong]}"] += unit.count
            else:
                accepted.append(unit)

        def size(unit: Unit) -> int:
            own = sum(len(item.slots) * _repeats(item) for item in unit.items)
            # A query for its key may follow each insert.
            return own + sum(parsed[slot.statement].verb == "insert" for slot in unit.slots)

        while True:
            chosen, rare = select(accepted, size, parsed, (self.top, _MOST_STATEMENTS))
            # Values are chosen for selected transactions only, because that asks the database.
            missing = {id(each.unit): words for each in chosen if (words := self._missing(each.unit, parsed))}
            if not missing:
                break
            for unit in accepted:
                if id(unit) in missing:
                    left_out[missing[id(unit)]] += unit.count
            accepted = [unit for unit in accepted if id(unit) not in missing]
        if rare:
            left_out["(rare transactions)"] += rare
        if not chosen:
            raise self._nothing(left_out, rejected)
        total = sum(each.count for each in chosen)
        clients = self._clients(units)
        executed = sum(each.count for each in units.units)
        idle_us = self._idle_us(units, clients) / executed
        body = [line for unit in chosen for line in self._unit(unit, total, idle_us, names, parsed)]
        done = sum(each.duration_ns for each in chosen)
        covered = done / units.duration_ns if units.duration_ns else total / executed
        texts = {number: self._text(number) for number in names.statements.values()}
        writes = engine_of(self.header.engine).is_server and any(map(may_write, texts.values()))
        made_up, made_up_share = self._made_up([slot for each in chosen for slot in each.unit.slots], parsed)
        workload = Workload(
            text="",
            engine=self.header.engine,
            clients=clients,
            covered=covered,
            of="time" if units.duration_ns else "statements",
            transactions=len(chosen),
            prepare=self.header.prepare,
            connects=units.connects,
            writes=writes,
            names=names.statements,
            texts=texts,
            settings=settings,
            phases=self._phases(units, total),
            problem=self._problem(),
            left_out=self._omissions(units, left_out),
            errors=_errors(units),
            made_up=made_up,
            made_up_share=made_up_share,
        )
        head = self._head(workload, total, idle_us)
        return replace(workload, text="\n".join([*head, *body]) + "\n")

    def _nothing(self, left_out: Counter[str], rejected: Mapping[int, str]) -> InputError:
        """Return the error for a workload without a transaction."""
        reasons = "; ".join(_left_out(left_out, _REASONS))
        if rejected:
            hint = "name the database that the application used"
            return InputError(self.file, f"all transactions were left out: {reasons}", hint)
        problem = "the trace contains no statement that a workload can contain"
        return InputError(self.file, f"{problem}. Left out: {reasons}" if reasons else problem, "record more")

    def _problem(self) -> str:
        return self.chooser.problem(key_path(Path(self.file)).name)

    def _missing(self, unit: Unit, parsed: Mapping[int, Parsed]) -> str:
        """Name a statement without values for a parameter, and the reason; empty if all have values."""
        for slot in unit.slots:
            for use, counts in zip(parsed[slot.statement].uses, slot.values, strict=False):
                chosen = self.chooser.choose(use, counts)
                if chosen.form == "missing":
                    return f"{_short(self._text(slot.statement))}` and its transaction: `{chosen.because}"
            if len(slot.values) < len(parsed[slot.statement].uses):
                return f"{_short(self._text(slot.statement))}` and its transaction: `the trace has too few values of it"
        return ""

    def _text(self, statement: int) -> str:
        """Return a statement, or the query of a cursor."""
        return self.texts[statement].removeprefix(CURSOR)

    def _parsed(self, statement: int) -> Parsed:
        return self.chooser.resolved(parse_uses(self._text(statement), self.header.engine))

    def _clients(self, units: Units) -> int:
        if not units.duration_ns:
            # Without durations, it is unknown when sessions were busy.
            return max(self.header.sessions, 1) if self.header.ordered else 1
        seconds = self.header.seconds
        # Requests come at random, so they meet even if one client could do them all.
        rest = 0.0 if units.connects else 0.05
        return max(math.ceil(units.busy_us / 1e6 / seconds - rest), 1) if seconds else 1

    def _idle_us(self, units: Units, clients: int) -> float:
        """Return how long clients must be idle to do as much as the sessions, since their number is rounded up.

        0 if sessions were idle for most of the recording, since a run should not be idle for long.
        """
        if not units.duration_ns or not self.header.seconds or self.header.resolution_us > _COARSE_US:
            return 0.0
        idle_us = clients * self.header.seconds * 1e6 - units.busy_us
        return idle_us if 0 < idle_us < units.busy_us else 0.0

    def _phases(self, units: Units, total: int) -> Sequence[Phase]:
        """Return the phases of a long recording whose rate varied. ``total``: the transactions of the file."""
        seconds = self.header.seconds or 0
        if seconds < _LEAST_RECORDING_S:
            return []
        share = total / max(sum(units.begun), 1)
        found = [Phase(each.seconds, each.rate * share) for each in phases(units.begun, seconds)]
        return found if len(found) >= _FEWEST_PHASES else []

    def _omissions(self, units: Units, left_out: Counter[str]) -> list[str]:
        """Return what isn't in the file, failed transactions first."""
        errors = _errors(units)
        words = f"{_counted(units.failed, 'transaction')} that failed or did not end"
        failed = [f"{words} ({errors})" if errors else words] if units.failed else []
        return [*failed, *_left_out(left_out, _LEFT_OUT)]

    def _made_up(self, slots: Sequence[Slot], parsed: Mapping[int, Parsed]) -> tuple[int, float]:
        """Return how many statements have conditions with made-up values, and the part of the time that they take."""
        duration: Counter[bool] = Counter()
        found = set()
        for slot in slots:
            uses = zip(parsed[slot.statement].uses, slot.values, strict=False)
            conditions = [(use, counts) for use, counts in uses if use.role not in ("inserted", "set")]
            is_made_up = any(self.chooser.choose(use, counts).is_made_up for use, counts in conditions)
            duration[is_made_up] += slot.duration_ns or slot.executions
            found.update([slot.statement] if is_made_up else [])
        return len(found), duration[True] / max(duration.total(), 1)

    def _head(self, workload: Workload, total: int, idle_us: float) -> Iterator[str]:
        header = self.header
        yield f"-- Workload of {Path(self.file).name}: {header.source}, recorded {header.begun}."
        if header.seconds:
            rate, seconds = figure(total / header.seconds), figure(header.seconds)
            sessions = _counted(workload.clients, "busy session")
            yield f"-- In {seconds} s, {sessions} did {rate} of its transactions per second."
            name = "FILE.sql" if self.form == "statements" else "FILE.toml"
            yield f"-- To run it like that: {run_command(name, workload, None, self.form)}"
        if self.think and idle_us >= _LEAST_PAUSE_US:
            if workload.connects:
                yield f"-- Each session has one transaction. Clients pause for {_time(idle_us)} before it."
            else:
                yield f"-- Some sessions were idle at times, so pauses are {_time(idle_us)} longer than recorded."
        if workload.phases and self.form == "statements":
            words = "As stages of an experiment (`dbdyno distil TRACE -o FILE.toml`), without pauses:"
            yield f"-- The rate varied. {words}"
            yield from (f"-- {line}" for line in stage_lines(workload.phases))
        if not header.ordered:
            yield "-- Statistics don't show transactions and pauses: each statement is a transaction."
        elif self.think and header.resolution_us > _COARSE_US:
            yield "-- The times of this log are too coarse to know the pauses of clients."
        yield f"-- It covers {percent(workload.covered)} of the recorded {workload.of}."
        for words in workload.left_out:
            yield f"-- Left out: {words}"
        if workload.made_up:
            yield f"-- {made_up_words(workload)}"
        if workload.problem:
            yield f"-- {workload.problem}"
        prepare = [] if workload.prepare == "once" else [f"prepare={workload.prepare}"]
        levels = [*prepare, *(["connect=per-transaction"] if workload.connects else [])]
        if levels:
            yield f"-- set: {', '.join(levels)}"
        yield ""

    def _unit(
        self, selected: Selected, total: int, idle_us: float, names: _Names, parsed: dict[int, Parsed]
    ) -> Iterator[str]:
        unit = selected.unit
        transaction = names.unique(self._title(unit, parsed))
        mean = f", {figure(unit.duration_ns / unit.count / 1e6)} ms each" if unit.duration_ns else ""
        similar = f" It stands for {_counted(selected.similar, 'similar transaction')}." if selected.similar else ""
        yield f"-- Recorded {_counted(unit.count, 'time')}{mean}.{similar}"
        yield f"-- weight: {_weight(100 * selected.count / total)}"
        if unit.mean_run >= _LEAST_RUN:
            pauses = f"with pauses below {LOOP_US // 1000} ms"
            yield f"-- Perhaps an N+1 loop: repeated {figure(unit.mean_run)} times on average, {pauses}."
        if unit.has_several:
            yield from names.branch(transaction, unit)
            yield f"-- {'request' if unit.is_request else 'transaction'}: {transaction}"
        first = unit.slots[0]
        if self.think:
            # Before a statement outside of transactions, a session may have been set up.
            before_us = 0.0 if unit.is_transaction else first.gap_us / max(first.executions, 1)
            yield from self._pause_of(unit, idle_us + before_us)
        beside = [*self._pause(first.gap_us, first.executions), *self._pause(unit.end_gap_us, unit.count)]
        # A pause beside `begin` or `commit` requires them in the file.
        has_ends = unit.is_transaction and bool(unit.rolled_back or unit.begin or beside)
        if has_ends:
            yield f"{unit.begin or 'begin'};"
        parameters = _Parameters(unit, parsed, self)
        is_first = True
        for item in unit.items:
            repeats = _repeats(item)
            if max(item.repeats) > 1:
                yield _loop_words(item, repeats)
            for iteration in range(repeats):
                for slot in item.slots:
                    if has_ends or not is_first:
                        yield from self._pause(slot.gap_us, slot.executions)
                    is_first = False
                    yield from [f"{slot.begin};"] if slot.begin else []
                    name = names.unique(parsed[slot.statement].name) if unit.has_several else transaction
                    names.statements[name] = slot.statement
                    yield f"-- name: {name}"
                    yield from self._statement(slot, parameters, iteration)
                    yield from self._key(slot, parameters, names, parsed[slot.statement].table)
                    yield from self._end(slot)
        if has_ends:
            yield from self._pause(unit.end_gap_us, unit.count)
            yield "rollback;" if unit.rolled_back else "commit;"
        if unit.has_several:
            yield "-- end"
        yield ""

    def _statement(self, slot: Slot, parameters: _Parameters, iteration: int) -> Iterator[str]:
        named, lines = parameters.of(slot, iteration)
        yield from lines
        if into := parameters.returned(slot):
            yield f"-- into: {', '.join(into)}"
        yield f"{self._with_names(self._text(slot.statement), named)};"

    def _key(self, slot: Slot, parameters: _Parameters, names: _Names, table: str) -> Iterator[str]:
        """Yield the query for the key that an insert has generated, if later statements use it."""
        if generated := parameters.generated(slot):
            yield f"-- name: {names.unique(f'key of {table}')}"
            yield f"-- into: {generated}"
            yield f"{engine_of(self.header.engine).last_key};"

    def _end(self, slot: Slot) -> Iterator[str]:
        """Yield the end of a transaction in a request."""
        if slot.end:
            yield from self._pause(slot.end_gap_us, slot.executions)
            yield f"{slot.end};"

    def _with_names(self, text: str, names: Sequence[str]) -> str:
        """Write parameters instead of each `?`."""
        pieces, start = [], 0
        for each, name in zip(engine_of(self.header.engine).placeholders(text), names, strict=False):
            # Some engines accept a word directly behind `?`.
            space = " " if re.match(r"\w", text[each.end :]) else ""
            pieces += [text[start : each.start], name + space]
            start = each.end
        return "".join([*pieces, text[start:]])

    def _pause_of(self, unit: Unit, idle_us: float) -> Iterator[str]:
        """Yield the pause of a client before a transaction. ``idle_us``: is added to it."""
        if self.header.resolution_us > _COARSE_US:
            return
        if not unit.pauses:
            # Each session has one transaction, so only the number of sessions shows how busy they were.
            if idle_us >= _LEAST_PAUSE_US:
                yield f"-- think: exp({_time(idle_us)})"
            return
        mean = unit.before_us / unit.pauses
        if mean + idle_us < _LEAST_PAUSE_US:
            return
        spread = math.sqrt(max(unit.before_squares / unit.pauses - mean * mean, 0)) / max(mean, 1)
        yield f"-- Pauses of {_time(mean)} on average; their standard deviation is {percent(spread)} of that."
        pause = _time(mean + idle_us)
        yield f"-- think: exp({pause})" if spread > _REGULAR else f"-- think: {pause}"

    def _pause(self, total_us: int, number: int) -> Iterator[str]:
        """Yield the mean of a number of pauses in a transaction."""
        mean = total_us / max(number, 1)
        if self.think and mean >= _LEAST_PAUSE_US and self.header.resolution_us <= _COARSE_US:
            yield f"-- think: {_time(mean)}"

    def _title(self, unit: Unit, parsed: dict[int, Parsed]) -> str:
        """Name a transaction after its first change, or after its longest query."""
        names = [parsed[slot.statement].name for slot in unit.slots]
        writes = [each for each in names if each.split()[0] in ("insert", "update", "delete", "replace", "merge")]
        name = writes[0] if writes else parsed[max(unit.slots, key=lambda slot: slot.duration_ns).statement].name
        return f"{name} and others" if unit.has_several and len(names) > 1 else name


class _Parameters:
    """Names the parameters of a transaction, and chooses their values. Equal values have one name."""

    def __init__(self, unit: Unit, parsed: dict[int, Parsed], writer: WorkloadWriter) -> None:
        chooser = writer.chooser
        has_last_key = engine_of(writer.header.engine).last_key is not None
        self._form = writer.form
        self._chooser = chooser
        self._uses: dict[tuple[int, int], Use] = {}
        self._origin: dict[tuple[int, int], tuple[int, int]] = {}
        # Values that differ between the repetitions of a loop.
        self._looped: set[tuple[int, int]] = set()
        self._names: dict[tuple[int, int, int], str] = {}
        self._used: Counter[str] = Counter(MIX_FACTORS)
        self._chosen: dict[tuple[int, int], Chosen] = {}
        self._declared: set[str] = set()
        numbered: list[tuple[int, int]] = []
        for item in unit.items:
            is_loop = max(item.repeats, default=1) > 1
            for slot in item.slots:
                uses = parsed[slot.statement].uses
                for place, counts in enumerate(slot.values):
                    key = (id(slot), place)
                    numbered.append(key)
                    self._uses[key] = uses[place] if place < len(uses) else Use()
                    earlier = _equal_to(slot, place, counts)
                    origin = numbered[earlier] if earlier is not None and earlier < len(numbered) else key
                    self._origin[key] = self._origin.get(origin, origin)
                    is_same = item.loops >= _FEWEST_EQUAL and slot.same[place] >= _EQUAL_SHARE * item.loops
                    if is_loop and not is_same:
                        self._looped.add(key)
        self._results: dict[tuple[int, int], Result] = {}
        self._returning: dict[tuple[int, int | None], tuple[int, int]] = {}
        for (number, place), result in Finder(parsed, chooser.integers, chooser.facts).find(unit).items():
            key = (id(unit.slots[number]), place)
            source = (id(unit.slots[result.slot]), result.column)
            if self._origin[key] == key and (has_last_key or result.column is not None):
                # A second parameter with the same result has the same name.
                self._origin[key] = self._returning.setdefault(source, key)
                self._results[key] = result
        for key, origin in self._origin.items():
            # A parameter is named after the first column that any of its uses has.
            use = self._uses[key]
            if not self._uses[origin].column and use.column and use.role in ("equals", "range", "pattern"):
                self._uses[origin] = use
        # For the origin of each parameter of a row, the origin of its base.
        self._ties: dict[tuple[int, int], tuple[tuple[int, int], Tie]] = {}
        self._bases: set[tuple[int, int]] = set()
        self._titles = [parsed[slot.statement].name for slot in unit.slots]
        self._widths = {
            (id(unit.slots[number]), place): width
            for (number, place), width in range_widths(unit, parsed, chooser.integers).items()
        }
        if writer.form != "synthetic":
            self._tie(unit, row_ties(unit, writer.texts, parsed, chooser))

    def _tie(self, unit: Unit, ties: Mapping[tuple[int, int], Tie]) -> None:
        """Take over which parameters have values of a row, unless a width or an earlier statement gives them others."""
        for (number, place), tie in ties.items():
            own = id(unit.slots[number])
            origin, base = self._origin[own, place], self._origin[own, tie.base]
            is_taken = base in self._results or base in self._ties or self._uses[base].table != tie.use.table
            if origin == (own, place) and origin not in self._bases and origin not in self._widths and not is_taken:
                self._ties[origin] = base, tie
                self._bases.add(base)

    def returned(self, slot: Slot) -> list[str]:
        """Return the names for the columns of a statement's first row; empty if no later statement uses them."""
        columns = {
            column: key for (at, column), key in self._returning.items() if at == id(slot) and column is not None
        }
        last = max(columns, default=-1)
        return [self._name(columns[at], 0) if at in columns else self._free("unused") for at in range(last + 1)]

    def generated(self, slot: Slot) -> str | None:
        """Return the name for the key that a statement generates but doesn't return."""
        key = self._returning.get((id(slot), None))
        return None if key is None else self._name(key, 0)

    def of(self, slot: Slot, iteration: int) -> tuple[list[str], list[str]]:
        """Return what to write for each value of a statement, and the lines that give the parameters' values."""
        written, lines = [], []
        for place, counts in enumerate(slot.values):
            own = self._chosen.setdefault((id(slot), place), self._chooser.choose(self._uses[id(slot), place], counts))
            equal = self._origin[id(slot), place]
            origin = self._origin.get(equal, equal)
            if origin in self._results:
                name = self._name(origin, 0)
                written.append(f":{name}")
                if name not in self._declared:
                    self._declared.add(name)
                    lines.append(self._result_words(name, origin))
                    lines.append(f"-- :{name} = {own.words if own.form == 'value' else 1}")
                continue
            if own.form == "itself":
                written.append(self._uses[id(slot), place].column)
                continue
            chosen = self._chosen.get(origin, own)
            if origin in self._bases and origin == (id(slot), place):
                chosen = self._chooser.of_row(self._uses[origin], counts)
            turn = iteration if origin in self._looped else 0
            name = self._name(origin, turn)
            counted = self._counted(slot, place, iteration) if origin == (id(slot), place) else None
            if counted is not None:
                chosen = Chosen(counted, "it counts the repetitions of the loop")
            is_part = own.form in ("string", "uuid")
            written.append(self._chooser.as_string(f":{name}", own.form) if is_part else f":{name}")
            if name not in self._declared:
                self._declared.add(name)
                width = self._widths.get(origin)
                words, because = chosen.words, chosen.because
                if origin in self._ties:
                    base, tie = self._ties[origin]
                    words, because = tie.words(self._name(base, iteration if base in self._looped else 0))
                elif width is not None and written[width.base].startswith(":"):
                    words, because = width.words(written[width.base][1:]), "the end of the range"
                if iteration == 0:
                    lines.append(f"-- `{name}`: {because}")
                lines.append(f"-- :{name} = {words}")
        return written, lines

    def _counted(self, slot: Slot, place: int, iteration: int) -> str | None:
        """Return a repetition's value, if it is the same in all executions of the loop but differs by repetition."""
        if (id(slot), place) not in self._looped or iteration >= len(slot.turns):
            return None
        usual = []
        for turn in slot.turns:
            value, number = turn[place].most_common(1)[0] if place < len(turn) else (UNKNOWN, 0)
            if value == UNKNOWN or number < _EQUAL_SHARE * turn[place].total():
                return None
            usual.append(value)
        is_counter = len(set(usual)) == len(usual) and slot.turns[0][place].total() >= _FEWEST_EQUAL
        return self._chooser.constant(self._uses[id(slot), place], usual[iteration]) if is_counter else None

    def _result_words(self, name: str, origin: tuple[int, int]) -> str:
        result = self._results[origin]
        title = self._titles[result.slot]
        is_key = title.startswith("insert")
        what = f"the key that `{title}` generates" if is_key else f"a result of `{title}`"
        otherwise = "; without `--mix`, these values" if self._form == "statements" else ""
        return f"-- `{name}`: {what}{otherwise}"

    def _name(self, origin: tuple[int, int], turn: int) -> str:
        key = (*origin, turn)
        if key not in self._names:
            use = self._uses[origin]
            base = re.sub(r"\W", "_", use.column.strip('`"').lower()) or (
                use.role if use.role in ("escape", "limit", "offset") else "value"
            )
            base = base if re.match(r"[^\W\d]", base) else f"p_{base}"
            self._used[base] += 1
            self._names[key] = base if self._used[base] == 1 else self._free(base)
        return self._names[key]

    def _free(self, base: str) -> str:
        while f"{base}_{self._used[base]}" in self._used:
            self._used[base] += 1
        name = f"{base}_{self._used[base]}"
        self._used[name] += 1
        return name


def _common(a: Sequence[tuple[int, bool]], b: Sequence[tuple[int, bool]]) -> int:
    """Return how many statements at the beginning are equal."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _equal_to(slot: Slot, place: int, counts: Counts) -> int | None:
    """Return the number of the earlier value that a value nearly always equals."""
    if place >= len(slot.equals) or "unknown" in counts.by_value:
        return None
    total = counts.by_value.total()
    by_chance = sum((number / total) ** 2 for number in counts.by_value.values()) ** slot.executions if total else 1
    if by_chance > _LEAST_CHANCE:
        return None
    earlier, number = max(slot.equals[place].items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    is_known = slot.executions >= _FEWEST_EQUAL
    return earlier if is_known and number >= _EQUAL_SHARE * slot.executions else None


def _left_out(left_out: Counter[str], most: int) -> Iterator[str]:
    """Yield what was left out most often."""
    for text, count in left_out.most_common(most):
        yield f"{_counted(count, 'time')} `{shortened(' '.join(text.split()), _SHOWN_LEFT_OUT)}`"


def _errors(units: Units) -> str:
    return ", ".join(f"{whole(number)} {code}" for code, number in units.errors.most_common(_ERRORS))


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), _SHOWN_STATEMENT)


def _repeats(item: Item) -> int:
    return min(max(round(item.mean_repeats), 1), _MOST_REPEATS)


def _loop_words(item: Item, repeats: int) -> str:
    low, high = min(item.repeats), max(item.repeats)
    what = "An N+1 loop" if len(item.slots) == 1 else f"A loop of {len(item.slots)} statements"
    times = f"{low} times" if low == high else f"{low} to {high} times, {figure(item.mean_repeats)} on average"
    cut = f"; {repeats} are written here" if round(item.mean_repeats) > repeats else ""
    return f"-- {what}: repeated {times}{cut}."


def _settings(left_out: Counter[str]) -> tuple[dict[str, str], Counter[str]]:
    """Return the settings that sessions made, with their most usual values, and what remains of ``left_out``."""
    found = {text: match for text in left_out if (match := _SETTING.fullmatch(text))}
    settings: dict[str, str] = {}
    for text, _ in left_out.most_common():
        if text in found:
            settings.setdefault(found[text]["name"], found[text]["value"])
    return settings, Counter({text: count for text, count in left_out.items() if text not in found})


def _url(system: SystemSpec | None, settings: Mapping[str, str]) -> str:
    """Return a system's URL with settings that it doesn't have; for an unknown system, `URL` instead of its path."""
    if system is not None:
        return with_settings(system, {**settings, **system.settings}).name
    return "?".join(filter(None, ("URL", "&".join(f"{name}={value}" for name, value in settings.items()))))


def run_command(file: str, workload: Workload, system: SystemSpec | None, form: Form) -> str:
    """Return the command that runs a workload. ``system``: the database, which synthetic tables don't need."""
    # An experiment has them.
    given = f" --mix --clients {workload.clients}" if form == "statements" else ""
    if form != "synthetic" or workload.settings:
        url = _url(parse_url(f"{workload.engine}:") if form == "synthetic" else system, workload.settings)
        given += f" --system {quote(url)}"
    given += " --allow-writes" if workload.writes and form != "synthetic" else ""
    return f"dbdyno run {quote(file)}{given}"


def made_up_words(workload: Workload) -> str:
    """Return a sentence about the made-up values of a workload."""
    what = f"Values of {_counted(workload.made_up, 'statement')}"
    return f"{what} with {percent(workload.made_up_share)} of the time are made up, so their times may differ."


def stage_lines(found: Sequence[Phase]) -> list[str]:
    """Return phases as the arrivals of an open loop, in lines of TOML."""
    stages = [f"    {{ seconds = {each.seconds:.3g}, rate = {each.rate:.3g} }}," for each in found]
    return ["arrival = { stages = [", *stages, "] }"]


def _counted(number: int, noun: str) -> str:
    return f"{whole(number)} {noun}" if number == 1 else f"{whole(number)} {noun}s"


def _weight(share: float) -> str:
    return f"{max(share, 1e-6):.6f}".rstrip("0").rstrip(".") if share < 1 else f"{share:.4g}"


def _time(microseconds: float) -> str:
    microseconds = min(microseconds, _LONGEST_PAUSE_US)
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{float(f'{microseconds / size:.3g}'):g}{unit}"
    return f"{max(round(microseconds), 1)}us"
