"""The first tables. New stores are created from ``tables.py``; a test checks that all migrations give the same."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "dbdyno_store",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "dbdyno_runs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("experiment", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("design", sa.JSON, nullable=False),
        sa.Column("seed", sa.String(20), nullable=False),
        sa.Column("command", sa.JSON, nullable=False),
        sa.Column("options", sa.JSON, nullable=False),
        sa.Column("host", sa.JSON, nullable=False),
        sa.Column("device", sa.JSON),
        sa.Column("ceiling", sa.JSON),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("findings", sa.JSON, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("started", sa.String(40), nullable=False, index=True),
        sa.Column("ended", sa.String(40)),
    )
    op.create_table(
        "dbdyno_trials",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.String(32), sa.ForeignKey("dbdyno_runs.id"), nullable=False),
        sa.Column("cell", sa.Text, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("result", sa.JSON),
        sa.Column("intervals", sa.JSON, nullable=False),
        sa.Column("diagnosis", sa.JSON),
        sa.Column("error", sa.Text),
        sa.Column("error_kind", sa.Text),
        sa.Column("started", sa.String(40), nullable=False),
        sa.Column("durations", sa.JSON, nullable=False),
    )
    op.create_index("dbdyno_trials_run", "dbdyno_trials", ["run_id", "id"])
