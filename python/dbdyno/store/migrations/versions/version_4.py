"""A summary of each run for `dbdyno history`, which computes it when it first needs it."""

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"

_FORGET = "UPDATE dbdyno_runs SET summary = NULL WHERE id = {}.{} AND summary IS NOT NULL;"

_SQLITE = (
    "CREATE TRIGGER dbdyno_summary_run_changed AFTER UPDATE OF design, definition ON dbdyno_runs BEGIN "
    + _FORGET.format("NEW", "id")
    + " END",
    "CREATE TRIGGER dbdyno_summary_trial_changed AFTER UPDATE ON dbdyno_trials BEGIN "
    + _FORGET.format("NEW", "run_id")
    + " END",
    "CREATE TRIGGER dbdyno_summary_trial_deleted AFTER DELETE ON dbdyno_trials BEGIN "
    + _FORGET.format("OLD", "run_id")
    + " END",
)
_POSTGRESQL = (
    "CREATE FUNCTION dbdyno_forget_summary() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_TABLE_NAME = 'dbdyno_runs' THEN "
    + _FORGET.format("OLD", "id")
    + " ELSE "
    + _FORGET.format("OLD", "run_id")
    + " END IF; RETURN NULL; END $$",
    "CREATE TRIGGER dbdyno_summary_run_changed AFTER UPDATE OF design, definition ON dbdyno_runs "
    "FOR EACH ROW EXECUTE FUNCTION dbdyno_forget_summary()",
    "CREATE TRIGGER dbdyno_summary_trial_changed AFTER UPDATE OR DELETE ON dbdyno_trials "
    "FOR EACH ROW EXECUTE FUNCTION dbdyno_forget_summary()",
)


def upgrade() -> None:
    """Add the column, and triggers that reset it when the run or its trials change."""
    op.add_column("dbdyno_runs", sa.Column("summary", sa.Text))
    for statement in _POSTGRESQL if op.get_context().dialect.name == "postgresql" else _SQLITE:
        op.execute(statement)
