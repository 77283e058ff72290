"""Choose the values of a parameter: a column of the database, a range or a list, with the skew of recorded values."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal

from dbdyno.engines.catalog_table import quoted
from dbdyno.experiment.distil.made_up import INTEGERS, SMALLEST, STRINGS, UUID_START, values_of_type
from dbdyno.experiment.distil.skew import Skew, distinct_values, fitted_skew
from dbdyno.experiment.distil.units import Counts
from dbdyno.experiment.distil.uses import Parsed, Role, Use
from dbdyno.trace.values import Values, read_value

# Lists of so many different values, or fewer, are written with the share of each.
_LISTED = 20
_LIST_LENGTH = 40
_FEWEST_COMPARED = 20
_INT_32 = 2**31 - 1
_NEW_KEYS = 1_000_000_000
# Fewer values are clearer as a list.
_FEWEST_OF_RANGE = 2
_DEVIATIONS = 3
_INTEGER = re.compile(r"-?\d{1,18}")
_NULL = "null"
_WORDS = (_NULL, "true", "false")
_FREQUENT = 200
# Characters of such values that are used equally often; at least ``_LISTED`` are written.
_MOST_CHARACTERS = 1000
# Keys that an application has created since the database was copied, and integers to hash.
_LATER_KEYS = 100_000
_MOST_HASHED = 1_000_000
# Smaller integers are constants of statements rather than data.
_SMALL = 1000
_MOST_LIMIT = 10_000
# So many values that are all different are different by intention.
_FEWEST_DIFFERENT = 20
_PLAIN_ROLES = ("range", "limit", "offset", "other")
# Larger tables would make a run sort too long. Fewer of a parameter's values than this share may be unknown.
_MOST_RANKED_ROWS = 10_000_000
_FOUND_SHARE = 0.9
# So many values are in a column if the database and the key are the right ones.
_FEWEST_EXPECTED = 5
# Patterns with a value of the column, the most usual first; `v` is the value.
_PATTERNS = ("%v%", "v%", "%v", "v")
# The least part of the patterns that must have a value of the column.
_FOUND_PATTERNS = 0.5
# Characters that escape wildcards, the most usual first.
_ESCAPES = ("\\", "!", "/", "|", "#", "~", "^", "$", "=")
_NUMBER = "dbdyno_number"
_VERBS: Mapping[Role, str] = {
    "equals": "compared with", "range": "compared with", "pattern": "compared with", "inserted": "inserted into",
    "set": "assigned to", "escape": "escape", "limit": "limit", "offset": "offset", "other": "used with",
    "unknown": "used with",
}  # fmt: skip


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the database.

    ``rows``: of its table; ``sample``: values of random rows; ``unique``: whether no two rows may have the same value;
    ``foreign``: whether it refers to another table, its ``parent``; ``None``: unknown.
    """

    rows: int
    least: int | None
    greatest: int | None
    sample: Sequence[Any]
    unique: bool | None = None
    foreign: bool | None = None
    parent: str = ""

    @property
    def is_unique(self) -> bool:
        """Whether no two rows have the same value, or if that is unknown, no two of the sample."""
        if self.unique is not None:
            return self.unique
        return len(self.sample) > 1 and len(set(self.sample)) == len(self.sample)

    @property
    def is_dense(self) -> bool:
        """Whether it holds all, or nearly all, integers between its least and its greatest value."""
        if self.least is None or self.greatest is None:
            return False
        return self.is_unique and self.greatest - self.least + 1 <= 1.1 * self.rows


Describe = Callable[[str, str], ColumnFacts | None]
Columns = Callable[[str], Sequence[tuple[str, str]]]
"""Returns the names and the declared types of a table's columns; nothing if that can't be known."""
Ranked = Callable[[str, str], Sequence[Any]]
"""Returns different values of a column, the most frequent first; nothing if that can't be known."""


@dataclass(frozen=True)
class Chosen:
    """The values of a parameter as a .sql file has them, and what they rest on.

    ``form``: ``string`` or ``uuid`` for a number that becomes a part of one; ``itself`` for the column in its own
    place; ``missing`` without values, which ``because`` explains. ``is_of_column``: it is a value of any row;
    ``is_made_up``: neither the application nor the database has it.
    """

    words: str
    because: str
    form: Literal["value", "string", "uuid", "itself", "missing"] = "value"
    is_of_column: bool = False
    is_made_up: bool = False


@dataclass(frozen=True)
class Chooser:
    """Chooses values.

    ``describe``, ``ranked``, ``columns``: ask the database for columns. ``key``: of the trace, to compare hashes.
    ``grammar``: of the SQL. ``recorded``: whether it may choose recorded values.
    """

    describe: Describe | None
    key: bytes | None
    grammar: str | None = None
    recorded: bool = True
    ranked: Ranked | None = None
    columns: Columns | None = None
    _integers: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    _ranked: dict[tuple[str, str, bool], Mapping[str, int]] = field(default_factory=dict, repr=False, compare=False)
    _present: dict[str, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)
    _chosen: dict[tuple[Use, int], tuple[Counts, Chosen]] = field(default_factory=dict, repr=False, compare=False)
    # The rows of the tables that were described.
    _rows: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    # Hashed values, how many a column should have, and how many it has.
    _search: Counter[Literal["hashed", "expected", "found"]] = field(default_factory=Counter, repr=False, compare=False)

    def as_string(self, number: str, form: str = "string") -> str:
        """Return SQL for a string, or a UUID, that contains a number."""
        from sqlglot import exp

        text: exp.Expr = exp.cast(exp.cast(exp.column(_NUMBER), "bigint"), "varchar")
        start = "dbdyno-"
        if form == "uuid":
            start, text = UUID_START, exp.func("lpad", text, exp.Literal.number(12), exp.Literal.string("0"))
        made: exp.Expr = exp.Concat(expressions=[exp.Literal.string(start), text], safe=True)
        made = exp.cast(made, "uuid") if form == "uuid" else made
        return f"({made.sql(dialect=self.grammar)})".replace(_NUMBER, number)

    def resolved(self, parsed: Parsed) -> Parsed:
        """Return a statement with the columns of an insert that doesn't name them."""
        if not any(use.position is not None for use in parsed.uses):
            return parsed
        names = [quoted(name, str(self.grammar)) for name, _ in self.columns(parsed.table)] if self.columns else []
        uses = [
            replace(use, column=names[use.position])
            if use.position is not None and use.position < len(names)
            else replace(use, table="")
            if use.position is not None
            else use
            for use in parsed.uses
        ]
        return replace(parsed, uses=uses, inserted=frozenset(names))

    def _type(self, use: Use) -> str:
        """Return the declared type of a column; empty if it is unknown, or accepts all values."""
        known = self.columns(use.table) if self.columns and use.table and use.column else []
        name = use.column.strip('`"').lower()
        found = next((type_ for column, type_ in known if column.lower() == name), "")
        return f"{found}[]" if use.is_list and found else found

    def integers(self, use: Use, values: Sequence[str]) -> Sequence[int] | None:
        """Return the integers that recorded values of a column are; ``None`` if they can't be known.

        Hashed values are looked up among the column's range of integers and some later ones.
        """
        facts = self.facts(use.table, use.column)
        if facts is not None and not facts.rows:
            return self._numbers(values, _LATER_KEYS)
        if facts is None or facts.least is None or facts.greatest is None:
            return self._numbers(values, 0)
        last = facts.greatest + _LATER_KEYS
        if facts.least >= -_SMALL and last <= _MOST_HASHED:
            return self._numbers(values, last)
        candidates = range(facts.least, last)
        if (
            self.key is None
            or len(candidates) > _MOST_HASHED
            or any(read_value(each).kind != "integer" for each in values)
        ):
            return self._numbers(values, 0)
        hashes = Values(self.key)
        wanted = set(values)
        known = {text: each for each in candidates if (text := hashes.of(each)) in wanted}
        return [known[each] for each in values] if len(known) == len(wanted) else None

    def facts(self, table: str, column: str) -> ColumnFacts | None:
        """Describe a column; ``None`` without a database, or if it doesn't know the column."""
        found = self.describe(table, column) if self.describe and table and column else None
        if found is not None:
            self._rows[table] = found.rows
        return found

    def choose(self, use: Use, counts: Counts) -> Chosen:
        """Choose the values of a parameter. A share of nulls is kept."""
        place = (use, id(counts))
        if place not in self._chosen:
            # The counts are kept, too, so that no others get their identity.
            self._chosen[place] = counts, self._with_nulls(use, counts)
        return self._chosen[place][1]

    def of_row(self, use: Use, counts: Counts) -> Chosen:
        """Choose a column's values in random rows, even if they are all integers of a range."""
        uses = sorted((number for text, number in counts.by_value.items() if text not in _WORDS), reverse=True)
        facts = self.facts(use.table, use.column)
        chosen = self.choose(use, counts)
        if facts is None or not facts.is_dense:
            return chosen
        return replace(chosen, words=f"@{use.column} of {use.table}{_words(_skew(facts, uses))}")

    def distinct(self, use: Use) -> float:
        """Return about how many different values a column has; 1 if that isn't known."""
        facts = self.facts(use.table, use.column)
        if facts is None or not facts.sample:
            return 1
        if facts.is_unique:
            return facts.rows
        return min(distinct_values(sorted(Counter(map(str, facts.sample)).values(), reverse=True)), facts.rows)

    def constant(self, use: Use, text: str) -> str | None:
        """Return how to write a value that a parameter always has; ``None`` if it isn't known, or may be a key."""
        literal = read_value(text).literal
        if literal is not None:
            return literal if self.recorded else None
        facts = self.facts(use.table, use.column)
        is_key = facts is None or facts.is_unique or bool(facts.foreign)
        numbers = None if is_key else self._small({text: 1}, use.role)
        return None if numbers is None else next(iter(numbers))

    def problem(self, key: str) -> str:
        """Say why recorded values can't be found in the database; empty if they can. ``key``: the file of the key."""
        if self._rows and not any(self._rows.values()):
            return "The tables of the database are empty: name a copy with the application's data."
        if self.describe is None or not self._search["hashed"]:
            return ""
        if self.key is None:
            return f"{key} is missing: recorded values can't be looked up in the database."
        if self._search["found"] or self._search["expected"] < _FEWEST_EXPECTED:
            return ""
        return f"The database contains no recorded value: it is another database, or {key} is the key of another trace."

    def _with_nulls(self, use: Use, counts: Counts) -> Chosen:
        known = {text: number for text, number in counts.by_value.items() if text != "unknown"}
        nulls = known.pop(_NULL, 0)
        if nulls and not known:
            return Chosen(_NULL, "recorded")
        chosen = self._choose(use, known)
        if not nulls or chosen.form != "value":
            return chosen
        share = 100 * nulls / (nulls + sum(known.values()))
        words = f"{chosen.words} or null {min(max(round(share, 2), 0.01), 99.99):g}%"
        return replace(chosen, words=words, is_of_column=False)

    def _choose(self, use: Use, known: dict[str, int]) -> Chosen:
        kept = Counter({text: number for text, number in known.items() if read_value(text).literal is not None})
        is_kept = bool(known) and len(known) == len(kept)
        facts = self.facts(use.table, use.column)
        uses = sorted(known.values(), reverse=True)
        is_few = len(kept) <= _LISTED and self.recorded and not _are_some_keys(facts, uses)
        if is_kept and (set(kept) <= set(_WORDS) or is_few):
            return Chosen(_weighted(kept), "the recorded values")
        if use.role == "escape":
            return self._escape(known)
        type_ = use.cast or self._type(use)
        if facts is not None and use.role in ("inserted", "set") and self._is_new(use, facts, known):
            others = _from_kept(kept, uses) if is_kept and self.recorded else _made_up(use, known, uses, type_)
            return _new_values(use, facts, type_) or others
        fixed = self._fixed(use, facts, known) if known else None
        if fixed is not None:
            return fixed
        if facts is not None and facts.sample and not (use.role == "pattern" and is_kept and self.recorded):
            choose = self._pattern if use.role == "pattern" else self._from_column
            return choose(use, facts, known, uses)
        chosen = _from_kept(kept, uses) if is_kept and self.recorded else _made_up(use, known, uses, type_)
        # Values don't matter to an empty table.
        return replace(chosen, is_made_up=False) if facts is not None and not facts.rows else chosen

    def _is_new(self, use: Use, facts: ColumnFacts, known: Mapping[str, int]) -> bool:
        """Whether a column gets new values: it is unique, or the values are all different and not in the column.

        The latter may be a part of a key.
        """
        if facts.foreign or facts.is_unique:
            return not facts.foreign
        of = self._as_recorded(known)
        if use.role != "inserted" or of is None or len(known) < _FEWEST_DIFFERENT or max(known.values()) > 1:
            return False
        present = set(map(of, facts.sample))
        expected = len(known) * len(present) / max(self.distinct(use), 1)
        return expected >= _FEWEST_EXPECTED and present.isdisjoint(known)

    def _escape(self, known: Mapping[str, int]) -> Chosen:
        """Choose the escape character of a pattern."""
        of = Values(self.key).of
        found = next((each for each in _ESCAPES if of(each) in known), None)
        return Chosen(f"'{found or _ESCAPES[0]}'", "recorded" if found else "the usual escape character")

    def _from_column(self, use: Use, facts: ColumnFacts, known: dict[str, int], uses: Sequence[int]) -> Chosen:
        skew = _skew(facts, uses)
        because = self._compared(use.role, f"{use.table}.{use.column}", facts, known) + _reason(skew, uses)
        values = f"{facts.least}..{facts.greatest}" if facts.is_dense else f"@{use.column} of {use.table}"
        return Chosen(values + _words(skew), because, is_of_column=True)

    def _pattern(self, use: Use, facts: ColumnFacts, known: dict[str, int], uses: Sequence[int]) -> Chosen:
        """Choose patterns in the form in which most recorded patterns have a value of the column."""
        self._search["hashed"] += sum(read_value(text).literal is None for text in known)
        forms: dict[str, str] = {}
        if self.key is not None:
            values = list(facts.sample)
            if self.ranked is not None and facts.rows <= _MOST_RANKED_ROWS:
                values += self.ranked(use.table, use.column)
            of = Values(self.key).of
            forms = {of(form.replace("v", str(value))): form for value in values for form in _PATTERNS}
        found: Counter[str] = Counter()
        for text, number in known.items():
            found.update({forms[text]: number} if text in forms else {})
        skew = _skew(facts, uses)
        form = found.most_common(1)[0][0] if found else _PATTERNS[0]
        share = found.total() / max(sum(known.values()), 1)
        because = f"{share:.0%} of the recorded patterns have a value of {use.table}.{use.column}" + _reason(skew, uses)
        words = f"@{use.column} of {use.table}" + ("" if form == "v" else f" pattern {form}")
        return Chosen(words + _words(skew), because, is_made_up=share < _FOUND_PATTERNS)

    def _fixed(self, use: Use, facts: ColumnFacts | None, known: dict[str, int]) -> Chosen | None:
        """Choose numbers of a statement, or few values of a column; ``None`` if they aren't such values."""
        uses = sorted(known.values(), reverse=True)
        is_few = len(known) <= _LISTED and distinct_values(uses) <= len(known)
        is_key = facts is None or facts.is_unique or bool(facts.foreign)
        # A value of a key identifies a row, so it isn't written. Without the database, any column may be a key.
        numbers = self._small(known, use.role) if not is_key or use.role in _PLAIN_ROLES else None
        if numbers is not None and is_few:
            return Chosen(_weighted(numbers), f"{_which(known)}; small numbers are written as they are")
        if numbers is not None and facts is None:
            ends = sorted(map(int, numbers))
            return Chosen(f"{ends[0]}..{ends[-1]}", f"from the least to the greatest of {_which(known)}")
        # Keys vary, even if few were recorded.
        may_vary = facts is not None and is_key and len(known) > 1 and len(set(facts.sample)) > _LISTED
        if facts is None or self.ranked is None or not is_few or may_vary:
            return None
        column = f"{use.table}.{use.column}"
        ranks = self._ranks(use, known) if facts.rows <= _MOST_RANKED_ROWS else {}
        self._search["found"] += sum(text in ranks for text in known)
        found = Counter({str(ranks[text]): number for text, number in known.items() if text in ranks})
        if found.total() >= _FOUND_SHARE * sum(known.values()):
            because = f"{_which(known)} of {column}; rank 1 is its most frequent value"
            return Chosen(f"@{use.column} of {use.table} rank {_weighted(found, as_range=False)}", because)
        if len(known) == 1 and facts.is_unique and facts.sample:
            because = f"{_VERBS[use.role]} {column}; always the same value, but it is unknown which one"
            return Chosen(f"@{use.column} of {use.table} rank 1", because)
        return None

    def _small(self, known: Mapping[str, int], role: Role) -> Counter[str] | None:
        """Return how often each number was used, if all are small integers."""
        numbers = self._numbers(list(known), _MOST_LIMIT)
        most = _MOST_LIMIT if role in ("limit", "offset") else _SMALL
        if numbers is None or any(abs(each) > most for each in numbers):
            return None
        return Counter({str(number): uses for number, uses in zip(numbers, known.values(), strict=True)})

    def _numbers(self, values: Sequence[str], greatest: int) -> list[int] | None:
        """Return the integers that values are; hashes are compared with hashes of integers up to ``greatest``."""
        read = [read_value(each) for each in values]
        if any(each.kind != "integer" for each in read):
            return None
        literals = [each.literal for each in read]
        kept = [int(each.strip("'")) for each in literals if each is not None]
        if len(kept) == len(values):
            return kept
        if self.key is None:
            return None
        hashes, of = self._integers, Values(self.key).of
        hashes.update((of(each), each) for each in range(len(hashes) - _SMALL, greatest + 1))
        known = [hashes[each] for each in values if each in hashes]
        return known if len(known) == len(values) else None

    def _as_recorded(self, known: Iterable[str]) -> Callable[[Any], str] | None:
        """Return a function that writes values as recorded ones are; ``None`` without the key of their hashes."""
        is_kept = all(read_value(text).literal is not None for text in known)
        return Values(None if is_kept else self.key).of if is_kept or self.key is not None else None

    def _ranks(self, use: Use, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the ranks of a column's values, by the values as they are recorded."""
        is_kept = all(read_value(text).literal is not None for text in known)
        if self.ranked is None or (self.key is None and not is_kept):
            return {}
        place = (use.table, use.column, is_kept)
        if place not in self._ranked:
            of = Values(None if is_kept else self.key).of
            ranked = self.ranked(use.table, use.column)
            self._ranked[place] = {of(value): rank for rank, value in enumerate(ranked, 1)}
        return self._ranked[place]

    def _compared(self, role: Role, column: str, facts: ColumnFacts, known: dict[str, int]) -> str:
        """Say how many of the recorded values are in a column, if that can be known."""
        hashed = [text for text in known if read_value(text).literal is None]
        self._search["hashed"] += len(hashed)
        if self.key is None or len(facts.sample) < min(facts.rows, _FEWEST_COMPARED):
            return f"{_VERBS[role]} {column}"
        if column not in self._present:
            self._present[column] = frozenset(map(Values(self.key).of, facts.sample))
        present = self._present[column]
        found = sum(text in present for text in hashed)
        expected = len(facts.sample) / max(facts.rows, 1)
        if role == "equals":
            self._search["found"] += found
            self._search["expected"] += round(min(expected, 1) * len(hashed))
        if not hashed or expected < 1 or found == 0:
            return f"{_VERBS[role]} {column}"
        return f"{found / len(hashed):.0%} of the recorded values are in {column}"


def _skew(facts: ColumnFacts, uses: Sequence[int]) -> Skew | None:
    """Return the skew of the uses of a column's values; ``None`` without one."""
    distinct = facts.rows if facts.is_unique else max(distinct_values(uses), 1)
    return fitted_skew(uses, max(distinct, len(uses)))


def _new_values(use: Use, facts: ColumnFacts, type_: str) -> Chosen | None:
    """Choose values for a column in which no value may be twice; ``None`` for some types."""
    column = f"{use.table}.{use.column}"
    if use.role == "set":
        return Chosen("", f"{column} keeps its value, since no two rows may have the same", "itself")
    because = f"new values: no two rows of {column} may have the same"
    if facts.greatest is not None:
        end = _INT_32 if facts.greatest < _INT_32 // 2 else facts.greatest + _NEW_KEYS
        return Chosen(f"{facts.greatest + 1}..{end}", because)
    name = type_.partition("(")[0].lower()
    if name == "uuid":
        return Chosen(f"1..{_INT_32}", because, "uuid")
    if name in STRINGS:
        return Chosen(f"1..{_INT_32}", because, "string")
    return Chosen(f"1..{SMALLEST.get(name, _INT_32)}", because) if name in INTEGERS else None


def _words(skew: Skew | None) -> str:
    return "" if skew is None else f" zipf {skew.exponent:.2g}"


def _reason(skew: Skew | None, uses: Sequence[int]) -> str:
    if not uses:
        return "; no recorded values"
    if len(uses) == 1:
        return "; always the same value"
    if skew is None:
        return f"; {len(uses):,} different values, used about equally"
    return f"; {len(uses):,} different values, exponent {skew.exponent:.2g} [{skew.low:.2g}, {skew.high:.2g}]"


def _which(known: Mapping[str, int]) -> str:
    return "always the same value" if len(known) == 1 else f"{len(known):,} different values"


def _weighted(kept: Counter[str], *, as_range: bool = True) -> str:
    """Return a list in which each value is as often as its share.

    ``as_range``: a range if all its integers are about as often.
    """
    total = kept.total()
    if _equally_often(kept):
        numbers = sorted(int(text) for text in kept if _INTEGER.fullmatch(text))
        if as_range and len(numbers) == len(kept) > _FEWEST_OF_RANGE and numbers[-1] - numbers[0] < len(numbers):
            return f"{numbers[0]}..{numbers[-1]}"
        return ", ".join(sorted(kept, key=lambda text: (len(text), text)))
    length = min(_LIST_LENGTH, total) if len(kept) > 1 else 1
    listed: list[str] = []
    for text, number in kept.most_common():
        listed += [text] * max(round(length * number / total), 1)
    return ", ".join(listed)


def _are_some_keys(facts: ColumnFacts | None, uses: Sequence[int]) -> bool:
    """Whether values are keys of which the application uses more than the recorded ones."""
    is_key = facts is not None and (facts.is_unique or bool(facts.foreign))
    return is_key and len(uses) > 1 and distinct_values(uses) > len(uses)


def _equally_often(kept: Counter[str]) -> bool:
    """Whether chance alone explains how much the numbers of uses differ."""
    mean = kept.total() / len(kept)
    return mean >= 1 and all(abs(number - mean) <= _DEVIATIONS * math.sqrt(mean) for number in kept.values())


def _from_kept(kept: Counter[str], uses: Sequence[int]) -> Chosen:
    """Choose from many recorded values."""
    kinds = {read_value(text).kind for text in kept if text not in _WORDS}
    skew = fitted_skew(uses, max(distinct_values(uses), len(uses)))
    because = "the recorded values" + _reason(skew, uses)
    plain = [text.strip("'") for text in kept if text not in _WORDS]
    if kinds == {"integer"}:
        numbers = [int(each) for each in plain]
        return Chosen(f"{min(numbers)}..{max(numbers)}{_words(skew)}", because)
    if kinds <= {"integer", "number"}:
        decimals = [float(each) for each in plain]
        return Chosen(f"{min(decimals)!r}..{max(decimals)!r}", because)
    frequent = [text for text, _ in kept.most_common(_FREQUENT) if text not in _WORDS]
    if skew is None:
        lengths = accumulate(map(len, frequent))
        frequent = frequent[: max(sum(length <= _MOST_CHARACTERS for length in lengths), _LISTED)]
    share = sum(kept[text] for text in frequent) / kept.total()
    words = ", ".join(each if each.startswith("'") else f"'{each}'" for each in frequent)
    written = f"; here are {len(frequent)}, with {share:.0%} of the uses" if share < 1 else ""
    return Chosen(words + _words(skew), because + written)


def _made_up(use: Use, known: dict[str, int], uses: Sequence[int], type_: str) -> Chosen:
    """Choose values of the recorded kind and length, which the type accepts."""
    if use.role in ("limit", "offset"):
        usual = "10" if use.role == "limit" else "0"
        return Chosen(usual, "made up: the recorded number is not kept", is_made_up=True)
    kinds: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    words: Counter[str] = Counter()
    for text, number in known.items():
        if text in _WORDS:
            words[text] += number
            continue
        value = read_value(text)
        kinds[value.kind] += number
        lengths[value.length] += number
    if words and not kinds:
        return Chosen(_weighted(words), "recorded")
    kind = kinds.most_common(1)[0][0] if kinds else "integer"
    length = lengths.most_common(1)[0][0] if lengths else 1
    distinct = distinct_values(uses) if uses else 1000
    skew = fitted_skew(uses, max(distinct, len(uses)))
    made = values_of_type(type_, kind, length, distinct, written=use.role in ("inserted", "set"))
    if made is None:
        return Chosen("", f"no value of the type {type_} is known", "missing")
    can_be_skewed = "," in made or re.fullmatch(r"-?\d+\.\.\d+", made)
    because = f"made up: {type_ or kind} of up to {length} characters" + _reason(skew, uses)
    return Chosen(made + _words(skew if can_be_skewed else None), because, is_made_up=True)
