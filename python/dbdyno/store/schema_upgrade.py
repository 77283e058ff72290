"""Upgrade the tables of an older store to the current version with Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, update

from dbdyno.store.tables import META, REVISION, SCHEMA_VERSION

SCRIPTS = Path(__file__).parent / "migrations"


def upgrade(connection: Connection, version: int) -> None:
    """Upgrade a store from ``version`` to the current one in the transaction of ``connection``."""
    # Import Alembic here, because most stores don't need an upgrade.
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Python's configparser interprets percent signs.
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    if REVISION.name not in inspect(connection).get_table_names():
        command.stamp(config, str(version))
    command.upgrade(config, "head")
    # Versions of dbdyno without Alembic read this value to reject newer stores.
    connection.execute(update(META).where(META.c.key == "version").values(value=str(SCHEMA_VERSION)))
