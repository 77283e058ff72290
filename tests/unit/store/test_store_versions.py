"""Stores of other versions, of both kinds: older ones are migrated, and newer ones and strangers are refused.

``stores/version-2-*.sql`` were made by the last dbdyno without Alembic, by two runs of a small experiment.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text

from dbdyno.analysis.document import read_run
from dbdyno.analysis.history.build import build_history
from dbdyno.analysis.history.stored_runs import keep_summary, read_history
from dbdyno.analysis.history.summary import decode
from dbdyno.base.errors import StoreError
from dbdyno.store import Store, TrialRecord, open_store
from dbdyno.store.run_copy import copy_runs
from dbdyno.store.schema_upgrade import SCRIPTS
from dbdyno.store.tables import METADATA, REVISION, SCHEMA_VERSION
from dbdyno.store.urls import is_file, store_url
from parallel import run_in_parallel
from synthetic import run_record

STORES = Path(__file__).parent / "stores"

# Version 2 as version 1 was.
BACK_TO_1 = """
    ALTER TABLE dbdyno_runs RENAME COLUMN observations TO findings;
    ALTER TABLE dbdyno_trials DROP COLUMN parts;
    ALTER TABLE dbdyno_trials DROP COLUMN around;
    ALTER TABLE dbdyno_trials ADD COLUMN diagnosis JSON;
    UPDATE dbdyno_store SET value = '1' WHERE key = 'version';
"""


def execute(place: str, script: str) -> None:
    """Execute statements in the database of a store."""
    url = store_url(place)
    if is_file(url):
        with closing(sqlite3.connect(place)) as raw:
            raw.executescript(script)
        return
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.connection.cursor().execute(script)
    engine.dispose()


def asked(place: str, query: str) -> list[Any]:
    engine = create_engine(store_url(place))
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(text(query))]
    engine.dispose()
    return found


def of_version_2(place: str) -> str:
    kind = "sqlite" if is_file(store_url(place)) else "postgresql"
    execute(place, (STORES / f"version-2-{kind}.sql").read_text())
    return place


def of_version_3(place: str) -> str:
    """The same runs, as the migration to version 3 left them."""
    of_version_2(place)
    engine = create_engine(store_url(place))
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.stamp(config, "2")
        command.upgrade(config, "3")
        connection.execute(text("UPDATE dbdyno_store SET value = '3' WHERE key = 'version'"))
    engine.dispose()
    return place


def shape(place: str) -> list[Any]:
    """What is still to be done until the tables are as they would be made now."""
    engine = create_engine(store_url(place))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": REVISION.name})
        found = compare_metadata(context, METADATA)
    engine.dispose()
    return found


def are_runs_of_version_2(store: Store) -> None:
    first, second = reversed(store.runs())
    assert [(each.experiment, each.status, each.done, each.failed) for each in (first, second)] == [
        ("small", "done", 4, 0),
        ("small", "done", 2, 0),
    ]
    assert [store.run(each.id).seed for each in (first, second)] == [1, 2]
    assert store.baselines() == {"main": second.id}
    document = read_run(store, first.id)
    assert [cell.id for cell in document.cells] == ["clients=1", "clients=2"]
    assert [[each.ok for each in cell.rounds] for cell in document.cells] == [[20, 20], [40, 40]]


@pytest.mark.parametrize("older", [of_version_2, of_version_3])
@pytest.mark.parametrize("make", [True, False])
def test_an_older_store_is_migrated(place: str, make: bool, older: Callable[[str], str]) -> None:
    older(place)
    for _ in range(2):
        with closing(open_store(place, make=make)) as store:
            are_runs_of_version_2(store)
    assert asked(place, "SELECT version_num FROM dbdyno_alembic") == [(str(SCHEMA_VERSION),)]
    # What came before Alembic looks here, and refuses what is newer.
    assert asked(place, "SELECT value FROM dbdyno_store WHERE key = 'version'") == [(str(SCHEMA_VERSION),)]
    assert shape(place) == []


@pytest.mark.parametrize("make", [True, False])
def test_a_store_of_version_1_is_migrated(place: str, make: bool) -> None:
    execute(of_version_2(place), BACK_TO_1)
    with closing(open_store(place, make=make)) as store:
        run = store.runs()[0].id
        assert {(*each.parts, *each.around) for each in store.trials(run)} == {()}
        assert store.run(run).observations == []
        store.add_trial(run, TrialRecord(cell="a", block=9, position=0, status="done"))
        assert len(store.trials(run)) == 3


def test_runs_of_an_older_store_are_summarized_when_their_history_is_read(place: str) -> None:
    of_version_3(place)
    history = build_history("small", read_history(place, "small", 10))
    assert [len(each["series"][0]["points"]) for each in history["cells"]] == [2, 2]
    kept = asked(place, "SELECT summary FROM dbdyno_runs")
    assert len(kept) == 2 and all(decode(each) is not None for (each,) in kept)


@pytest.mark.parametrize("is_new", [False, True])
def test_a_summary_goes_with_what_it_is_derived_from(place: str, tmp_path: Path, is_new: bool) -> None:
    older = of_version_3(str(tmp_path / "older.db") if is_new else place)
    with closing(open_store(place)) as store, closing(open_store(older)) as source:
        if is_new:
            assert [each.outcome for each in copy_runs(source, store)] == ["copied"] * 2
        first, second = (each.id for each in reversed(store.runs()))
        for change in (
            "UPDATE dbdyno_trials SET status = 'failed' WHERE run_id = '{}' AND block = 0",
            "DELETE FROM dbdyno_trials WHERE run_id = '{}' AND block = 0",
            "UPDATE dbdyno_runs SET definition = '' WHERE id = '{}'",
        ):
            for each in (first, second):
                store.finish_run(each, "done")
                keep_summary(store, each)
            assert None not in dict(asked(place, "SELECT id, summary FROM dbdyno_runs")).values()
            execute(place, change.format(second))
            kept = dict(asked(place, "SELECT id, summary FROM dbdyno_runs"))
            assert kept[second] is None and kept[first] is not None


def test_all_migrations_come_to_the_tables_as_they_are_made(place: str) -> None:
    engine = create_engine(store_url(place))
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    engine.dispose()
    found = shape(place)
    if is_file(store_url(place)):
        # To demand a value of a column is to copy the table, in SQLite.
        found = [each for each in found if each[0][0] != "modify_nullable"]
    assert found == []


def test_the_newest_migration_is_the_version_of_the_tables() -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    revisions = [each.revision for each in ScriptDirectory.from_config(config).walk_revisions()]
    assert revisions == [str(each) for each in range(SCHEMA_VERSION, 0, -1)]


def test_a_migration_that_fails_leaves_the_store_as_it_was(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(of_version_2(place), BACK_TO_1)

    def migrated_but_for_its_end(connection: Connection, version: int) -> None:
        upgrade(connection, version)
        assert asked_over(connection) == [(str(SCHEMA_VERSION),)]
        connection.execute(text("SELECT * FROM nowhere"))

    from dbdyno.store import pool
    from dbdyno.store.schema_upgrade import upgrade

    monkeypatch.setattr(pool, "upgrade", migrated_but_for_its_end)
    with pytest.raises(StoreError, match="nowhere"):
        open_store(place)
    assert asked(place, "SELECT value FROM dbdyno_store WHERE key = 'version'") == [("1",)]
    assert len(asked(place, "SELECT findings FROM dbdyno_runs")) == 2
    assert len(asked(place, "SELECT diagnosis FROM dbdyno_trials")) == 6
    monkeypatch.undo()
    with closing(open_store(place)) as store:
        assert [each.done for each in store.runs()] == [2, 4]


def asked_over(connection: Connection) -> list[Any]:
    return [tuple(row) for row in connection.execute(text("SELECT version_num FROM dbdyno_alembic"))]


def test_a_store_is_made_whole_or_not_at_all(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbdyno.store import pool

    made = pool._make

    def made_but_for_its_end(connection: Connection, url: Any) -> None:
        made(connection, url)
        connection.execute(text("SELECT * FROM nowhere"))

    monkeypatch.setattr(pool, "_make", made_but_for_its_end)
    with pytest.raises(StoreError, match="nowhere"):
        open_store(place)
    monkeypatch.undo()
    schema = "sqlite_schema" if is_file(store_url(place)) else "pg_class"
    assert asked(place, f"SELECT name FROM {schema}" if schema == "sqlite_schema" else
                 "SELECT relname FROM pg_class WHERE relname LIKE 'dbdyno%'") == []  # fmt: skip
    open_store(place).close()


def test_who_opens_an_older_store_at_once_finds_it_migrated_once(place: str) -> None:
    execute(of_version_2(place), BACK_TO_1)
    program = f"""
from dbdyno.store import open_store
together()
print([each.done for each in open_store({place!r}).runs()])
"""
    assert run_in_parallel(6, program) == ["[2, 4]\n"] * 6
    assert asked(place, "SELECT version_num FROM dbdyno_alembic") == [(str(SCHEMA_VERSION),)]


@pytest.mark.parametrize(
    "newer",
    [
        "UPDATE dbdyno_store SET value = '99' WHERE key = 'version'",
        "UPDATE dbdyno_alembic SET version_num = '99'",
    ],
)
def test_a_newer_store_is_refused_in_words(place: str, newer: str) -> None:
    open_store(place).close()
    execute(place, newer)
    for make in (True, False):
        words = rf"newer dbdyno \(store version 99, this dbdyno supports {SCHEMA_VERSION}\); update dbdyno"
        with pytest.raises(StoreError, match=words):
            open_store(place, make=make)


@pytest.mark.parametrize(
    "unreadable",
    ["DELETE FROM dbdyno_store; DELETE FROM dbdyno_alembic", "UPDATE dbdyno_alembic SET version_num = '3f9c1'"],
)
def test_a_store_whose_version_cannot_be_read_is_refused(place: str, unreadable: str) -> None:
    open_store(place).close()
    execute(place, unreadable)
    with pytest.raises(StoreError, match="unreadable version; give another store with --store"):
        open_store(place)


def test_a_database_of_another_program_is_refused_and_left_alone(place: str) -> None:
    execute(place, "CREATE TABLE bookmarks (id integer)")
    for make in (True, False):
        with pytest.raises(StoreError, match=r"the database belongs to another program \(tables: bookmarks\); "):
            open_store(place, make=make)
    if not is_file(store_url(place)):
        assert asked(place, "SELECT relname FROM pg_class WHERE relname LIKE 'dbdyno%'") == []
        return
    assert asked(place, "SELECT name FROM sqlite_schema") == [("bookmarks",)]
    assert [each.name for each in Path(place).parent.iterdir()] == ["runs.db"]


def test_an_older_store_among_other_tables_is_still_one(place: str) -> None:
    execute(of_version_2(place), "CREATE TABLE bookmarks (id integer)")
    with closing(open_store(place)) as store:
        store.begin_run(run_record({}))
        assert len(store.runs()) == 3
