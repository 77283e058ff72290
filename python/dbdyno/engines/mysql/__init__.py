"""MySQL, MariaDB and other servers with their protocol."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, TextIO

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
    from dbdyno.engines.btree import BtreeRules
    from dbdyno.engines.conditions import Conditions
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.fix_entries import Entry
    from dbdyno.engines.index import Index, IndexSupport
    from dbdyno.engines.index_trials import IndexTrials
    from dbdyno.engines.mysql.settings import MysqlSettings
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.prefix_rules import PrefixRules
    from dbdyno.engines.server.facts import Server
    from dbdyno.engines.server.family import Family
    from dbdyno.engines.statement_log import StatementLog
    from dbdyno.engines.string_rules import CaseRule, Column
    from dbdyno.model.events.trial import TrialResult
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.cell import CompiledCell
    from dbdyno.model.plan.change import Change


class Mysql(ServerEngine):
    """MySQL and MariaDB."""

    name = "mysql"
    title = "MySQL"
    message_calls = True
    aliases = ("mariadb",)
    products = ("MariaDB", "MySQL")
    replays = True
    grammar = "mysql"
    syntax = Syntax(
        backslashes=True,
        double_quoted_strings=True,
        brackets=False,
        hash_comments=True,
        dashes_need_space=True,
        dollar_names=False,
        executable_comments=True,
        session_variables=True,
        delimiter_command=True,
    )
    backslash_escapes = True
    proxy_protocol = "mysql"
    log_forms = ("general", "slow")
    last_key = "select last_insert_id()"
    column_keys = (
        # MariaDB ignores `having` within `exists`.
        "select json_object('unique', {column} in (select max(column_name) from information_schema.statistics "
        "where table_schema = database() and table_name = {table} and non_unique = 0 group by index_name "
        "having count(*) = 1), 'foreign', "
        "(select json_array(referenced_table_name, referenced_column_name, (select count(*) from "
        "information_schema.key_column_usage o where o.table_schema = k.table_schema and o.table_name = k.table_name "
        "and o.constraint_name = k.constraint_name)) from information_schema.key_column_usage k "
        "where table_schema = database() and table_name = {table} "
        "and column_name = {column} and referenced_table_name is not null limit 1), 'columns', "
        "(select json_arrayagg(json_array(ordinal_position, column_name, column_type)) "
        "from information_schema.columns where table_schema = database() and table_name = {table}))"
    )
    row_as_json = "json_array"
    statement_totals = (
        "select coalesce(json_arrayagg(json_object('statement', digest_text, 'count', count_star, "
        "'total_ms', sum_timer_wait / 1e9, 'rows', sum_rows_sent + sum_rows_affected, 'errors', sum_errors)), '[]') "
        "from performance_schema.events_statements_summary_by_digest "
        "where schema_name = database() and digest_text is not null"
    )
    password_variable = "MYSQL_PWD"  # noqa: S105
    check_settings: Mapping[str, str] = {"max_allowed_packet": "64M"}
    durability: Mapping[str, Mapping[str, str]] = {
        POWER_SAFE: {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "innodb_doublewrite": "on"},
        PROCESS_SAFE: {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
    }
    limits: Mapping[str, Limit] = {
        # ER_CON_COUNT_ERROR
        "1040": Limit(
            "max_connections",
            "the server accepted no more connections",
            "the server's `max_connections`, fewer clients, or a connection pool",
        ),
        # ER_TOO_MANY_USER_CONNECTIONS
        "1203": Limit(
            "max_user_connections", "the server accepted no more connections of the user", "`max_user_connections`"
        ),
        # ER_USER_LIMIT_REACHED
        "1226": Limit("user-limit", "the user reached its hourly or concurrent limit", "`ALTER USER … WITH`"),
        # EE_OUT_OF_FILERESOURCES
        "23": Limit("open-files", "the server can't open more files", "the server's `open_files_limit`"),
    }
    databases = Databases(
        port=3306,
        always="mysql",
        # Same encoding as on servers that dbdyno starts; some servers default to a smaller character set.
        create="create database {name} character set utf8mb4",
        session_lock=True,
        read_only="once",
    )
    socket_queries = SocketQueries(
        place="select @@socket", identity="select concat_ws(' ', @@hostname, @@port, @@datadir, @@pid_file)"
    )

    def listen_setting(self, part: str) -> str | None:
        """Return `back_log`."""
        return "the server's `back_log`"

    def control_text(self, verb: str, mode: str) -> str:
        """Return the verb, or `start transaction` for ``begin``, after a statement that sets its isolation level."""
        from dbdyno.model.plan.steps import isolation_level

        if verb != "begin":
            return verb
        level = isolation_level(mode)
        return f"{f'set transaction isolation level {level}; ' if level else ''}start transaction"

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return MySQL's dialect, with the storage engine of its tables."""
        from dbdyno.engines.mysql.dialect import MysqlDialect
        from dbdyno.engines.mysql.settings import MysqlSettings

        return MysqlDialect(
            definition, location, settings.storage_engine if isinstance(settings, MysqlSettings) else None
        )

    def configuration(self, settings: Mapping[str, str], begins: str) -> Iterator[tuple[str, list[str]]]:
        """Yield lines of ``my.cnf``; for the isolation level also the option of Django."""
        if settings:
            yield "my.cnf", ["[mysqld]", *self.applying(settings)]
        if settings.keys() == {"transaction_isolation"}:
            level = settings["transaction_isolation"].lower().replace("-", " ")
            yield "settings.py of Django", [f'"OPTIONS": {{"isolation_level": "{level}"}}']

    def analyzing(self, table: str) -> str:
        """Return ``ANALYZE TABLE``, as at the end of loading, but without an entry in the binary log."""
        return "analyze local table `" + table.replace("`", "``") + "`"

    of_tables = ("engine",)

    def read_settings(self, settings: Mapping[str, Scalar], location: str, *, named: bool) -> "MysqlSettings":
        """Check dbdyno's own settings, including the storage engine."""
        from dbdyno.engines.mysql.settings import read_settings

        return read_settings(settings, location, named=named)

    def never_durable(self, settings: Mapping[str, str]) -> tuple[str, str] | None:
        """Return a reason and a hint for tables of a storage engine without a log."""
        from dbdyno.engines.mysql.settings import never_durable

        return never_durable(settings)

    def family(self) -> "Family":
        """Return how MySQL and MariaDB are started."""
        from dbdyno.engines.mysql import family

        return family

    def changes(
        self, compiled: "CompiledCell", settings: Mapping[str, str], data_bytes: float | None
    ) -> "Sequence[Change]":
        """Return smaller caches, a cache for all data, and commits without flushes."""
        from dbdyno.engines.server.changes import cache_changes, without_flushes

        if compiled.cell.system.host is not None:
            return ()
        caches = cache_changes(
            self.cache_bytes(settings), data_bytes, "innodb_buffer_pool_size", 5 << 20, lambda size: f"{size:.0f}"
        )
        return [*caches, *without_flushes({"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"})]

    def fixes(self) -> "Sequence[Entry]":
        """Return variables, and indexes for patterns."""
        from dbdyno.engines.mysql.fixes import ENTRIES

        return ENTRIES

    def cache_bytes(self, settings: Mapping[str, str]) -> float | None:
        """Return the size of InnoDB's buffer pool in bytes."""
        size = settings.get("innodb_buffer_pool_size", "")
        return float(size) if size.isdigit() else None

    def bypasses_os_cache(self, settings: Mapping[str, str]) -> bool:
        """Whether InnoDB opens its files with ``O_DIRECT``."""
        return "direct" in settings.get("innodb_flush_method", "").lower()

    def btree(self, settings: Mapping[str, str], kind: str, *, numbered: bool) -> "BtreeRules | None":
        """Return InnoDB's rules."""
        from dbdyno.engines.mysql.btree import rules

        return rules(settings, kind)

    def server(self, result: "TrialResult", clients: int) -> "Server":
        """Return the facts about a MySQL or MariaDB server."""
        from dbdyno.engines.mysql.advice import MysqlServer

        return MysqlServer.of(result, clients)

    def read_log(self, file: TextIO, location: str, form: str | None, prefix: str | None) -> "StatementLog":
        """Read the general log or the slow query log."""
        from dbdyno.base.errors import InputError
        from dbdyno.engines.mysql.statement_log import read_log

        if prefix is not None:
            raise InputError("--log-line-prefix", "only PostgreSQL's logs have a prefix", "leave it out")
        return read_log(file, location, form)

    def waits(self, product: str) -> WaitList | None:
        """Return the list of states and instruments."""
        if product not in self.products:
            return None
        return WaitList(resources.files(__name__).joinpath("waits.toml"))

    def index_support(self, product: str) -> "IndexSupport":
        """Return those of MySQL, which has indexes on expressions, or of MariaDB, which hasn't."""
        from dbdyno.engines.index import IndexSupport

        return IndexSupport(expressions=product.lower() != "mariadb", clustered=True)

    def index_trials(self) -> "IndexTrials":
        """Return how indexes are measured."""
        from dbdyno.engines.mysql.index_trials import MysqlIndexTrials

        return MysqlIndexTrials()

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Derive an index from the statement's conditions and order: one that MySQL and MariaDB both support."""
        from dbdyno.engines.index_advice import index_for

        return index_for(sql, "mariadb", table, dict(catalog), inner=inner)

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Parse MySQL's plan."""
        from dbdyno.engines.plans import of_mysql

        return of_mysql(plan) if plan else None

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Return a query for sampled values as a JSON array."""
        from dbdyno.engines.samples import sample_query

        return sample_query("json_arrayagg(v)", table, column, most, "rand()")

    def planner_switches(self, was: Mapping[str, str], now: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Return each flag of ``optimizer_switch`` with its other value; flags with other values before come first."""
        from dbdyno.engines.mysql.statistics import other_switches

        return other_switches(was, now)

    def better_estimates(self, product: str, on: "Conditions | None") -> str | None:
        """Advise to update statistics, also on columns without an index."""
        from dbdyno.engines.mysql.statistics import better_estimates

        return None if on is None else better_estimates(product, on)

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether the plan reads a table by an index lookup."""
        from dbdyno.engines.mysql.search_rules import looks_up

        return looks_up(plan)

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Return the rule of the columns' collations."""
        from dbdyno.engines.mysql.search_rules import case_rule

        return case_rule(columns)

    def prefix_rules(self) -> "PrefixRules":
        """Return MySQL's rules."""
        from dbdyno.engines.mysql.search_rules import PREFIX_RULES

        return PREFIX_RULES
