"""Random damage to a store: bytes, pages, tables, columns, values and documents."""

import contextlib
import copy
import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

TABLES = ("dbdyno_runs", "dbdyno_trials", "dbdyno_store", "dbdyno_alembic")
PAGE = 4096

# What somebody may have put into a column.
VALUES: tuple[Any, ...] = (
    *(None, 3, -1, 1e308, b"", b"\xff\xfe", "", "text", "0", "running", "null", "NaN", "[NaN]", "1e999", "{}}"),
    *("[]", "{}", "[1]", "[[]]", "[{}]", '{"a":1}', '"\\ud800"', '{"margin":NaN}', "[" * 100_000),
    '{"cells":[{"id":null}]}',
    '{"cells":[{"id":"clients=1","factors":{"clients":[1]}}]}',
)
# And in place of a part of a document.
PARTS: tuple[Any, ...] = (
    *(None, True, 3, -1.5, 1e300, 10**400, float("nan"), "", "x"),
    *([], [[]], [{}], {}, {"a": {}}, ["x", 1]),
)


def damage(whole: Path, path: Path, seed: int) -> str:
    """Copy a store that nobody has open, damage the copy, and say how."""
    rng = random.Random(seed)
    for end in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    shutil.copyfile(whole, path)
    kind = rng.choice((_truncate, _flip, _replace_page, _replace_file, _break_schema, _set_value, *[_break_json] * 3))
    return f"{seed}: {kind.__name__} {kind(rng, path)}"


def _truncate(rng: random.Random, path: Path) -> str:
    data = path.read_bytes()
    length = rng.randrange(len(data))
    path.write_bytes(data[:length])
    return f"to {length}"


def _flip(rng: random.Random, path: Path) -> str:
    data = bytearray(path.read_bytes())
    number = rng.choice((1, 3, 20, 200))
    for _ in range(number):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)
    return f"{number} bytes"


def _replace_page(rng: random.Random, path: Path) -> str:
    data = bytearray(path.read_bytes())
    page = rng.randrange(len(data) // PAGE)
    data[page * PAGE : (page + 1) * PAGE] = rng.choice((bytes(PAGE), rng.randbytes(PAGE), data[:PAGE]))
    path.write_bytes(data)
    return str(page)


def _replace_file(rng: random.Random, path: Path) -> str:
    data = path.read_bytes()
    short = rng.choice((b"", b"x", b"SQLite format 3\0", rng.randbytes(10_000), data[:100], data[:PAGE]))
    path.write_bytes(short)
    return f"{len(short)} bytes"


def _break_schema(rng: random.Random, path: Path) -> str:
    table = rng.choice(TABLES)
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        column = rng.choice([row[1] for row in raw.execute(f"PRAGMA table_info({table})")])
        statement = rng.choice(
            (
                f"DROP TABLE {table}",
                f"ALTER TABLE {table} RENAME TO another",
                f"ALTER TABLE {table} RENAME COLUMN {column} TO another",
                f"ALTER TABLE {table} ADD COLUMN another",
                f"DELETE FROM {table} WHERE rowid % 2 = {rng.randrange(2)}",
                f"CREATE TABLE another AS SELECT 1 AS id; DROP TABLE {table}; "
                f"CREATE VIEW {table} AS SELECT 1 AS id, 'x' AS status, 2 AS key, '4' AS value, '4' AS version_num",
            )
        )
        raw.executescript(statement)
    return statement


def _set_value(rng: random.Random, path: Path) -> str:
    table, value = rng.choice(TABLES), rng.choice(VALUES)
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        column = rng.choice([row[1] for row in raw.execute(f"PRAGMA table_info({table})")])
        raw.execute("PRAGMA writable_schema = on")
        raw.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '')")
    with contextlib.closing(sqlite3.connect(path)) as raw, raw, contextlib.suppress(sqlite3.Error):
        # A key may refuse the value; then the store stays whole.
        raw.execute(f"UPDATE {table} SET {column} = ?", [value])
    return f"{table}.{column} = {str(value)[:40]!r}"


def _break_json(rng: random.Random, path: Path) -> str:
    table = rng.choice(("dbdyno_runs", "dbdyno_trials"))
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        kinds = [(row[1], row[2]) for row in raw.execute(f"PRAGMA table_info({table})")]
        column = rng.choice([name for name, kind in kinds if kind == "JSON" or name == "summary"])
        for number, text in raw.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
            document = json.loads(text or "null")
            for _ in range(rng.choice((1, 1, 2, 5))):
                document = _broken(rng, document)
            raw.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [json.dumps(document), number])
    return f"{table}.{column}"


def _broken(rng: random.Random, document: Any) -> Any:
    """Remove, rename or replace one part of a document, at any depth."""
    places = _places(document)
    if not places:
        return copy.deepcopy(rng.choice(PARTS))
    within, key = rng.choice(places)
    match rng.randrange(4):
        case 0:
            del within[key]
        case 1 if isinstance(within, dict):
            within["another"] = within.pop(key)
        case _:
            within[key] = copy.deepcopy(rng.choice(PARTS))
    return document


def _places(document: Any) -> list[tuple[Any, Any]]:
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [place for key, each in inner for place in ((document, key), *_places(each))]
