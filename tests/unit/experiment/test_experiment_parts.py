"""References, conditions, SQL and types: the small parts of the format."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from dbdyno.engines.statements import numbered, places
from dbdyno.experiment.substitute import references, substitute, unknown_references
from dbdyno.model.experiment.column_types import ColumnType, read_column_type
from dbdyno.model.experiment.conditions import read_condition
from dbdyno.model.experiment.generators import Constant, Variable

scalars = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(exclude_characters="$"))
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)


@given(documents)
def test_a_document_without_references_stays_as_it_is(document: Any) -> None:
    assert substitute(document, {"a": 1}) == document
    assert list(references(document)) == []


@given(documents, scalars)
def test_a_whole_reference_takes_any_value_with_its_type(document: Any, value: Any) -> None:
    made = substitute({"k": ["${a}", document]}, {"a": value})
    if value == "default":
        assert made == {"k": [document]}
    else:
        assert made == {"k": [value, document]}
        assert type(made["k"][0]) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${n} rows", "4 rows"),
        ("${b}${n}", "true4"),
        ("$${n}", "${n}"),
        ("a $$ $ {n}", "a $$ $ {n}"),
        ("${d}!", "default!"),
        ("${m.x}", [1, 2]),
    ],
)
def test_substitution(text: str, expected: Any) -> None:
    assert substitute(text, {"n": 4, "b": True, "d": "default", "m.x": [1, 2]}) == expected


def test_default_leaves_out_of_tables_and_lists() -> None:
    assert substitute({"a": "${d}", "b": ["${d}", 1]}, {"d": "default"}) == {"b": [1]}


def test_unknown_references_are_found_where_they_are() -> None:
    found = unknown_references({"a": [{"b": "x ${thread}"}], "c": "$${y}"}, {"threads": 1})
    assert [(each.location, each.hint) for each in found] == [(("a", 0, "b"), "did you mean `threads`?")]


@pytest.mark.parametrize(
    ("text", "left", "compare", "right"),
    [
        ("n > 0", Variable(variable="n"), "gt", Constant(constant=0)),
        ("n=-1_000", Variable(variable="n"), "eq", Constant(constant=-1000)),
        ("n == 1.5", Variable(variable="n"), "eq", Constant(constant=1.5)),
        ("a<>b", Variable(variable="a"), "ne", Variable(variable="b")),
        ("'it''s' != a", Constant(constant="it's"), "ne", Variable(variable="a")),
        ("a is null", Variable(variable="a"), "is_null", None),
        ("a IS NOT NULL", Variable(variable="a"), "is_not_null", None),
        ("a <= 3", Variable(variable="a"), "le", Constant(constant=3)),
    ],
)
def test_conditions(text: str, left: object, compare: str, right: object) -> None:
    assert read_condition(text) == (left, compare, right)


@given(
    st.from_regex(r"[a-z]\w{0,5}", fullmatch=True),
    st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_every_comparison_with_a_number_reads(name: str, operator: str, number: int) -> None:
    condition = read_condition(f"{name} {operator} {number}")
    assert condition.variables == [name]
    assert condition.right == Constant(constant=number)


@given(st.text(max_size=12))
def test_any_text_is_a_condition_or_a_error(text: str) -> None:
    with suppress(PydanticCustomError):
        assert read_condition(text).compare


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("select ?", 1),
        ("select '?', \"?\", `?`, [?], ? -- ?\n, ?", 2),
        ("/* ? \n ? */ insert into t values (?, ?)", 2),
        ("select 'it''s ?' || ?", 1),
        ("select 1", 0),
    ],
)
def test_places_for_values(sql: str, count: int) -> None:
    assert len(places(sql)) == count


@pytest.mark.parametrize(
    ("engine", "sql", "expected"),
    [
        ("postgresql", "select $$a'b ?$$, ?::text", "select $$a'b ?$$, :1::text"),
        ("postgresql", "select $q$ $$ ? $q$, ?", "select $q$ $$ ? $q$, :1"),
        ("postgresql", "select a$b$, ?, c$b$", "select a$b$, :1, c$b$"),
        ("postgresql", r"select E'it\'s ?', ?", r"select E'it\'s ?', :1"),
        ("postgresql", r"select '\', ?", r"select '\', :1"),
        ("postgresql", "select 1 /* a /* ? */ ? */, ? /***/", "select 1 /* a /* ? */ ? */, :1 /***/"),
        ("postgresql", "select (array[1, 2])[?]", "select (array[1, 2])[:1]"),
        ("postgresql", "data ? 'k' and a=? and b ?| ?", "data ? 'k' and a=:1 and b ?| :2"),
        ("postgresql", "where data->'a' ?& array[?, ?] limit ?", "where data->'a' ?& array[:1, :2] limit :3"),
        (
            "postgresql",
            "select j @? ? and (j) ? ? or case ? when ? then ? end",
            "select j @? :1 and (j) ? :2 or case :3 when :4 then :5 end",
        ),
        ("mysql", r"select 'it\'s ?', ? # ?", r"select 'it\'s ?', :1 # ?"),
        ("mysql", "select 1--?, ? -- ?", "select 1--:1, :2 -- ?"),
        ("sqlite", "select [?], ?", "select [?], :1"),
        ("sqlserver", "select [a]]?], ?", "select [a]]?], :1"),
        ("postgresql", "select $1, $ü$?$ü$, fe'?', ?", "select $1, $ü$?$ü$, fe'?', :1"),
        ("postgresql", "select E'a'\n 'b\\'c', ?, E'd' 'e\\', ?", "select E'a'\n 'b\\'c', :1, E'd' 'e\\', :2"),
        ("postgresql", "select 1 -- a?\r, ? as b", "select 1 -- a?\r, :1 as b"),
        ("mysql", r'select "\\", ?, `\`, a[?] from t --', r'select "\\", :1, `\`, a[:2] from t --'),
    ],
)
def test_places_for_values_of_an_engine(engine: str, sql: str, expected: str) -> None:
    assert numbered(sql, ":", engine) == expected
    assert len(places(sql, engine)) == expected.count(":") - 2 * expected.count("::")


def test_comments_without_an_end_are_soon_read() -> None:
    assert places("/*" * 2000 + "?", "postgresql") == []


def test_types() -> None:
    assert read_column_type("INT") == ColumnType("integer")
    assert read_column_type(" decimal ( 10 , 2 ) ") == ColumnType("decimal", (10, 2))
    assert read_column_type("char(32)") == ColumnType("char", (32,))
    for wrong in ("char", "varchar(1, 2)", "clob", "integer(", 3, "integer(4)"):
        with pytest.raises(PydanticCustomError):
            read_column_type(wrong)
