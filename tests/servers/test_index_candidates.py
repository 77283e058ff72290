"""Candidates for indexes on real servers: all are accepted, and one of the first is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from dbdyno.engines.index_advice import index_candidates
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.server.installations import Installation, find_installations, installation_of
from dbdyno.engines.server.managed import target as target_of
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.answers import Loaded
from dbdyno.model.events.facts import Facts
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask
from directories import server_directory
from fresh_data import fresh_data
from installed_servers import needs_mysql, needs_postgresql
from real_mysql import PROGRAM, needs_real_mysql

pytestmark = pytest.mark.slow

POSTGRESQL = (
    "create schema sales",
    "create table sales.invoice (id serial primary key, customer int, day timestamp, paid boolean)",
    "insert into sales.invoice (customer, day, paid) "
    "select i % 5000, timestamp '2024-01-01' + i * interval '1 minute', i % 100 <> 0 from generate_series(1, 20000) i",
    'create table "Order Details" ("Order ID" int, "Product ID" int, "user" text, '
    'primary key ("Order ID", "Product ID"))',
    "insert into \"Order Details\" select i / 4, i % 4, 'u' || i % 700 from generate_series(1, 20000) i",
    "create table events (id serial primary key, account int, at timestamptz, kind varchar(20), tags text[], "
    'payload jsonb, body text, deleted timestamptz, span int4range, code text collate "C")',
    "insert into events (account, at, kind, tags, payload, body, deleted, span, code) select i % 700, "
    "timestamptz '2024-01-01' + i * interval '1 minute', 'kind' || i % 20, array['t' || i % 90], "
    "jsonb_build_object('k', i % 900), 'word' || i % 800, case when i % 90 = 0 then now() end, int4range(i, i + 5), "
    "'c' || i from generate_series(1, 20000) i",
    "create index events_account on events (account)",
    'create view sales.unpaid as select id, customer as "Customer" from sales.invoice where not paid',
    'create view debts ("Who", number) as select "Customer", count(*) from sales.unpaid group by "Customer"',
    "analyze",
)
POSTGRESQL_STATEMENTS = (
    "select * from sales.invoice where customer = 77",
    "select i.id from sales.invoice i where i.day::date = '2024-01-03'",
    "select * from sales.invoice where date_trunc('day', day) = '2024-01-03'",
    "select * from sales.invoice where not paid order by day limit 5",
    'select * from "Order Details" where "user" = \'u7\'',
    'select d."Order ID" from "Order Details" d where d."Product ID" = 3 and lower(d."user") = \'u7\'',
    "select * from events where payload @> '{\"k\": 77}'",
    "select * from events where payload ? 'zz'",
    "select * from events where payload->>'k' = '77'",
    "select * from events where (payload->>'k')::int = 77",
    "select * from events where tags @> array['t7']",
    "select * from events where tags && '{t7}'",
    "select * from events where span @> 77",
    "select * from events where to_tsvector('english', body) @@ to_tsquery('english', 'word7')",
    "select * from events where kind like 'kind1%' and account = 7",
    "select * from events where body like 'word77%'",
    "select * from events where code like 'c77%'",
    "select * from events where body = 'word7' collate \"C\"",
    "select * from events where account = 7 order by at desc nulls last limit 5",
    "select distinct on (account) * from events order by account, at desc",
    "select * from events where kind = 'kind7' and deleted is null order by at desc limit 5",
    "select * from events where deleted is not null",
    "select kind, max(at) from events group by kind",
    "select count(*) from events e where not exists (select 1 from sales.invoice i where i.customer = e.account)",
    "select * from sales.invoice where customer = any (array[7, 8])",
    'select id from sales.unpaid u where u."Customer" = 77',
    'select * from debts where "Who" = 77',
    "delete from events using sales.invoice i where i.customer = events.account and events.body = 'word7'",
)
MYSQL = (
    "create table digits (d int)",
    "insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "create table `order details` (id int primary key auto_increment, `order id` int, `user` varchar(40), "
    "created datetime, note text, payload json, long_name varchar(900), other varchar(700))",
    "insert into `order details` (`order id`, `user`, created, note, payload, long_name, other) "
    "select n, concat('u', n % 50), '2024-01-01' + interval n % 90 day, concat('n', n % 70), "
    "json_object('k', n % 60, 's', concat('s', n % 60)), concat('l', n), concat('o', n) "
    "from (select a.d + 10 * b.d + 100 * c.d as n from digits a, digits b, digits c) numbers",
    "create view noted as select `order id` as number, note from `order details` where note is not null",
    "create view counted (what, times) as select note, count(*) from noted group by note",
    "analyze table `order details`",
)
MYSQL_STATEMENTS = (
    "select * from `order details` where `order id` = 7 order by created desc, id limit 5",
    "select * from `order details` where lower(`user`) = 'u7'",
    "select * from `order details` d where date(d.created) = '2024-01-01' and year(created) = 2024",
    "select * from `order details` where note = 'n7' and `user` like 'u1%'",
    "select * from `order details` where long_name = 'l7' and other = 'o7'",
    "select * from `order details` where payload->>'$.s' = 's7'",
    "select * from `order details` where cast(payload->'$.k' as unsigned) = 7",
    "select * from `order details` where payload->'$.k' = 7 or lower(note) = 'n7'",
    "select * from `order details` where payload = '{}'",
    "select number from noted where number = 7",
    "select * from counted where what = 'n7'",
    "select `user`, max(created) from `order details` group by `user`",
    "select * from `order details` o "
    "where `user` = (select max(`user`) from `order details` i where i.`order id` = o.id)",
)


# Expressions that MariaDB can't index, and documents that neither can.
DOCUMENTS = (*(each for each in MYSQL_STATEMENTS if "payload" in each and "$.s" not in each and "cast" not in each),)
UNSERVED = {
    "postgresql": (),
    "mysql": DOCUMENTS,
    "mariadb": tuple(each for each in MYSQL_STATEMENTS if "payload" in each or "lower(" in each or "date(" in each),
}


@dataclass
class Place:
    """A server with the tables. ``engine``: its engine, or MariaDB's name."""

    engine: str
    target: dict[str, Any]
    statements: Sequence[str]

    def do(self, *statements: str) -> None:
        ask(_task("load", target=self.target, before=list(statements), tables=[], after=[]), Loaded)

    def facts(self) -> Facts:
        """The catalog and the plans of the statements, which are only explained."""
        step = {"do": "execute", "statement": 0, "params": [], "into": []}
        asked = [{"name": each, "sql": each} for each in self.statements]
        trial = _task(
            "trial",
            target=self.target | ({"session": [["enable_seqscan", "off"]]} if self.engine == "postgresql" else {}),
            clients=1,
            window={"transactions": 1},
            prepare="never",
            statements=[{"name": "one", "sql": "select 1"}, *asked],
            transactions=[{"name": "t", "steps": [step]}],
        )
        return ask(trial, TrialResult).engine


def _task(kind: str, **keys: Any) -> dict[str, Any]:
    return {"schema": PLAN, "seed": 1, "task": {"kind": kind, **keys}}


def _installation(kind: str) -> Installation:
    if kind == "mysql":
        return installation_of("mysql", str(PROGRAM), "a test")
    return find_installations("mysql" if kind == "mariadb" else kind)[0]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("postgresql", marks=needs_postgresql),
        pytest.param("mariadb", marks=needs_mysql),
        pytest.param("mysql", marks=needs_real_mysql),
    ],
)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    kind = request.param
    installation = _installation(kind)
    with server_directory(mode=0o755) as directory:
        fresh_data(installation, directory / "data")
        with start_server(installation, directory / "data", directory, {}) as server:
            is_postgresql = kind == "postgresql"
            statements = POSTGRESQL_STATEMENTS if is_postgresql else MYSQL_STATEMENTS
            made = Place(kind, target_of(server), statements)
            made.do(*(POSTGRESQL if is_postgresql else MYSQL))
            yield made


def test_all_candidates_are_accepted_and_one_of_the_first_is_used(place: Place) -> None:
    facts = place.facts()
    catalog = facts.catalog.model_dump(by_alias=True)
    is_postgresql = place.engine == "postgresql"
    assert ("events" if is_postgresql else "order details") in [each["name"] for each in catalog["tables"]]
    for sql in place.statements:
        plan = known_engine("postgresql" if is_postgresql else "mysql").read_plan(facts.plans.get(sql, []))
        found = index_candidates(sql, place.engine, catalog, plan=plan)
        on = "" if is_postgresql else " on `order details`"
        drops = [f"drop index {each.schema + '.' if each.schema else ''}{each.name}{on}" for each in found]
        place.do(*(text for each, drop in zip(found, drops, strict=True) for text in (each.sql, drop)))
        analyze = "analyze" if is_postgresql else "analyze table `order details`"
        place.do(*(each.sql for each in found[:3]), analyze)
        steps = Place(place.engine, place.target, [sql]).facts().plans.get(sql, [])
        place.do(*drops[:3])
        assert any(each.name in step for each in found[:3] for step in steps) or sql in UNSERVED[place.engine], (
            sql,
            steps,
        )
