"""Alembic's environment. It uses the connection and the transaction of ``schema_upgrade.py``."""

from alembic import context

from dbdyno.store.tables import METADATA, REVISION

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=REVISION.name
)
context.run_migrations()
