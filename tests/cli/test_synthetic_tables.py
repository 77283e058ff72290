"""Experiments with generated tables: like the application's, without a value of them."""

from __future__ import annotations

import json
import random
import sqlite3
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import dbdyno.trace
from conftest import Cli

CUSTOMERS, PRODUCTS, ORDERS = 2000, 300, 6000
FIRST, LAST = ("Ada", "Bob", "Dmitri", "Heidi", "Judy"), ("Miller", "Sokolov", "Nguyen", "Okafor")
SCHEMA = """
    create table employee (id integer primary key, name text, manager integer references employee);
    create table customer (id integer primary key autoincrement, mail varchar(80) not null unique, name varchar(40),
        card varchar(20), phone, score integer, created datetime, active bool,
        referrer integer references Employee (ID));
    create table profile (customer integer primary key references customer (id), bio text, born date);
    create table product (id integer primary key, sku text unique, price decimal(10, 2));
    create table liked (customer integer references customer (id), product integer references product (id),
        primary key (customer, product));
    create table "order" (id integer primary key, customer_id integer references customer (id), status varchar(10),
        placed timestamp, token char(36) unique, weight real);
    create table line (id integer primary key, order_id integer references "order" (id), number integer,
        product_id integer references product (id));
    create unique index line_number on line (order_id, number);
    create index customer_name on customer (name);
    create index order_customer on "order" (customer_id, placed desc);
    create index order_placed on "order" (placed);
    create index order_open on "order" (status) where status = 'open to Bob';
    create index line_product on line (product_id);
"""
STATUSES = ("paid", "sent", "open to Bob")


def skewed(chance: random.Random, count: int, exponent: float, number: int) -> Sequence[int]:
    """Draw from the numbers from 1 to ``count``, some of them often."""
    numbers = chance.sample(range(1, count + 1), count)
    return chance.choices(numbers, [(k + 1) ** -exponent for k in range(count)], k=number)


def rows(chance: random.Random) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    start = datetime(2024, 3, 5, 7, 8, 9)
    yield "employee", [(i, f"{FIRST[i % 5]} {LAST[i % 4]}", None if i < 3 else i // 2) for i in range(1, 41)]
    yield (
        "customer",
        [
            (
                i,
                f"{FIRST[i % 5]}.{LAST[i % 4]}{i}@example.com".lower(),
                f"{chance.choice(FIRST)} {chance.choice(LAST)} {chance.randrange(90)}",
                f"4111{chance.randrange(10**11, 10**12)}" if chance.random() < 0.6 else None,
                f"06{chance.randrange(10**7, 10**8)}",
                round(chance.gauss(5000, 900)),
                (start + timedelta(hours=i, seconds=chance.randrange(3000))).isoformat(" "),
                chance.random() < 0.9,
                chance.randrange(1, 41) if chance.random() < 0.3 else None,
            )
            for i in range(1, CUSTOMERS + 1)
        ],
    )
    yield (
        "profile",
        [
            (i, "Bob says " * chance.randrange(1, 30), f"19{70 + i % 20}-0{1 + i % 9}-11")
            for i in range(1, CUSTOMERS, 3)
        ],
    )
    yield "product", [(10 * i, f"S{i:04}", chance.randrange(199, 49_999) / 100) for i in range(1, PRODUCTS + 1)]
    yield "liked", list({(chance.randrange(1, CUSTOMERS), 10 * chance.randrange(1, 40)) for _ in range(5000)})
    buyers = skewed(chance, CUSTOMERS, 0.9, ORDERS)
    yield (
        '"order"',
        [
            (
                i,
                buyers[i - 1],
                chance.choices(STATUSES, (70, 25, 5))[0],
                (start + timedelta(minutes=20 * i)).isoformat(" ") + ".123456",
                f"9f8e7d6c-5b4a-4000-8000-{i:012}",
                chance.random(),
            )
            for i in range(1, ORDERS + 1)
        ],
    )
    bought = iter(skewed(chance, PRODUCTS, 1.1, 7 * ORDERS))
    numbers = [(i, number) for i in range(1, ORDERS + 1) for number in range(1, chance.randrange(2, 8))]
    yield "line", [(at, *each, 10 * next(bought)) for at, each in enumerate(numbers, 1)]


STATEMENTS = (
    "select id, name from customer where mail = ?",
    "select count(*) from customer where name = ?",
    'select id, status from "order" where customer_id = ? order by placed desc limit 5',
    'select count(*) from "order" where status = ?',
    'select id from "order" where placed between ? and ?',
    'select id from "order" where token = ?',
    "select l.number, p.sku from line l join product p on p.id = l.product_id where l.order_id = ?",
    "select count(*) from line where product_id = ?",
    "select bio from profile where customer = ?",
    "select count(*) from liked where customer = ?",
    "select price from product where sku = ?",
    "select name from employee where MANAGER = ?",
)


@pytest.fixture
def shop(cli: Cli) -> Path:
    """The database of a shop, and a trace of its application."""
    path, chance = cli.directory / "shop.db", random.Random(3)
    made_rows = dict(rows(chance))
    with closing(sqlite3.connect(path)) as made:
        made.executescript(SCHEMA)
        for table, values in made_rows.items():
            made.executemany(f"insert into {table} values ({', '.join('?' * len(values[0]))})", values)
        made.commit()
    customers, orders = made_rows["customer"], made_rows['"order"']
    values: tuple[Any, ...] = ([each[1] for each in customers], [each[2] for each in customers],
        [each[1] for each in orders], STATUSES, [each[3] for each in orders], [each[4] for each in orders],
        range(1, ORDERS), range(10, 3000, 10), range(1, CUSTOMERS, 3), range(1, CUSTOMERS),
        [each[1] for each in made_rows["product"]], range(1, 20))  # fmt: skip
    recorded = sqlite3.connect(path, isolation_level=None)
    with closing(dbdyno.trace.sqlite(recorded, path.with_name("day.trace"))) as connection:
        for number in range(60):
            for text, of in zip(STATEMENTS, values, strict=True):
                parameters = sorted(chance.choice(of) for _ in range(text.count("?")))
                connection.execute(text, parameters).fetchall()
            connection.execute("begin")
            buyer = chance.randrange(1, 9)
            connection.execute(
                'insert into "order" (customer_id, status, weight) values (?, ?, ?)', (buyer, "paid", chance.random())
            )
            connection.execute("update customer set score = score + ? where id = ?", (number, buyer))
            connection.execute("commit")
    dbdyno.trace.flush()
    return path


def figures(database: sqlite3.Connection, table: str, column: str) -> dict[str, float]:
    """Rows, different values, share of null, mean width, and the most rows with the same value."""
    sql = (
        f'select count(*), count(distinct "{column}"), avg("{column}" is null), avg(length("{column}")), (select '
        f'max(n) from (select count(*) as n from "{table}" where "{column}" is not null group by "{column}")) '
        f'from "{table}"'
    )
    names = ("rows", "distinct", "nulls", "width", "most")
    return dict(zip(names, database.execute(sql).fetchone(), strict=True))


def test_tables_are_like_the_real_ones_without_their_values(cli: Cli, shop: Path) -> None:
    told = cli("distil", "day.trace", "-o", "my.toml", "--system", "sqlite:shop.db", "--synthetic")
    assert "dbdyno run my.toml\n" in told
    text = (cli.directory / "my.toml").read_text()
    document = tomllib.loads(text)
    assert document["name"] == "my" and len(document["tables"]) == 7
    assert "# Left out: the index order_open, which is partial." in text
    for secret in (*FIRST, *LAST, "4111", "example", "9f8e7d6c", "says", "open to", "sent", "S00"):
        assert secret.lower() not in text.lower().replace("is_sent", ""), secret
    ran = cli.run("my.toml", "--rounds", "1", "--set", "seconds=0.5")
    assert ran["cells"][0]["failed"] == {}
    assert '"column"' not in json.dumps(document["transactions"])
    (made,) = (cli.directory / "cache" / "templates").glob("*.db")
    wrong = []
    with closing(sqlite3.connect(shop)) as real, closing(sqlite3.connect(made)) as synthetic:
        for table, each in document["tables"].items():
            for column, declared in each["columns"].items():
                old, new = figures(real, table, column), figures(synthetic, table, column)
                # Some rows of a small table have a value by chance. The width of a key depends on its number.
                apart = {"nulls": 0.03, "most": 0.65 * old["most"], "width": declared["type"] == "integer"}
                apart |= {"distinct": 6, "most": 4} if old["rows"] < 100 else {}
                close = {key: abs(new[key] - old[key]) <= max(apart.get(key, 0), 0.1 * old[key]) for key in old}
                wrong += [(table, column, key, old[key], new[key]) for key, fine in close.items() if not fine]
        assert '{ key = "employee.id"' in text
        missing = "select count(*) from liked where customer not in (select id from customer)"
        assert synthetic.execute(missing).fetchone() == (0,)
    assert not wrong, "\n".join(map(str, wrong))


def test_plans_are_like_the_real_ones(cli: Cli, shop: Path) -> None:
    cli("distil", "day.trace", "-o", "my.toml", "--system", "sqlite:shop.db", "--synthetic")
    cli("distil", "day.trace", "-o", "real.toml", "--system", "sqlite:shop.db")
    options = ("--rounds", "1", "--set", "seconds=0.2")
    synthetic = cli.run("my.toml", *options)["cells"][0]["system"]["plans"]
    real = cli.run("real.toml", *options, "--system", "sqlite:shop.db")["cells"][0]["system"]["plans"]
    assert synthetic == real
    assert sum("INDEX" in str(plan) for plan in real.values()) >= 8


def test_kept_values_are_not_written(cli: Cli, shop: Path) -> None:
    recorded = dbdyno.trace.sqlite(sqlite3.connect(shop), shop.with_name("kept.trace"), values="keep")
    with closing(recorded) as connection:
        for _ in range(20):
            connection.execute(
                "select id from customer where name = ? and lower(mail) = ?", ("Bob Miller", "bob@x")
            ).fetchall()
    dbdyno.trace.flush()
    cli("distil", "kept.trace", "-o", "my.toml", "--system", "sqlite:shop.db", "--synthetic")
    text = (cli.directory / "my.toml").read_text()
    assert "Miller" not in text and "bob@x" not in text


def test_patterns_are_of_the_generated_values(cli: Cli, shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as database:
        names = [each for (each,) in database.execute("select distinct name from customer limit 40")]
    with closing(dbdyno.trace.sqlite(sqlite3.connect(shop), shop.with_name("like.trace"))) as connection:
        for each in names:
            connection.execute("select id from customer where name like ?", (f"{each}%",)).fetchall()
    dbdyno.trace.flush()
    cli("distil", "like.trace", "-o", "my.toml", "--system", "sqlite:shop.db", "--synthetic")
    assert 'template = "{}%"' in (cli.directory / "my.toml").read_text()
    document = cli.run("my.toml", "--set", "seconds=0.2", "--rounds", "1")
    assert document["cells"][0]["rounds"][0]["status"] == "done"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("-o", "my.sql", "--system", "sqlite:shop.db"),
            "--synthetic: only an experiment contains tables; name a .toml",
        ),
        (("-o", "my.toml"), "--synthetic: it needs a database; name the application's database with `--system`"),
    ],
)
def test_wrong_arguments(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    assert words in cli("distil", "day.trace", *arguments, "--synthetic", code=2)
