"""DuckDB in the worker's process, loaded as a shared library."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dbdyno.engines.durability_classes import POWER_SAFE
from dbdyno.engines.engine import Engine, Json, Location, Timed
from dbdyno.engines.sql_lexer import Syntax
from dbdyno.model.plan.settings import Scalar, Settings

if TYPE_CHECKING:
    from typer import Typer

    from dbdyno.engines.conditions import Conditions
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.duckdb.settings import DuckdbSettings
    from dbdyno.engines.embedded_advice import Embedded
    from dbdyno.engines.index import Index, IndexSupport
    from dbdyno.engines.plans import PlanRead
    from dbdyno.engines.provisioner import Provisioner, ProvisioningContext
    from dbdyno.engines.string_rules import CaseRule, Column
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
    # It syncs its log at each commit; no setting disables that.
    durability: Mapping[str, Mapping[str, str]] = {POWER_SAFE: {}}

    def control_text(self, verb: str, mode: str) -> str:
        """Return the verb; DuckDB has no modes of ``begin``."""
        return "begin transaction" if verb == "begin" else verb

    def dialect(self, definition: "Definition", place: str, settings: Settings) -> "Dialect":
        """Return DuckDB's dialect."""
        from dbdyno.engines.duckdb.dialect import DuckdbDialect

        return DuckdbDialect(definition, place)

    def read_settings(self, settings: Mapping[str, Scalar], place: str, *, named: bool) -> "DuckdbSettings":
        """Check that names are well-formed; the library checks if they exist. Raises InputError."""
        from dbdyno.engines.duckdb.settings import read_settings

        return read_settings(settings, place)

    def check_setting(self, name: str, value: Scalar) -> None:
        """Raise InputError for an invalid name."""
        from dbdyno.engines.duckdb.settings import read_settings

        read_settings({name: value}, "")

    def unfit(self, settings: Settings, clients: int, processes: int) -> tuple[str, str] | None:
        """Reject several processes that write to one file."""
        if processes <= 1 or _own(settings).reads_only:
            return None
        problem = f"only one process can open a DuckDB file for writing, but {processes} would"
        return problem, "use clients that are threads, or `access_mode=read_only` if they only read"

    def is_in_effect(self, name: str, asked: str, found: str | None) -> bool | None:
        """Compare a setting with the value read back, which DuckDB formats differently."""
        from dbdyno.engines.duckdb.settings import is_in_effect

        return is_in_effect(name, asked, found)

    def at_checkout(self, settings: Settings, path_in_checkout: Callable[[str | None], str | None]) -> Settings:
        """Return the settings with the library of a checkout."""
        own = _own(settings)
        return replace(own, library=path_in_checkout(own.library))

    def provisioner(self, system: "SystemSpec", context: "ProvisioningContext") -> "Provisioner":
        """Return the provisioner of DuckDB files."""
        from dbdyno.engines.duckdb.provisioner import DuckdbProvisioner

        return DuckdbProvisioner(context)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the libraries on this machine; the first is the default."""
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
        """Return the commands for DuckDB's library."""
        from dbdyno.engines.duckdb.commands import commands

        return commands

    def embedded(self, result: "TrialResult", clients: int) -> "Embedded":
        """Return the facts about the database, as read back."""
        from dbdyno.engines.duckdb.advice import Database

        return Database.of(result, clients)

    def sample(self, table: str, column: str, most: int) -> str | None:
        """Return a query for sampled values as a JSON array."""
        from dbdyno.engines.samples import sample_query

        return sample_query("to_json(list(v))", table, column, most, "random()")

    def better_estimates(self, product: str, on: "Conditions | None") -> str | None:
        """Advise to update the counts of distinct values."""
        return "`analyze` updates the counts of distinct values, from which `=` and joins are estimated"

    def looks_up(self, plan: Sequence[str]) -> bool | None:
        """Whether a plan uses an index; ``None`` if it doesn't say so, because DuckDB may decide at execution time."""
        return True if any("Index Scan" in step for step in plan) else None

    def read_plan(self, plan: Sequence[str]) -> "PlanRead | None":
        """Parse DuckDB's plan."""
        from dbdyno.engines.plans import of_duckdb

        return of_duckdb(plan) if plan else None

    def index_support(self, product: str) -> "IndexSupport":
        """Return DuckDB's: an index is used for a single equality condition only."""
        from dbdyno.engines.index import IndexSupport

        return IndexSupport(only_one_equality=True)

    def index_for(self, sql: str, table: str, catalog: Json, *, inner: bool = False) -> "Index | None":
        """Derive an index for a single equality condition; DuckDB uses indexes for nothing else.

        Existing indexes give no advice, because DuckDB decides at execution time whether to use them.
        """
        from dbdyno.engines.index_advice import index_for

        index = index_for(sql, self.name, table, dict(catalog))
        return None if index is None or index.existing is not None else index

    def max_index_rows(self, rows: int) -> float:
        """Return the limit by default settings: `index_scan_max_count` rows or `index_scan_percentage` of the table."""
        return max(2048, 0.001 * rows)

    def like_rule(self, settings: Json, columns: "Sequence[Column]", *, own_tables: bool) -> "CaseRule | None":
        """Return case-sensitive: ``LIKE`` ignores the collation."""
        from dbdyno.engines.string_rules import CASE_SENSITIVE

        return CASE_SENSITIVE

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Return the rule of the database's collation, which the experiment's own tables have."""
        from dbdyno.engines.string_rules import CASE_SENSITIVE

        return CASE_SENSITIVE if own_tables and settings.get("default_collation") == "" else None


def _own(settings: Settings) -> "DuckdbSettings":
    from dbdyno.engines.duckdb.settings import DuckdbSettings

    return settings if isinstance(settings, DuckdbSettings) else DuckdbSettings()
