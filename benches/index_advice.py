"""Whether `dbdyno queries` finds the best index: statements whose best index is known, on SQLite.

For each statement the index that it should get is built by hand in a copy of the file, and timed there with Python's
sqlite3, as is what `queries` recommends. Prints both times; a recommendation counts as right if it takes at most a
quarter longer than the known index, and as harmful if it takes longer than without an index.

    python benches/index_advice.py [NAME…]
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

REPETITIONS, ENOUGH_MS = 8, 2000.0

SCHEMA = """
create table customer (id integer primary key, name text not null, email text not null, country text, joined text);
create table "Order" (id integer primary key, customer int not null references customer (id), at text not null,
    status text not null, total real not null, note text);
create table "Order Details" ("Order ID" int not null, "Product ID" int not null, quantity int, price real,
    primary key ("Order ID", "Product ID"));
create table product (id integer primary key, title text, category int, price real, discontinued int);
create table event (id integer primary key, account int, kind text, at int, payload text);
"""
FILL = """
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into customer select i, 'Name ' || (i * 7919 % 9000), 'User' || i || '@example.org',
    substr('DEFRUSPLIT', 1 + 2 * (i % 5), 2), date('2020-01-01', '+' || (i * 31 % 2000) || ' days') from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
insert into "Order" select i, 1 + (i * 7919 % 20000), date('2024-01-01', '+' || (i * 17 % 900) || ' days'),
    case when i % 200 = 0 then 'open' else 'done' end, i * 37 % 5000 / 10.0, 'x' from n;
with recursive n(i) as (select 0 union all select i + 1 from n where i < 199999)
insert into "Order Details" select 1 + i / 2, 1 + (i * 31 + i / 2) % 5000, i % 9, i % 100 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into product select i, 'Product ' || i, i % 60, i * 13 % 1000 / 10.0, i % 50 = 0 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into event select i, i * 7919 % 3000, 'kind' || (i % 40), i * 31 % 86400, '{"k": ' || (i % 700) || '}' from n;
"""


@dataclass(frozen=True)
class Pair:
    """A statement and the index it should get; empty: no index helps."""

    sql: str
    best: str


PAIRS = {
    "equality": Pair("""select * from "Order" where customer = 77""", '"Order" (customer)'),
    "equality and order": Pair(
        """select * from "Order" where customer = 77 order by at desc limit 3""", '"Order" (customer, at)'
    ),
    "order and limit": Pair("""select id, total from "Order" order by total desc limit 5""", '"Order" (total)'),
    "two equalities": Pair("select * from event where account = 5 and kind = 'kind7'", "event (account, kind)"),
    "equality and range": Pair(
        "select * from event where kind = 'kind7' and at between 100 and 300", "event (kind, at)"
    ),
    "range before equality in the text": Pair(
        "select * from event where at > 86000 and account = 9", "event (account, at)"
    ),
    "collation": Pair(
        "select id from customer where email = 'user5@example.org' collate nocase", "customer (email collate nocase)"
    ),
    "expression": Pair("select id from customer where lower(email) = 'user5@example.org'", "customer (lower(email))"),
    "json": Pair("select count(*) from event where payload ->> '$.k' = 77", "event (payload ->> '$.k')"),
    "rare state": Pair("""select * from "Order" where status = 'open'""", """"Order" (status) where status = 'open'"""),
    "frequent state": Pair("""select sum(total) from "Order" where status = 'done'""", '"Order" (status, total)'),
    "nearly all": Pair(
        """select id from "Order" where customer > 100 order by total desc limit 10""",
        '"Order" (total desc, customer)',
    ),
    "not exists": Pair(
        'select count(*) from product p where p.id <= 50 and not exists (select 1 from "Order Details" d '
        'where d."Product ID" = p.id and d.quantity > 8)',
        '"Order Details" ("Product ID", quantity)',
    ),
    "join to the detail": Pair(
        'select sum(d.quantity) from product p join "Order Details" d on d."Product ID" = p.id where p.title = '
        "'Product 77'",
        '"Order Details" ("Product ID")',
    ),
    "left join with a constant": Pair(
        """select c.id, o.id from customer c left join "Order" o on o.customer = c.id and o.status = 'open'
        where c.id between 5 and 300""",
        """"Order" (customer, status)""",
    ),
    "group": Pair(
        """select customer, sum(total) s from "Order" group by customer order by s desc limit 5""",
        '"Order" (customer, total)',
    ),
    "distinct": Pair("select distinct kind from event", "event (kind)"),
    "largest": Pair("select max(at) from event where account = 7", "event (account, at)"),
    "or": Pair("""select id from "Order" where customer = 5 or total = 77.7""", '"Order" (customer); "Order" (total)'),
    "primary key": Pair('select * from "Order Details" where "Order ID" = 5 and "Product ID" = 9', ""),
    "alias": Pair("select account, count(*) as at from event group by account order by at limit 3", "event (account)"),
    "prefix": Pair("select count(*) from customer where name >= 'Name 77' and name < 'Name 78'", "customer (name)"),
    "in": Pair("select * from event where account in (5, 9, 77) and kind = 'kind3'", "event (account, kind)"),
    "null": Pair("""select count(*) from "Order" where note is null""", '"Order" (note)'),
}


def timed(path: Path, sql: str) -> float:
    """Return the median milliseconds of a statement."""
    times: list[float] = []
    with closing(sqlite3.connect(path)) as database:
        while len(times) < REPETITIONS and sum(times) < ENOUGH_MS:
            begun = time.perf_counter()
            database.execute(sql).fetchall()
            times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


def with_indexes(source: Path, place: Path, sqls: list[str]) -> Path:
    """Copy a file and create indexes in the copy."""
    shutil.copy(source, place)
    with closing(sqlite3.connect(place)) as database:
        for sql in sqls:
            database.execute(sql)
        database.commit()
    return place


def advised(source: Path, sql: str, place: Path) -> list[str]:
    """Return the statements that `dbdyno queries` recommends."""
    (place / "q.sql").write_text(f"{sql};\n")
    command = [sys.executable, "-m", "dbdyno", "queries", "q.sql", "--system", f"sqlite:{source}", "--store", "r.db"]
    options = ["--target", "50%", "--budget", "40s", "--json", "o.json"]
    subprocess.run([*command, *options], cwd=place, check=True, capture_output=True)
    (found,) = json.loads((place / "o.json").read_text())["indexes"]
    return [one for each in found["tried"] if each["name"] in found["chosen"] for one in each["sql"]]


def main(names: list[str]) -> None:
    """Measure the pairs, or the named ones."""
    right = harmful = 0
    chosen = names or list(PAIRS)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        source = place / "shop.db"
        with closing(sqlite3.connect(source)) as database:
            database.executescript(SCHEMA + FILL)
        for name in chosen:
            pair = PAIRS[name]
            known = [f"create index best_{n} on {each.strip()}" for n, each in enumerate(pair.best.split(";")) if each]
            found = advised(source, pair.sql, place)
            without = timed(source, pair.sql)
            best = timed(with_indexes(source, place / "best.db", known), pair.sql)
            ms = timed(with_indexes(source, place / "advised.db", found), pair.sql)
            is_right = ms <= 1.25 * min(best, without) + 0.01
            right += is_right
            harmful += ms > 1.25 * without + 0.01
            words = "; ".join(each.partition(" on ")[2] for each in found) or "none"
            print(
                f"{'right' if is_right else 'WRONG'}  {name:<34} {without:9.3f} {best:9.3f} {ms:9.3f} ms  {words}",
                flush=True,
            )
    print(f"{right} of {len(chosen)} right, {harmful} harmful")


if __name__ == "__main__":
    main(sys.argv[1:])
