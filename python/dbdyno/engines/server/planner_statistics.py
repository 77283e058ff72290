"""Gather planner statistics before each trial, so that no single random sample affects a whole run."""

import re
from typing import Any

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.server.settings import server_settings_of
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.interruption import Interruption

# Words in `setup` statements that gather or set statistics on PostgreSQL, MariaDB and MySQL.
_OWN = re.compile(r"\banaly[sz]e\b|statistic|_stats\b|\bstats_|reltuples", re.IGNORECASE)

# PostgreSQL's settings that cancel long statements. Those of MariaDB and MySQL don't apply to `analyze table`.
_TIME_LIMITS = frozenset({"statement_timeout", "transaction_timeout"})


def resample_tables(compiled: CompiledCell, target: dict[str, Any], interrupted: Interruption) -> None:
    """Make the server sample each table again that it sampled when the tables were loaded.

    If the experiment's `setup` gathers or sets statistics itself, they are not changed. Raises SystemFailed;
    RunInterrupted on Ctrl-C.
    """
    engine = engine_of(compiled.cell.system.engine)
    own = [sql.text_for(engine.name) or "" for sql in compiled.definition.setup]
    names = dict.fromkeys(table.name for table in compiled.tables)
    statements = [sql for name in names if (sql := engine.analyzing(name)) is not None]
    if not statements or any(map(_OWN.search, own)):
        return
    settings = server_settings_of(compiled).parameters
    limits = [[name, "0"] for name in settings if name.lower() in _TIME_LIMITS]
    # If a setting is given several times, the last value takes effect.
    unlimited = target | {"session": [*target.get("session", []), *limits]}
    try:
        ask(compiled.statements_plan(unlimited, statements), Loaded, interrupted=interrupted)
    except SystemFailed as error:
        raise SystemFailed(f"analyzing the loaded tables: {error}") from error
