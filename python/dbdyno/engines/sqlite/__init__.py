"""SQLite, in the worker's own process: the bundled library, or any other that is built or named."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dbdyno.engines.classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.engines.engine import Engine, Json, Location, Locks, Timed
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.btree import BtreeRules
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.embedded import Embedded
    from dbdyno.engines.entries import Entry
    from dbdyno.engines.index import Index
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.prefix_rules import PrefixRules
    from dbdyno.engines.provisioner import Place, Provisioner
    from dbdyno.engines.searching import CaseRule, Column
    from dbdyno.engines.sqlite.settings import SqliteSettings
    from dbdyno.model.events.trial import TrialResult
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.cell import CompiledCell
    from dbdyno.model.plan.change import Change
    from dbdyno.model.plan.system import SystemSpec
    from dbdyno.model.result.finding import Kind, Measured
    from dbdyno.model.result.shape import Finding


class Sqlite(Engine):
    """SQLite."""

    name = "sqlite"
    title = "SQLite"
    aliases = ("sqlite3",)
    location: Location = "file"
    in_worker = True
    files_per_client = 2
    timed: frozenset[Timed] = frozenset({"files", "inside", "mutexes", "computing"})
    file_calls = True
    locks: Locks = "file"
    grammar = "sqlite"
    # What crates/engines/src/sqlite/external_access.rs looks for; SQLite has no other spelling for these.
    leads_beyond = (
        *("attach", "pragma", "vacuum", "virtual", "edit", "fsdir", "fts3_tokenizer", "load_extension", "readfile"),
        *("sqlar_uncompress", "writefile", "zipfile"),
    )
    durability: Mapping[str, Mapping[str, str]] = {
        POWER_SAFE: {"synchronous": "extra"},
        PROCESS_SAFE: {"synchronous": "off"},
    }
    # Where a user has set it: what can be undone is at most the last commit, and in a log's mode it is the same.
    also_durable = frozenset({(POWER_SAFE, "synchronous", "full")})

    def control_text(self, verb: str, mode: str) -> str:
        """Write the verb, and in which of its modes a transaction begins."""
        return f"begin {mode}" if verb == "begin" and mode != "deferred" else verb

    def dialect(self, definition: "Definition", place: str, settings: Settings) -> "Dialect":
        """Give SQLite's."""
        from dbdyno.engines.sqlite.dialect import SqliteDialect

        return SqliteDialect()

    def read_settings(
        self,
        settings: Mapping[str, Scalar],
        place: str,
        *,
        named: bool,
    ) -> "SqliteSettings":
        """Check them all. Raises InputError."""
        from dbdyno.engines.sqlite.settings import read_settings

        return read_settings(settings, place)

    def check_setting(self, name: str, value: Scalar) -> None:
        """Raise InputError for one that SQLite does not have, or a value that it does not take."""
        from dbdyno.engines.sqlite.settings import read_settings

        read_settings({name: value}, "")

    def unfit(self, settings: Settings, clients: int, processes: int) -> tuple[str, str] | None:
        """Say why settings cannot be used with so many clients, and what to do; ``None`` where they can.

        A connection without a mutex (``open_mutex=nomutex``) is safe: each client has one of its own.
        """
        single = _own(settings).is_single_threaded
        if single and clients > 1:
            lost = f"{clients} clients in one process would corrupt its memory"
            problem = f"`{single}` leaves SQLite without any mutex: {lost}"
            return problem, "use one client, clients that are processes, or a library with mutexes"
        return None

    def syncing(self, settings: Settings) -> tuple[tuple[str, str], ...]:
        """Give the PRAGMAs that decide it."""
        return _own(settings).syncing

    def leaves_behind(self, settings: Settings) -> bool:
        """Whether ``synchronous`` lets it."""
        return _own(settings).leaves_behind

    def sets_syncing(self, statement: str) -> bool:
        """Whether it is such a PRAGMA."""
        from dbdyno.engines.sqlite.settings import sets_syncing

        return sets_syncing(statement)

    def in_force(self, name: str, asked: str, found: str | None) -> bool | None:
        """Tell it of all PRAGMAs."""
        from dbdyno.engines.sqlite.settings import in_force

        return in_force(name, asked, found)

    def applying(self, settings: Mapping[str, str]) -> Iterator[str]:
        """Give PRAGMAs, and what is no PRAGMA with what it is."""
        from dbdyno.engines.sqlite.settings import applying

        return applying(settings)

    def fixes(self) -> "Sequence[Entry]":
        """Give PRAGMAs, flags of connections, indexes in the order of LIKE."""
        from dbdyno.engines.sqlite.fixes import ENTRIES

        return ENTRIES

    def cache_bytes(self, settings: Mapping[str, str]) -> float | None:
        """Give that of one connection."""
        from dbdyno.engines.sqlite.advice import cache_bytes

        return cache_bytes(settings)

    def btree(self, settings: Mapping[str, str], kind: str, *, numbered: bool) -> "BtreeRules | None":
        """Give the rules of its B-trees."""
        from dbdyno.engines.sqlite.btree import rules

        return rules(settings, kind, numbered=numbered)

    def changes(
        self, compiled: "CompiledCell", settings: Mapping[str, str], data_bytes: float | None
    ) -> "Sequence[Change]":
        """Give a smaller cache, files in memory, and caches and files that clients do not share."""
        from dbdyno.engines.sqlite.changes import changes

        return changes(compiled, settings, data_bytes)

    def at_checkout(self, settings: Settings, there: Callable[[str | None], str | None]) -> Settings:
        """Give the library, or its source, of a commit."""
        own = _own(settings)
        return replace(own, library=there(own.library), source=there(own.source))

    def provisioner(self, system: "SystemSpec", place: "Place") -> "Provisioner":
        """Give what keeps the file that trials work on."""
        from dbdyno.engines.sqlite.provisioner import SqliteProvisioner

        return SqliteProvisioner(place)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Say the version that is bundled."""
        from dbdyno.engines.sqlite.library import find_library
        from dbdyno.engines.sqlite.settings import SqliteSettings

        version = find_library(SqliteSettings()).identity.split()[0]
        yield "sqlite:", f"SQLite {version}", "bundled", "any other by source=, cflags= or library="

    def commands(self) -> "Typer":
        """Give those about sources of its releases."""
        from dbdyno.engines.sqlite.commands import commands

        return commands

    def embedded(self, result: "TrialResult", clients: int) -> "Embedded":
        """Give the library as it was read back."""
        from dbdyno.engines.sqlite.advice import Library

        return Library.of(result, clients)

    def against_locked(self, result: "TrialResult", begins: Collection[str] | None) -> str | None:
        """Give what lets a client wait for the lock on the file."""
        from dbdyno.engines.sqlite.advice import against_locked

        return against_locked(result, begins)

    @property
    def finding_kinds(self) -> "tuple[Kind, ...]":
        """Give those about locks."""
        from dbdyno.engines.sqlite.lock_findings import KINDS

        return KINDS

    def findings(self, cells: "Sequence[Measured]") -> "list[Finding]":
        """Say why transactions failed because the file was locked."""
        from dbdyno.engines.sqlite.lock_findings import lock_findings

        return lock_findings(cells)

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Give one by the conditions and the order in the statement's text."""
        from dbdyno.engines.indexing import index_for

        return index_for(sql, self.name, table, dict(catalog), inner=inner)

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Read its plan."""
        from dbdyno.engines.plans import of_sqlite

        return of_sqlite(plan) if plan else None

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Give the values as an array of JSON."""
        from dbdyno.engines.samples import json_of

        return json_of("json_group_array(v)", table, column, most, "random()")

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether it searches: a scan reads all of the index that it may name."""
        from dbdyno.engines.sqlite.searching import looks_up

        return looks_up(plan)

    def like_rule(self, settings: Json, columns: "Sequence[Column]", *, own_tables: bool) -> "CaseRule | None":
        """Go by ``case_sensitive_like``."""
        from dbdyno.engines.sqlite.searching import like_rule

        return like_rule(settings)

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Go by the columns' collations."""
        from dbdyno.engines.sqlite.searching import equality_rule

        return equality_rule(columns)

    def prefix_rules(self) -> "PrefixRules":
        """Give SQLite's."""
        from dbdyno.engines.sqlite.searching import PREFIX_RULES

        return PREFIX_RULES


def _own(settings: Settings) -> "SqliteSettings":
    from dbdyno.engines.sqlite.settings import SqliteSettings

    return settings if isinstance(settings, SqliteSettings) else SqliteSettings()
