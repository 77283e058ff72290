"""DuckDB, in the worker's own process, by its shared library."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dbdyno.engines.classes import POWER_SAFE
from dbdyno.engines.engine import Engine, Json, Location, Timed
from dbdyno.engines.sql_lexer import Syntax
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.conditions import Conditions
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.duckdb.settings import DuckdbSettings
    from dbdyno.engines.embedded import Embedded
    from dbdyno.engines.index import Index
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.provisioner import Place, Provisioner
    from dbdyno.engines.searching import CaseRule, Column
    from dbdyno.model.events.trial import TrialResult
    from dbdyno.model.experiment.definition import Definition
    from dbdyno.model.plan.system import SystemSpec


class Duckdb(Engine):
    """DuckDB."""

    name = "duckdb"
    title = "DuckDB"
    location: Location = "file"
    in_worker = True
    timed: frozenset[Timed] = frozenset({"files", "computing"})
    grammar = "duckdb"
    syntax = Syntax(
        backticks=False,
        brackets=False,
        escape_strings=True,
        dollar_quotes=True,
        nested_comments=True,
        at_names=False,
        returns_end_lines=True,
    )
    # It syncs its log at each commit, and has no setting that has it not.
    durability: Mapping[str, Mapping[str, str]] = {POWER_SAFE: {}}

    def control_text(self, verb: str, mode: str) -> str:
        """Write the verb: a transaction begins in one way."""
        return "begin transaction" if verb == "begin" else verb

    def dialect(self, definition: "Definition", place: str, settings: Settings) -> "Dialect":
        """Give DuckDB's."""
        from dbdyno.engines.duckdb.dialect import DuckdbDialect

        return DuckdbDialect(definition, place)

    def read_settings(self, settings: Mapping[str, Scalar], place: str, *, named: bool) -> "DuckdbSettings":
        """Check the names; the library knows which there are. Raises InputError."""
        from dbdyno.engines.duckdb.settings import read_settings

        return read_settings(settings, place)

    def check_setting(self, name: str, value: Scalar) -> None:
        """Raise InputError for what can be no name of a setting."""
        from dbdyno.engines.duckdb.settings import read_settings

        read_settings({name: value}, "")

    def unfit(self, settings: Settings, clients: int, processes: int) -> tuple[str, str] | None:
        """Say that one process alone can write to a file."""
        if processes <= 1 or _own(settings).reads_only:
            return None
        problem = f"one process at a time can open a file of DuckDB to write, and {processes} would"
        return problem, "use clients that are threads, or, where they only read, `access_mode=read_only`"

    def in_force(self, name: str, asked: str, found: str | None) -> bool | None:
        """Compare sizes, switches and texts; DuckDB writes them in its own way."""
        from dbdyno.engines.duckdb.settings import in_force

        return in_force(name, asked, found)

    def at_checkout(self, settings: Settings, there: Callable[[str | None], str | None]) -> Settings:
        """Give the library of a commit."""
        own = _own(settings)
        return replace(own, library=there(own.library))

    def provisioner(self, system: "SystemSpec", place: "Place") -> "Provisioner":
        """Give what keeps the file that trials work on."""
        from dbdyno.engines.duckdb.provisioner import DuckdbProvisioner

        return DuckdbProvisioner(place)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Say each library that is here; the first is the one that is taken."""
        from dbdyno.base.errors import DbdynoError
        from dbdyno.engines.duckdb.library import found_libraries, identity

        for path in found_libraries():
            try:
                version = identity(str(path)).split()[0]
            except DbdynoError as error:
                yield f"duckdb:?library={path}", "", str(path), str(error)
            else:
                yield f"duckdb:?library={path}", f"DuckDB {version}", str(path), ""

    def commands(self) -> "Typer":
        """Give those about its library."""
        from dbdyno.engines.duckdb.commands import commands

        return commands

    def embedded(self, result: "TrialResult", clients: int) -> "Embedded":
        """Give the database as it was read back."""
        from dbdyno.engines.duckdb.advice import Database

        return Database.of(result, clients)

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Give the values as an array of JSON."""
        from dbdyno.engines.samples import json_of

        return json_of("to_json(list(v))", table, column, most, "random()")

    def better_estimates(self, product: str, on: "Conditions | None") -> str | None:
        """Count its distinct values anew."""
        return "`analyze` renews the counts of distinct values by which `=` and joins are estimated"

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether a plan says that it goes by an index. Where it does not, that may be decided when it is run."""
        return True if any("Index Scan" in step for step in plan) else None

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Tell what is scanned."""
        from dbdyno.engines.plans import of_duckdb

        return of_duckdb(plan) if plan else None

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Give one on a column that is the only condition: DuckDB goes by no others.

        Whether it goes by one that is there is decided when a statement runs, so that nothing is said of that.
        """
        from dbdyno.engines.indexing import index_for

        index = index_for(sql, self.name, table, dict(catalog), single=True)
        return None if index is None or index.existing is not None else index

    def most_by_index(self, rows: int) -> float:
        """Give its settings' defaults: `index_scan_max_count` rows, or `index_scan_percentage` of the table."""
        return max(2048, 0.001 * rows)

    def like_rule(self, settings: Json, columns: "Sequence[Column]", *, own_tables: bool) -> "CaseRule | None":
        """``LIKE`` goes by characters, whatever the collation."""
        from dbdyno.engines.searching import REGARDS

        return REGARDS

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Go by the database's collation, which the experiment's own tables have."""
        from dbdyno.engines.searching import REGARDS

        return REGARDS if own_tables and settings.get("default_collation") == "" else None


def _own(settings: Settings) -> "DuckdbSettings":
    from dbdyno.engines.duckdb.settings import DuckdbSettings

    return settings if isinstance(settings, DuckdbSettings) else DuckdbSettings()
