"""The tables of the store, and their version."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

SCHEMA_VERSION = 2
"""Raised whenever the tables change in a way another dbdyno would misread."""

OLDER = {
    "1": (
        "ALTER TABLE dbdyno_runs RENAME COLUMN findings TO observations",
        "ALTER TABLE dbdyno_trials ADD COLUMN parts JSON",
        "ALTER TABLE dbdyno_trials ADD COLUMN around JSON",
        "UPDATE dbdyno_trials SET parts = '[]', around = '{}'",
        "ALTER TABLE dbdyno_trials DROP COLUMN diagnosis",
    )
}
"""By each older version that is still read, the statements that bring its tables to the present one."""

METADATA = MetaData()

# A team's database may hold other tables: ours carry the product's name.
META = Table(
    "dbdyno_store",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

RUNS = Table(
    "dbdyno_runs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("experiment", Text, nullable=False),
    Column("definition", Text, nullable=False),
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
    Column("started", String(40), nullable=False, index=True),
    Column("ended", String(40)),
)

TRIALS = Table(
    "dbdyno_trials",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run_id", String(32), ForeignKey("dbdyno_runs.id"), nullable=False),
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
