"""What dbdyno asks of an engine: the interface that each one's folder implements.

An engine is a class with one instance, named in :mod:`dbdyno.engines.registry`. What it says of itself are attributes;
what it does are methods, which import the parts of its folder when they are called: the names of all engines are needed
wherever an experiment is read, and the parts only where one is measured.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from dbdyno.base.errors import InputError
from dbdyno.engines.sql_lexer import STANDARD, Syntax, Token, UnterminatedError, placeholders
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.btree import BtreeRules
    from dbdyno.engines.conditions import Conditions
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.embedded import Embedded
    from dbdyno.engines.entries import Entry
    from dbdyno.engines.index import Index
    from dbdyno.engines.limits import Limit
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.prefix_rules import PrefixRules
    from dbdyno.engines.provisioner import Place, Provisioner
    from dbdyno.engines.searching import CaseRule, Column
    from dbdyno.engines.server.facts import Server
    from dbdyno.engines.server.family import Family
    from dbdyno.engines.waits import WaitList
    from dbdyno.model.events.trial import TrialResult
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.cell import CompiledCell
    from dbdyno.model.plan.change import Change
    from dbdyno.model.plan.system import SystemSpec
    from dbdyno.model.result.finding import Kind, Measured
    from dbdyno.model.result.shape import Finding

Json = Mapping[str, Any]

#: What a URL says after the engine's name: a server's host, a file, nothing, or a command line.
Location = Literal["host", "file", "nothing", "command"]

#: What a client that writes keeps others from writing: the same rows, or anything in the file.
Locks = Literal["rows", "file"]

#: What an engine in the worker's own process is timed at: its files, its waits for locks and its cache, its mutexes,
#: its computing; of a server, what the client and the server did.
Timed = Literal["files", "inside", "mutexes", "computing", "server"]


class Engine:
    """One engine. An attribute or a method that it leaves out says that it has no such thing."""

    name = ""
    """As URLs and experiments call it."""

    title = ""
    """As people call it."""

    aliases: tuple[str, ...] = ()
    """Further names in URLs."""

    products: tuple[str, ...] = ()
    """The names that such systems give themselves, as results have them; their case does not matter."""

    schemes: tuple[str, ...] = ()
    """Those of its aliases that say how it is connected to, and so stay in the name of a system."""

    location: Location = "host"

    # What it is.

    has_data = True
    """Whether there is a database, to be made before a trial."""

    has_checks: bool | None = None
    """Whether the contract's checks can be made on it; ``None``: where there is a database."""

    tells_durability = True
    """Whether it can be known what a commit survives."""

    shows_changes = True
    """Whether clients are told how many rows a statement changed."""

    runs_programs = False
    """Whether a transaction is a whole program of the user's."""

    in_worker = False
    """Whether it runs in the worker's own process, where clients can be suspended and instructions can be counted."""

    files_per_client = 1
    """Files and connections that a client has open in the worker; as ``Engine::FILES`` in ``crates/engines``."""

    locks: Locks = "rows"

    timed: frozenset[Timed] = frozenset({"server"})

    file_calls = False
    """Whether its flushes, reads and writes of files are counted, and can be made slower, in the worker's process."""

    message_calls = False
    """Whether messages of its clients, and their connections, are counted, and can be made slower."""

    original: str | None = None
    """The product whose protocol others speak, where some do."""

    # Its SQL.

    grammar: str | None = None
    """The name of its dialect in sqlglot; ``None``: its statements are not read."""

    syntax: Syntax = STANDARD
    """Its lexical rules."""

    numbered_by: str | None = None
    """What stands before the number of a place for a value in a prepared statement; ``None``: it is ``?``."""

    backslash_escapes = False
    """Whether a backslash takes the meaning from a wildcard of ``LIKE``, unless a statement says what does."""

    # For those who connect.

    shows_user = True
    """Whether a URL's user may be told to others; else the name is a part of the password, before a colon."""

    password_variable: str | None = None
    """The environment variable with a password that the engine's own programs read."""

    leads_beyond: Collection[str] | None = None
    """Words without which no statement leads beyond its database, so the worker isn't asked; ``None``: unknown."""

    check_settings: Mapping[str, str] = {}
    """The settings that the contract's checks need on a server which dbdyno starts."""

    # Durability.

    durability: Mapping[str, Mapping[str, str]] = {}
    """The settings that each class of durability needs, by class."""

    also_durable: Collection[tuple[str, str, str]] = ()
    """Settings of a user's that serve a class as well: class, name, value."""

    @property
    def is_server(self) -> bool:
        """Whether its sessions wait for a process of its own."""
        return self.location == "host"

    def never_durable(self, settings: Mapping[str, str]) -> tuple[str, str] | None:
        """Say what no setting makes durable on a system with these, and what to use in its place; clauses."""
        return None

    def behind(self, settings: Mapping[str, str]) -> "tuple[str, SystemSpec] | None":
        """Give the database behind a system with these settings, and what stands before the names of its settings.

        ``None``: the system is the database. Raises InputError for a wrong one.
        """
        return None

    # Statements.

    def placeholders(self, text: str) -> Sequence[Token]:
        """Return the tokens of a statement that stand for values; none if a string or comment is not closed."""
        try:
            return placeholders(text, self.syntax)
        except UnterminatedError:
            return ()

    def places(self, text: str) -> int:
        """Count the ``?`` of a statement that stand for values."""
        return sum(each.text == "?" for each in self.placeholders(text))

    def check_statement(self, text: str) -> tuple[str, str] | None:
        """Say why a text can be no statement of its, a predicate, and what to write; ``None`` where it may be one."""
        return None

    def control_text(self, verb: str, mode: str) -> str:
        """Write what it is sent for the step ``begin``, ``commit`` or ``rollback``; ``mode``: of beginning."""
        return verb

    def dialect(self, definition: "Definition", place: str, settings: Settings) -> "Dialect":
        """Give its dialect; ``place``: the experiment's file, for errors. Raises InputError where it has none."""
        raise NotImplementedError

    # Settings.

    def read_settings(self, settings: Mapping[str, Scalar], place: str, *, named: bool) -> Settings:
        """Check settings, as far as can be without the system. Raises InputError that begins with ``place``.

        ``named``: of a server that runs already, among whose settings are those of the connection to it.
        """
        for name in settings:
            raise InputError(f"{place}: {name}", f"{self.title} has no settings", "leave it out")
        return Settings()

    def unused(self, system: "SystemSpec", definition: "Definition") -> tuple[str, str] | None:
        """Name a setting of a system's URL that has no effect, and say why, a clause."""
        return None

    def check_setting(self, name: str, value: Scalar) -> None:
        """Raise InputError for a setting of an experiment that can be seen to be none without more."""

    def unfit(self, settings: Settings, clients: int, processes: int) -> tuple[str, str] | None:
        """Say why settings cannot be used by so many clients of one process, or by several, and what to do; clauses.

        ``clients``: those that share a process; ``processes``: how many there are. ``None``: they can be used.
        """
        return None

    def syncing(self, settings: Settings) -> tuple[tuple[str, str], ...]:
        """Give the settings that decide what is synced of what is written, and when."""
        return ()

    def leaves_behind(self, settings: Settings) -> bool:
        """Whether it may say that a transaction is done before what it wrote is synced."""
        return False

    def sets_syncing(self, statement: str) -> bool:
        """Whether a statement changes what is synced, and when."""
        return False

    def in_force(self, name: str, asked: str, found: str | None) -> bool | None:
        """Whether a setting is what was asked for, by what was read back of it (``None``: nothing).

        ``None``: that cannot be told.
        """
        return None

    def applying(self, settings: Mapping[str, str]) -> Iterator[str]:
        """Give lines that set what is set, in the engine's own words; by default as its configuration file has it."""
        yield from (f"{name} = {value}" for name, value in settings.items())

    def cache_bytes(self, settings: Mapping[str, str]) -> float | None:
        """Give the bytes of its own page cache, by the settings in force; ``None``: that is not known."""
        return None

    def passes_os_cache_by(self, settings: Mapping[str, str]) -> bool:
        """Whether the kernel caches nothing of its files, by the settings in force."""
        return False

    def btree(self, settings: Mapping[str, str], kind: str, *, numbered: bool) -> "BtreeRules | None":
        """Give its rules for a B-tree, by the settings in force; ``None``: no prediction is made for it.

        ``kind``: ``index``, or ``table`` for a table that is kept in the order of its primary key; ``numbered``: keys
        are numbers that count up.
        """
        return None

    def tiers(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Name what can have processors of its own of a system with such settings, ``load`` too; none: it is one."""
        return ()

    def keeps_connections(self, settings: Mapping[str, str]) -> bool | None:
        """Whether what stands before a database keeps its connections to it; ``None``: nothing stands before it.

        ``settings``: those that were asked for, as a run's design has them.
        """
        return None

    def counted_calls(self, *, managed: bool) -> tuple[str, ...]:
        """Give the kinds of calls that can be counted and made slower, as in the field ``changes`` of a plan.

        ``managed``: dbdyno starts the system itself.
        """
        files = ("sync", "read", "write") if self.file_calls else ()
        sessions = ("message", "connect") if self.message_calls else ()
        return (*files, *sessions, "transaction")

    def changes(
        self, compiled: "CompiledCell", settings: Mapping[str, str], data_bytes: float | None
    ) -> "Sequence[Change]":
        """Give the changes of its own that show what a cell depends on: other settings, on data of dbdyno's own.

        ``settings``: in force; ``data_bytes``: what the data take, where that is known.
        """
        return ()

    def unix_socket(self, target: Json) -> Json | None:
        """Give what a plan names the Unix socket of a server by; ``None`` where clients cannot use one, or do.

        ``target``: the server as a plan names it.
        """
        return None

    def fixes(self) -> "Sequence[Entry]":
        """Give its catalogue of fixes: settings, and statements of its own, that may make a cell faster for good."""
        return ()

    def would_use(
        self, target: Json, statements: Sequence[tuple[str, Sequence[Any]]], indexes: Sequence[str]
    ) -> Sequence[bool] | None:
        """Say of indexes that are not there whether plans would use them; ``None`` where nothing tells.

        ``target``: a system that runs, as a plan names it; ``statements``: their texts with the values of their
        parameters, none where these differ from use to use; ``indexes``: the statements that would make them.
        """
        return None

    def at_checkout(self, settings: Settings, there: Callable[[str | None], str | None]) -> Settings:
        """Give the settings with their files as a commit has them; ``there`` gives a file's path in it."""
        return settings

    # Having a system ready.

    def provisioner(self, system: "SystemSpec", place: "Place") -> "Provisioner":
        """Give what has a system ready for trials. Raises InputError where it cannot be had."""
        raise NotImplementedError

    def family(self) -> "Family | None":
        """Say how its servers are found, started and filled; ``None``: dbdyno starts none."""
        return None

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Say what of it can be measured on this machine: URL, version, where, and a note; a row each."""
        yield from ()

    def commands(self) -> "Typer | None":
        """Give its own commands, as ``dbdyno sqlite get``; ``None``: it has none."""
        return None

    # What results say.

    limits: "Mapping[str, Limit]" = MappingProxyType({})
    """The limits that its own codes of failures tell of, by the code; :meth:`limit` gives those of the load too."""

    @property
    def finding_kinds(self) -> "tuple[Kind, ...]":
        """The kinds of what it finds itself."""
        return ()

    def embedded(self, result: "TrialResult", clients: int) -> "Embedded":
        """Give what is known of it in the worker's process when advice is given."""
        from dbdyno.engines.embedded import Embedded

        return Embedded(self.title, clients)

    def server(self, result: "TrialResult", clients: int) -> "Server":
        """Give what is known of a server when advice is given."""
        from dbdyno.engines.server.facts import Server

        return Server.of(result, clients)

    def against_locked(self, result: "TrialResult", begins: Collection[str] | None) -> str | None:
        """Give what would help where transactions failed because something was locked; ``None``: the usual.

        ``begins``: the modes in which they begin, ``None`` where that is not known.
        """
        return None

    def listen_setting(self, part: str) -> str | None:
        """Name the setting that decides how many connections may wait to be accepted; ``None``: that is not known.

        ``part``: of a system of several, whose it is; empty for the system itself.
        """
        return None

    def limit(self, code: str) -> "Limit | None":
        """Give the limit that was met where transactions fail with a code; ``None``: it tells of none."""
        from dbdyno.engines.limits import OF_THE_LOAD

        return self.limits.get(code) or OF_THE_LOAD.get(code)

    def waits(self, product: str) -> "WaitList | None":
        """Give the list of what its sessions wait for; ``None``: it does not tell, or there is no list."""
        return None

    def findings(self, cells: "Sequence[Measured]") -> "list[Finding]":
        """Say what only this engine's cells can show; of the kinds :attr:`finding_kinds`."""
        return []

    # How it searches.

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether a plan goes to the rows it wants by an index; ``None``: there is none, or none can be read here."""
        return None

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Write a query that gives values of a column as an array of JSON, drawn at random; ``None``: it has none."""
        return None

    def analyzing(self, table: str) -> str | None:
        """Give the statement that samples a table for the planner; ``None``: the engine's loader samples none."""
        return None

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Tell what a plan does with each table; ``None``: there is none, or reading all of a table is right."""
        return None

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Give an index that would spare a statement reading a table whole; ``None``: none is known to.

        ``table``: its name or alias in the plan; ``catalog``: as it was read back; ``inner``: the table is read once
        for each row of another.
        """
        return None

    def most_by_index(self, rows: int) -> float:
        """Give how many of a table's rows an index is worth going to; with more, reading all of it is faster."""
        # PostgreSQL's planner turns to the scan at 5 to 20 % of the rows, by how they lie; the others are no bolder.
        return 0.2 * rows

    def better_estimates(self, product: str, on: "Conditions | None") -> str | None:
        """Say what may better its planner's estimate of a step's rows, a clause; ``None``: nothing is known to.

        ``product``: what the system calls itself; ``on``: the table that the step reads, and what the statement
        compares of it, ``None`` where it works on what other steps give.
        """
        return None

    def like_rule(self, settings: Json, columns: "Sequence[Column]", *, own_tables: bool) -> "CaseRule | None":
        """Say how ``LIKE`` compares capital letters with small ones; ``None`` where nothing that was read back tells.

        ``columns``: those that are compared, as the catalogue has them. ``own_tables``: of the experiment, their
        columns made without a word on it, so that they have the database's collation.
        """
        return self.equality_rule(settings, columns, own_tables=own_tables)

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Say how ``=`` does; as :meth:`like_rule`."""
        return None

    def prefix_rules(self) -> "PrefixRules | None":
        """Say which indexes serve a pattern that begins with fixed characters; ``None``: that is not known."""
        return None
