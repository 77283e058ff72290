"""SQLite in the worker's process, with the bundled library, one built from source, or a named one."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dbdyno.engines.durability_classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.engines.engine import Engine, Json, Location, Locks, Timed
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.btree import BtreeRules
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.embedded_advice import Embedded
    from dbdyno.engines.fix_entries import Entry
    from dbdyno.engines.index import Index, IndexSupport
    from dbdyno.engines.index_trials import IndexTrials
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.prefix_rules import PrefixRules
    from dbdyno.engines.provisioner import Provisioner, ProvisioningContext
    from dbdyno.engines.sqlite.settings import SqliteSettings
    from dbdyno.engines.string_rules import CaseRule, Column
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
    column_keys = (
        "select json_object('unique', exists (select 1 from pragma_table_info({table}) where name = {column} "
        "and pk = 1 and (select max(pk) from pragma_table_info({table})) = 1) "
        "or exists (select 1 from pragma_index_list({table}) "
        'as i where i."unique" and not i.partial '
        "and (select group_concat(name) from pragma_index_info(i.name)) = {column}), 'foreign', "
        '(select json_array(f."table", coalesce(f."to", (select name from pragma_table_info(f."table") where pk = 1)), '
        "(select count(*) from pragma_foreign_key_list({table}) o where o.id = f.id)) "
        "from pragma_foreign_key_list({table}) f where f.\"from\" = {column} limit 1), 'columns', "
        "(select json_group_array(json_array(cid, name, case upper(type) when 'INTEGER' then 'integer' else '' end)) "
        "from pragma_table_info({table})))"
    )
    row_as_json = "json_array"
    aliases = ("sqlite3",)
    location: Location = "file"
    in_worker = True
    files_per_client = 2
    timed: frozenset[Timed] = frozenset({"files", "inside", "mutexes", "computing"})
    file_calls = True
    locks: Locks = "file"
    replays = True
    # As in Python, whose connections wait 5 s for a lock.
    usual_settings: Mapping[str, str] = {"busy_timeout": "5000"}
    grammar = "sqlite"
    last_key = "select last_insert_rowid()"
    builds_releases = True
    # The statements and functions that crates/engines/src/sqlite/external_access.rs detects. SQLite has no other names.
    escape_words = (
        *("attach", "pragma", "vacuum", "virtual", "edit", "fsdir", "fts3_tokenizer", "load_extension", "readfile"),
        *("sqlar_uncompress", "writefile", "zipfile"),
    )
    durability: Mapping[str, Mapping[str, str]] = {
        POWER_SAFE: {"synchronous": "extra"},
        PROCESS_SAFE: {"synchronous": "off"},
    }
    # With `full`, a power failure can undo at most the last commit. In WAL mode, it equals `extra`.
    also_durable = frozenset({(POWER_SAFE, "synchronous", "full")})

    fresh_statistics = "analyze"

    def planner_switches(self, was: Mapping[str, str], now: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Return the PRAGMA that allows or forbids temporary indexes."""
        return (("automatic_index", "off"), ("automatic_index", "on"))

    def control_text(self, verb: str, mode: str) -> str:
        """Return the verb, and for ``begin`` the mode of the transaction."""
        return f"begin {mode}" if verb == "begin" and mode != "deferred" else verb

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return SQLite's dialect."""
        from dbdyno.engines.sqlite.dialect import SqliteDialect

        return SqliteDialect()

    def read_settings(
        self,
        settings: Mapping[str, Scalar],
        location: str,
        *,
        named: bool,
    ) -> "SqliteSettings":
        """Check all settings. Raises InputError."""
        from dbdyno.engines.sqlite.settings import read_settings

        return read_settings(settings, location)

    def check_setting(self, name: str, value: Scalar) -> None:
        """Raise InputError for an unknown setting or an invalid value."""
        from dbdyno.engines.sqlite.settings import read_settings

        read_settings({name: value}, "")

    def unfit(self, settings: Settings, clients: int, processes: int) -> tuple[str, str] | None:
        """Return why settings don't work with this number of clients, and a hint; ``None`` if they do.

        Connections without a mutex (``open_mutex=nomutex``) are safe, because clients don't share connections.
        """
        single = _own(settings).single_threading_setting
        if single and clients > 1:
            lost = f"{clients} clients in one process would corrupt its memory"
            problem = f"`{single}` leaves SQLite without any mutex: {lost}"
            return problem, "use one client, clients that are processes, or a library with mutexes"
        return None

    def syncing(self, settings: Settings) -> tuple[tuple[str, str], ...]:
        """Return the PRAGMAs that determine syncing."""
        return _own(settings).syncing

    def acknowledges_unsynced(self, settings: Settings) -> bool:
        """Whether ``synchronous`` allows commits before their writes are synced."""
        return _own(settings).acknowledges_unsynced

    def sets_syncing(self, statement: str) -> bool:
        """Whether the statement is a PRAGMA that determines syncing."""
        from dbdyno.engines.sqlite.settings import sets_syncing

        return sets_syncing(statement)

    def is_in_effect(self, name: str, asked: str, actual: str | None) -> bool | None:
        """Compare a PRAGMA with the value read back; ``None`` for other settings."""
        from dbdyno.engines.sqlite.settings import is_in_effect

        return is_in_effect(name, asked, actual)

    def applying(self, settings: Mapping[str, str]) -> Iterator[str]:
        """Yield PRAGMAs; for other settings, a description of where to set them."""
        from dbdyno.engines.sqlite.settings import applying

        return applying(settings)

    def configuration(self, settings: Mapping[str, str], begins: str) -> Iterator[tuple[str, list[str]]]:
        """Yield the options of Django and Rails."""
        from dbdyno.engines.sqlite.settings import configuration

        return configuration(settings, begins)

    def fixes(self) -> "Sequence[Entry]":
        """Return PRAGMAs, connection flags, and indexes in the collation of LIKE."""
        from dbdyno.engines.sqlite.fixes import ENTRIES

        return ENTRIES

    def cache_bytes(self, settings: Mapping[str, str]) -> float | None:
        """Return the size of one connection's page cache."""
        from dbdyno.engines.sqlite.advice import cache_bytes

        return cache_bytes(settings)

    def btree(self, settings: Mapping[str, str], kind: str, *, numbered: bool) -> "BtreeRules | None":
        """Return the rules of SQLite's B-trees."""
        from dbdyno.engines.sqlite.btree import rules

        return rules(settings, kind, numbered=numbered)

    def changes(
        self, compiled: "CompiledCell", settings: Mapping[str, str], data_bytes: float | None
    ) -> "Sequence[Change]":
        """Return a smaller cache, a memory-mapped file, and separate caches and files per client."""
        from dbdyno.engines.sqlite.changes import changes

        return changes(compiled, settings, data_bytes)

    def at_checkout(self, settings: Settings, path_in_checkout: Callable[[str | None], str | None]) -> Settings:
        """Return the settings with the library and source of a checkout."""
        own = _own(settings)
        return replace(own, library=path_in_checkout(own.library), source=path_in_checkout(own.source))

    def provisioner(self, system: "SystemSpec", context: "ProvisioningContext") -> "Provisioner":
        """Return the provisioner of SQLite files."""
        from dbdyno.engines.sqlite.provisioner import SqliteProvisioner

        return SqliteProvisioner(context)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the bundled version."""
        from dbdyno.engines.sqlite.library import find_library
        from dbdyno.engines.sqlite.settings import SqliteSettings

        version = find_library(SqliteSettings()).identity.split()[0]
        yield "sqlite:", f"SQLite {version}", "bundled", "others with source=, cflags= or library="

    def commands(self) -> "Typer":
        """Return the commands for the sources of SQLite releases."""
        from dbdyno.engines.sqlite.commands import commands

        return commands

    def embedded(self, result: "TrialResult", clients: int) -> "Embedded":
        """Return the facts about the library, as read back."""
        from dbdyno.engines.sqlite.advice import Library

        return Library.of(result, clients)

    def against_locked(self, result: "TrialResult", begins: Collection[str] | None) -> str | None:
        """Return how to let a client wait for the file lock."""
        from dbdyno.engines.sqlite.advice import against_locked

        return against_locked(result, begins)

    @property
    def finding_kinds(self) -> "tuple[Kind, ...]":
        """The kinds of findings about locks."""
        from dbdyno.engines.sqlite.lock_findings import KINDS

        return KINDS

    def findings(self, cells: "Sequence[Measured]") -> "list[Finding]":
        """Return why transactions failed because the file was locked."""
        from dbdyno.engines.sqlite.lock_findings import lock_findings

        return lock_findings(cells)

    def index_support(self, product: str) -> "IndexSupport":
        """Return SQLite's: indexes on expressions, of some rows, and with collations."""
        from dbdyno.engines.index import IndexSupport

        return IndexSupport(expressions=True, partial=True, collations=True, clustered=True)

    def index_trials(self) -> "IndexTrials":
        """Return how indexes are measured."""
        from dbdyno.engines.sqlite.index_trials import SqliteIndexTrials

        return SqliteIndexTrials()

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Derive an index from the statement's conditions and order."""
        from dbdyno.engines.index_advice import index_for

        return index_for(sql, self.name, table, dict(catalog), inner=inner)

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Parse SQLite's plan."""
        from dbdyno.engines.plans import of_sqlite

        return of_sqlite(plan) if plan else None

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Return a query for sampled values as a JSON array."""
        from dbdyno.engines.samples import sample_query

        return sample_query("json_group_array(v)", table, column, most, "random()")

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether a plan contains a SEARCH; a SCAN reads a whole table or index."""
        from dbdyno.engines.sqlite.search_rules import looks_up

        return looks_up(plan)

    def like_rule(self, settings: Json, columns: "Sequence[Column]", *, own_tables: bool) -> "CaseRule | None":
        """Return the rule that ``case_sensitive_like`` sets."""
        from dbdyno.engines.sqlite.search_rules import like_rule

        return like_rule(settings)

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Return the rule of the columns' collations."""
        from dbdyno.engines.sqlite.search_rules import equality_rule

        return equality_rule(columns)

    def prefix_rules(self) -> "PrefixRules":
        """Return SQLite's rules."""
        from dbdyno.engines.sqlite.search_rules import PREFIX_RULES

        return PREFIX_RULES


def _own(settings: Settings) -> "SqliteSettings":
    from dbdyno.engines.sqlite.settings import SqliteSettings

    return settings if isinstance(settings, SqliteSettings) else SqliteSettings()
