"""Store the version with Alembic, and sort strings on a server as SQLite does.

SQLite stores need no change: they sort strings by code points, and a NOT NULL constraint would copy all trials.
"""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"

_SORTED = (
    ("dbdyno_store", "key", sa.String(64, collation="C")),
    ("dbdyno_runs", "id", sa.String(32, collation="C")),
    ("dbdyno_runs", "experiment", sa.Text(collation="C")),
    ("dbdyno_runs", "started", sa.String(40, collation="C")),
    ("dbdyno_trials", "run_id", sa.String(32, collation="C")),
)


def upgrade() -> None:
    """On a server, change the collations and forbid null in two columns."""
    if op.get_context().dialect.name != "postgresql":
        return
    for table, column, kind in _SORTED:
        op.alter_column(table, column, type_=kind)
    for column in ("parts", "around"):
        op.alter_column("dbdyno_trials", column, nullable=False)
