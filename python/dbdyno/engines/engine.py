"""The interface that every engine implements in its own package.

An engine is a class with one instance, listed in :mod:`dbdyno.engines.registry`. Attributes describe the engine.
Methods import the modules of its package when they are called: reading an experiment needs the names of all engines,
but only measuring an engine needs its modules.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TextIO

from dbdyno.base.errors import InputError
from dbdyno.engines.sql_lexer import STANDARD, Syntax, Token, UnterminatedError, placeholders
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.btree import BtreeRules
    from dbdyno.engines.conditions import Conditions
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.embedded_advice import Embedded
    from dbdyno.engines.fix_entries import Entry
    from dbdyno.engines.index import Index, IndexSupport
    from dbdyno.engines.index_trials import IndexTrials
    from dbdyno.engines.limits import Limit
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.prefix_rules import PrefixRules
    from dbdyno.engines.provisioner import Provisioner, ProvisioningContext
    from dbdyno.engines.server.facts import Server
    from dbdyno.engines.server.family import Family
    from dbdyno.engines.statement_log import StatementLog
    from dbdyno.engines.string_rules import CaseRule, Column
    from dbdyno.engines.waits import WaitList
    from dbdyno.model.events.trial import TrialResult
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.cell import CompiledCell
    from dbdyno.model.plan.change import Change
    from dbdyno.model.plan.system import SystemSpec
    from dbdyno.model.result.finding import Kind, Measured
    from dbdyno.model.result.shape import Finding

Json = Mapping[str, Any]

#: What follows the engine's name in a URL: a server's host, a file, nothing, or a command line.
Location = Literal["host", "file", "nothing", "command"]

#: What a writing client locks against other writers: the rows it writes, or the whole file.
Locks = Literal["rows", "file"]

#: What dbdyno measures the time of. For an engine in the worker's process: its file calls, its lock waits and cache
#: (``inside``), its mutexes, its computation. For a server: what the client and the server did.
Timed = Literal["files", "inside", "mutexes", "computing", "server"]


class Engine:
    """One engine. The defaults of attributes and methods mean that the engine doesn't have the feature."""

    name = ""
    """Its name in URLs and experiments."""

    title = ""
    """Its name in messages and reports."""

    aliases: tuple[str, ...] = ()
    """Further names in URLs."""

    products: tuple[str, ...] = ()
    """The product names that its systems report and results contain; compared case-insensitively."""

    schemes: tuple[str, ...] = ()
    """Aliases that select how to connect, and therefore stay in a system's name."""

    location: Location = "host"

    # Properties.

    has_data = True
    """Whether it has a database that must be created before a trial."""

    has_checks: bool | None = None
    """Whether ``dbdyno check`` can check it; ``None``: if it has a database."""

    durability_is_known = True
    """Whether dbdyno can determine which failures a commit survives."""

    shows_changes = True
    """Whether it reports to clients how many rows a statement changed."""

    runs_programs = False
    """Whether a transaction is one execution of the user's program."""

    in_worker = False
    """Whether it runs in the worker's process, which can suspend clients and count instructions."""

    files_per_client = 1
    """File descriptors that one client has open in the worker; equals ``Engine::FILES`` in ``crates/engines``."""

    locks: Locks = "rows"

    timed: frozenset[Timed] = frozenset({"server"})

    file_calls = False
    """Whether the worker counts its file flushes, reads and writes, and can delay them."""

    message_calls = False
    """Whether the worker counts its clients' messages and connections, and can delay them."""

    builds_releases = False
    """Whether dbdyno can get and build its releases."""

    original: str | None = None
    """The product that defined the protocol, if other products implement it too."""

    # Its SQL.

    grammar: str | None = None
    """The name of its dialect in sqlglot; ``None``: dbdyno doesn't parse its statements."""

    syntax: Syntax = STANDARD
    """Its lexical rules."""

    bytes_literal = "x'{}'"
    """A literal of bytes; `{}` stands for their hexadecimal digits."""

    parameter_prefix: str | None = None
    """The prefix of numbered parameters in prepared statements, e.g. ``$``; ``None``: parameters are ``?``."""

    backslash_escapes = False
    """Whether a backslash escapes wildcards of ``LIKE`` if the statement has no ``ESCAPE`` clause."""

    # Connecting.

    shows_user = True
    """Whether a URL's user may be shown; otherwise dbdyno treats ``user:password`` as the password."""

    password_variable: str | None = None
    """The environment variable from which the engine's own client programs read a password."""

    escape_words: Collection[str] | None = None
    """A statement without these words can't access another database, so dbdyno needn't ask; ``None``: unknown."""

    fresh_statistics: str | None = None
    """The statement that samples all tables for the planner, on a copy of the user's file; ``None``: there is none."""

    build_settings = frozenset({"cflags", "library", "library_threading", "program", "source"})
    """The settings that select the library or the server's program, and so the version."""

    check_settings: Mapping[str, str] = {}
    """The settings that ``dbdyno check`` needs on a server that dbdyno starts."""

    # Durability.

    durability: Mapping[str, Mapping[str, str]] = {}
    """The settings that each durability class requires, by class."""

    also_durable: Collection[tuple[str, str, str]] = ()
    """Other settings that also satisfy a class: class, name, value."""

    @property
    def is_server(self) -> bool:
        """Whether it runs in a server process of its own."""
        return self.location == "host"

    def never_durable(self, settings: Mapping[str, str]) -> tuple[str, str] | None:
        """Return what no setting can make durable on a system with these settings, and what to use instead."""
        return None

    def behind(self, settings: Mapping[str, str]) -> "tuple[str, SystemSpec] | None":
        """Return the database behind a system with these settings, and the prefix of the database's settings.

        ``None``: the system is the database. Raises InputError if the settings name an invalid database.
        """
        return None

    # Statements.

    def placeholders(self, text: str) -> Sequence[Token]:
        """Return a statement's placeholders for values; none if a string or comment is not closed."""
        try:
            return placeholders(text, self.syntax)
        except UnterminatedError:
            return ()

    def places(self, text: str) -> int:
        """Count the ``?`` placeholders of a statement."""
        return sum(token.text == "?" for token in self.placeholders(text))

    def check_statement(self, text: str) -> tuple[str, str] | None:
        """Return why a string is not a statement of this engine, and a hint; ``None`` if it may be one."""
        return None

    def control_text(self, verb: str, mode: str) -> str:
        """Return the statement for the step ``begin``, ``commit`` or ``rollback``; ``mode``: the mode of ``begin``."""
        return verb

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return its dialect; ``location``: the experiment's file, for errors. Raises InputError if it has none."""
        raise NotImplementedError

    # Settings.

    def read_settings(self, settings: Mapping[str, Scalar], location: str, *, named: bool) -> Settings:
        """Check settings as far as possible without the system. Raises InputError at ``location``.

        ``named``: the system is a running server; its settings include connection options.
        """
        for name in settings:
            raise InputError(f"{location}: {name}", f"{self.title} has no settings", "leave it out")
        return Settings()

    def unused(self, system: "SystemSpec", definition: "Definition") -> tuple[str, str] | None:
        """Return a setting of a system's URL that has no effect, and the reason."""
        return None

    def check_setting(self, name: str, value: Scalar) -> None:
        """Raise InputError if a setting of an experiment is invalid regardless of the system."""

    def unfit(self, settings: Settings, clients: int, processes: int) -> tuple[str, str] | None:
        """Return why settings don't work with this number of clients or processes, and a hint.

        ``clients``: clients per process; ``processes``: number of processes. ``None``: the settings work.
        """
        return None

    def syncing(self, settings: Settings) -> tuple[tuple[str, str], ...]:
        """Return the settings that determine which writes are synced, and when."""
        return ()

    def acknowledges_unsynced(self, settings: Settings) -> bool:
        """Whether it may acknowledge a transaction before its writes are synced."""
        return False

    def sets_syncing(self, statement: str) -> bool:
        """Whether a statement changes which writes are synced, or when."""
        return False

    def is_in_effect(self, name: str, asked: str, actual: str | None) -> bool | None:
        """Whether a setting has the requested value. ``actual``: the value read back, ``None`` if none was.

        ``None``: unknown.
        """
        return None

    def applying(self, settings: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines that apply settings in the engine's own syntax; by default, lines of a configuration file."""
        yield from (f"{name} = {value}" for name, value in settings.items())

    def configuration(self, settings: Mapping[str, str], begins: str) -> Iterator[tuple[str, list[str]]]:
        """Yield configuration files, of the engine and of frameworks, with the lines that apply settings in them.

        ``begins``: the mode in which transactions begin; empty for the default.
        """
        yield from ()

    def cache_bytes(self, settings: Mapping[str, str]) -> float | None:
        """Return the size of its own page cache in bytes, from the settings in effect; ``None``: unknown."""
        return None

    def bypasses_os_cache(self, settings: Mapping[str, str]) -> bool:
        """Whether it bypasses the kernel's page cache, according to the settings in effect."""
        return False

    def btree(self, settings: Mapping[str, str], kind: str, *, numbered: bool) -> "BtreeRules | None":
        """Return its B-tree rules under the settings in effect; ``None``: dbdyno doesn't predict this engine.

        ``kind``: ``index``, or ``table`` for a table stored in primary-key order; ``numbered``: keys are ascending
        numbers.
        """
        return None

    def tiers(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Return the tiers that can be pinned to CPUs, including ``load``; empty if the system has a single tier."""
        return ()

    def keeps_connections(self, settings: Mapping[str, str]) -> bool | None:
        """Whether the tier in front of a database keeps connections open; ``None``: no tier is in front of it.

        ``settings``: the requested settings, as in a run's design.
        """
        return None

    def counted_calls(self, *, managed: bool) -> tuple[str, ...]:
        """Return the kinds of calls that can be counted and delayed, named as in a plan's field ``changes``.

        ``managed``: dbdyno starts the system itself.
        """
        files = ("sync", "read", "write") if self.file_calls else ()
        sessions = ("message", "connect") if self.message_calls else ()
        return (*files, *sessions, "transaction")

    def changes(
        self, compiled: "CompiledCell", settings: Mapping[str, str], data_bytes: float | None
    ) -> "Sequence[Change]":
        """Return engine-specific changes for ``why``: other settings, applied to data that dbdyno created.

        ``settings``: the settings in effect; ``data_bytes``: size of the data, ``None`` if unknown.
        """
        return ()

    def unix_socket(self, target: Json) -> Json | None:
        """Return the fields of a plan's target that select the server's Unix socket.

        ``None``: clients can't use one, or use it already. ``target``: the server as in a plan.
        """
        return None

    def fixes(self) -> "Sequence[Entry]":
        """Return its catalog of fixes: settings and statements that may make a cell permanently faster."""
        return ()

    def would_use(
        self, target: Json, statements: Sequence[tuple[str, Sequence[Any]]], indexes: Sequence[str]
    ) -> Sequence[bool] | None:
        """Return for each hypothetical index whether plans would use it; ``None`` if the system can't answer.

        ``target``: a running system, as in a plan; ``statements``: SQL with parameter values, or without values if
        they vary; ``indexes``: the statements that would create the indexes.
        """
        return None

    def estimated_gains(
        self, target: Json, statements: Sequence[tuple[str, Sequence[Any]]], groups: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[float | None] | None] | None:
        """Return how many times less each statement would cost with each group of indexes, by the planner's estimate.

        ``None`` for a statement whose plan would not use the indexes, for indexes of a kind that can't be hypothetical,
        and instead of the list if the system can't answer. The arguments are those of :meth:`would_use`; ``groups``:
        the statements that create indexes which are considered together.
        """
        return None

    def at_checkout(self, settings: Settings, path_in_checkout: Callable[[str | None], str | None]) -> Settings:
        """Return the settings with their file paths mapped into a checkout by ``path_in_checkout``."""
        return settings

    # Provisioning.

    def provisioner(self, system: "SystemSpec", context: "ProvisioningContext") -> "Provisioner":
        """Return the provisioner that prepares a system for trials. Raises InputError if there is none."""
        raise NotImplementedError

    def family(self) -> "Family | None":
        """Return how its servers are found, started and filled; ``None``: dbdyno doesn't start any."""
        return None

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the systems that can be measured on this machine: URL, version, location and a note."""
        yield from ()

    def commands(self) -> "Typer | None":
        """Return its own commands, such as ``dbdyno sqlite get``; ``None``: it has none."""
        return None

    # Reading results.

    limits: "Mapping[str, Limit]" = MappingProxyType({})
    """The limits that its error codes indicate, by code; :meth:`limit` also covers the load generator's."""

    @property
    def finding_kinds(self) -> "tuple[Kind, ...]":
        """The kinds of its own findings."""
        return ()

    def embedded(self, result: "TrialResult", clients: int) -> "Embedded":
        """Return the facts that advice about an engine in the worker's process is based on."""
        from dbdyno.engines.embedded_advice import Embedded

        return Embedded(self.title, clients)

    def server(self, result: "TrialResult", clients: int) -> "Server":
        """Return the facts that advice about a server is based on."""
        from dbdyno.engines.server.facts import Server

        return Server.of(result, clients)

    def against_locked(self, result: "TrialResult", begins: Collection[str] | None) -> str | None:
        """Return what would help if transactions fail because of locks; ``None``: the general advice.

        ``begins``: the modes in which transactions begin, ``None`` if unknown.
        """
        return None

    def listen_setting(self, part: str) -> str | None:
        """Return the setting that limits how many connections may wait to be accepted; ``None``: unknown.

        ``part``: the tier of a system with several; empty for the system itself.
        """
        return None

    def limit(self, code: str) -> "Limit | None":
        """Return the limit that an error code indicates; ``None``: the code doesn't indicate a limit."""
        from dbdyno.engines.limits import LOAD_LIMITS

        return self.limits.get(code) or LOAD_LIMITS.get(code)

    def waits(self, product: str) -> "WaitList | None":
        """Return the list of its wait events; ``None``: it doesn't report them, or no list exists."""
        return None

    def findings(self, cells: "Sequence[Measured]") -> "list[Finding]":
        """Return the findings specific to this engine, of the kinds in :attr:`finding_kinds`."""
        return []

    # Recording an application's statements, and replaying them.

    log_forms: tuple[str, ...] = ()
    """The forms of its logs of statements that dbdyno reads."""

    proxy_protocol: str | None = None
    """The protocol of its clients, as the proxy calls it; ``None``: the proxy doesn't know it."""

    last_key: str | None = None
    """A query for the key that the session's last insert generated; ``None``: only `returning` gives it."""

    last_number: str | None = None
    """A query for the last number of a sequence in the session: instead of another engine's :attr:`last_key`."""

    replays = False
    """Whether recorded statements can be replayed on it."""

    usual_settings: Mapping[str, str] = {}
    """Settings that drivers make for each connection, unless applications choose others."""

    statement_totals: str | None = None
    """A query for its statistics of statements, as one JSON array; ``None``: it has none.

    Each element has ``statement``, ``count``, ``total_ms``, ``rows``, and if known ``errors``.
    """

    column_keys: str | None = None
    """A query for the keys of ``{column}`` of ``{table}``, string literals; ``None``: they can't be queried.

    It returns a JSON object: ``unique``: whether no two rows have the same value; ``foreign``: null, or the table and
    the column that it refers to, and the number of columns of this foreign key; ``columns``: the number, the name and
    the type of all columns of the table. A type is empty if it accepts all values.
    """

    row_as_json: str | None = None
    """The function that makes a JSON array of its arguments; ``None`` without such a function."""

    def read_log(self, file: TextIO, location: str, form: str | None, prefix: str | None) -> "StatementLog":
        """Read a log of its statements. ``location``: the file; ``prefix``: what begins each line. Raises InputError.

        ``form``: one of :attr:`log_forms`; ``None``: recognize it.
        """
        raise InputError(location, f"dbdyno reads no log of {self.title}", "name PostgreSQL, MySQL or MariaDB")

    # Statements and plans.

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether a plan finds its rows by an index; ``None``: there is no plan, or dbdyno can't read it."""
        return None

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Return a query for randomly chosen values of a column as a JSON array; ``None``: unsupported."""
        return None

    def analyzing(self, table: str) -> str | None:
        """Return the statement that samples a table for the planner; ``None``: loading doesn't sample tables."""
        return None

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Return how a plan reads each table; ``None``: there is no plan, or full scans are appropriate."""
        return None

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Return an index with which a statement wouldn't scan a whole table; ``None``: none is known.

        ``table``: its name or alias in the plan; ``catalog``: the catalog as read back; ``inner``: the table is read
        once for each row of another table.
        """
        return None

    def index_support(self, product: str) -> "IndexSupport":
        """Return the kinds of indexes that a product of the engine supports."""
        from dbdyno.engines.index import IndexSupport

        return IndexSupport()

    def index_trials(self) -> "IndexTrials | None":
        """Return how candidate indexes are measured on copies of the data; ``None``: dbdyno doesn't measure any."""
        return None

    def max_index_rows(self, rows: int) -> float:
        """Return up to how many rows an index lookup is faster than a full scan of a table with ``rows`` rows."""
        # PostgreSQL's planner switches to a scan at 5 to 20% of the rows, depending on their physical order. The other
        # planners switch no later.
        return 0.2 * rows

    def planner_switches(self, was: Mapping[str, str], now: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Return settings that let the planner choose other plans, each to be tried alone on the new system.

        ``was``, ``now``: the settings in effect on the old and the new system.
        """
        return ()

    def better_estimates(self, product: str, on: "Conditions | None") -> str | None:
        """Return what may improve the planner's row estimate for a plan step; ``None``: nothing is known to.

        ``product``: the product name that the system reports; ``on``: the table that the step reads and the columns
        that the statement compares, ``None`` if the step reads the output of other steps.
        """
        return None

    def like_rule(self, settings: Json, columns: "Sequence[Column]", *, own_tables: bool) -> "CaseRule | None":
        """Return whether ``LIKE`` is case-sensitive; ``None`` if the settings and catalog don't determine it.

        ``columns``: the compared columns, as in the catalog. ``own_tables``: the experiment created the tables without
        naming a collation, so their columns have the database's collation.
        """
        return self.equality_rule(settings, columns, own_tables=own_tables)

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Return whether ``=`` is case-sensitive; as :meth:`like_rule`."""
        return None

    def prefix_rules(self) -> "PrefixRules | None":
        """Return which indexes support a pattern with a fixed prefix; ``None``: unknown."""
        return None
