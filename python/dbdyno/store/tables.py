"""The tables of the store, and their version."""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    JSON,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    event,
)
from sqlalchemy.types import TypeEngine

SCHEMA_VERSION = 4
"""Version of the tables: the newest revision in ``migrations/versions``. Increment it when the tables change."""

METADATA = MetaData()


def _sorted(length: int | None = None) -> TypeEngine[str]:
    """Return a string type that sorts by code points, as SQLite does, whatever the server's default collation."""
    usual = Text() if length is None else String(length)
    by_code = Text(collation="C") if length is None else String(length, collation="C")
    return usual.with_variant(by_code, "postgresql")


# The tables have a prefix, because a team's database may contain other tables.
META = Table(
    "dbdyno_store",
    METADATA,
    Column("key", _sorted(64), primary_key=True),
    Column("value", Text, nullable=False),
)

# Alembic's version table, as Alembic creates it. Versions of dbdyno without Alembic read `version` in META instead.
REVISION = Table(
    "dbdyno_alembic",
    METADATA,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="dbdyno_alembic_pkc"),
)

RUNS = Table(
    "dbdyno_runs",
    METADATA,
    Column("id", _sorted(32), primary_key=True),
    Column("experiment", _sorted(), nullable=False),
    Column("definition", Text, nullable=False),
    # JSON, not JSONB: the text is stored unchanged, so copying a run preserves every byte.
    Column("design", JSON, nullable=False),
    # A seed is an unsigned 64-bit integer, which doesn't fit into SQL's signed integers.
    Column("seed", String(20), nullable=False),
    Column("command", JSON, nullable=False),
    Column("options", JSON, nullable=False),
    Column("host", JSON, nullable=False),
    Column("device", JSON(none_as_null=True)),
    Column("ceiling", JSON(none_as_null=True)),
    Column("version", Text, nullable=False),
    Column("observations", JSON, nullable=False),
    Column("status", String(16), nullable=False),
    Column("started", _sorted(40), nullable=False, index=True),
    Column("ended", String(40)),
    # Summary of the trials for `dbdyno history` (analysis/history/summary.py); null: not computed yet.
    Column("summary", Text),
)

TRIALS = Table(
    "dbdyno_trials",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run_id", _sorted(32), ForeignKey("dbdyno_runs.id"), nullable=False),
    Column("cell", Text, nullable=False),
    Column("block", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("plan", JSON, nullable=False),
    Column("result", JSON(none_as_null=True)),
    Column("intervals", JSON, nullable=False),
    Column("parts", JSON, nullable=False),
    Column("around", JSON, nullable=False),
    Column("error", Text),
    Column("error_kind", Text),
    Column("started", String(40), nullable=False),
    Column("durations", JSON, nullable=False),
    Index("dbdyno_trials_run", "run_id", "id"),
)

# Triggers delete a summary when the run or its trials change, whichever program changes them
# (see ``migrations/versions/version_4.py``).
_FORGET = "UPDATE dbdyno_runs SET summary = NULL WHERE id = {} AND summary IS NOT NULL;"
_SQLITE_TRIGGERS = [
    f"CREATE TRIGGER dbdyno_summary_{name} AFTER {what} BEGIN {_FORGET.format(run)} END"
    for name, what, run in (
        ("run_changed", "UPDATE OF design, definition ON dbdyno_runs", "NEW.id"),
        ("trial_changed", "UPDATE ON dbdyno_trials", "NEW.run_id"),
        ("trial_deleted", "DELETE ON dbdyno_trials", "OLD.run_id"),
    )
]
_POSTGRESQL_TRIGGERS = [
    "CREATE FUNCTION dbdyno_forget_summary() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF TG_TABLE_NAME = 'dbdyno_runs' THEN {_FORGET.format('OLD.id')} "
    f"ELSE {_FORGET.format('OLD.run_id')} END IF; RETURN NULL; END $$",
    *(
        f"CREATE TRIGGER dbdyno_summary_{name} AFTER {what} FOR EACH ROW EXECUTE FUNCTION dbdyno_forget_summary()"
        for name, what in (
            ("run_changed", "UPDATE OF design, definition ON dbdyno_runs"),
            ("trial_changed", "UPDATE OR DELETE ON dbdyno_trials"),
        )
    ),
]
for _dialect, _statements in (("sqlite", _SQLITE_TRIGGERS), ("postgresql", _POSTGRESQL_TRIGGERS)):
    for _statement in _statements:
        event.listen(TRIALS, "after_create", DDL(_statement).execute_if(dialect=_dialect))  # type: ignore[no-untyped-call]
