"""Fingerprints: one text for statements that differ in values only, and no value in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engines import known_engine
from dbdyno.trace.fingerprint import Bound, Fingerprints, Literal, read_fingerprint

ENGINES = ("sqlite", "postgresql", "mysql", "duckdb")

TEMPLATES = (
    "select * from users where name = {} and id = {}",
    "insert into users (a, b) values ({}, {}), ({}, {})",
    "update t set a = a + {} where b in ({}, {}, {}) -- {}",
    "select {} /* {} */ from t where a between {} and {} limit 10",
    "select count(*) from t where a < {} group by 1 order by 2 desc",
)


def literals(engine: str) -> st.SearchStrategy[str]:
    """Literals that contain `secret`, in an engine's syntax."""
    text = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="*"), max_size=8)
    quoted = text.map(lambda each: "'secret" + each.replace("\\", "").replace("'", "''") + "'")
    if engine != "mysql":
        return quoted
    return quoted | text.map(lambda each: '"secret' + each.replace("\\", "").replace('"', '""') + '"')


@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
def test_no_value_is_in_a_fingerprint(engine: str, data: st.DataObject) -> None:
    template = data.draw(st.sampled_from(TEMPLATES))
    number = st.integers(100_000, 10**12).map(lambda each: f"9182{each}")
    values = [data.draw(literals(engine) | number) for _ in range(template.count("{}"))]
    made = Fingerprints(engine).of(template.format(*values))
    assert "secret" not in made.text
    assert "9182" not in made.text


@pytest.mark.parametrize("engine", ENGINES)
@given(texts=st.lists(st.text(), min_size=1, max_size=6))
def test_any_text_has_a_fingerprint(engine: str, texts: list[str]) -> None:
    fingerprints = Fingerprints(engine)
    for each in texts:
        made = fingerprints.of(each)
        assert made.text
        read = read_fingerprint(each, known_engine(engine).syntax)
        assert (made.text, list(made.values)) == (read.text, list(read.values))


@given(st.lists(st.tuples(st.integers(-99, 99), st.sampled_from(["'a'", "'b''c'", "'%'"])), min_size=2, max_size=6))
def test_known_texts_get_the_values_of_each(rows: list[tuple[int, str]]) -> None:
    fingerprints = Fingerprints("postgresql")
    found = [fingerprints.of(f"select a from t where b = {number} and c = {text} limit 5") for number, text in rows]
    assert {each.text for each in found} == {"select a from t where b = ? and c = ? limit 5"}
    values = [tuple(value.text for value in each.values if isinstance(value, Literal)) for each in found]
    assert values == [(str(number), text) for number, text in rows]


@pytest.mark.parametrize(
    ("text", "fingerprint"),
    [
        ("SELECT  1", "SELECT 1"),
        ("select a -5 from t;", "select a -? from t"),
        ("select a, -5 from t", "select a, ? from t"),
        ("select x'00ff', date '2024-01-01' from t", "select ?, ? from t"),
        ("select now() - interval '1 day'", "select now() - interval '1 day'"),
        ("select cast(a as decimal(10, 2)) from t order by 2 limit 20", None),
        ("select a from t where b in (1,2,3,4,5,6,7)", "select a from t where b in (?,?,?,?,?,?)"),
        ("begin isolation level serializable", "begin isolation level serializable"),
        ("savepoint s140_x1", "savepoint s"),
        ("declare \"c_1\" cursor with hold for select 'a' from t", "declare cursor for select ? from t"),
        ("declare c cursor for execute p", "declare"),
        ("rollback to savepoint s140_x1", "rollback to savepoint s"),
        ("create user bob password 'x'", "create user"),
        ("set application_name = bob", "set"),
        ("set autocommit = 0", "set autocommit = 0"),
        ("select 'unclosed", "(unreadable)"),
        ("select 1; drop table bob", "(several statements)"),
        ("", "(empty)"),
    ],
)
def test_fingerprints(text: str, fingerprint: str | None) -> None:
    assert Fingerprints("postgresql").of(text).text == (text if fingerprint is None else fingerprint)


def test_parameters_have_their_names_and_order() -> None:
    made = Fingerprints("sqlite").of("select * from t where a = :names and b = ?2 and c = 'x' and d = ?")
    bound = [each for each in made.values if isinstance(each, Bound)]
    assert [each.name for each in bound] == ["names", "2", ""]
    assert Fingerprints("mysql").of("select * from t where a = %(names)s").values == [Bound("names", 0)]


@pytest.mark.parametrize(
    ("text", "fingerprint"),
    [
        (
            'select "a"."b" from "a" where "a"."c" = "Alice" and "x" = "y"."z"',
            'select "a"."b" from "a" where "a"."c" = ? and "x" = "y"."z"',
        ),
        (
            'select a from t where b in ("Alice", "Bob") and ("c" > 5)',
            'select a from t where b in (?, ?) and ("c" > ?)',
        ),
        (
            'select coalesce(a, "al@ice") as "My Total" from "my table"',
            'select coalesce(a, ?) as "My Total" from "my table"',
        ),
        ('insert into t ("a", "b") values ("Alice", 1)', 'insert into t ("a", "b") values (?, ?)'),
    ],
)
def test_a_name_in_double_quotes_that_may_be_a_string_of_sqlite_is_a_value(text: str, fingerprint: str) -> None:
    assert Fingerprints("sqlite").of(text).text == fingerprint


@pytest.mark.parametrize(
    "text",
    [
        'select "planted@mail"',
        'select "planted"',
        'insert into t values ("planted@mail", "planted")',
        'insert into t (a) values ("planted")',
        'insert into t (a) select "planted"',
        'update t set a = "planted"',
        'update t set a = b || "planted" where b = 1',
        'select * from t where a in ("planted", "planted2")',
        'select * from t where a like "planted%"',
        'select coalesce(a, "planted") from t',
        'select upper("planted")',
        'select max(a, "planted") from t',
        'select case when a = "planted" then "planted2" else "planted3" end from t',
        'select case when "a"."b" = 1 then "planted2" else "planted3" end from "a"',
        'select "planted" || a from t',
        'select a, "planted" from t',
        'select a from t where "planted" = a',
        'select a from t where "planted" in (a, b) or "planted2" like a or "planted3" between a and b',
        'select a from t where a between "planted" and "planted2"',
        'select "t"."a" from "t" where "t"."a" between "planted" and "planted2"',
        'select a from t where a is distinct from "planted"',
        'with x as (select "planted" v) select v from x',
        'select a from t where a = "planted" collate nocase',
        'select (select "planted")',
        'select a from t order by "planted"',
        'select a from t group by "planted"',
        'select "planted" as x',
        'delete from t where a <> "planted"',
    ],
)
def test_strings_in_double_quotes_are_values(text: str) -> None:
    made = Fingerprints("sqlite").of(text)
    assert "planted" not in made.text
    assert len(made.values) >= text.count('"planted')


@pytest.mark.parametrize(
    "text",
    [
        # Django
        'SELECT "a"."id", COUNT("b"."id") AS "number" FROM "a" LEFT OUTER JOIN "b" ON ("a"."id" = "b"."a_id") '
        'WHERE "a"."slug" = ? GROUP BY "a"."id" ORDER BY "number" DESC LIMIT 21',
        'INSERT INTO "a" ("name", "at") VALUES (?, ?) RETURNING "a"."id"',
        'UPDATE "a" SET "name" = ?, "stock" = ("a"."stock" - ?) WHERE "a"."id" IN (?, ?)',
        'SELECT COUNT(*) FROM (SELECT DISTINCT "a"."id" AS "col1" FROM "a" WHERE "a"."x") subquery',
        # SQLAlchemy
        'INSERT INTO logs ("userId", at) VALUES (?, ?) RETURNING id, "createdAt"',
        'SELECT logs."userId" AS "logs_userId", count(*) AS count_1 FROM logs GROUP BY "logs_userId"',
        'UPDATE logs SET "userId"=?, "order"=? WHERE logs.id = ?',
        # Rails, Ecto
        'SELECT 1 AS one FROM "users" WHERE "users"."mail" = ? LIMIT ?',
        'INSERT INTO "users" ("mail") VALUES (?) ON CONFLICT ("mail") DO NOTHING RETURNING "id"',
        'UPDATE "users" SET "name" = ? WHERE "id" = ?',
        # TypeORM, Kysely, Drizzle
        'SELECT "User"."id" AS "User_id" FROM "user" "User" WHERE ("User"."id" = ?) ORDER BY "User_id" ASC',
        'select "id", max("price") from "main"."products" where "stock" > ? group by "id"',
        # Hand-written
        'select id, "order", "group" from items where "order" = ? and "userId" is not null order by "userId"',
        'insert into t as x ("a") values (?) on conflict ("a") do update set "a" = excluded."a"',
    ],
)
def test_names_in_double_quotes_remain(text: str) -> None:
    assert Fingerprints("sqlite").of(text).text == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PRAGMA synchronous = NORMAL", "pragma synchronous = normal"),
        ("pragma journal_mode('wal');", "pragma journal_mode = wal"),
        ("pragma cache_size=-8000", "pragma cache_size = -8000"),
        ("pragma synchronous", "pragma synchronous"),
        ("pragma key = 'planted'", "pragma key"),
        ("pragma synchronous = 'planted'", "pragma synchronous"),
        ("pragma table_info(planted)", "pragma table_info"),
        ("pragma main.cache_size = 5", "pragma main"),
        ("pragma", "pragma"),
    ],
)
def test_settings_of_a_session_are_kept(text: str, shown: str) -> None:
    assert Fingerprints("sqlite").of(text).text == shown
