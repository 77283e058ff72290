"""Microsoft SQL Server, which dbdyno can't start."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dbdyno.engines.engine import Json
from dbdyno.engines.server.databases import Databases
from dbdyno.engines.server.engine import ServerEngine
from dbdyno.engines.sql_lexer import Syntax
from dbdyno.model.plan.settings import Settings

if TYPE_CHECKING:
    from dbdyno.engines.dialect import Dialect
    from dbdyno.engines.string_rules import CaseRule, Column
    from dbdyno.model.experiment.definition import Definition

_CONTROL = {
    "begin": "begin transaction",
    "commit": "commit transaction",
    "rollback": "if @@trancount > 0 rollback transaction",
}


class Sqlserver(ServerEngine):
    """SQL Server."""

    name = "sqlserver"
    title = "SQL Server"
    aliases = ("mssql",)
    products = ("SQL Server",)
    grammar = "tsql"
    syntax = Syntax(backticks=False, nested_comments=True, dollar_names=False)
    parameter_prefix = "@P"
    password_variable = "SQLCMDPASSWORD"  # noqa: S105
    databases = Databases(
        port=1433,
        always="master",
        drop=(
            "if db_id('{name}') is not null begin alter database {name} set single_user with rollback immediate; "
            "drop database {name} end"
        ),
    )

    def control_text(self, verb: str, mode: str) -> str:
        """Return the statement for display; crates/engines sends its own."""
        from dbdyno.model.plan.steps import isolation_level

        level = isolation_level(mode) if verb == "begin" else None
        return f"{f'set transaction isolation level {level}; ' if level else ''}{_CONTROL[verb]}"

    def dialect(self, definition: "Definition", location: str, settings: Settings) -> "Dialect":
        """Return SQL Server's dialect."""
        from dbdyno.engines.sqlserver.dialect import SqlserverDialect

        return SqlserverDialect(definition, location)

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield one entry for running servers."""
        yield "sqlserver://…", "", "", "a running server; untested"

    def equality_rule(
        self,
        settings: Json,
        columns: "Sequence[Column]",
        *,
        own_tables: bool,
    ) -> "CaseRule | None":
        """Return the rule of the database's collation, which the experiment's own tables have."""
        from dbdyno.engines.string_rules import CaseRule

        collation = str(settings.get("collation") or "") if own_tables else ""
        words = f"follows the collation {collation}"
        return CaseRule("_CI" not in collation.upper(), words) if collation else None
