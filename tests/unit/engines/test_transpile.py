"""Statements written once: what other engines are sent, and what is refused since they have no words for it."""

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.duckdb.dialect import SQL as DUCKDB
from dbdyno.engines.mysql.dialect import SQL as MYSQL
from dbdyno.engines.postgresql.dialect import SQL as POSTGRESQL
from dbdyno.engines.sqlserver.dialect import SQL as SQLSERVER
from dbdyno.engines.transpile.transpile import transpile
from dbdyno.engines.transpile.unsupported import Names
from experiment_files import compiled, small

ENGINES = {"postgres": "postgresql", "mysql": "mysql", "tsql": "sqlserver", "duckdb": "duckdb"}
ALL = tuple(ENGINES)


TARGETS = {each.grammar: each for each in (POSTGRESQL, MYSQL, SQLSERVER, DUCKDB)}


def written(text: str, dialect: str) -> str:
    return transpile(text, TARGETS[dialect], Names(["t", "v"]), "small.toml")


@pytest.mark.parametrize(
    ("text", "dialects", "why"),
    [
        ("select typeof(v) from t", ALL, "the function `typeof` is specific to SQLite"),
        ("select date('now')", ALL, "the function `date` is specific to SQLite"),
        ("select v from t where v > date(v, '+1 day')", ALL, "the function `date` is specific to SQLite"),
        ("select datetime('now')", ALL, "the function `datetime` is specific to SQLite"),
        ("select time(v) from t", ALL, "the function `time` is specific to SQLite"),
        ("select julianday('now')", ALL, "the function `julianday` is specific to SQLite"),
        ("select strftime('%Y', v) from t", ALL, "the function `strftime` is specific to SQLite"),
        (
            "select format('%d', v) from t",
            ("mysql", "tsql", "duckdb"),
            "the target doesn't support the function `format` with SQLite's meaning",
        ),
        ("select sqlite_version()", ALL, "the function `sqlite_version` is specific to SQLite"),
        ("select * from t where v regexp 'a'", ALL, "`regexp` is specific to SQLite"),
        ("select * from t where t match 'a'", ALL, "`match` is specific to SQLite"),
        ("select json_type(v) from t", ALL, "the function `json_type` is specific to SQLite"),
        ("select value from json_each('[1]')", ALL, "the function `json_each` is specific to SQLite"),
        ("select current_time", ("postgres", "tsql"), "the target doesn't support `current_time`"),
        ("select hex(v) from t", ("postgres", "tsql"), "the target doesn't support the function `hex`"),
        (
            "select json_set(v, '$.a', 1) from t",
            ("postgres", "tsql", "duckdb"),
            "the target doesn't support the function `json_set`",
        ),
        ("select json_valid(v) from t", ("postgres", "tsql"), "the target doesn't support the function `json_valid`"),
        (
            "select json_extract(v, '$.a') from t",
            ("postgres",),
            "the target doesn't support the function `json_extract`",
        ),
        ("select log(v) from t", ("mysql", "tsql"), "the function `log` has another base in the target"),
        (
            "select 1 from t where v in (select 1 limit 2)",
            ("mysql",),
            "the target doesn't support `in (select … limit …)`",
        ),
        ("update t set v = 1 limit 3", ("postgres", "tsql", "duckdb"), "the target doesn't support `update … limit`"),
        ("delete from t where v = ? limit 3", ("postgres", "tsql"), "the target doesn't support `delete … limit`"),
        ("delete from t order by v limit 1", ("postgres", "tsql"), "the target doesn't support `delete … order by`"),
        (
            "update t set v = ? where v = 1 returning v",
            ("mysql", "tsql"),
            "the target doesn't support `update … returning`",
        ),
        ("insert into t (v) values (?) returning v", ("tsql",), "the target doesn't support `insert … returning`"),
        ("insert into t (v) values (?) returning v", ("mysql",), "is known to MariaDB, but not to MySQL"),
        ("delete from t where v = ? returning v", ("mysql",), "is known to MariaDB, but not to MySQL"),
        (
            "select count(*) filter (where v = 1) from t",
            ("mysql", "tsql"),
            "the target doesn't support `filter (where …)`",
        ),
        ("insert into t default values", ("mysql", "tsql"), "the target doesn't support `default values`"),
        ("select v from t limit -1 offset 10", ALL, "the target doesn't support negative values of `limit`"),
        ("select substr(v, -3) from t", ("postgres", "tsql"), "the target doesn't support `substr` from the end"),
        ("select format('%d', v) from t", ("postgres",), "the target's function `format` only supports `%s`"),
        ("select v from t limit (-1)", ALL, "the target doesn't support negative values of `limit`"),
        ("select substr(v, 3, -1) from t", ALL, "the target doesn't support a negative length of `substr`"),
        ("select substr(v, 0, 3) from t", ("mysql",), "`substr` from 0 returns an empty string in the target"),
        (
            "select json_group_array(v) from t",
            ("duckdb",),
            "the target doesn't support the function `json_group_array`",
        ),
        ("select v from t full join u on t.v = u.v", ("mysql",), "the target doesn't support `full join`"),
        ("select v from t natural join u", ("tsql",), "the target doesn't support `natural join`"),
        ("select v from t join u using (v)", ("tsql",), "the target doesn't support `join … using`"),
        (
            "create index i on t (v) where v > 1",
            ("mysql", "duckdb"),
            "the target doesn't support `create index … where`",
        ),
        ("analyze t", ("mysql", "tsql"), "the target has another syntax for `analyze`"),
        # The values would be given in another order, or too few of them.
        (
            "select v from t order by v limit ?, ?",
            ("postgres", "mysql"),
            "placeholders are repeated or in another order",
        ),
        ("select instr(?, ?) from t", ("postgres", "mysql", "tsql"), "placeholders are repeated or in another order"),
        (
            "select v from t order by v - ? nulls last",
            ("mysql", "tsql"),
            "placeholders are repeated or in another order",
        ),
        ("select v ->> ? from t", ("tsql",), "placeholders are repeated or in another order"),
        ("reindex t", ALL, "other engines don't support this statement"),
        ("checkpoint", ALL, "other engines don't support this statement"),
        ("savepoint a", ("tsql", "duckdb"), "the target's savepoints have another syntax"),
        ("rollback to a", ("tsql",), "the target's savepoints have another syntax"),
        ("select oid from t", ALL, "`oid` is specific to SQLite"),
        (
            "select regexp_replace(v, 'a', 'b') from t",
            ALL,
            "function `regexp_replace` has no translation with the same meaning",
        ),
        ("select my_function(v) from t", ALL, "the function `my_function` has no translation with the same meaning"),
        ("select max(v, 1) from t", ALL, "the function `greatest` has no translation with the same meaning"),
        ("select trim(v, 'ab') from t", ALL, "the function `trim` has no translation with the same meaning"),
        ("select concat(v, null) from t", ALL, "the function `concat` has no translation with the same meaning"),
        ("select * from t where v = any(array[1, 2])", ALL, "`any` is not SQLite's SQL"),
        ("select v from t for update skip locked", ALL, "`for update skip locked` is not SQLite's SQL"),
        # A function of JSON, and what its translation leaves out.
        ("select json_extract(v, '$.a', '$.b') from t", ("tsql", "duckdb"), "the translation may have another meaning"),
        ("select v -> '$.a', v ->> '$.b' from t", ("tsql",), "the translation may have another meaning"),
        ("select v ->> 'a.b' from t", ALL, "'a.b' is a key in SQLite, but a path in other engines"),
        ("select * from (" * 100 + "select 1" + ") as t" * 100, ALL, "it is nested too deeply"),
        ("select " + "(" * 100 + "1" + ")" * 100, ALL, "it can't be parsed as SQLite's SQL: it is nested too deeply"),
    ],
)
def test_what_an_engine_has_no_words_for_is_refused(text: str, dialects: tuple[str, ...], why: str) -> None:
    for dialect in dialects:
        with pytest.raises(InputError) as caught:
            written(text, dialect)
        said, engine = str(caught.value), ENGINES[dialect]
        assert said.startswith(f"small.toml: `{text[:50]}"), said
        assert f"can't be translated for {engine}: " in said and why in said, said
        assert said.endswith(f"; write it as `{{ any = …, {engine} = … }}` with SQL for each")


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
        ("select * * from t", "syntax error at or before `from`, line 1, column 12;"),
        ("select *\nfrom where", "syntax error at or before `where`, line 2, column 6;"),
        ("selec 1", "syntax error at or before `1`, line 1, column 7;"),
        ("select 'a", "it contains an unclosed quote or comment"),
        ("select /* a", "it contains an unclosed quote or comment"),
    ],
)
def test_what_cannot_be_read_is_told_in_words(text: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        written(text, "postgres")
    said = str(caught.value)
    assert f"it can't be parsed as SQLite's SQL: {where}" in said, said
    assert "class" not in said and "token" not in said


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        ("", "write it as `{ any = …, mysql = … }` with SQL for each"),
        ('sqlite = "select 1", ', "write `{ sqlite = …, mysql = … }`"),
        ('postgresql = "select 1", ', "write `{ any = …, postgresql = …, mysql = … }`"),
    ],
)
def test_the_hint_has_the_texts_that_a_statement_needs(texts: str, form: str) -> None:
    made = small(
        'dialect = "sqlite"\n',
        transactions='[[transactions]]\nname = "t"\n'
        f'steps = [{{ execute = {{ {texts}any = "select id from user for update" }} }}]\n',
    )
    with pytest.raises(InputError) as caught:
        compiled(made, "mysql:")
    assert caught.value.hint.endswith(form)
    assert ("`any` is read as SQLite's SQL" in caught.value.hint) == bool(texts)
