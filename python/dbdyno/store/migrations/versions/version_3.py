"""Alembic keeps the version, and a server sorts as SQLite does.

SQLite changes nothing: its texts are sorted so already, and to demand a value in a column would copy all trials.
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
    """Change the order of texts on a server, and let no trial be without its parts."""
    if op.get_context().dialect.name != "postgresql":
        return
    for table, column, kind in _SORTED:
        op.alter_column(table, column, type_=kind)
    for column in ("parts", "around"):
        op.alter_column("dbdyno_trials", column, nullable=False)
