"""Workloads of tables on servers: each column gets values that its type accepts."""

import json
import re
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.engines.url import parse_url
from dbdyno.run.column_samples import sample_columns
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.values import Values, trace_key
from named_servers import named_server

# Servers are started.
pytestmark = pytest.mark.slow

ROWS = 300
OKS: dict[str, set[object]] = {"postgresql": {"true", "false"}, "mysql": {0, 1}}
TABLES = {
    "postgresql": """
        create type mood as enum ('glad', 'sad');
        create table t (id int primary key, u uuid not null, prefs jsonb not null, tags text[] not null, ok boolean);
        insert into t select n, md5(n::text)::uuid, '{"a": 1}', array['t' || n % 20], n % 2 = 0
            from generate_series(1, 300) n;
        create table "Log" (id serial primary key, payload jsonb not null);
        create table empty (c uuid primary key, at timestamptz, m mood, b bytea, r int4range, q int);
    """,
    "mysql": """
        create table t (id int primary key, u char(36) not null, prefs json not null, ok tinyint(1));
        insert into t with recursive s as (select 1 as n union all select n + 1 from s where n < 300)
            select n, md5(n), '{"a": 1}', n % 2 from s;
        create table empty (c int primary key, at datetime, m enum('glad', 'sad'), b varbinary(9), q tinyint);
    """,
}
STATEMENTS: dict[str, Sequence[tuple[str, Sequence[object]]]] = {
    "postgresql": [
        ("update t set prefs = ?::jsonb where id = ?", ('{"a": 7}', 5)),
        ('insert into "Log" (payload) values (?::jsonb)', ('{"x": 1}',)),
        ("select id from t where tags @> ?::text[] and ok = ?", ("{t4}", True)),
        ("insert into empty values (?, ?, ?, ?, null, ?) on conflict (c) do update set q = empty.q + ?",
         (uuid.UUID(int=5), "2024-05-05 10:00:00+00", "glad", "\\x00", 1, 1)),
        ("select * from empty where r && ?", ("[3,9)",)),
    ],
    "mysql": [
        ("update t set prefs = ? where id = ?", ('{"a": 7}', 5)),
        ("select id from t where u = ? and ok = ?", ("x", 1)),
        ("insert into empty values (?, ?, ?, ?, ?)", (5, "2024-05-05 10:00:00", "glad", "x", 1)),
    ],
}  # fmt: skip


def trace(engine: str, path: Path) -> None:
    values = Values(trace_key(path))
    with TraceWriter(path, Header(engine, "test", values.kept)) as writer:
        for number in range(30):
            for text, given in STATEMENTS[engine]:
                # Values differ, so that they are not recognized as constants.
                made = [f"{each}{number}" if isinstance(each, str) else each for each in given]
                at = 1_700_000_000_000_000 + number * 1000
                writer.add(1, text, Execution(at, 100_000, 1, None, None, [values.of(each) for each in made]))


@pytest.mark.parametrize("engine", sorted(TABLES))
def test_no_transaction_fails(server_cli: Cli, engine: str) -> None:
    trace(engine, server_cli.directory / "day.trace")
    with named_server(engine) as server:
        server.do(TABLES[engine])
        said = server_cli("distil", "day.trace", "-o", "my.sql", "--system", server.url)
        assert re.search(r"run it on a copy of the database:\n.*_copy\b.* --allow-writes\n", said)
        text = (server_cli.directory / "my.sql").read_text()
        document = server_cli.run(
            "my.sql", "--mix", "--system", server.url, "--allow-writes", "--set", "seconds=0.5", "--rounds", "1"
        )
        system = parse_url(server.url)
        assert set(sample_columns(system, "t", ["ok"], ROWS)[0]) == OKS[engine]
        assert sample_columns(system, "t", ["id rank 1, 300, 2"], 10) == [[1, ROWS, 2]]
        assert len(set(sample_columns(system, "t", ["u rank 1, 2, 1"], 10)[0])) == 2
        ids, later, oks = sample_columns(system, "t", ["id", "id after 7", "ok"], ROWS)
        assert sorted(ids) == list(range(1, ROWS - 6))
        assert [int(each) for each in later] == [int(each) + 7 for each in ids]
        assert set(oks) == {str(each) for each in OKS[engine]} or set(oks) == OKS[engine]
    (cell,) = document["cells"]
    assert cell["failed"] == {}, json.dumps(cell["failed"])
    left_out = "its transaction: `no value of the type int4range is known`"
    assert (left_out in text) == (engine == "postgresql")
