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
"""Raised whenever the tables change: the newest of ``migrations/versions``, whose numbers are Alembic's revisions."""

METADATA = MetaData()


def _sorted(length: int | None = None) -> TypeEngine[str]:
    """Give a text that is sorted by its characters' codes, as SQLite does it, in whatever language a server sorts."""
    usual = Text() if length is None else String(length)
    by_code = Text(collation="C") if length is None else String(length, collation="C")
    return usual.with_variant(by_code, "postgresql")


# A team's database may hold other tables: ours carry the product's name.
META = Table(
    "dbdyno_store",
    METADATA,
    Column("key", _sorted(64), primary_key=True),
    Column("value", Text, nullable=False),
)

# Alembic's own, as Alembic makes it. `version` in META says the same, to those who came before it.
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
    # JSON as text, and not taken apart: a document is to come out of a copy byte for byte.
    Column("design", JSON, nullable=False),
    # A seed has 64 bits without a sign, one more than the integers of SQL.
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
    # What a history needs of the run, derived from its trials (analysis/history/summary.py); null: to be computed.
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

# A summary goes when what it is derived from is changed, by whatever program. (``migrations/versions/version_4.py``)
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
