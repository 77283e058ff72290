"""PostgreSQL and other servers with its protocol."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, TextIO

from dbdyno.engines.durability_classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.engines.engine import Json
from dbdyno.engines.limits import Limit
from dbdyno.engines.server.databases import Databases
from dbdyno.engines.server.engine import ServerEngine
from dbdyno.engines.server.socket_queries import SocketQueries
from dbdyno.engines.sql_lexer import Syntax
from dbdyno.engines.waits import WaitList
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from dbdyno.engines.btree import BtreeRules
    from dbdyno.engines.conditions import Conditions
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.fix_entries import Entry
    from dbdyno.engines.index import Index, IndexSupport
    from dbdyno.engines.index_trials import IndexTrials
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.prefix_rules import PrefixRules
    from dbdyno.engines.server.facts import Server
    from dbdyno.engines.server.family import Family, Job
    from dbdyno.engines.server.programs import Installation
    from dbdyno.engines.server.settings import ServerSettings
    from dbdyno.engines.statement_log import StatementLog
    from dbdyno.engines.string_rules import CaseRule, Column
    from dbdyno.model.events.trial import TrialResult
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.cell import CompiledCell
    from dbdyno.model.plan.change import Change


# Parameters of the fixes that a session can set for itself.
_OF_SESSION = frozenset({"synchronous_commit", "random_page_cost", "jit", "work_mem"})


class Postgresql(ServerEngine):
    """PostgreSQL."""

    name = "postgresql"
    title = "PostgreSQL"
    message_calls = True
    aliases = ("postgres",)
    products = ("PostgreSQL",)
    replays = True
    grammar = "postgres"
    bytes_literal = r"'\x{}'"
    syntax = Syntax(
        backticks=False,
        brackets=False,
        escape_strings=True,
        dollar_quotes=True,
        nested_comments=True,
        at_names=False,
        question_operators=True,
        returns_end_lines=True,
    )
    parameter_prefix = "$"
    proxy_protocol = "postgresql"
    log_forms = ("csvlog", "jsonlog", "stderr")
    column_keys = (
        "select json_build_object('unique', exists (select 1 from pg_index i join pg_attribute a on a.attrelid = "
        "i.indrelid and a.attnum = i.indkey[0] where i.indrelid = coalesce(to_regclass({table}), "
        "to_regclass(quote_ident({table}))) and i.indisunique "
        "and i.indpred is null and i.indnkeyatts = 1 and a.attname = {column}), 'foreign', "
        "(select json_build_array(p.relname, b.attname, "
        "cardinality(c.conkey)) from pg_constraint c join pg_class p on p.oid = c.confrelid "
        "cross join lateral generate_subscripts(c.conkey, 1) n "
        "join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[n] "
        "join pg_attribute b on b.attrelid = c.confrelid and b.attnum = c.confkey[n] where c.contype = 'f' "
        "and c.conrelid = coalesce(to_regclass({table}), to_regclass(quote_ident({table}))) "
        "and a.attname = {column} limit 1), 'columns', "
        "(select json_agg(json_build_array(a.attnum, a.attname, case t.typtype when 'e' then 'enum(' || (select "
        "string_agg(quote_literal(enumlabel), ',' order by enumsortorder) from pg_enum where enumtypid = t.oid) || ')' "
        "when 'd' then format_type(t.typbasetype, t.typtypmod) else format_type(a.atttypid, a.atttypmod) end)) "
        "from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attnum > 0 and not a.attisdropped "
        "and a.attrelid = coalesce(to_regclass({table}), to_regclass(quote_ident({table})))))::text"
    )
    last_number = "select lastval()"
    row_as_json = "json_build_array"
    statement_totals = (
        "select coalesce(json_agg(json_build_object('statement', query, 'count', calls, 'total_ms', total_exec_time, "
        "'rows', rows)), '[]')::text from pg_stat_statements "
        "where dbid = (select oid from pg_database where datname = current_database()) and calls > 0"
    )
    backslash_escapes = True
    password_variable = "PGPASSWORD"  # noqa: S105
    durability: Mapping[str, Mapping[str, str]] = {
        POWER_SAFE: {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"},
        PROCESS_SAFE: {"fsync": "off", "synchronous_commit": "on"},
    }
    limits: Mapping[str, Limit] = {
        # too_many_connections
        "53300": Limit(
            "max_connections",
            "the server accepted no more connections",
            "the server's `max_connections`, fewer clients, or a connection pool",
        ),
        # insufficient_resources, which PostgreSQL reports for EMFILE and ENFILE
        "53000": Limit("open-files", "the server can't open more files", "the server's `ulimit -n`"),
    }
    databases = Databases(
        port=5432,
        always="postgres",
        copy="create database {name} template {template}",
        drop="drop database if exists {name} with (force)",
        session_lock=True,
        # An option of the connection, so it doesn't need an extra statement.
        read_only="always",
    )

    socket_queries = SocketQueries(
        place="select btrim(split_part(current_setting('unix_socket_directories'), ',', 1), ' \"')",
        # Unprivileged users can't read the socket's location.
        usual=("/var/run/postgresql", "/tmp"),  # noqa: S108
        file=".s.PGSQL.{port}",
        identity="select pg_postmaster_start_time()::text",
    )

    of_tables = ("index_directory",)

    def read_settings(self, settings: Mapping[str, Scalar], location: str, *, named: bool) -> "ServerSettings":
        """Check dbdyno's own settings. Tablespaces allow a separate directory for indexes."""
        from dbdyno.engines.server.settings import read_server_settings

        return read_server_settings(settings, location, named=named, index_directory=True)

    def listen_setting(self, part: str) -> str | None:
        """Return `max_connections`, as PostgreSQL requests a queue of twice that length."""
        return "the server's `max_connections`"

    def applying(self, settings: Mapping[str, str]) -> Iterator[str]:
        """Yield ``ALTER SYSTEM`` for each parameter."""
        for name, value in settings.items():
            if name != "index_directory":
                yield f"ALTER SYSTEM SET {name} = {_quoted_value(value)};"

    def configuration(self, settings: Mapping[str, str], begins: str) -> Iterator[tuple[str, list[str]]]:
        """Yield lines of ``postgresql.conf``; for parameters of a session also the options of Django and Rails."""
        kept = {name: value for name, value in settings.items() if name != "index_directory"}
        if kept:
            yield "postgresql.conf", [f"{name} = {_quoted_value(value)}" for name, value in kept.items()]
        own = {name: value for name, value in kept.items() if name in _OF_SESSION}
        if own and own == kept:
            options = " ".join(f"-c {name}={value}" for name, value in own.items())
            yield "settings.py of Django", [f'"OPTIONS": {{"options": "{options}"}}']
            yield (
                "database.yml of Rails",
                ["variables: {" + ", ".join(f'{name}: "{value}"' for name, value in own.items()) + "}"],
            )

    def analyzing(self, table: str) -> str:
        """Return ``ANALYZE``, which loading ends with too, for a table that `setup` may have dropped."""
        name = '"' + table.replace('"', '""') + '"'
        analyzing = f"begin if to_regclass({_quoted_value(name)}) is not null then analyze {name}; end if; end"
        return f"do {_quoted_value(analyzing)}"

    def index_move_job(self, installation: "Installation", data: "Path", directory: "Path") -> "Job":
        """Return the program that creates a tablespace in the directory and moves all indexes of tables to it."""
        from dbdyno.engines.postgresql.family import index_move_job

        return index_move_job(installation, data, directory)

    def control_text(self, verb: str, mode: str) -> str:
        """Return the verb, and for ``begin`` the isolation level."""
        from dbdyno.model.plan.steps import isolation_level

        level = isolation_level(mode) if verb == "begin" else None
        return f"{verb} isolation level {level}" if level else verb

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return PostgreSQL's dialect."""
        from dbdyno.engines.postgresql.dialect import PostgresqlDialect

        return PostgresqlDialect(definition, location)

    def family(self) -> "Family":
        """Return how PostgreSQL is started."""
        from dbdyno.engines.postgresql import family

        return family

    def changes(
        self, compiled: "CompiledCell", settings: Mapping[str, str], data_bytes: float | None
    ) -> "Sequence[Change]":
        """Return smaller caches, a cache for all data, and commits without flushes."""
        from dbdyno.engines.server.changes import cache_changes, without_flushes

        if compiled.cell.system.host is not None:
            return ()
        caches = cache_changes(self.cache_bytes(settings), data_bytes, "shared_buffers", 1 << 20)
        return [*caches, *without_flushes({"fsync": "off"})]

    def fixes(self) -> "Sequence[Entry]":
        """Return parameters, indexes for patterns, and free space in pages."""
        from dbdyno.engines.postgresql.fixes import ENTRIES

        return ENTRIES

    def would_use(
        self, target: Json, statements: Sequence[tuple[str, Sequence[Any]]], indexes: Sequence[str]
    ) -> Sequence[bool] | None:
        """Ask the planner with the extension HypoPG, if it is installed."""
        from dbdyno.engines.postgresql.hypothetical import would_use

        return would_use(target, statements, indexes)

    def estimated_gains(
        self, target: Json, statements: Sequence[tuple[str, Sequence[Any]]], groups: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[float | None] | None] | None:
        """Ask the planner with the extension HypoPG, if it is installed in the database."""
        from dbdyno.engines.postgresql.hypothetical import estimated_gains

        return estimated_gains(target, statements, groups)

    def cache_bytes(self, settings: Mapping[str, str]) -> float | None:
        """Return ``shared_buffers`` in bytes."""
        from dbdyno.engines.postgresql.advice import cache_bytes

        return cache_bytes(settings)

    def btree(self, settings: Mapping[str, str], kind: str, *, numbered: bool) -> "BtreeRules | None":
        """Return the rules of nbtree."""
        from dbdyno.engines.postgresql.btree import rules

        return rules(settings, kind)

    def server(self, result: "TrialResult", clients: int) -> "Server":
        """Return the facts about a PostgreSQL server."""
        from dbdyno.engines.postgresql.advice import PostgresqlServer

        return PostgresqlServer.of(result, clients)

    def read_log(self, file: TextIO, location: str, form: str | None, prefix: str | None) -> "StatementLog":
        """Read its server log."""
        from dbdyno.engines.postgresql.statement_log import read_log

        return read_log(file, location, form, prefix)

    def waits(self, product: str) -> WaitList | None:
        """Return the list of wait events. Names such as `WALSync` and `WalSync` differ only in case."""
        if product not in self.products:
            return None
        return WaitList(resources.files(__name__).joinpath("waits.toml"), versions=True, regards_case=True)

    def index_support(self, product: str) -> "IndexSupport":
        """Return PostgreSQL's: all kinds."""
        from dbdyno.engines.index import IndexSupport

        return IndexSupport(expressions=True, partial=True, include=True, collations=True, nulls=True)

    def index_trials(self) -> "IndexTrials":
        """Return how indexes are measured."""
        from dbdyno.engines.postgresql.index_trials import PostgresqlIndexTrials

        return PostgresqlIndexTrials()

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Derive an index from the statement's conditions and order."""
        from dbdyno.engines.index_advice import index_for

        return index_for(sql, self.name, table, dict(catalog), inner=inner)

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Parse PostgreSQL's plan."""
        from dbdyno.engines.plans import of_postgresql

        return of_postgresql(plan) if plan else None

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Return a query for sampled values as a JSON array."""
        from dbdyno.engines.samples import sample_query

        return sample_query("json_agg(v)", table, column, most, "random()")

    def planner_switches(self, was: Mapping[str, str], now: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Return the planner's methods, which can be forbidden, and its cost of random reads."""
        from dbdyno.engines.postgresql.planner import SWITCHES

        return SWITCHES

    def better_estimates(self, product: str, on: "Conditions | None") -> str | None:
        """Advise to update statistics, and to create multi-column ones."""
        from dbdyno.engines.postgresql.statistics import better_estimates

        return None if on is None else better_estimates(on)

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether the plan has an index condition."""
        from dbdyno.engines.postgresql.search_rules import looks_up

        return looks_up(plan)

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Return the rule of the columns' types and collations."""
        from dbdyno.engines.postgresql.search_rules import case_rule

        return case_rule(columns)

    def prefix_rules(self) -> "PrefixRules":
        """Return PostgreSQL's rules."""
        from dbdyno.engines.postgresql.search_rules import PREFIX_RULES

        return PREFIX_RULES


def _quoted_value(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
