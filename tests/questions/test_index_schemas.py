"""Question 8 on schemas like Northwind, Chinook and Sakila: the indexes that an engineer of the engine would create.

The tables have names with spaces, quotes and capitals, and those for PostgreSQL are in a schema other than public.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from conftest import Cli
from installed_servers import needs_mysql, needs_postgresql
from measured_indexes import measured_indexes
from named_servers import named_server
from repeated import repeated

# They start servers.
pytestmark = pytest.mark.slow

SCHEMAS = Path(__file__).parent.parent / "support" / "schemas"
STORE = '"Music Store".'
# Each statement should use an index with one of these beginnings, without quotes; none: no new index. Whether the
# order of a customer's few rows is worth a second column depends on the machine.
EXPECTED = {
    "northwind": {
        "orders of a customer": ("Orders (Customer ID",),
        "not shipped yet": ("Orders (Order Date) where Shipped Date is null", "Orders (Shipped Date"),
        "sales of a product": ("Order Details (Product ID",),
        "everyone below": ("Employees (Reports To",),
        "customers without an order this year": ("Orders (Customer ID", "Customers (Country"),
        "one line": (),
        "discontinued": ("Order Details (Product ID",),
    },
    "chinook": {
        "who has this address": ("Customer (lower(Email))",),
        "invoices of a customer": ("Invoice (CustomerId",),
        "tracks of an artist": ("Track (AlbumId",),
        "lines of an invoice": ("InvoiceLine (InvoiceId",),
        "mood": ("Track using gin (Tags",),
        "mood as text": ("Track ((Tags ->> 'mood'))",),
        "sales of a day": ("Invoice ((InvoiceDate::date))",),
        "latest of each customer": ("Invoice (CustomerId",),
        "by address": (),
    },
    "sakila": {
        "overdue": ("rental (return_date",),
        "payments of a customer": ("payment (customer_id",),
        "actors of a film": ("film_actor (film_id", "film (title"),
        "in stock": ("rental (inventory_id", "rental (return_date"),
        "by name": ("customer (last name",),
        "inactive": ("customer (active", "customer (store_id"),
        "spent": ("payment (payment_date",),
        "one film": (),
    },
}


@contextmanager
def loaded(engine: str, script: str, directory: Path) -> Iterator[str]:
    """Provide a database with the tables of a script; gives the system."""
    if engine == "sqlite":
        with closing(sqlite3.connect(directory / "app.db")) as made:
            made.executescript(script)
            made.commit()
        yield "sqlite:app.db"
    else:
        with named_server(engine) as server:
            server.do(script)
            yield server.url


@repeated
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("sqlite", "northwind"),
        pytest.param("postgresql", "chinook", marks=needs_postgresql),
        pytest.param("mysql", "sakila", marks=needs_mysql),
    ],
)
def test_8_each_statement_gets_the_index_that_an_engineer_would_create(cli: Cli, engine: str, name: str) -> None:
    script, mark, statements = (SCHEMAS / f"{name}.sql").read_text().partition("-- name:")
    cli.write("q.sql", f"{mark}{statements}")
    options = () if engine == "sqlite" else ("--allow-writes",)
    with loaded(engine, script, Path(cli.directory)) as system:
        _, found = measured_indexes(cli, system, *options)
    assert found["not_measured"] is None
    assert [each["problem"] for each in found["tried"] if each["problem"]] == []
    assert found["unmeasured_writes"] == {}
    tried = {each["name"]: each for each in found["tried"]}
    speeds = {each["statement"]: each for each in found["statements"] if each["uses"]}
    for statement, expected in EXPECTED[name].items():
        used = [sql for each in speeds.get(statement, {}).get("uses", ()) for sql in tried[each]["sql"]]
        keys = [sql.partition(" on ")[2].replace(STORE, "").replace('"', "").replace("`", "") for sql in used]
        assert (not expected and not keys) or any(each.startswith(expected) for each in keys), (statement, keys)
    # The chosen indexes slow down none of the statements.
    assert [each["statement"] for each in speeds.values() if each["times"] < 0.8] == []
