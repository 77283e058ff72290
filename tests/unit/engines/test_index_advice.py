"""Candidates for indexes: which ones a statement gets, in which order, and that SQLite uses them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engines.index import Index
from dbdyno.engines.index_advice import index_candidates, index_for
from dbdyno.engines.lookup import known_engine

SQLITE, POSTGRESQL, MYSQL, MARIADB = "sqlite", "postgresql", "mysql", "mariadb"
ALL = (SQLITE, POSTGRESQL, MYSQL, MARIADB)
WORDS = [
    "a",
    "b",
    "c",
    "t",
    "1",
    "'x'",
    "(",
    ")",
    ",",
    "=",
    "<",
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "like",
    "between",
]
WORDS += ["exists", "select", "from", "where", "order by", "limit", "collate", "join", "on"]


def column(name: str, kind: str = "", collation: str | None = None, *, by_bytes: bool = False) -> dict[str, Any]:
    named = None if collation is None else {"name": collation, "by_bytes": by_bytes}
    return {"name": name, "type": kind, "collation": named}


def index(name: str, *keys: str, **more: Any) -> dict[str, Any]:
    """An index as in a catalog; a key is a column with its direction and collation."""
    parts = [each.split() for each in keys]
    return {
        "name": name,
        "method": "btree",
        "usable": True,
        "partial": False,
        "unique": False,
        "keys": [
            {
                "column": words[0],
                "descending": "desc" in words,
                "collation": {"name": words[words.index("collate") + 1]} if "collate" in words else None,
            }
            for words in parts
        ],
        **more,
    }


def table(name: str, columns: str, *indexes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A table as in a catalog; its columns are separated by commas, each with its type."""
    made = [column(*each.strip().split(" ", 1)) for each in columns.split(",")]
    return {"name": name, "columns": made, "indexes": list(indexes), **more}


def made(sql: str, engine: str = SQLITE, *tables: dict[str, Any], **options: Any) -> list[str]:
    """The candidates without what all of them begin with: `t (a, b)`."""
    catalog = {"tables": list(tables)} if tables else {}
    found = index_candidates(sql, engine, catalog, **options)
    assert all(each.sql.startswith(f"create index {each.name} on ") for each in found)
    assert len({each.name for each in found}) == len(found)
    assert all(len(each.name.encode()) <= 60 for each in found)
    return [each.sql.removeprefix(f"create index {each.name} on ") for each in found]


@pytest.mark.parametrize("engine", ALL)
@pytest.mark.parametrize(
    ("sql", "candidates"),
    [
        # Equality before order before range.
        ("select * from t where a = 1 and b > 2", ["t (a, b)", "t (a)"]),
        ("select * from t where b > 2 and a in (1, 2)", ["t (a, b)", "t (a)"]),
        ("select * from t where a is null order by b", ["t (a, b)", "t (a)"]),
        ("select * from t where a = 4999 order by b desc limit 12", ["t (a, b)", "t (a)"]),
        ("select * from t where a between 1 and 2 order by b limit 3", ["t (b, a)", "t (b)", "t (a)"]),
        ("select * from t where a between 1 and 2 order by b", ["t (a)", "t (b, a)", "t (b)"]),
        ("select * from t where a > 1 order by a limit 3", ["t (a)"]),
        ("select * from t where a > 1 and b > 2", ["t (a)", "t (b)"]),
        ("select * from t where a in (1, 2) order by b limit 3", ["t (b, a)", "t (a, b)", "t (a)"]),
        ("select * from t where (a = 1 or a = 2) and b = 3", ["t (b, a)"]),
        ("select * from t where (a, b) = (1, 2)", ["t (a, b)"]),
        ("select * from t where (a, b) > (1, 2) order by a, b limit 3", ["t (a, b)"]),
        ("select * from t order by a desc, b limit 3", ["t (a desc, b)"]),
        ("select * from t order by a desc, b desc limit 3", ["t (a, b)"]),
        ("select * from t where a <> 1 and not b = 2 and b is not null", []),
        ("select * from t where a = b", []),
        ("select * from t where a + 1 = b", []),
        ("select count(*) from t", []),
        # Each arm of an `or` needs an index.
        ("select * from t where a = 1 or b = 2", ["t (a)", "t (b)"]),
        ("select * from t where c = 3 and (a = 1 or b > 2)", ["t (c)", "t (c, a)", "t (c, b)"]),
        ("select * from t where a = 1 or abs(b) <> 2", []),
        # Joins, in either order; no restriction of the outer table by `on`.
        ("select a.* from a join b on a.x = b.y where a.c = 1", ["a (c)", "b (y)", "a (c, x)", "a (x)"]),
        ("select * from a, b where a.x = b.y and b.c = 1", ["a (x)", "b (c)", "b (c, y)", "b (y)"]),
        ("select * from a left join b on b.y = a.x and a.c = 1", ["b (y)"]),
        ("select * from a left join b on b.y = a.x and b.c = 1 where a.d = 2", ["a (d)", "b (c, y)", "b (c)", "b (y)"]),
        ("select * from a left join b on b.y = a.x where b.y is null", ["b (y)"]),
        ("select * from a left join b on b.y = a.x where b.c = 1", ["a (x)", "b (c)", "b (c, y)", "b (y)"]),
        ("select * from b right join a on b.y = a.x and a.c = 1", ["b (y)"]),
        ("select * from a join b using (x) where a.c = 1", ["a (c)", "b (x)", "a (c, x)", "a (x)"]),
        (
            "select * from n join n p on p.id = n.parent where n.c = 1",
            ["n (c)", "n (id)", "n (c, parent)", "n (parent)"],
        ),
        # Subqueries are joins.
        ("select * from foo where not exists (select 1 from lol where lol.h = foo.h)", ["lol (h)"]),
        (
            "select * from foo where not exists (select 1 from lol where lol.h = foo.h and b > 1)",
            ["lol (h, b)", "lol (h)"],
        ),
        ("select * from foo where exists (select 1 from lol where lol.h = foo.h)", ["lol (h)", "foo (h)"]),
        ("select * from foo where h not in (select h from lol)", ["lol (h)"]),
        (
            "select * from foo where h in (select h from lol where c = 1)",
            ["foo (h)", "lol (c)", "lol (c, h)", "lol (h)"],
        ),
        ("select (select max(at) from e where e.u = u.id) from u", ["e (u, at)", "e (u)"]),
        ("delete from p where id in (select p from q where z < ?)", ["p (id)", "q (z)", "q (p, z)"]),
        ("update t set a = 3 where b = ? and c > ?", ["t (b, c)", "t (b)"]),
        ("insert into s select * from t where a = 1", ["t (a)"]),
        # Conditions reach the tables of derived tables and common table expressions.
        ("with c as (select * from t) select * from c where a = 1 order by b limit 3", ["t (a, b)", "t (a)"]),
        ("select * from (select a as x, b from t) d where x = 1", ["t (a)"]),
        ("select * from (select * from t limit 3) d where a = 1", []),
        ("select * from (select a, count(*) as b from t group by a) d where a = 1 and b = 2", ["t (a)"]),
        ("select * from t where a = 1 union all select * from u where b = 2", ["t (a)", "u (b)"]),
        ("select a from t union all select b from u order by 1 limit 3", ["t (a)", "u (b)"]),
        # Groups, distinct values and extremes.
        ("select a, count(*) from t where b = 1 group by a", ["t (b, a)", "t (b)"]),
        ("select distinct a from t", ["t (a)"]),
        ("select max(a) from t where b = 1", ["t (b, a)", "t (b)"]),
        ("select a, sum(b) as a from t group by a order by sum(b) limit 3", ["t (a, b)", "t (a)"]),
    ],
)
def test_candidates_follow_from_the_statement(engine: str, sql: str, candidates: list[str]) -> None:
    found = index_candidates(sql, engine, {})
    keys = [f"{each.table} ({', '.join((*each.columns, *each.include))})" for each in found if not each.where]
    assert [each for each in dict.fromkeys(keys) if each in candidates] == candidates
    # Further ones have all columns that the statement reads, or only some of the rows.
    assert not [each for each in found if not (each.covering or each.where) and _keys(each) not in candidates]


def _keys(index: Index) -> str:
    return f"{index.table} ({', '.join(index.columns)})"


TYPES = (
    "id int, a int, b int, c varchar(40), v character varying(40), d text, j jsonb, o json, g text[], "
    "at timestamp without time zone, z timestamp with time zone"
)


@pytest.mark.parametrize(
    ("engine", "sql", "first"),
    [
        # Collations and patterns.
        (SQLITE, "select * from t where c = 'x' collate nocase", "t (c collate nocase)"),
        (SQLITE, "select * from t where 'x' = c collate binary", "t (c)"),
        (SQLITE, "select * from t where c like 'x%'", "t (c collate nocase)"),
        (SQLITE, "select * from t where c glob 'x*'", "t (c)"),
        (SQLITE, "select * from t where c like '%x' or a like 'x%'", None),
        (POSTGRESQL, "select * from t where c = 'x' collate \"C\"", 't (c collate "C")'),
        (POSTGRESQL, "select * from t where v like 'x%'", "t (v varchar_pattern_ops)"),
        (POSTGRESQL, "select * from t where d like 'x!%%' escape '!'", "t (d text_pattern_ops)"),
        (POSTGRESQL, "select * from t where d not like 'x%' and d ilike 'x%'", None),
        (POSTGRESQL, "select * from t where d ~ '^x' and a = 3", "t (a, d text_pattern_ops)"),
        (POSTGRESQL, "select * from t where d ~ '^.x'", None),
        (POSTGRESQL, "select * from t where v ^@ 'x'", "t (v varchar_pattern_ops)"),
        (POSTGRESQL, "select * from t where j @? '$.x'", "t using gin (j)"),
        (MYSQL, "select * from t where c like 'x%'", "t (c)"),
        # Expressions, as the statement has them.
        (SQLITE, "select * from t as x where lower( x.c ) = ?", "t (lower( c ))"),
        (SQLITE, "select * from t where d ->> 'k' = 3 and a = 3", "t ((d ->> 'k'), a)"),
        (SQLITE, "select * from t where iif(a > 3, b, id) = 4", "t ((iif(a > 3, b, id)))"),
        (SQLITE, "select * from t where date(d) = '2024-01-01'", "t ((date(d)))"),
        (SQLITE, "select * from t where date(d, 'now') = '2024-01-01'", None),
        (POSTGRESQL, "select * from t where lower(t.d) = $1", "t (lower(d))"),
        (POSTGRESQL, "select * from t where j->>'k' = 'x'", "t ((j->>'k'))"),
        (POSTGRESQL, "select * from t where at::date = '2024-01-01'", "t ((at::date))"),
        (POSTGRESQL, "select * from t where z::date = '2024-01-01' or date_trunc('day', z) = $1", None),
        (POSTGRESQL, "select * from t order by lower(c) limit 3", "t (lower(c))"),
        (MYSQL, "select * from t where lower(c) = 'x'", "t ((lower(c)))"),
        (MYSQL, "select * from t where lower(d) = 'x'", None),
        (MARIADB, "select * from t where lower(c) = 'x'", None),
        # Other kinds of indexes.
        (POSTGRESQL, "select * from t where j @> '{\"k\": 1}'", "t using gin (j jsonb_path_ops)"),
        (POSTGRESQL, "select * from t where j ? 'k'", "t using gin (j)"),
        (POSTGRESQL, "select * from t where g && array['x']", "t using gin (g)"),
        (
            POSTGRESQL,
            "select * from t where to_tsvector('english', d) @@ to_tsquery('x')",
            "t using gin ((to_tsvector('english', d)))",
        ),
        (POSTGRESQL, "select * from t where to_tsvector(d) @@ to_tsquery('x')", None),
        # Nulls in another order than by default.
        (POSTGRESQL, "select * from t order by a desc, b nulls first limit 3", "t (a desc, b nulls first)"),
        (POSTGRESQL, "select * from t order by a desc nulls last limit 3", "t (a nulls first)"),
        (SQLITE, "select * from t order by a nulls last limit 3", None),
        # Strings that MySQL can't index as a whole, and those that it compares as numbers.
        (MYSQL, "select * from t where d = 'x' and a = 1", "t (d(64), a)"),
        (MYSQL, "select * from t where c = 7 and a = 1", "t (a)"),
        (MYSQL, "select * from t where o = '{}'", None),
        # A value that isn't a constant, and names that are none of its columns.
        (SQLITE, 'select * from t where c = "x"', "t (c)"),
        (SQLITE, "select * from t where rowid = 3", None),
        ("duckdb", "select * from t where a = 3", "t (a)"),
        ("duckdb", "select * from t where a = 3 and b = 4", None),
        ("mongodb", "select * from t where a = 3", None),
    ],
)
def test_the_first_candidate_suits_the_engine(engine: str, sql: str, first: str | None) -> None:
    found = made(sql, engine, table("t", TYPES))
    assert (found[0] if found else None) == first


@pytest.mark.parametrize("engine", [SQLITE, POSTGRESQL])
@pytest.mark.parametrize(
    ("condition", "partial"),
    [
        ("c = 'open' and a = ?", ["t (a) where c = 'open'"]),
        ("c is null order by a", ["t (a) where c is null"]),
        ("c is not null and a > 3", ["t (a) where c is not null"]),
        ("c is not null", ["t (c) where c is not null"]),
        ("c <> 'done' and a = 3", ["t (a) where c <> 'done'"]),
        ("c not in ('done', 'gone')", ["t (c) where c not in ('done', 'gone')"]),
        ("not (c = 'done') order by a", ["t (a) where not (c = 'done')"]),
        ("c <> 'user7'", []),
        ("c in ('open', 'new') and a = 7", ["t (a) where c in ('open', 'new')"]),
        # Samples of values, or values that may vary.
        ("c = 'user7' and a = 77 and b > 2", []),
        ("c = ? and a = 0", ["t (c) where a = 0"]),
    ],
)
def test_partial_indexes_are_for_states(engine: str, condition: str, partial: list[str]) -> None:
    sql = f"select * from t where {condition}"
    found = [
        each for each in made(sql.replace("?", "$1") if engine == POSTGRESQL else sql, engine) if " where " in each
    ]
    assert found == partial
    assert not [each for each in made(sql, MYSQL) if " where " in each]


@pytest.mark.parametrize(
    ("indexes", "sql", "candidates"),
    [
        (["ab a b"], "select * from t where a = 1", []),
        (["ab a b"], "select * from t where b = 1 and a = 2", []),
        (["ba b a"], "select * from t where a = 1 order by b desc limit 3", ["t (a, b)", "t (a)"]),
        (["ab a b"], "select * from t where a = 1 order by b desc limit 3", []),
        (["ab a b_desc"], "select * from t order by a, b limit 3", ["t (a, b)"]),
        (["ab a b_desc"], "select * from t order by a desc, b limit 3", []),
        (["ba b a"], "select a, b, count(*) from t group by a, b", []),
        (["ba b a"], "select * from t where a > 1 and b = 2", []),
        (["a a"], "select b from t where a = 1", ["t (a, b)"]),
        (["ab a b"], "select b from t where a = 1", []),
        # SQLite's indexes end with the row's id.
        (["a a"], "select * from t where a = 1 order by id", []),
        (["a a"], "select id from t where a = 1", []),
        ([], "select * from t where id = 1 and a = 2", []),
        ([], "select * from t where id > 1 order by id", []),
        ([], "select u.x from u join t on t.id = u.x where t.a = 2", ["u (x)", "t (a)"]),
        ([], "select * from t left join u on u.x = t.id where u.x is null", ["u (x)"]),
    ],
)
def test_existing_indexes_are_not_offered(indexes: list[str], sql: str, candidates: list[str]) -> None:
    there = [index(*(key.replace("_", " ") for key in each.split())) for each in indexes]
    tables = table("t", "id integer, a int, b int, c text", *there, primary_key=["id"]), table("u", "x int, y int")
    assert made(sql, SQLITE, *tables) == candidates


def test_existing_indexes_must_be_usable_and_in_the_same_order_of_strings() -> None:
    sql = "select * from t where c = 'x'"
    there = table("t", "c text", index("c", "c collate NOCASE"))
    assert made(sql, SQLITE, there) == ["t (c)"]
    assert made(f"{sql} collate nocase", SQLITE, there) == []
    for change in ({"usable": False}, {"partial": True}, {"method": "hash"}):
        assert made(sql, POSTGRESQL, table("t", "c text", index("c", "c", **change))) == ["t (c)"]
    unique = table("t", "a int, b int, c text", index("ab", "a", "b", unique=True))
    assert made("select c from t where a = 1 and b = 2 and c = 'x'", POSTGRESQL, unique) == []
    pattern = index("c", "c")
    pattern["keys"][0]["operator_class"] = "text_pattern_ops"
    assert made("select * from t where c like 'x%'", POSTGRESQL, table("t", "c text", pattern)) == []
    assert made("select * from t where c > 'x'", POSTGRESQL, table("t", "c text", pattern)) == ["t (c)"]
    in_bytes = {"name": "t", "columns": [column("c", "text", "C", by_bytes=True)], "indexes": []}
    assert made("select * from t where c like 'x%'", POSTGRESQL, in_bytes) == ["t (c)"]


def test_an_index_on_an_expression_serves_if_the_plan_uses_it() -> None:
    there = index("lowered", "c")
    there["keys"][0]["column"] = None
    catalog = {"tables": [table("t", "c text", there)]}
    sql = "select * from t where lower(c) = 'x'"
    for plan, count in (("SCAN t", 1), ("SEARCH t USING INDEX lowered (<expr>=?)", 0)):
        assert len(index_candidates(sql, SQLITE, catalog, plan=known_engine(SQLITE).read_plan([plan]))) == count


@pytest.mark.parametrize(
    ("engine", "sql", "created"),
    [
        (
            POSTGRESQL,
            "select * from sales.invoice where customer = 77",
            "on_invoice_customer on sales.invoice (customer)",
        ),
        (POSTGRESQL, 'select * from "Sales".T where "A" = 7', 'on_t_a on "Sales".t ("A")'),
        (SQLITE, "select * from main.t where a = 7", "main.on_t_a on t (a)"),
        (
            SQLITE,
            "select * from [Order Details] where [Unit Price] = 7",
            'on_order_details_unit_price on "Order Details" ("Unit Price")',
        ),
        (MYSQL, "select * from shop.`order` where `key` = 7", "on_order_key on shop.`order` (`key`)"),
        ("sqlserver", "select * from [My Table] where a = 7", "on_my_table_a on [My Table] (a)"),
    ],
)
def test_names_are_written_as_the_statement_needs_them(engine: str, sql: str, created: str) -> None:
    assert index_candidates(sql, engine, {})[0].sql == f"create index {created}"


def test_tables_are_found_in_their_schema() -> None:
    tables = table("t", "a int", schema="sales"), table("t", "b int")
    assert made("select * from sales.t where a = 1", POSTGRESQL, *tables) == ["sales.t (a)"]
    assert made("select * from sales.t x, t where x.a = b and a = 1", POSTGRESQL, *tables)[:2] == [
        "sales.t (a)",
        "t (b)",
    ]
    assert made("select * from t where a = 1", POSTGRESQL, *tables) == []
    # Views and system tables aren't in the catalog.
    assert made("select * from v where a = 1", POSTGRESQL, *tables) == []


def test_names_of_indexes_are_short_and_new() -> None:
    there = table("t", "a int, b int", index("on_t_a", "b"))
    (found,) = index_candidates("select * from t where a = 1", SQLITE, {"tables": [there]})
    assert found.name == "on_t_a_2"
    long = " and ".join(f"a_long_name_of_a_column_{each} = 1" for each in range(9))
    names = {
        made.name
        for more in ("", " and b = 2")
        for made in index_candidates(f"select * from t where {long}{more}", SQLITE, {})
    }
    assert len(names) >= 2 and all(len(each) <= 60 for each in names)


def test_tables_that_the_plan_scans_come_first() -> None:
    sql = "select * from a join b on b.y = a.x where a.c = 1"
    of = known_engine(SQLITE).read_plan
    for scanned, found in (("a", "b"), ("b", "a")):
        plan = of([f"SCAN {scanned}", f"SEARCH {found} USING INDEX i (x=?)"])
        tables = [each.table for each in index_candidates(sql, SQLITE, {}, plan=plan)]
        assert tables == sorted(tables, key=lambda each: each != scanned)
    assert len(index_candidates(sql, SQLITE, {}, limit=2)) == 2


def test_foreign_keys_without_an_index_are_checked_for_each_deleted_row() -> None:
    def key(child: str, parent: str, **more: Any) -> dict[str, Any]:
        own = {"table": child, "columns": [f"of_{parent}"], "parent": parent, "parent_columns": [], "indexed": False}
        return {"on_delete": "cascade", "on_update": "no action", **own, **more}

    keys = [
        key("orders", "customers"),
        key("Order Lines", "orders", schema="s"),
        key("marks", "customers", indexed=True),
    ]
    catalog = {"tables": [table("customers", "id int", primary_key=["id"])], "foreign_keys": keys}
    found = [
        each.sql.partition(" on ")[2]
        for each in index_candidates("delete from customers where id = 7", POSTGRESQL, catalog)
    ]
    assert found == ["orders (of_customers)", 's."Order Lines" (of_orders)']
    for column_name, count in (("id", 1), ("city", 0)):
        sql = f"update customers set {column_name} = 3 where id = 7"
        assert len(index_candidates(sql, POSTGRESQL, catalog)) == count
    assert index_candidates("select * from customers where id = 7", POSTGRESQL, catalog) == []


def test_only_indexes_for_all_arms_of_an_or_are_of_use() -> None:
    sql = "select * from t where a = 1 or b = 2"
    assert all(each.together for each in index_candidates(sql, SQLITE, {}))
    assert index_for(sql, SQLITE, "t", {}) is None


@given(st.sampled_from(ALL), st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=20))
def test_any_text_has_candidates_or_none(engine: str, text: str, words: list[str]) -> None:
    index_candidates(text, engine, {})
    index_candidates("select * from t where " + " ".join(words), engine, {"tables": [table("t", TYPES)]})


SHOP = """
create table customers (id integer primary key, email text, city text, "first name" text, referrer int, born text);
create table orders (id integer primary key, customer int, status text, total int, created text, deleted text);
create table "Order Details" ("Order ID" int, "Product ID" int, quantity int, discount real,
    primary key ("Order ID", "Product ID"));
create table products (sku text primary key, name text collate nocase, price int, tags text, supplier int);
create table events (account int, at int, kind text, payload text);
create index by_total on orders (total, customer);
create index by_city on customers (city);
insert into customers select value, 'User' || value || '@Example.com', 'City' || (value % 50), 'Name' || (value % 300),
    value % 100, date('1950-01-01', value || ' days') from generated where value <= 2000;
insert into orders select value, value * 7919 % 2000, case value % 100 when 0 then 'open' else 'done' end, value % 1000,
    datetime('2024-01-01', value || ' minutes'), case value % 50 when 0 then '2024' end from generated;
insert into "Order Details" select value / 4, value % 4, value % 9, 0.1 from generated;
insert into products select 'sku' || value, 'Product ' || value, value % 500, '', value % 40 from generated;
insert into events select value % 700, value, 'kind' || (value % 20), '{"k": ' || (value % 900) || '}' from generated;
"""
STATEMENTS = [
    "select * from customers where email = 'user77@example.com' collate nocase",
    "select * from customers where lower(email) = 'user77@example.com'",
    "select * from customers c where c.email like 'user77%'",
    "select * from customers where email glob 'User77*'",
    "select * from customers where city = 'City7' and \"first name\" = 'Name7'",
    "select * from customers where born between '1951-01-01' and '1951-01-09'",
    "select a.id, b.id from customers a join customers b on b.referrer = a.id where a.email = 'User7@Example.com'",
    "select * from orders where customer = 77 order by created desc limit 5",
    "select * from orders where status = 'open' and deleted is null order by created limit 5",
    "select * from orders where customer > 100 order by total desc, created limit 5",
    "select * from orders where customer in (7, 8, 9) order by created limit 5",
    "select * from orders where deleted is not null",
    "select * from orders where customer = 7 or created = '2024-01-01 00:07:00'",
    "select * from orders where (created, customer) > ('2024-01-05', 7) order by created, customer limit 5",
    "select status, count(*) from orders group by status",
    "select customer, sum(total) as total from orders group by customer order by total desc limit 5",
    "select max(created) from orders where customer = 7",
    "select distinct status from orders",
    "select c.email, o.total from customers c join orders o on o.customer = c.id where c.email = 'User7@Example.com'",
    "select c.id from customers c left join orders o on o.customer = c.id and o.status = 'open' where o.id is null",
    "select count(*) from customers c where not exists (select 1 from orders o where o.customer = c.id)",
    "select * from orders where customer in (select id from customers where email = 'User7@Example.com')",
    "select id, (select max(at) from events e where e.account = c.id) from customers c where c.id < 9",
    "with recent as (select * from orders where created > '2024-01-05') select * from recent where customer = 7",
    "select * from (select customer, created from orders union all select account, at from events) where customer = 7",
    'select * from "Order Details" d where d."Product ID" = 3 and quantity = 8 and discount > 0.2',
    "select * from products where name = 'product 77'",
    "select sku from products where price = 77 order by supplier",
    "select * from events where json_extract(payload, '$.k') = 77",
    "select * from events where payload ->> 'k' = 77",
    "select * from events where strftime('%Y', at) = '2024' and kind = 'kind7'",
    "select * from events e where e.at = (select max(at) from events x where x.account = e.account) and kind = 'kind3'",
    "select * from (select *, row_number() over (partition by account order by at desc) as n from events) where n = 1",
    "delete from customers where referrer = 7 and city = 'City9'",
    "update orders set status = 'done' where created < '2024-01-01 09:00:00'",
    "insert into events select customer, total, status, '' from orders where customer = 7",
    "select kind, max(at) from events where account = 7 group by kind",
    "select * from main.orders where customer = 7",
    "select * from orders where total = 7 and customer = 9 and created = '2024'",
]


@pytest.fixture(scope="module")
def shop() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.execute("create table generated (value integer primary key)")
        database.executemany("insert into generated values (?)", ((each,) for each in range(1, 6001)))
        database.executescript(SHOP)
        yield database


def read(database: sqlite3.Connection) -> dict[str, Any]:
    """The catalog of a database as the worker reports it."""
    tables = []
    for (name,) in database.execute("select name from sqlite_master where type = 'table'").fetchall():
        columns = database.execute("select name, type, pk from pragma_table_info(?)", (name,)).fetchall()
        own = {
            each: "nocase" if each == "name" and name == "products" else "BINARY" for each, kind, _ in columns if kind
        }
        indexes = []
        listed = database.execute('select name, "unique", partial from pragma_index_list(?)', (name,)).fetchall()
        for called, unique, partial in listed:
            keys = database.execute(
                'select name, "desc", coll from pragma_index_xinfo(?) where key and cid >= 0', (called,)
            ).fetchall()
            indexes.append(index(called, unique=bool(unique), partial=bool(partial)))
            indexes[-1]["keys"] = [
                {"column": key, "descending": bool(desc), "collation": {"name": collation}}
                for key, desc, collation in keys
            ]
        tables.append(
            {
                "name": name,
                "storage_engine": None,
                "columns": [column(each, kind, own.get(each)) for each, kind, _ in columns],
                "primary_key": [each for place, each in sorted((pk, each) for each, _, pk in columns) if place],
                "indexes": indexes,
            }
        )
    return {"tables": tables}


@pytest.mark.parametrize("sql", STATEMENTS)
def test_sqlite_accepts_all_candidates_and_uses_one_of_the_first(shop: sqlite3.Connection, sql: str) -> None:
    plan = [row[3] for row in shop.execute(f"explain query plan {sql}")]
    found = index_candidates(sql, SQLITE, read(shop), plan=known_engine(SQLITE).read_plan(plan))
    assert found
    for each in found:
        shop.execute("begin")
        shop.execute(each.sql)
        shop.execute("rollback")
    shop.execute("begin")
    for each in found[:3]:
        shop.execute(each.sql)
    plan = [row[3] for row in shop.execute(f"explain query plan {sql}")]
    shop.execute("rollback")
    assert any(each.name in line.split() for each in found[:3] for line in plan), plan
