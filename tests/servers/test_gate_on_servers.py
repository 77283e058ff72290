"""`gate --fail-on` on servers: harmless changes of tables and files raise no alarm, and planted flips are found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from conftest import Cli
from installed_servers import needs_mysql, needs_postgresql
from named_servers import NamedServer, named_server

# They start servers.
pytestmark = pytest.mark.slow

POSTGRESQL = """
create table customers (id int primary key, city text, name text);
insert into customers select i, 'city' || i % 400, 'n' || i from generate_series(1, 4000) i;
create table orders (id int primary key, customer int constraint of_customer references customers (id), placed int,
    state text, total int, note text);
insert into orders select i, 1 + i * 7919 % 4000, i * 31 % 30011, case when i % 300 = 0 then 'open' else 'done' end,
    i % 97, repeat('x', 60) from generate_series(1, 30000) i;
create table "Order Details" ("order id" int, product int, n int, primary key ("order id", product));
insert into "Order Details" select i / 2, i % 2 + i % 600, i % 9 from generate_series(2, 40000) i;
create index customers_city on customers (city);
create index orders_customer on orders (customer, placed);
create index orders_placed on orders (placed);
create index orders_state on orders (state);
create index details_product on "Order Details" (product, n);
vacuum analyze;
"""
MARIADB = """
create table customers (id int primary key, city varchar(20), name varchar(20));
insert into customers select seq, concat('city', seq % 400), concat('n', seq) from seq_1_to_4000;
create table orders (id int primary key, customer int, placed int, state varchar(9), total int, note varchar(90),
    constraint of_customer foreign key (customer) references customers (id));
insert into orders select seq, 1 + seq * 7919 % 4000, seq * 31 % 30011, if(seq % 300 = 0, 'open', 'done'), seq % 97,
    repeat('x', 60) from seq_1_to_30000;
create table `Order Details` (`order id` int, product int, n int, primary key (`order id`, product));
insert into `Order Details` select seq div 2, seq % 2 + seq % 600, seq % 9 from seq_2_to_40000;
create index customers_city on customers (city);
create index orders_customer on orders (customer, placed);
create index orders_placed on orders (placed);
create index orders_state on orders (state);
create index details_product on `Order Details` (product, n);
analyze table customers, orders, `Order Details`;
"""
QUERIES = {
    "customer": "select sum(total) from orders where customer = 77",
    "latest": "select * from orders where customer = 78 order by placed desc limit 5",
    "range": "select sum(total) from orders where placed between 500 and 530",
    "open": "select count(*), max(total) from orders where state = 'open'",
    "key": "select * from orders where id = 5",
    "city": "select sum(o.total) from customers c join orders o on o.customer = c.id where c.city = 'city7'",
    "details": "select sum(o.total) from {details} d join orders o on o.id = d.{id} where d.product = 70 and d.n = 3",
    "lacking": "select count(*) from customers c where c.id < 60 and not exists "
    "(select 1 from orders o where o.customer = c.id and o.placed > 29000)",
    "several": "select customer, max(placed) from orders where customer in (5, 9, 700) group by customer",
}
OTHER_VALUES = {
    "customer": "select sum(total) from orders where customer = 1077",
    "latest": "select * from orders where customer = 3078 order by placed desc limit 5",
    "range": "select sum(total) from orders where placed between 20500 and 20535",
    "city": "select sum(o.total) from customers c join orders o on o.customer = c.id where c.city = 'city399'",
    "several": "select customer, max(placed) from orders where customer in (15, 19, 1700) group by customer",
}
OTHER_SPELLING = {
    "customer": "/* a remark */ SELECT SUM(x.total) FROM orders AS x WHERE x.customer = 77",
    "latest": "select *\nfrom orders o\nwhere (o.customer = 78)\norder by o.placed desc limit 5",
    "city": "select sum(o.total) from orders o join customers c on c.id = o.customer where c.city = 'city7'",
}
# Changes of the tables, by their names.
HARMLESS_POSTGRESQL = {
    "analyzed": "analyze",
    "another sample": "alter table orders alter customer set statistics 30;\nalter table orders alter state set "
    "statistics 500;\nanalyze orders",
    "a few more rows": "insert into orders select i, 1 + i * 7919 % 4000, i * 31 % 30011, 'done', i % 97, 'y' "
    "from generate_series(30001, 30300) i",
    "unrelated index": "create index orders_note on orders (note)",
    "unrelated index in use": "create index customers_name on customers (name, city);\nanalyze customers",
    "renamed constraint": "alter table orders rename constraint of_customer to fk_7f3a",
    "renamed index": "alter index orders_customer rename to ix_orders_1",
    "new column": "alter table orders add column paid boolean default false",
    "new table": "create table orders_archive (like orders including all)",
    "remark": "comment on table orders is 'what was ordered'",
    "written anew": "vacuum full orders;\nreindex table orders;\nvacuum analyze orders",
    "a few rows less": "delete from orders where id % 100 = 7 and id not in (5);\nvacuum analyze orders",
    "rows of another seed": 'truncate "Order Details";\ninsert into "Order Details" select i / 2, i % 2 + i * 7 % 600, '
    "i * 5 % 9 from generate_series(2, 40000) i on conflict do nothing;\n"
    'vacuum analyze "Order Details"',
}
HARMLESS_MARIADB = {
    "analyzed": "analyze table orders",
    "another sample": "analyze table orders, customers persistent for all",
    "a few more rows": "insert into orders select seq, 1 + seq * 7919 % 4000, seq * 31 % 30011, 'done', seq % 97, 'y' "
    "from seq_30001_to_30300",
    "unrelated index": "create index orders_note on orders (note)",
    "unrelated index in use": "create index customers_name on customers (name, city);\nanalyze table customers",
    "renamed constraint": "alter table orders drop foreign key of_customer;\n"
    "alter table orders add constraint fk_7f3a foreign key (customer) references customers (id)",
    "renamed index": "alter table orders rename index orders_customer to ix_orders_1",
    "new column": "alter table orders add column paid boolean default false",
    "new table": "create table orders_archive like orders",
    "remark": "alter table orders comment 'what was ordered'",
    "written anew": "alter table orders force;\nanalyze table orders",
    "a few rows less": "delete from orders where id % 100 = 7;\nanalyze table orders",
    "rows of another seed": "truncate `Order Details`;\ninsert ignore into `Order Details` select seq div 2, "
    "seq % 2 + seq * 7 % 600, seq * 5 % 9 from seq_2_to_40000;\nanalyze table `Order Details`",
}
# Each planted flip, and the statement whose plan it changes.
FLIPS_POSTGRESQL = {
    "drop index orders_placed": "range",
    "drop index orders_state;\ncreate index orders_state on orders (state) where total < 0": "open",
    "drop index customers_city;\ncreate index customers_city on customers (lower(city))": "city",
}
FLIPS_MARIADB = {
    "drop index orders_placed on orders": "range",
    "alter table orders alter index orders_state ignored": "open",
    "drop index customers_city on customers;\ncreate index customers_city on customers (name, city)": "city",
}
# Number of harmless changes between two comparisons.
TOGETHER = 3
CONDITIONS = ("plan-change", "scan:orders", "scan:customers", "missing-index", "estimates:100x")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("postgresql", marks=needs_postgresql),
        pytest.param("mysql", marks=needs_mysql),
    ],
)
def server(request: pytest.FixtureRequest) -> Iterator[NamedServer]:
    with named_server(request.param) as made:
        made.do(POSTGRESQL if request.param == "postgresql" else MARIADB)
        yield made


class Gate:
    """Compares runs of a file with the first one."""

    def __init__(self, cli: Cli, server: NamedServer) -> None:
        self.cli, self.server = cli, server
        quote = '"{}"' if server.url.startswith("postgresql") else "`{}`"
        self._names = {"details": quote.format("Order Details"), "id": quote.format("order id")}
        self._numbers = count()
        self.baseline = self.run({})

    def run(self, sql: dict[str, str], *arguments: str) -> str:
        """Measure one round; return the run's ID. ``sql``: statements that differ from the baseline's."""
        texts = {name: text.format(**self._names) for name, text in (QUERIES | sql).items()}
        self.cli.write("q.sql", "".join(f"-- name: {name}\n{text};\n" for name, text in texts.items()))
        return str(self.cli.run("q.sql", "--system", self.server.url, "--rounds", "1", *arguments)["id"])

    def alarms(self, run: str) -> dict[str, str]:
        """Return the statements that violate a condition, with the reasons."""
        conditions = [word for each in CONDITIONS for word in ("--fail-on", each)]
        name = f"gate{next(self._numbers)}.json"
        arguments = ("gate", run, "--baseline", self.baseline, *conditions, "--margin", "90%", "--json", name)
        ended = self.cli.invoke(*arguments, "--store", "runs.db")
        assert ended.code in (0, 3), ended.errors
        found = json.loads((Path(self.cli.directory) / name).read_text())["cells"]
        return {each["cell"]: each["reason"] for each in found if each["violation"]}


def test_harmless_changes_raise_no_alarm_and_flips_are_found(cli: Cli, server: NamedServer) -> None:
    is_postgresql = server.url.startswith("postgresql")
    gate = Gate(cli, server)
    alarms = {
        "other values": gate.alarms(gate.run(OTHER_VALUES, "--seed", "77")),
        "other spelling": gate.alarms(gate.run(OTHER_SPELLING)),
    }
    changes = iter((HARMLESS_POSTGRESQL if is_postgresql else HARMLESS_MARIADB).items())
    while some := dict(islice(changes, TOGETHER)):
        for change in some.values():
            server.do(change)
        alarms[", ".join(some)] = gate.alarms(gate.run({}))
    assert {name: found for name, found in alarms.items() if found} == {}
    flips = FLIPS_POSTGRESQL if is_postgresql else FLIPS_MARIADB
    for change in flips:
        server.do(change)
    assert set(flips.values()) <= gate.alarms(gate.run({})).keys()
