"""Files of SQL statements: how engines' texts are cut into tokens and statements, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.engines import ENGINES, engine_of
from dbdyno.engines.sql_lexer import STANDARD, Syntax, UnterminatedError, placeholders, tokenize
from dbdyno.engines.statements import bind
from dbdyno.experiment.queries import queries_experiment, read_queries, statement_levels
from dbdyno.experiment.sql_file import read_sql_file, split_statements
from dbdyno.experiment.statements import statements_experiment
from dbdyno.model.experiment.generators import Pick
from dbdyno.model.experiment.transactions import Execute

SYNTAXES = [STANDARD, *(engine_of(each).syntax for each in ENGINES)]
FRAGMENTS = st.sampled_from(
    [
        *(
            "'",
            '"',
            "`",
            "[",
            "]",
            "$$",
            "$tag$",
            "E'",
            "\\",
            "\\'",
            "''",
            "--",
            "-- ",
            "#",
            "/*",
            "*/",
            "/*!",
            "\n",
            "\r\n",
        ),
        *(
            ";",
            ":a",
            "::",
            ":=",
            "?",
            "?1",
            "$1",
            "@a",
            "@@",
            "%s",
            "%(a)s",
            "select",
            "x",
            "1",
            "1.5e-3",
            ".",
            "é",
            "😀",
        ),
        *("delimiter //", "//", "\\G", "begin", "end", "case", "create trigger", "-- name: n", "-- :a = 1"),
    ]
)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=3), max_size=30).map(" ".join) | st.text(max_size=60)


def texts(text: str, engine: str) -> list[str]:
    return [each.text for each in split_statements(text, "my.sql", engine)]


@given(TEXTS, st.sampled_from(SYNTAXES))
def test_tokens_together_are_the_text(text: str, syntax: Syntax) -> None:
    try:
        assert "".join(each.text for each in tokenize(text, syntax)) == text
    except UnterminatedError as error:
        assert text.startswith(error.opening, error.start)  # noqa: PT017


@given(TEXTS, st.sampled_from(ENGINES))
def test_each_statement_is_a_part_of_the_file(text: str, engine: str) -> None:
    try:
        statements = list(split_statements(text, "my.sql", engine))
    except InputError:
        return
    at = 0
    for each in statements:
        at = text.index(each.text, at) + len(each.text)


@pytest.mark.parametrize(
    ("engine", "text", "expected"),
    [
        ("postgresql", "select $$a;b$$; select $t$ ; $t$;", ["select $$a;b$$", "select $t$ ; $t$"]),
        ("postgresql", r"select E'\';', ';'; select 2", [r"select E'\';', ';'", "select 2"]),
        ("postgresql", "select 1 /* a /* ; */ ; */; select 2", ["select 1 /* a /* ; */ ; */", "select 2"]),
        ("postgresql", "/*+ SeqScan(t) */ select 1;", ["/*+ SeqScan(t) */ select 1"]),
        ("postgresql", "select a[1:2], b::int;", ["select a[1:2], b::int"]),
        (
            "postgresql",
            "create function f() returns int begin atomic select 1; select case when true then 2 end; end; select 3",
            [
                "create function f() returns int begin atomic select 1; select case when true then 2 end; end",
                "select 3",
            ],
        ),
        ("mysql", "select 5--3, 'it\\'s;', \";\" # ;\n; select 1", ["select 5--3, 'it\\'s;', \";\" # ;", "select 1"]),
        ("mysql", "/*!40101 set @x = ';' */;", ["/*!40101 set @x = ';' */"]),
        ("mysql", "/*! select 1 */", ["/*! select 1 */"]),
        ("mysql", "delimiter $$\nbegin select 1; end$$\ndelimiter ;\nselect 3;", ["begin select 1; end", "select 3"]),
        (
            "mysql",
            "select /*!40001 sql_no_cache */* from t; select 2",
            ["select /*!40001 sql_no_cache */* from t", "select 2"],
        ),
        (
            "postgresql",
            "create rule r as on insert to t do also (select 1; select 2); select 3",
            ["create rule r as on insert to t do also (select 1; select 2)", "select 3"],
        ),
        ("postgresql", "select e'a' " + "-" * 60 + "\nfrom t;", ["select e'a' " + "-" * 60 + "\nfrom t"]),
        (
            "sqlite",
            "create trigger a after insert on t begin select new.begin; end; select 1",
            ["create trigger a after insert on t begin select new.begin; end", "select 1"],
        ),
        ("mysql", "select /*! '*/', */ 1; select 2", ["select /*! '*/', */ 1", "select 2"]),
        ("postgresql", "select E'a'\n'b\\'c;'; select 2", ["select E'a'\n'b\\'c;'", "select 2"]),
        ("postgresql", "select 1 -- it's\r, 2; select 3", ["select 1 -- it's\r, 2", "select 3"]),
        ("postgresql", "select 1 as x\u00a0 ; ", ["select 1 as x\u00a0"]),
        ("mysql", "select `a;b`\\G\nselect 2\\g", ["select `a;b`", "select 2"]),
        ("mysql", "delimiter //\nselect 1; select 2 //\nDELIMITER ;\nselect 3;", ["select 1; select 2", "select 3"]),
        ("sqlite", 'select [a;b], "c;d", `e;f`;', ['select [a;b], "c;d", `e;f`']),
        (
            "sqlite",
            "create trigger a after insert on t begin update t set n = case when 1 then 2 end; end; select 1",
            ["create trigger a after insert on t begin update t set n = case when 1 then 2 end; end", "select 1"],
        ),
        ("sqlite", "select 1\r\n  from t;\r\nselect 2", ["select 1\r\n  from t", "select 2"]),
        ("sqlite", "-- before\n\nselect 1 -- beside\n;\n-- behind", ["select 1 -- beside"]),
        ("sqlite", "select 1 -- beside\n-- :a = 5\n", ["select 1 -- beside"]),
        ("duckdb", "select {'a': [1, 2]}, $$;$$; from t select x", ["select {'a': [1, 2]}, $$;$$", "from t select x"]),
    ],
)
def test_statements_are_cut_as_their_engine_does(engine: str, text: str, expected: list[str]) -> None:
    assert texts(text, engine) == expected


@pytest.mark.parametrize(
    ("engine", "text", "expected"),
    [
        ("postgresql", "data ? :k and x = :v::int", ["k", "v"]),
        ("postgresql", "a[:i] = :v and b[1:2] = '{}' and c[d:e] is null and '12:30' = :t", ["i", "v", "t"]),
        ("postgresql", "x in (:a,:b) limit :n offset(:m)", ["a", "b", "n", "m"]),
        ("postgresql", "x offset :n rows fetch first :m rows only", ["n", "m"]),
        ("postgresql", "trim(leading :c from x), 1 operator(pg_catalog.+) (:a), range ? 'k'", ["c", "a"]),
        ("mysql", "1 /*!50000 + :a */ + :b", ["a", "b"]),
        ("mysql", "id div :a, 7 mod :b, binary :c", ["a", "b", "c"]),
        ("mysql", "@a := @a + :n and 'x:y' <> \":z\"", ["n"]),
        ("sqlite", "':a' || \":b\" || [:c] || :d -- :e", ["d"]),
        ("duckdb", "select {'a':b, 'c': :d}, x[1:2], y: 42, \"z\":e where z = :z", ["d", "z"]),
    ],
)
def test_named_parameters_are_found(engine: str, text: str, expected: list[str]) -> None:
    (query,) = read_queries(f"select {text}", "my.sql", engine)
    assert list(query.parameters) == expected
    assert bind(query.sql, engine, len(expected)) is not None


@pytest.mark.parametrize(
    ("engine", "text", "words"),
    [
        ("sqlite", "select ?", "no values for `?`; write `:name` instead"),
        ("sqlite", "select ?1", "no values for `?1`; write `:p1` instead"),
        ("sqlite", "select @id", "no values for `@id`; write `:id` instead"),
        ("sqlite", "select $id", "no values for `$id`"),
        ("postgresql", "select $1", "no values for `$1`"),
        ("postgresql", "select * from t where a = ?", "no values for `?`"),
        ("postgresql", "select * from t where a = %s", "no values for `%s`"),
        ("postgresql", "select * from t where a = %(name)s", "no values for `%(name)s`; write `:name` instead"),
        ("mysql", "select @id", "no values for `@id`"),
        ("mysql", "select * from t where a in (%s, %s)", "no values for `%s`"),
        ("duckdb", "select $1, ?", "no values for `$1`"),
        ("sqlserver", "select * from t where a = @id", "no values for `@id`"),
        ("sqlite", "select 'a", "line 1: `'` is not closed"),
        ("postgresql", "select 1;\nselect $q$ a", "line 2: `$q$` is not closed"),
        ("postgresql", "select 1; /* a /* b */", "line 1: `/*` is not closed"),
        ("postgresql", "\\timing on\nselect 1;", "line 1: `\\timing on` is a command of psql or mysql"),
        ("postgresql", "select 1 \\gx", "`\\gx` is a command of psql or mysql"),
        ("sqlite", "\n.mode column\nselect 1;", "line 2: `.mode column` is a command of the sqlite3 or duckdb shell"),
        ("sqlserver", "select 1;\nGO\nselect 2", "line 2: `GO` is a command of sqlcmd"),
        ("sqlserver", "select 1;\ngo 5 -- times\nselect 2", "line 2: `GO` is a command of sqlcmd"),
        ("sqlite", "select * from t where a = :1", "no values for `:1`; write `:p1` instead"),
        ("mysql", "select @1", "no values for `@1`; write `:p1` instead"),
        ("mysql", "use shop; select 1", "`use shop` has no effect: each statement has a separate session"),
        ("mysql", "set @a = 5; select @a", "`set @a = 5` has no effect: each statement has a separate session"),
        (
            "sqlite",
            "create temp table t as select 1; select * from t",
            "has no effect: each statement has a separate session",
        ),
        ("postgresql", "/* a */ begin isolation level serializable", "each statement is a separate transaction"),
        ("postgresql", "prepare p as select 1", "has no effect: each statement has a separate session"),
        ("postgresql", "select :'a'", "`:'a'` is a variable of psql, not SQL; write `:a`"),
        ("postgresql", 'select :"a" from t', '`:"a"` is a variable of psql, not SQL; write the value'),
    ],
)
def test_what_has_no_effect_or_no_value_is_refused(engine: str, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_queries(text, "my.sql", engine)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ("postgresql", "select data ? 'k', data ?| array['a'], j @? '$.a' from t where a % s = 0 and @b = 1"),
        ("postgresql", 'select a[1:"b"], a[:2], a[b :2] from t'),
        ("duckdb", "select {'a' :1, b:2}, [1, 2][:1]"),
        ("mysql", "select @rn := @rn + 1, a %s from t, (select @rn := 0) as r"),
        ("mysql", "select @a.b$c := 1"),
        ("mysql", "select @@version, 5 --3, \\N"),
        ("sqlite", "select a %s, x'00' from t"),
        ("duckdb", "select @ -1, a[1:2], columns(*) from t"),
    ],
)
def test_operators_and_variables_are_not_placeholders(engine: str, text: str) -> None:
    (query,) = read_queries(text, "my.sql", engine)
    assert (query.sql, query.parameters) == (text, ())


@pytest.mark.parametrize(
    "text", ["select '${x}', :a", "select '$${x}', $$ ${ $$, :a", "select '${', '}', \"${a * 2}\", :a"]
)
def test_a_dollar_sign_and_a_brace_are_text(text: str) -> None:
    values = {"a": "'${a}'"}
    queries = read_queries(text, "${x}.sql", "postgresql")
    of_file = queries_experiment(queries, values, "${x}.sql", "postgresql")
    for made in (of_file, statements_experiment([text], values, "postgresql")):
        (step,) = made.definition(made.first_levels()).transactions[0].steps
        assert isinstance(step, Execute)
        assert step.execute.texts == (("postgresql", text.replace(":a", "$1")),)
        assert step.params == [Pick.model_validate({"pick": ["${a}"]})]


def test_a_parameter_that_occurs_twice_has_one_value() -> None:
    (query,) = read_queries("-- :a = 1..9\nselect :a, :a + 1", "my.sql", "postgresql")
    (level,) = statement_levels([query], {}, "my.sql").values()
    assert level["sets"] == [{"set": "a", "value": {"uniform": [1, 9]}}]
    assert level["params"] == [{"variable": "a"}] * 2


def test_values_of_a_file_that_no_statement_takes_are_refused() -> None:
    queries = read_queries("-- :b = 1..9\nselect :a", "my.sql", "sqlite")
    with pytest.raises(InputError, match="no statement has a parameter :b"):
        statement_levels(queries, {"a": "1"}, "my.sql")


def test_a_lone_operator_ends_no_operand() -> None:
    syntax = engine_of("postgresql").syntax
    assert [each.start for each in placeholders("a ? ? and b = ?", syntax)] == [4, 14]


def test_a_placeholder_follows_each_operator_that_is_a_word() -> None:
    text = "a like %s and b match %s and c regexp %s and d %s"
    assert [each.start for each in placeholders(text)] == [7, 22, 38]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_files_are_read_in_unicode(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "my.sql"
    path.write_bytes("select 'é';\r\n".encode(encoding))
    assert read_sql_file(str(path)) == "select 'é';\r\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("select 1;\nselect 'é';".encode("latin-1"), "line 2: byte 0xe9 is not valid UTF-8; convert the file"),
        ("select 1;".encode("utf-16-le"), "line 1: the file contains a NUL character"),
        (b"\xff\xfes\x00e\x00\xd8", "is not valid UTF-16-LE"),
    ],
)
def test_other_encodings_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "my.sql"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_sql_file(str(path))
    assert words in str(caught.value)


def test_systems_of_several_engines_get_translations_side_by_side(cli: Cli) -> None:
    cli.write("my.sql", "-- name: names\nselect name from sqlite_master where name = 'a';")
    own = cli("describe", "my.sql", "--system", "postgresql:")
    assert "select name from sqlite_master where name = 'a'" in own
    both = cli("describe", "my.sql", "--system", "sqlite:", "--system", "postgresql:")
    assert "select name from sqlite_master" in both and "SELECT name FROM sqlite_master WHERE name = 'a'" in both
    translated = cli("describe", "my.sql", "--translate", "--system", "postgresql:")
    assert "SELECT name FROM sqlite_master WHERE name = 'a'" in translated
    cli.write("X.SQL", "select data -> 'a' from t where data @> '{}';")
    assert "data @> '{}'" in cli("describe", "X.SQL", "--system", "postgresql:")
    said = cli("describe", "X.SQL", "--system", "sqlite:", "--system", "postgresql:", code=2)
    assert "can't be" in said and "Traceback" not in said


def test_a_toml_file_without_a_dialect_is_sent_as_written(cli: Cli) -> None:
    text = (
        'name = "own"\ntitle = "Own"\n[load]\nstop = { transactions = 1 }\n[[transactions]]\nname = "t"\nsteps = [%s]\n'
    )
    step = "{ execute = \"select data ? 'k' from t where a=?\", params = [1] }"
    cli.write("own.toml", text % step)
    assert "select data ? 'k' from t where a=$1   -- 1" in cli("describe", "./own.toml", "--system", "postgresql:")
    cli.write("shared.toml", 'dialect = "sqlite"\n' + text % '{ execute = "select v from t limit 3" }')
    assert "SELECT TOP 3 v FROM t" in cli("describe", "./shared.toml", "--system", "sqlserver://me@host/d")
