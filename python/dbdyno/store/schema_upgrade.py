"""Bringing the tables of an older store to the present version, by Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, update

from dbdyno.store.tables import META, REVISION, SCHEMA_VERSION

SCRIPTS = Path(__file__).parent / "migrations"


def upgrade(connection: Connection, version: int) -> None:
    """Bring a store of a version to the present one, in the transaction of ``connection``: whole, or not at all."""
    # Read in here: a store is older once, and opened many times.
    from alembic import command
    from alembic.config import Config

    config = Config()
    # A percent sign would begin a name of Python's configparser.
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    if REVISION.name not in inspect(connection).get_table_names():
        command.stamp(config, str(version))
    command.upgrade(config, "head")
    # For those who came before Alembic, and refuse what is newer by this.
    connection.execute(update(META).where(META.c.key == "version").values(value=str(SCHEMA_VERSION)))
