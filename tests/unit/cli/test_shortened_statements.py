"""Shortened statements can be told apart by their tables and conditions."""

import pytest

from dbdyno.cli.shortened_statements import condensed_statement, shortened_statements
from dbdyno.cli.statement_table import statement_table


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        (
            'SELECT "shop_product"."id", "shop_product"."slug", "shop_product"."title" FROM "shop_product" '
            'WHERE "shop_product"."slug" = ? LIMIT 21',
            "SELECT … FROM shop_product WHERE slug=? LIMIT 21",
        ),
        (
            'INSERT INTO "shop_visit" ("session", "path", "at") VALUES (?, ?, ?) RETURNING "shop_visit"."id"',
            "INSERT INTO shop_visit (…) VALUES (?, ?, ?) RETURNING id",
        ),
        (
            "insert into t (first_column, second_column) values (lower(?)), (lower(?)) on conflict (id) do nothing",
            "insert into t (…) values (lower(?)), (lower(?)) on conflict (id) do nothing",
        ),
        (
            "update `shop_product` set `title` = ?, `price` = ?, `stock` = ? where `shop_product`.`id` = ?",
            "update shop_product set title = ?, … where shop_product.id = ?",
        ),
        (
            "select o.id, o.number, c.name from sales.orders o inner join customers c on (c.id = o.customer and c.x) "
            "where o.placed > ? and c.kind in (?, ?, ?, ?, ?, ?, ?, ?)",
            "select … from sales.orders o join customers c where placed>? and kind in (? x 8)",
        ),
        (
            "select (select max(price) from products where id = i.product), count(*) from items i where i.id = ?",
            "select … from items i where i.id = ?",
        ),
        ("select [a b], `c` from t where a = ?", "select [a b], c from t where a = ?"),
        ("select 'not closed from t where a = ? and b = ?", "select 'not closed from t where a = ? and b = ?"),
    ],
)
def test_conditions_remain_when_a_list_is_left_out(statement: str, shown: str) -> None:
    assert condensed_statement(statement, len(shown)) == shown
    assert condensed_statement(statement, len(statement)) == statement


def test_different_statements_remain_different() -> None:
    columns = ", ".join(f"column_{number}" for number in range(9))
    ends = ("a = ? order by b", "a = ? order by c", "a = ?")
    statements = [
        f"select {columns} from a_long_name_of_a_table where the_first_condition = ? and {end}" for end in ends
    ]
    statements += ["select count(*) from t", "select count(*) from t"]
    made = shortened_statements(statements, 36)
    assert made[0] == "select … a=? order by b"
    assert made[1] == "select … a=? order by c"
    assert len(set(made)) == 4
    assert made[3] == "select count(*) from t"
    lists = [f"select {columns}, {end} from t where a = ?" for end in ("upper(d)", "lower(d)")]
    assert shortened_statements(lists, 40) == [
        "select … upper(d) from t where a = ?",
        "select … lower(d) from t where a = ?",
    ]


def test_different_statements_keep_their_table() -> None:
    columns = ", ".join(f"column_{number}" for number in range(9))
    found = f"select {columns} from books where the_first_condition = ? and id = ? limit 21"
    assert shortened_statements([found, f"{found} for update"], 40) == [
        "select … from books … 21",
        "select … from books … 21 for update",
    ]


def test_columns_are_left_out_for_long_statements_only() -> None:
    def heads(statement: str, width: int) -> list[object]:
        rows = [{"count": "1", "p99 ms": "12.5", "errors": ""}]
        return [each.header for each in statement_table([statement], rows, width, ("p99 ms",)).columns]

    long = "select a from t where b = ? and c = ? and d = ? and e = ?"
    assert heads(long, 50) == ["count", "statement"]
    assert heads(long, 60) == ["count", "p99 ms", "statement"]
    assert heads("select a from t where b = ?", 50) == ["count", "p99 ms", "statement"]
