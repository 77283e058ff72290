"""The facts about a cell from which catalogs choose fixes, and helpers that build fixes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dbdyno.engines.dialect import StandardDialect
from dbdyno.engines.index import index_name
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.plans import PlanRead
from dbdyno.engines.prefix_rules import Search
from dbdyno.engines.prefixes import in_catalog
from dbdyno.engines.searches import prefix_search
from dbdyno.engines.server.facts import size
from dbdyno.model.experiment.load import Load
from dbdyno.model.plan.change import Resource
from dbdyno.model.plan.fix import Fix, Price, Source
from dbdyno.model.plan.settings import Settings
from dbdyno.model.plan.steps import Transaction

Json = Mapping[str, Any]

_WRITES = re.compile(r"\s*(?:insert|update|delete|replace|merge)\b", re.IGNORECASE)
_MAY_WRITE = re.compile(r"\s*with\b.*\b(?:insert|update|delete|merge)\b", re.IGNORECASE | re.DOTALL)
_CHANGES = re.compile(r"\s*(?:update|delete)\b", re.IGNORECASE)
_DELETES = re.compile(r"\s*delete\b", re.IGNORECASE)
_INSERTS = re.compile(r"\s*(?:insert|replace)\b", re.IGNORECASE)


def standard_quote(name: str) -> str:
    """Return a name in double quotes."""
    return StandardDialect().quote(name)


# Largest share of the machine's memory that a recommended cache may have.
_CACHE_SHARE = 0.4
# Size of a cache relative to the pages in it: caches store more than the pages themselves.
_ROOM = 1.25


@dataclass(frozen=True)
class StatementFacts:
    """A statement of a cell's transactions. ``values``: parameter values, if every execution uses the same ones.

    ``plan``: the engine's plan, one step per line; ``rows``: rows returned per execution; ``seconds``: measured time of
    all executions.
    """

    name: str
    sql: str
    values: Sequence[Any] = ()
    plan: Sequence[str] = ()
    rows: float | None = None
    seconds: float = 0.0

    @property
    def writes(self) -> bool:
        """Whether it changes rows, judged by its text."""
        return bool(_WRITES.match(self.sql) or _MAY_WRITE.match(self.sql))

    @property
    def changes(self) -> bool:
        """Whether it updates or deletes rows."""
        return bool(_CHANGES.match(self.sql))

    @property
    def deletes(self) -> bool:
        """Whether it deletes rows."""
        return bool(_DELETES.match(self.sql))

    @property
    def inserts(self) -> bool:
        """Whether it inserts rows."""
        return bool(_INSERTS.match(self.sql))


@dataclass(frozen=True)
class Situation:
    """A cell whose bottleneck is known.

    ``resources``: the bottleneck, then the other resources that limit it; ``settings``: the settings in effect, as read
    back; ``asked``: the requested settings; ``begins``: the modes in which its transactions begin; ``data_bytes``: the
    size of its tables; ``memory_bytes``, ``processors``: memory and CPUs of the machine; ``named``: dbdyno didn't start
    the system; ``own_tables``: the experiment creates the tables; ``failed``: the kinds of failures; ``transactions``:
    the transactions of its plan; ``quote``: quotes a name so that it can't be read as a keyword.
    """

    engine: str
    resources: tuple[Resource, ...]
    load: Load
    settings: Mapping[str, str] = field(default_factory=dict)
    asked: Settings = field(default_factory=Settings)
    product: str = ""
    version: tuple[int, ...] = ()
    statements: Sequence[StatementFacts] = ()
    transactions: Sequence[Transaction] = ()
    catalog: Json = field(default_factory=dict)
    begins: frozenset[str] = frozenset()
    data_bytes: float | None = None
    memory_bytes: float = 0.0
    processors: int = 1
    named: bool = False
    own_tables: bool = True
    failed: frozenset[str] = frozenset()
    quote: Callable[[str], str] = standard_quote

    @property
    def clients(self) -> int:
        """The number of clients."""
        return self.load.clients

    @cached_property
    def writes(self) -> bool:
        """Whether a statement changes rows."""
        return any(statement.writes for statement in self.statements)

    @cached_property
    def reads(self) -> bool:
        """Whether a statement only reads."""
        return any(not statement.writes for statement in self.statements)

    @cached_property
    def by_time(self) -> Sequence[StatementFacts]:
        """The statements, ordered by the time that they took, the longest first."""
        return sorted(self.statements, key=lambda statement: -statement.seconds)

    @cached_property
    def plans(self) -> Sequence[PlanRead]:
        """The plans that dbdyno can read."""
        engine = engine_of(self.engine)
        found = (engine.read_plan(statement.plan) for statement in self.statements)
        return [read for read in found if read is not None]

    @cached_property
    def sorts(self) -> bool:
        """Whether a plan sorts or groups rows."""
        return any(plan.sorts for plan in self.plans)

    @property
    def may_index(self) -> bool:
        """Whether dbdyno may create an index: on the experiment's own tables, or on a copy of a database file."""
        return self.own_tables or not self.named

    @cached_property
    def prefix_scans(self) -> Sequence[Search]:
        """The prefix searches that don't use an index, with the catalog's entries for their columns."""
        return list(_prefix_scans(self))

    def setting(self, name: str) -> str:
        """Return a setting in lower case; empty if unknown."""
        return self.settings.get(name, "").lower()

    def number(self, name: str) -> float | None:
        """Return a setting as a number; ``None`` if it isn't one."""
        try:
            return float(self.settings.get(name, ""))
        except ValueError:
            return None

    def is_on(self, name: str) -> bool:
        """Whether a Boolean setting is on; unknown settings are off."""
        return self.setting(name) in ("on", "1", "yes", "true")

    def larger_cache(self, now: float | None, each: int = 1) -> float | None:
        """Return the bytes of a cache for all data, as far as memory allows; ``None`` if that isn't more than ``now``.

        ``each``: the number of such caches.
        """
        if now is None or self.data_bytes is None or now >= self.data_bytes:
            return None
        wanted = min(_ROOM * self.data_bytes, _CACHE_SHARE * self.memory_bytes / each)
        return wanted if wanted >= _ROOM * now else None


#: Placeholder for the source of a fix; its entry replaces it.
PLACEHOLDER_SOURCE = Source("", "", "")


def index_prices(situation: Situation, table: str) -> tuple[Price, ...]:
    """Return the expected costs of an index on a table, before measuring it."""
    written = any(
        statement.writes and re.search(rf"\b{re.escape(table)}\b", statement.sql, re.IGNORECASE)
        for statement in situation.statements
    )
    kept = Price("writes", f"each change to {table} also updates the index")
    return (kept,) if written or not situation.writes else (Price("space", "storage for one more index"),)


def prefix_index(situation: Situation, search: Search, options: str, does: str) -> Fix:
    """Return the fix that creates an index for a prefix search; ``options``: SQL that follows the column."""
    table, column = str(search.table["name"]), str(search.column["name"])
    name = index_name(table, [column, *re.findall(r"\w+", options)])
    on = (
        f"{situation.quote(column)}{options}"
        if options.startswith("(")
        else f"{situation.quote(column)} {options}".rstrip()
    )
    sql = f"create index {situation.quote(name)} on {situation.quote(table)} ({on})"
    called = f"index {table} ({column} {options})" if options else f"index {table} ({column})"
    return Fix(
        called,
        does,
        index_prices(situation, table),
        PLACEHOLDER_SOURCE,
        (f"{sql};",),
        statements=(sql,),
        group=f"index {table} {column}",
    )


def _prefix_scans(situation: Situation) -> Iterator[Search]:
    engine = engine_of(situation.engine)
    for statement in situation.statements:
        if engine.looks_up(statement.plan) is not False:
            continue
        search = prefix_search(statement.sql, statement.values, situation.engine)
        found = None if search is None else in_catalog(situation.version, situation.settings, situation.catalog, search)
        if found is not None:
            yield found


def setting_fix(
    situation: Situation,
    settings: Mapping[str, str],
    does: str,
    *prices: Price,
    name: str = "",
    group: str = "",
    closing: str = "",
) -> Fix:
    """Return a fix that changes settings; its lines apply them in the engine's own syntax."""
    called = name or ", ".join(f"{key}={value}" for key, value in settings.items())
    lines = tuple(engine_of(situation.engine).applying(settings))
    ends = (closing,) if closing else ()
    return Fix(called, does, prices, PLACEHOLDER_SOURCE, lines, settings=settings, group=group, closing=ends)


def memory(count: float, purpose: str, each: int = 1) -> Price:
    """Return the price of ``count`` bytes for each of ``each`` connections; ``purpose``: what needs the memory."""
    times = f" for each of {each} connections" if each > 1 else ""
    return Price("memory", f"{size(round(count))} of memory for {purpose}{times}", count * each)
