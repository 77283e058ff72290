"""Statements written once: what other engines are sent, and what is refused since they have no words for it."""

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.duckdb.dialect import SQL as DUCKDB
from dbdyno.engines.mysql.dialect import SQL as MYSQL
from dbdyno.engines.postgresql.dialect import SQL as POSTGRESQL
from dbdyno.engines.sqlserver.dialect import SQL as SQLSERVER
from dbdyno.engines.transpile.transpile import transpile
from dbdyno.engines.transpile.unsupported import Names

ENGINES = {"postgres": "postgresql", "mysql": "mysql", "tsql": "sqlserver", "duckdb": "duckdb"}
ALL = tuple(ENGINES)


TARGETS = {each.grammar: each for each in (POSTGRESQL, MYSQL, SQLSERVER, DUCKDB)}


def written(text: str, dialect: str) -> str:
    return transpile(text, TARGETS[dialect], Names(["t", "v"]), "small.toml")


@pytest.mark.parametrize(
    ("text", "dialects", "why"),
    [
        ("select typeof(v) from t", ALL, "the function `typeof` is SQLite's own"),
        ("select date('now')", ALL, "the function `date` is SQLite's own"),
        ("select v from t where v > date(v, '+1 day')", ALL, "the function `date` is SQLite's own"),
        ("select datetime('now')", ALL, "the function `datetime` is SQLite's own"),
        ("select time(v) from t", ALL, "the function `time` is SQLite's own"),
        ("select julianday('now')", ALL, "the function `julianday` is SQLite's own"),
        ("select strftime('%Y', v) from t", ALL, "the function `strftime` is SQLite's own"),
        (
            "select format('%d', v) from t",
            ("mysql", "tsql", "duckdb"),
            "the function `format`, as it is meant, is not known there",
        ),
        ("select sqlite_version()", ALL, "the function `sqlite_version` is SQLite's own"),
        ("select * from t where v regexp 'a'", ALL, "`regexp` is SQLite's own"),
        ("select * from t where t match 'a'", ALL, "`match` is SQLite's own"),
        ("select json_type(v) from t", ALL, "the function `json_type` is SQLite's own"),
        ("select value from json_each('[1]')", ALL, "the function `json_each` is SQLite's own"),
        ("select current_time", ("postgres", "tsql"), "`current_time` is not known there"),
        ("select hex(v) from t", ("postgres", "tsql"), "the function `hex` is not known there"),
        (
            "select json_set(v, '$.a', 1) from t",
            ("postgres", "tsql", "duckdb"),
            "the function `json_set` is not known there",
        ),
        ("select json_valid(v) from t", ("postgres", "tsql"), "the function `json_valid` is not known there"),
        ("select json_extract(v, '$.a') from t", ("postgres",), "the function `json_extract` is not known there"),
        ("select log(v) from t", ("mysql", "tsql"), "the function `log` is of another base there"),
        ("select 1 from t where v in (select 1 limit 2)", ("mysql",), "`in (select … limit …)` is not known there"),
        ("update t set v = 1 limit 3", ("postgres", "tsql", "duckdb"), "`update … limit` is not known there"),
        ("delete from t where v = ? limit 3", ("postgres", "tsql"), "`delete … limit` is not known there"),
        ("delete from t order by v limit 1", ("postgres", "tsql"), "`delete … order by` is not known there"),
        ("update t set v = ? where v = 1 returning v", ("mysql", "tsql"), "`update … returning` is not known there"),
        ("insert into t (v) values (?) returning v", ("tsql",), "`insert … returning` is not known there"),
        ("insert into t (v) values (?) returning v", ("mysql",), "is known to MariaDB, and not to MySQL"),
        ("delete from t where v = ? returning v", ("mysql",), "is known to MariaDB, and not to MySQL"),
        ("select count(*) filter (where v = 1) from t", ("mysql", "tsql"), "`filter (where …)` is not known there"),
        ("insert into t default values", ("mysql", "tsql"), "there is no translation of `default values`"),
        ("select v from t limit -1 offset 10", ALL, "`limit` below 0 is not known there"),
        ("select substr(v, -3) from t", ("postgres", "tsql"), "`substr` from the end is not known there"),
        ("select format('%d', v) from t", ("postgres",), "the function `format` knows only `%s` there"),
        ("select v from t limit (-1)", ALL, "`limit` below 0 is not known there"),
        ("select substr(v, 3, -1) from t", ALL, "`substr` of what stands before is not known there"),
        ("select substr(v, 0, 3) from t", ("mysql",), "`substr` from 0 is nothing there"),
        ("select json_group_array(v) from t", ("duckdb",), "the function `json_group_array` is not known there"),
        ("select v from t full join u on t.v = u.v", ("mysql",), "`full join` is not known there"),
        ("select v from t natural join u", ("tsql",), "`natural join` is not known there"),
        ("select v from t join u using (v)", ("tsql",), "`join … using` is not known there"),
        ("create index i on t (v) where v > 1", ("mysql", "duckdb"), "`create index … where` is not known there"),
        ("analyze t", ("mysql", "tsql"), "`analyze` has other words there"),
        # The values would be given in another order, or too few of them.
        ("select v from t order by v limit ?, ?", ("postgres", "mysql"), "in another order, and so would the values"),
        ("select instr(?, ?) from t", ("postgres", "mysql", "tsql"), "in another order, and so would the values"),
        ("select v from t order by v - ? nulls last", ("mysql", "tsql"), "stands there more than once"),
        ("select v ->> ? from t", ("tsql",), "stands there more than once"),
        ("reindex t", ALL, "it is no statement that others know"),
        ("checkpoint", ALL, "it is no statement that others know"),
        ("savepoint a", ("tsql", "duckdb"), "savepoints have other words there"),
        ("rollback to a", ("tsql",), "savepoints have other words there"),
        ("select oid from t", ALL, "`oid` is SQLite's own"),
        ("select regexp_replace(v, 'a', 'b') from t", ALL, "function `regexp_replace` is known to keep its meaning"),
        ("select my_function(v) from t", ALL, "no translation of the function `my_function` is known to keep"),
        ("select max(v, 1) from t", ALL, "no translation of the function `greatest` is known to keep its meaning"),
        ("select trim(v, 'ab') from t", ALL, "no translation of the function `trim` is known to keep its meaning"),
        ("select concat(v, null) from t", ALL, "no translation of the function `concat` is known to keep"),
        ("select * from t where v = any(array[1, 2])", ALL, "`any` is not SQLite's SQL"),
        # A function of JSON, and what its translation leaves out.
        ("select json_extract(v, '$.a', '$.b') from t", ("tsql", "duckdb"), "is not known to keep the meaning"),
        ("select v -> '$.a', v ->> '$.b' from t", ("tsql",), "its translation is not known to keep the meaning"),
        ("select v ->> 'a.b' from t", ALL, "'a.b' is one key to SQLite, and a path elsewhere"),
        ("select * from (" * 100 + "select 1" + ") as t" * 100, ALL, "it is nested too deeply"),
        ("select " + "(" * 100 + "1" + ")" * 100, ALL, "it cannot be read as SQLite's SQL: it is nested too deeply"),
    ],
)
def test_what_an_engine_has_no_words_for_is_refused(text: str, dialects: tuple[str, ...], why: str) -> None:
    for dialect in dialects:
        with pytest.raises(InputError) as caught:
            written(text, dialect)
        said, engine = str(caught.value), ENGINES[dialect]
        assert said.startswith(f"small.toml: `{text[:50]}"), said
        assert f"cannot be written for {engine}: " in said and why in said, said
        assert said.endswith(f"; give it as `{{ any = …, {engine} = … }}` with a text for each")


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        # MariaDB has no `->>`.
        ("select json_extract(v, '$.a') from t", "mysql", "SELECT JSON_UNQUOTE(JSON_EXTRACT(`v`, '$.a')) FROM `t`"),
        ("select v ->> '$.a' from t", "mysql", "SELECT JSON_UNQUOTE(JSON_EXTRACT(`v`, '$.a')) FROM `t`"),
        ("select v -> '$.a' from t", "mysql", "SELECT JSON_EXTRACT(`v`, '$.a') FROM `t`"),
        ("select v ->> '$.a' ->> '$.b' from t", "mysql",
         "SELECT JSON_UNQUOTE(JSON_EXTRACT(JSON_UNQUOTE(JSON_EXTRACT(`v`, '$.a')), '$.b')) FROM `t`"),
        ("select v from t where v ->> ? = ?", "mysql",
         "SELECT `v` FROM `t` WHERE JSON_UNQUOTE(JSON_EXTRACT(`v`, ?)) = ?"),
        ("update t set v = ? where v = ? limit 3", "mysql", "UPDATE `t` SET `v` = ? WHERE `v` = ? LIMIT 3"),
        ("delete from t where v = ? returning v", "postgres", 'DELETE FROM "t" WHERE "v" = ? RETURNING "v"'),
        ("select current_timestamp", "postgres", "SELECT CURRENT_TIMESTAMP"),
        ("select v ->> '$.a' from t", "postgres", 'SELECT JSON_EXTRACT_PATH_TEXT("v", \'a\') FROM "t"'),
        ("select v ->> 'a' ->> '$.b' from t where (v ->> '$.c[0]') = ?", "duckdb",
         'SELECT "v" ->> \'$.a\' ->> \'$.b\' FROM "t" WHERE ("v" ->> \'$.c[0]\') = ?'),
        ("select json_group_array(v), json_group_object(v, w) from t", "postgres",
         'SELECT JSON_AGG("v"), JSON_OBJECT_AGG("v", w) FROM "t"'),
        ("select hex(v) from t", "mysql", "SELECT HEX(`v`) FROM `t`"),
        ("select log10(v) from t", "mysql", "SELECT LOG(10, `v`) FROM `t`"),
        ("select v from t order by v limit 3", "postgres", 'SELECT "v" FROM "t" ORDER BY "v" LIMIT 3'),
        ("select v from t order by v nulls first", "postgres", 'SELECT "v" FROM "t" ORDER BY "v" NULLS FIRST'),
        ("select v from t order by v desc nulls last", "postgres", 'SELECT "v" FROM "t" ORDER BY "v" DESC NULLS LAST'),
        ("select v from t order by v nulls last", "mysql",
         "SELECT `v` FROM `t` ORDER BY CASE WHEN `v` IS NULL THEN 1 ELSE 0 END, `v`"),
        # An order that does not say where nulls come is left to the engine, whatever another says.
        ("select v, row_number() over (order by v) from t order by v desc nulls last, v", "postgres",
         'SELECT "v", ROW_NUMBER() OVER (ORDER BY "v") FROM "t" ORDER BY "v" DESC NULLS LAST, "v"'),
        ("select v from (select v from t order by v limit 3) order by v nulls first", "postgres",
         'SELECT "v" FROM (SELECT "v" FROM "t" ORDER BY "v" LIMIT 3) ORDER BY "v" NULLS FIRST'),
        ("select instr(v, ?), v from t where v = ?", "mysql", "SELECT LOCATE(?, `v`), `v` FROM `t` WHERE `v` = ?"),
        ("select v from t where v = ? limit ? offset ?", "mysql",
         "SELECT `v` FROM `t` WHERE `v` = ? LIMIT ? OFFSET ?"),
        ("select '?' from t where v = ? -- ?", "postgres", "SELECT '?' FROM \"t\" WHERE \"v\" = ?"),
        ("select format('%s', v) from t", "postgres", "SELECT FORMAT('%s', \"v\") FROM \"t\""),
        # There nulls come behind all others, whatever the order.
        ("select v from t order by v desc", "duckdb", 'SELECT "v" FROM "t" ORDER BY "v" DESC'),
        ("select v from t order by v nulls first", "duckdb", 'SELECT "v" FROM "t" ORDER BY "v" NULLS FIRST'),
        ("select instr(v, ?) from t", "duckdb", 'SELECT STRPOS("v", ?) FROM "t"'),
        ("savepoint a", "postgres", 'SAVEPOINT "a"'),
        ("savepoint order", "mysql", "SAVEPOINT `order`"),
        ('release "A b"', "postgres", 'RELEASE SAVEPOINT "a b"'),
        ("rollback to é", "mysql", "ROLLBACK TO SAVEPOINT `é`"),
        ("release a", "mysql", "RELEASE SAVEPOINT `a`"),
        ("rollback transaction to a", "mysql", "ROLLBACK TO SAVEPOINT `a`"),
        ("release savepoint a", "postgres", 'RELEASE SAVEPOINT "a"'),
    ],
)  # fmt: skip
def test_what_an_engine_has_other_words_for_is_written_with_them(text: str, dialect: str, expected: str) -> None:
    assert written(text, dialect) == expected


def test_a_column_may_be_called_as_a_row_of_sqlite_is() -> None:
    assert transpile("select oid from t", POSTGRESQL, Names(["t", "oid"]), "x") == 'SELECT "oid" FROM "t"'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("select * * from t", "something is wrong at or before `from`, line 1, column 12;"),
        ("select *\nfrom where", "something is wrong at or before `where`, line 2, column 6;"),
        ("selec 1", "something is wrong at or before `1`, line 1, column 7;"),
        ("select 'a", "it has a quote or a comment that is not closed"),
        ("select /* a", "it has a quote or a comment that is not closed"),
    ],
)
def test_what_cannot_be_read_is_told_in_words(text: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        written(text, "postgres")
    said = str(caught.value)
    assert f"it cannot be read as SQLite's SQL: {where}" in said, said
    assert "class" not in said and "token" not in said
