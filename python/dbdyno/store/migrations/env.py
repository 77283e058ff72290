"""How Alembic reaches a store: over the connection that dbdyno has, in the transaction that it has begun."""

from alembic import context

from dbdyno.store.tables import METADATA, REVISION

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=REVISION.name
)
context.run_migrations()
