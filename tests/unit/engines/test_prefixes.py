"""Why a pattern that begins with fixed characters is not looked up: from catalogue rows, and on real servers."""

import subprocess
from typing import Any

import pytest

from conftest import Cli
from dbdyno.engines.prefix_rules import PrefixSearch
from dbdyno.engines.prefixes import Why, why_no_prefix
from dbdyno.engines.searches import prefix_search
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import start_server
from fresh_data import fresh_data

C = {"name": "C", "by_bytes": True}
GERMAN = {"name": "de_DE.UTF-8", "by_bytes": False}
NOCASE = {"name": "NOCASE"}
BINARY = {"name": "BINARY"}
OFF = {"case_sensitive_like": "off"}
ON = {"case_sensitive_like": "on"}


def index(collation: Any = None, of_class: str | None = None, column: str | None = "word", **of: Any) -> dict[str, Any]:
    """An index `i` as a catalogue has it."""
    key = {"column": column, "collation": collation, "operator_class": of_class}
    return {"name": "i", "method": "btree", "usable": True, "partial": False, "keys": [key]} | of


def why(
    engine: str, *indexes: dict[str, Any], kind: str = "text", collation: Any = None, **asked: Any
) -> tuple[str, bool] | None:
    """Why no index served a search of `t.word`, and whether that can be helped."""
    column = {"name": "word", "type": kind, "collation": collation}
    catalog = asked.get("catalog", {"tables": [{"name": "t", "columns": [column], "indexes": list(indexes)}]})
    sql = f"select * from t where word like ?{asked.get('escape', '')}"
    search = prefix_search(sql, [asked.get("pattern", "ab%")], {"MariaDB": "mysql"}.get(engine, engine.lower()))
    assert isinstance(search, PrefixSearch)
    settings, version, over = asked.get("settings", {}), asked.get("version", "3.46.0"), asked.get("over", ())
    found = why_no_prefix(engine, version, settings, catalog, search, passed_over=over)
    assert found is None or (isinstance(found, Why) and found.rows["column"] == column)
    return found and (found.words, found.can_be_helped)


def test_an_index_in_the_order_of_bytes_is_not_told_to_be_in_another() -> None:
    """With lc_collate=C, in a column in C, or with text_pattern_ops nothing is wrong with the index."""
    for fit in (index(C, "text_ops"), index(GERMAN, "text_pattern_ops"), index(GERMAN, "gin_trgm_ops", method="gin")):
        words, helped = why("PostgreSQL", fit) or ("", True)
        assert words == "according to the catalog, the index `i` could be used; why it isn't used is unknown"
        assert not helped
        words, helped = why("PostgreSQL", fit, over=["i"]) or ("", True)
        assert words == "the index `i` could be used, but the engine estimates that a full scan is cheaper"
        assert not helped


def test_an_index_in_the_order_of_a_language_is_told_with_what_would_help() -> None:
    assert why("PostgreSQL", index(GERMAN, "text_ops"), collation=GERMAN) == (
        "the index `i` is in the order of the collation de_DE.UTF-8, which doesn't group equal prefixes: "
        "an index with `text_pattern_ops` or the collation C would let it look up the pattern's prefix",
        True,
    )


@pytest.mark.parametrize(
    ("engine", "indexes", "asked", "words"),
    [
        ("PostgreSQL", [], {}, "no index of `t` begins with `word`"),
        ("PostgreSQL", [index(C, "text_ops", "other")], {}, "no index of `t` begins with `word`"),
        ("PostgreSQL", [index(C, "text_ops", None)], {}, "no index of `t` begins with `word`"),
        ("PostgreSQL", [index(C, "text_ops", method="hash")], {}, "the index `i` is a hash index"),
        ("PostgreSQL", [index(C, "text_ops", usable=False)], {}, "the index `i` can't be used"),
        ("PostgreSQL", [index(C, "text_ops", partial=True)], {}, "the index `i` contains only some of the rows"),
        ("PostgreSQL", [index(C, "citext_ops")], {"kind": "citext"}, "has the type citext"),
        ("sqlite", [index(BINARY)], {"settings": OFF}, "is in the order of BINARY, and LIKE is case-insensitive"),
        ("sqlite", [index(NOCASE)], {"settings": ON}, "is in the order of NOCASE, and LIKE is case-sensitive"),
        ("sqlite", [index(NOCASE)], {"settings": OFF}, "why it isn't used is unknown"),
        ("sqlite", [index(BINARY)], {"settings": ON}, "why it isn't used is unknown"),
        ("sqlite", [index(BINARY)], {"settings": ON, "kind": "integer", "pattern": "12%"}, "which allows numbers"),
        ("sqlite", [index(BINARY)], {"settings": ON, "kind": "", "pattern": "ab%"}, "why it isn't used is unknown"),
        (
            "sqlite",
            [index(NOCASE)],
            {"settings": OFF, "version": "3.20.1", "escape": " escape '!'"},
            "doesn't use an index for a pattern with this ESCAPE",
        ),
        (
            "MariaDB",
            [index()],
            {"kind": "int(11)", "pattern": "12%"},
            "`word` has the type int(11): LIKE converts values",
        ),
        # Without an index too: one would not help.
        ("MariaDB", [], {"kind": "int(11)", "pattern": "12%"}, "`word` has the type int(11): LIKE converts values"),
        ("sqlite", [], {"settings": OFF, "kind": "integer", "pattern": "12%"}, "which allows numbers"),
        ("MariaDB", [index(method="fulltext")], {"kind": "varchar(9)"}, "the index `i` is of the kind fulltext"),
        ("MariaDB", [index(usable=False)], {"kind": "varchar(9)"}, "the index `i` can't be used"),
        ("MariaDB", [index()], {"kind": "varchar(9)"}, "why it isn't used is unknown"),
    ],
)
def test_the_reason_is_read_from_the_catalogue(
    engine: str, indexes: list[dict[str, Any]], asked: dict[str, Any], words: str
) -> None:
    told, _ = why(engine, *indexes, **asked) or ("", True)
    assert words in told


@pytest.mark.parametrize(
    ("engine", "indexes", "asked"),
    [
        # The catalogue was not read, or has no such table.
        ("PostgreSQL", [], {"catalog": {}}),
        ("sqlite", [], {"catalog": {"tables": [{"name": "u", "columns": [], "indexes": []}]}}),
        # What orders the index is not known, nor what LIKE does.
        ("PostgreSQL", [index({"name": "x", "by_bytes": None}, "text_ops")], {}),
        ("PostgreSQL", [index(C, "text_minmax_ops", method="brin")], {}),
        ("sqlite", [index(BINARY)], {"settings": {}}),
        ("SQL Server", [index(C)], {}),
    ],
)
def test_without_an_observation_no_reason_is_told(
    engine: str, indexes: list[dict[str, Any]], asked: dict[str, Any]
) -> None:
    if engine == "SQL Server":
        assert why_no_prefix(engine, "", {}, {}, search_of("select * from t where word like 'a%'")) is None
    else:
        assert why(engine, *indexes, **asked) is None


def search_of(sql: str) -> PrefixSearch:
    search = prefix_search(sql, [], "sqlite")
    assert search is not None
    return search


def test_what_is_in_force_is_not_advised() -> None:
    """An index that is there, or a setting that is as it should be, is not what would help."""
    words, _ = why("sqlite", index(BINARY), settings=OFF) or ("", True)
    assert "`case_sensitive_like=on`, or an index on it with `collate nocase`," in words
    words, _ = why("sqlite", index(NOCASE), settings=ON) or ("", True)
    assert "`case_sensitive_like=off`, or an index on it with `collate binary`," in words
    words, _ = why("sqlite", settings=OFF) or ("", True)
    assert "case_sensitive_like" not in words and "`collate nocase`" in words


# One column each: in the order of the database, in that of bytes, with an operator class, of numbers, without an index.
PREFIXES = r"""
name = "prefixes"
title = "Prefixes"
rounds = 1
setup = [
    { postgresql = 'alter table w alter column in_bytes type varchar(40) collate "C"' },
    { postgresql = "vacuum analyze w", sqlite = "analyze", mysql = "analyze table w" },
]

[factors.ask]
plain = { sql = "select v from w where plain like ?", pattern = "word299%" }
bytes = { sql = "select v from w where in_bytes like ?", pattern = "word299%" }
class = { sql = "select v from w where of_class like ?", pattern = "word299%" }
number = { sql = "select v from w where n like ?", pattern = "299%" }
bare = { sql = "select v from w where bare like ?", pattern = "word299%" }
all = { sql = "select v from w where plain like ?", pattern = "word%" }

[tables.w]
rows = 3000
[tables.w.columns]
v = { type = "integer", fill = { uniform = [0, 9] } }
n = { type = "integer", fill = { serial = 1 } }
plain = { type = "varchar(40)", fill = { format = { template = "word{}", parts = [{ serial = 1 }] } } }
in_bytes = { type = "varchar(40)", fill = { format = { template = "word{}", parts = [{ serial = 1 }] } } }
of_class = { type = "varchar(40)", fill = { format = { template = "word{}", parts = [{ serial = 1 }] } } }
bare = { type = "varchar(40)", fill = { format = { template = "word{}", parts = [{ serial = 1 }] } } }
[[tables.w.indexes]]
columns = ["n"]
[[tables.w.indexes]]
columns = ["plain"]
[[tables.w.indexes]]
columns = ["in_bytes"]
[[tables.w.indexes]]
columns = ["of_class"]
prefix = 8
column_options = { postgresql = "text_pattern_ops", sqlite = "collate nocase" }

[load]
stop = { transactions = 20 }

[[transactions]]
name = "search"
steps = [{ execute = "${ask.sql}", params = ["${ask.pattern}"] }]

[report]
x = "ask"
"""


def told(cli: Cli, system: str, asked: str) -> dict[str, str]:
    """What is said of searches without an index, by what was asked."""
    document = cli.run(cli.write("prefixes.toml", PREFIXES), "--system", system, "--set", f"ask={asked}")
    found = [each for each in document["findings"] if each["kind"] == "prefix scan"]
    assert all(each["evidence"]["plans"] and each["evidence"]["catalog"] for each in found)
    return {cell.partition("ask=")[2].partition(",")[0]: each["text"] for each in found for cell in each["cells"]}


needs_postgresql = pytest.mark.skipif(not find_installations("postgresql"), reason="PostgreSQL is not installed")
needs_mysql = pytest.mark.skipif(not find_installations("mysql"), reason="neither MariaDB nor MySQL is installed")


def test_sqlite_is_told_by_its_collations_and_types(cli: Cli) -> None:
    found = told(cli, "sqlite:", "plain,class,number,bare")
    assert set(found) == {"plain", "number", "bare"}
    assert "is in the order of BINARY, and LIKE is case-insensitive" in found["plain"]
    assert "`n` has the type `integer`, which allows numbers" in found["number"]
    assert "no index of `w` begins with `bare`" in found["bare"]


@needs_postgresql
def test_postgresql_is_told_by_its_collations_and_operator_classes(server_cli: Cli) -> None:
    found = told(server_cli, "postgresql:", "plain,bytes,class,bare")
    assert set(found) == {"plain", "bare"}
    assert "the index `w_plain` is in the order of the collation C.UTF-8" in found["plain"]
    assert "no index of `w` begins with `bare`" in found["bare"]


@needs_postgresql
def test_a_database_in_c_is_not_told_to_be_in_c(server_cli: Cli) -> None:
    (installation, *_) = find_installations("postgresql")
    data = server_cli.directory / "data"
    fresh_data(installation, data)
    with start_server(installation, data, server_cli.directory, {"fsync": "off"}) as server:
        place = ["-h", str(server.socket), "-p", str(server.port), "-U", server.user, "-d", server.database]
        for sql in (
            "update pg_database set datistemplate = false where datname = 'template1'",
            "drop database template1",
            # From any other no database in another locale is made.
            f"create database template0 template {server.database}",
            "create database template1 template template0 locale 'C'",
        ):
            subprocess.run([str(installation.programs["psql"]), *place, "-c", sql], check=True, capture_output=True)
        url = f"postgresql://{server.user}@{str(server.socket).replace('/', '%2F')}:{server.port}/"
        found = told(server_cli, url, "plain,all")
    # All rows begin so: the index could look them up, and reading the table is cheaper.
    assert set(found) == {"all"}
    assert "the index `w_plain` could be used, but the engine estimates that a full scan is cheaper" in found["all"]
    assert "collation" not in found["all"]


@needs_mysql
def test_mysql_is_told_by_types_and_not_by_collations(server_cli: Cli) -> None:
    found = told(server_cli, "mysql:", "plain,class,number,bare,all")
    assert set(found) == {"number", "bare", "all"}
    assert "`n` has the type int" in found["number"]
    assert "no index of `w` begins with `bare`" in found["bare"]
    assert "the index `w_plain` could be used, but the engine estimates that a full scan is cheaper" in found["all"]
