"""The list of all engines. No other module names them all."""

from dbdyno.engines.duckdb import Duckdb
from dbdyno.engines.http import Http
from dbdyno.engines.installed_program import Program
from dbdyno.engines.lookup import engine_aliases, engine_names, make_known
from dbdyno.engines.mongodb import Mongodb
from dbdyno.engines.mysql import Mysql
from dbdyno.engines.null import Null
from dbdyno.engines.postgresql import Postgresql
from dbdyno.engines.sqlite import Sqlite
from dbdyno.engines.sqlserver import Sqlserver
from dbdyno.engines.web import Web

make_known(
    (
        Sqlite(),
        Duckdb(),
        Postgresql(),
        Mysql(),
        Mongodb(),
        Sqlserver(),
        Http(),
        Web(),
        Null(),
        Program(),
    )
)

ENGINES: tuple[str, ...] = tuple(engine_names())
"""The names that experiments and URLs may use."""

NAMES: tuple[str, ...] = (*ENGINES, *engine_aliases())
"""All names that URLs may use."""

COMMON = Sqlite.name
"""The engine in whose SQL dialect common statements are written."""
