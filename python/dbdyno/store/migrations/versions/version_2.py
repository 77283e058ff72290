"""Store observations instead of conclusions.

The observations of older runs contain their conclusions. They have no known kind and are therefore not reported.
"""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Rename, add and drop columns."""
    op.execute("ALTER TABLE dbdyno_runs RENAME COLUMN findings TO observations")
    op.add_column("dbdyno_trials", sa.Column("parts", sa.JSON))
    op.add_column("dbdyno_trials", sa.Column("around", sa.JSON))
    op.execute("UPDATE dbdyno_trials SET parts = '[]', around = '{}'")
    op.execute("ALTER TABLE dbdyno_trials DROP COLUMN diagnosis")
