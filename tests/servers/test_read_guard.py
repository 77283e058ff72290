"""The write guard: on a database that dbdyno did not make, only statements that are known to be reads pass.

Tables of statements: each statement with effects must be refused, and each ordinary read must pass. Data, sequences,
sessions and files are the same after the check as before it.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.installations import find_installations, installation_of
from dbdyno.engines.server.managed import target
from dbdyno.engines.statements import places
from dbdyno.model.events.answers import Loaded, OnlyReads, Reach, Writes
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask
from directories import server_directory
from duckdb_library import LIBRARY, URL, needs_duckdb
from installed_servers import needs_mysql, needs_postgresql
from real_mysql import PROGRAM, needs_real_mysql
from test_writes import HEAD, Served, serve, transaction


def _places(place: dict[str, Any], text: str) -> list[int]:
    """Return where values go in a statement, as compiling an experiment does."""
    return [len(text[:at].encode()) for at in places(text, place["engine"])]


def told(place: dict[str, Any], texts: Sequence[str]) -> list[str | None]:
    """Ask why each statement is not known to be a read; ``None`` if it is."""
    statements = [
        {"name": f"s{number}", "sql": text, "places": _places(place, text)} for number, text in enumerate(texts)
    ]
    transactions = [{"name": "any", "steps": [{"do": "begin"}]}]
    task = {"kind": "writes", "target": place, "statements": statements, "transactions": transactions}
    answer = ask({"schema": PLAN, "seed": 1, "task": task}, Writes, 300.0)
    return [None if isinstance(each, OnlyReads) else each.why for each in answer.statements]


def check_tables(place: dict[str, Any], effects: Sequence[str], reads: Sequence[str]) -> None:
    """Each statement with effects is refused, also behind a read and in other spellings; each read passes."""
    passed = [text for text, why in zip(effects, told(place, effects), strict=True) if why is None]
    assert not passed
    refused = [(text, why) for text, why in zip(reads, told(place, reads), strict=True) if why is not None]
    assert not refused
    texts = [text for text in effects if text and not text.startswith("--")]
    hidden = [f"-- /*\n{text}" for text in texts] + [f"select 1; {text}" for text in texts]
    passed = [text for text, why in zip(hidden, told(place, hidden), strict=True) if why is None]
    assert not passed


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with server_directory(mode=0o755) as made:
        yield made


# --- PostgreSQL

# PostgreSQL cuts a longer name off.
LONG = "x" * 63

POSTGRESQL_SETUP = (
    f"create function {LONG}(x int) returns int language sql as 'select 1';"
    + """
create table users (id serial primary key, name text, v int, data jsonb, tags text[], made timestamptz default now());
insert into users (name, v, data, tags) select 'user ' || i, i, jsonb_build_object('a', i), array['a', 'b']
    from generate_series(1, 20) i;
create table log (n int);
create sequence numbers;
create index on users (v);
create view few as select id, name from users where v < 5;
create view counted as select nextval('numbers') as n;
create view again as select n from counted;
create view locking as select * from users for update;
create view ended as select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'bystander';
create function volatile_one() returns int language sql as 'select 1';
create function inserting() returns int language sql as 'insert into log values (1) returning n';
create function deleting(x int) returns int language plpgsql as $$ begin delete from users; return x; end $$;
create function doubled(x int) returns int language sql immutable as 'select x * 2';
create function most() returns int language plpgsql stable as $$ begin return (select max(v) from users); end $$;
create function crosstab(sql text) returns int language plpgsql stable as $$ begin execute sql; return 1; end $$;
create function by_row(u users) returns int language sql as 'select pg_advisory_lock(1)::text::int';
create function "Odd Name"() returns int language sql as 'select 1';
create procedure proceeding() language sql as 'insert into log values (2)';
create function less_safe(a int, b int) returns boolean language plpgsql as $$ begin return a < b; end $$;
create operator <<<< (leftarg = int, rightarg = int, function = less_safe);
create function summing(a int, b int) returns int language plpgsql as $$ begin return a + b; end $$;
create aggregate total(int) (sfunc = summing, stype = int, initcond = '0');
create function checked(x int) returns boolean language plpgsql as $$ begin return x > 0; end $$;
create domain positive as int check (checked(value));
create domain small as int check (value < 100);
create domain tiny as positive check (value < 10);
create table measured (p positive);
create type measures as (p tiny);
create view casting as select 5::tiny as t;
create table guarded (x int);
alter table guarded enable row level security;
create policy looking on guarded using (volatile_one() = 1);
create table watched (x int);
alter table watched enable row level security;
create policy looking_far on watched using (exists (select from again));
create type pair as (a int, b int);
select lo_create(4711);
"""
)

POSTGRESQL_EFFECTS = [
    # Statements that are no queries.
    "insert into users (v) values (1)",
    "update users set v = v + 1",
    "delete from users",
    "merge into users u using log l on u.id = l.n when matched then delete",
    "truncate users",
    "do $$ begin delete from users; end $$",
    "do $$ begin copy (select 1) to program 'touch /tmp/dbdyno-guard-written'; end $$",
    "do language plpgsql $x$ begin perform pg_notify('a', 'b'); end $x$",
    "call proceeding()",
    "copy users to '/tmp/dbdyno-guard-written'",
    "copy (select 1) to program 'touch /tmp/dbdyno-guard-written'",
    "copy users to stdout",
    "copy log from program 'echo 1'",
    "lock table users in access exclusive mode",
    "listen news",
    "unlisten *",
    "notify news, 'all'",
    "vacuum users",
    "vacuum full",
    "analyze users",
    "reindex table users",
    "cluster",
    "checkpoint",
    "refresh materialized view few",
    "create table other (x int)",
    "create table other as select 1",
    "create temporary table other (x int)",
    "drop table users",
    "alter table users add column more int",
    "alter system set work_mem = '5MB'",
    "alter role postgres set work_mem = '5MB'",
    "create role somebody",
    "drop database postgres",
    "create extension dblink",
    "grant select on users to public",
    "comment on table users is 'mine'",
    "security label on table users is 'x'",
    "prepare p as delete from users",
    "execute s0",
    "deallocate all",
    "discard all",
    "declare c cursor with hold for select 1",
    "fetch all from c",
    "load 'auto_explain'",
    "set default_transaction_read_only = off",
    "set transaction_read_only to off",
    "set session authorization postgres",
    "set role postgres",
    "set session characteristics as transaction read write",
    "set transaction read write",
    "set log_statement = 'all'",
    "set search_path = pg_temp",
    "reset all",
    "begin read write",
    "start transaction read write",
    "prepare transaction 'x'",
    "commit prepared 'x'",
    "explain analyze delete from users",
    "explain (analyze, costs off) delete from users",
    "explain (costs off, analyze true) select inserting()",
    "explain execute s0",
    'explain ("analyze") delete from users',
    'explain ("analyze" true, costs off) select inserting()',
    # Queries that write or lock rows.
    "select * into other from users",
    "select * from users for update",
    "select * from users for no key update",
    "select * from users for share",
    "select * from users for key share skip locked",
    "with gone as (delete from users returning id) select count(*) from gone",
    "with made as (insert into log values (1) returning n) select * from made",
    "with changed as (update users set v = 0 returning id) table changed",
    "select * from locking",
    "select * from (select * from users for update) u",
    # Functions with effects.
    "select nextval('numbers')",
    "select pg_catalog.nextval('numbers')",
    "select \"nextval\"('numbers')",
    "select NextVal /* ( */ ('numbers')",
    "select nextval -- (\n('numbers')",
    "select setval('numbers', 100)",
    "select * from nextval('numbers')",
    "select 1 limit nextval('numbers')",
    "select 1 offset setval('numbers', 9)",
    "select case when v > 0 then nextval('numbers') end from users",
    "select v from users order by nextval('numbers')",
    "select v from users where v = any (select nextval('numbers'))",
    "values (nextval('numbers'))",
    "(select nextval('numbers'))",
    "select * from generate_series(1, 3) g, lateral (select nextval('numbers')) l",
    "select count(*) filter (where nextval('numbers') > 0) from users",
    "select sum(v) over (order by nextval('numbers')) from users",
    "select set_config('default_transaction_read_only', 'off', false)",
    "select set_config('transaction_read_only', 'off', true)",
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'bystander'",
    "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'bystander'",
    "select pg_reload_conf()",
    "select pg_rotate_logfile()",
    "select pg_notify('news', 'all')",
    "select pg_advisory_lock(1)",
    "select pg_advisory_lock_shared(1)",
    "select pg_advisory_xact_lock(1)",
    "select pg_try_advisory_lock(1)",
    "select pg_advisory_unlock_all()",
    "select lo_create(0)",
    "select lo_creat(-1)",
    "select lo_unlink(4711)",
    "select lo_from_bytea(0, 'abc')",
    "select lo_put(4711, 0, 'abc')",
    "select lo_import('/etc/hostname')",
    "select lo_export(4711, '/tmp/dbdyno-guard-written')",
    "select pg_read_file('/etc/hostname')",
    "select pg_read_binary_file('/etc/hostname')",
    "select * from pg_ls_dir('/')",
    "select pg_stat_file('/etc/hostname')",
    "select pg_stat_reset()",
    "select pg_stat_reset_shared('bgwriter')",
    "select pg_switch_wal()",
    "select pg_create_restore_point('x')",
    "select pg_create_physical_replication_slot('x')",
    "select pg_logical_emit_message(false, 'a', 'b')",
    "select pg_export_snapshot()",
    "select pg_import_system_collations('pg_catalog')",
    "select pg_log_backend_memory_contexts(pg_backend_pid())",
    "select txid_current()",
    "select pg_current_xact_id()",
    "select lo_open(4711, 131072)",
    "select query_to_xml('delete from users', true, true, '')",
    "select cursor_to_xml('c', 1, true, true, '')",
    "select * from ts_stat('select to_tsvector(name) from users')",
    "select * from dblink('dbname=postgres', 'delete from users') as t(id int)",
    # What users defined, directly and out of sight.
    "select volatile_one()",
    "select crosstab('select pg_advisory_lock(1)')",
    f"select {LONG}y(1)",
    "select inserting()",
    "select public.deleting(id) from users",
    'select "Odd Name"()',
    "select users.by_row from users",
    "select (u).by_row from users u",
    "select by_row(u) from users u",
    "select n from counted",
    "select * from again",
    "select * from ended",
    "select 1 <<<< 2",
    "select 1 operator(public.<<<<) 2",
    "select total(v) from users",
    "select 5::positive",
    "select cast(v as public.positive) from users",
    "select 5::tiny",
    "select tiny '5'",
    "select '{5}'::public.tiny[]",
    "select t from casting",
    "select jsonb_populate_record(null::measured, '{\"p\": 1}')",
    "select cast(null as measures)",
    "select * from guarded",
    "select * from watched",
    "select currval('numbers')",
    "select lastval()",
    # Spellings that hide what is there.
    "select $$ ' $$, nextval('numbers'), $$ ' $$",
    "select $a$ $$ $a$, nextval('numbers'), '$$'",
    "select e'\\'', nextval('numbers'), ''",
    "select '\\', nextval('numbers'), ''",
    "select 1 /* /* */ */, nextval('numbers') /* */",
    "select 1 -- \r, nextval('numbers')",
    "select U&\"\\006eextval\"('numbers')",
    "select e'a'\n'b\\'', nextval('numbers'), ''",
    "select * from nowhere",
    "select 'open",
    "",
    "-- nothing",
]

POSTGRESQL_READS = [
    "select 1",
    "SELECT * FROM users;",
    "select id, name from users where id = $1",
    "select * from users where v between $1 and $2 order by v desc nulls last limit $3 offset 2",
    "select count(*), sum(v), avg(v), min(v), max(v) from users group by v % 3 having count(*) > 1",
    "select distinct on (v) v, name from users order by v, id",
    "with a as (select * from users), b as materialized (select v from a) select count(*) from b",
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 10) select sum(n) from t",
    "select row_number() over (partition by v % 2 order by id), lag(v, 1) over w from users window w as (order by id)",
    "select data ->> 'a', data -> 'a', data @> '{\"a\": 1}', data #>> '{a}' from users",
    "select * from users where data ? 'a' or data ?| array['a', 'b']",
    "select jsonb_build_object('a', v), jsonb_agg(v), to_jsonb(name) from users group by v, name",
    "select * from jsonb_array_elements('[1, 2]') with ordinality as e(value, n)",
    "select * from jsonb_to_recordset('[{\"a\": 1}]') as r(a int)",
    "select array_agg(v order by v), array_length(array[1, 2], 1), tags || array['c'] from users group by tags",
    "select unnest(tags) from users where 'a' = any (tags)",
    "select * from generate_series(1, 10) as g(n) cross join lateral (select n * 2 as m) l",
    "select generate_series(now(), now() + interval '2 days', '1 day')",
    "select now(), current_timestamp, clock_timestamp(), statement_timestamp(), current_date, localtime",
    "select date_trunc('day', made), extract(epoch from made), age(made), made at time zone 'UTC' from users",
    "select to_char(made, 'YYYY-MM-DD'), make_date(2024, 1, 2), date '2024-01-02' + 1 from users",
    "select * from users where name like 'user 1%' or name ilike '%2' or name similar to '%3' or name ~ '^user'",
    "select lower(name), upper(name), length(name), substring(name from 1 for 3), position('r' in name) from users",
    "select trim(both ' ' from name), replace(name, 'u', 'x'), split_part(name, ' ', 2), left(name, 2) from users",
    "select concat(name, '-', v), format('%s: %L', name, v), string_agg(name, ', ') over () from users",
    "select regexp_replace(name, '[0-9]+', '#'), regexp_match(name, '(\\d+)') from users",
    "select coalesce(v, 0), nullif(v, 1), greatest(v, 3), least(v, 3), case v when 1 then 'a' else 'b' end from users",
    "select random(), gen_random_uuid(), md5(name), hashtext(name), encode(sha256(name::bytea), 'hex') from users",
    "select pg_sleep(0)",
    "select v::text, v::numeric(10, 2), cast(v as bigint), '5'::int, 5::small from users",
    "select doubled(v), most() from users",
    "select * from few",
    "table users",
    "values (1, 'a'), (2, 'b')",
    "(select v from users) union all (select n from log) except select 3 intersect select 4",
    "select u.name, l.n from users u left join log l on l.n = u.id full join few using (id)",
    "select u.* from users u where exists (select 1 from log where n = u.id) and u.v not in (select n from log)",
    "select v, name, grouping(v) from users group by grouping sets ((v), (name), ())",
    "select v, count(*) from users group by rollup (v)",
    "select percentile_cont(0.5) within group (order by v), count(*) filter (where v > 3) from users",
    "select * from users tablesample system (50) repeatable (1)",
    "select to_tsvector('english', name) @@ to_tsquery('english', 'user') from users",
    "select row(1, 2), (1, 2) = (1, 2), array[[1, 2], [3, 4]], row_to_json(u) from users u",
    "select $$it's (nextval('numbers'))$$, 'nextval(1)', \"id\" from users -- nextval(\n",
    "select /* nextval('numbers') */ 1",
    "select pg_relation_size('users'), pg_size_pretty(pg_total_relation_size('users')), pg_table_size('users')",
    "select current_user, current_setting('work_mem'), version(), pg_backend_pid(), inet_server_addr()",
    "select * from pg_stat_activity",
    "select relname, reltuples from pg_class join pg_namespace n on n.oid = relnamespace where nspname = 'public'",
    "select table_name from information_schema.tables where table_schema = 'public'",
    "select int4range(1, 5) @> 3, numrange(1, 2) && numrange(2, 3), inet '10.0.0.1' << inet '10.0.0.0/8'",
    "select width_bucket(v, 0, 10, 5), round(v / 3.0, 2), mod(v, 2), power(v, 2), abs(v), ceil(v / 2.0) from users",
    "select bool_and(v > 0), bit_or(v), stddev(v), corr(v, id), mode() within group (order by v) from users",
    "select * from measured as m",
    "select (pair).a from (select row(1, 2)::pair as pair) p",
    "select overlay('abc' placing 'x' from 2), 'a' collate \"C\" < 'b'",
    "show work_mem",
    "show all",
    "explain select * from users",
    "explain (format json, verbose) insert into users (v) values (1)",
    "begin",
    "begin isolation level repeatable read",
    "set transaction isolation level serializable",
    "savepoint a",
    "rollback to savepoint a",
    "commit",
    "set work_mem = '8MB'",
    "set local enable_seqscan to off",
]


@pytest.fixture(scope="module")
def postgresql(directory: Path) -> Iterator[Served]:
    program = str(find_installations("postgresql")[0].programs["psql"])
    for served in serve(
        directory,
        "postgresql",
        lambda it: [program, "-qAt", "-h", str(it.socket), "-p", str(it.port), "-U", it.user, "-v", "ON_ERROR_STOP=1"],
    ):
        served.sql(POSTGRESQL_SETUP)
        yield served


POSTGRESQL_STATE = """
select md5(string_agg(u::text, ',' order by id)) from users u;
select count(*) from log;
select last_value, is_called from numbers;
select last_value from users_id_seq;
select count(*), string_agg(oid::text, ',') from pg_largeobject_metadata;
select count(*) from pg_class;
select count(*), string_agg(rolname || coalesce(rolconfig::text, ''), ',' order by rolname) from pg_roles;
select string_agg(datname, ',' order by datname) from pg_database;
select count(*) from pg_locks where locktype = 'advisory';
select count(*) from pg_replication_slots;
select count(*) from pg_file_settings where sourcefile like '%auto.conf';
select stats_reset from pg_stat_database where datname = current_database();
select pid from pg_stat_activity where application_name = 'bystander';
"""


@needs_postgresql
def test_postgresql_lets_reads_pass_and_nothing_else(postgresql: Served) -> None:
    client = [*postgresql._client, postgresql.server.database]
    environment = {**os.environ, "PGAPPNAME": "bystander"}
    with subprocess.Popen(
        client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as bystander:
        assert bystander.stdin is not None and bystander.stdout is not None
        bystander.stdin.write("select 'here';\n")
        bystander.stdin.flush()
        assert bystander.stdout.readline() == "here\n"
        before = postgresql.sql(POSTGRESQL_STATE)
        assert before.splitlines()[-1].isdigit()
        check_tables(target(postgresql.server), POSTGRESQL_EFFECTS, POSTGRESQL_READS)
        assert postgresql.sql(POSTGRESQL_STATE) == before
        assert not Path("/tmp/dbdyno-guard-written").exists()
        bystander.stdin.close()


# --- MariaDB and MySQL

MYSQL_SETUP = """
create table users (id int primary key auto_increment, name varchar(50), v int, data json, made datetime default now());
insert into users (name, v, data) values ('a', 1, '{"a": 1}'), ('b', 2, '{"a": 2}'), ('c', 3, '{"a": 3}');
create table old (id int) engine=MyISAM;
create table log (n int);
create view few as select id, concat(name, '!') as name from users where v < 3;
create view locks as select get_lock('guard', 0) as l;
create view again as select l from locks;
delimiter //
create function inserting() returns int modifies sql data begin insert into log values (9); return 1; end//
create function undeclared() returns int deterministic return 1//
create function doubled(x int) returns int deterministic no sql return x * 2//
create function most() returns int reads sql data begin declare m int; select max(v) into m from users; return m; end//
create function locking() returns int no sql return get_lock('guard', 0)//
create function outer_one() returns int reads sql data return locking() + 1//
create procedure loud() begin insert into log values (9); end//
delimiter ;
"""

MYSQL_EFFECTS = [
    "insert into users (v) values (1)",
    "insert users (v) values (1)",
    "replace into users (id, v) values (1, 2)",
    "update users set v = v + 1",
    "delete from users",
    "truncate users",
    "insert into old values (1)",
    "call loud()",
    "do get_lock('guard', 0)",
    "do sleep(0)",
    "create table other (x int)",
    "create temporary table other (x int)",
    "drop table users",
    "drop table if exists nowhere",
    "alter table users add column more int",
    "rename table log to logs",
    "lock tables users write",
    "unlock tables",
    "flush tables",
    "flush tables with read lock",
    "analyze table users",
    "optimize table users",
    "check table users",
    "repair table old",
    "handler users open",
    "kill 1",
    "set global max_connections = 99",
    "set @@global.max_connections = 99",
    "set session sql_log_bin = 0",
    "set password = 'x'",
    "set transaction read write",
    "start transaction read write",
    "xa start 'x'",
    "create user somebody",
    "grant all on *.* to somebody",
    "reset master",
    "purge binary logs to 'x'",
    "install plugin x soname 'x.so'",
    "load data infile '/etc/hostname' into table log",
    "load data local infile '/etc/hostname' into table log",
    "prepare p from 'delete from users'",
    "execute p",
    "use mysql",
    "select 1 into outfile 'dbdyno-guard-written'",
    "select v from users limit 1 into dumpfile 'dbdyno-guard-written'",
    "select max(v) from users into @m",
    "select v into @m from users limit 1",
    "select * from users for update",
    "select * from users for update skip locked",
    "select * from users lock in share mode",
    "select * from (select * from users for update) u",
    "with w as (select 1 as n) delete from users",
    "with w as (select 1 as n) update users set v = 1",
    "select get_lock('guard', 0)",
    "select GET_LOCK /* ( */ ('guard', 0)",
    "select get_lock\n('guard', 0)",
    "select `get_lock`('guard', 0)",
    "select release_lock('guard')",
    "select release_all_locks()",
    "select load_file('/etc/hostname')",
    "select benchmark(10, sha2('a', 256))",
    "select last_insert_id(5)",
    "select v from users where get_lock('guard', 0) = 1",
    "select v from users order by get_lock('guard', 0)",
    "show tables where get_lock('guard', 0)",
    "values row(get_lock('guard', 0))",
    "explain analyze select * from users",
    "analyze select * from users",
    "explain select get_lock('guard', 0)",
    "select master_pos_wait('a', 4, 1)",
    "select inserting()",
    "select undeclared()",
    "select dbdyno.inserting()",
    "select `inserting`()",
    "select locking()",
    "select outer_one()",
    "select l from locks",
    "select * from again",
    "select sys_exec('touch /tmp/dbdyno-guard-written')",
    # Spellings that hide what is there.
    "/*! delete from users */",
    "/*!40000 delete */ from users",
    "/*!99999 select */ delete from users",
    "select /*! get_lock('guard', 0) */",
    "select 1 /*!40000 into outfile 'dbdyno-guard-written' */",
    "select get_lock /*!99999 x */ (1, 0)",
    "select '\\'', get_lock('guard', 0), ''",
    'select "\'", get_lock(1, 0), "\'"',
    "select 1 --get_lock(\n+ get_lock('guard', 0)",
    "select 1 # '\n, get_lock('guard', 0)",
    "select * from users for # x\nupdate",
    "select 'open",
    "select * from nowhere",
    "",
]

MARIADB_EFFECTS = [
    "insert into users (v) values (1) returning id",
    "delete from users returning id",
    "select nextval(numbers)",
    "select next value for numbers",
    "select numbers.nextval",
    "select setval(numbers, 100)",
    "select previous value for numbers, nextval(numbers)",
    "/*M! delete from users */",
    "begin not atomic delete from users; end",
    "execute immediate 'delete from users'",
    "backup stage start",
    "select master_gtid_wait('0-1-1', 0)",
    "set statement max_statement_time = 1 for delete from users",
    "select * from users procedure analyse()",
    "analyze format=json select * from users",
]

REAL_MYSQL_EFFECTS = [
    "select * from users for share",
    "select * from users for share of users nowait",
    "select source_pos_wait('a', 4, 1)",
    "select innodb_redo_log_archive_stop()",
    "select asynchronous_connection_failover_reset()",
    "set persist max_connections = 99",
    "clone local data directory = '/tmp/dbdyno-guard-written'",
    "explain format=json into @x select 1",
]

MYSQL_READS = [
    "select 1",
    "SELECT * FROM users;",
    "select * from users where id = ?",
    "select id, name from users where v between ? and ? order by v desc limit 10 offset 2",
    "select count(*), sum(v), avg(v), min(v), max(v) from users group by v % 2 having count(*) > 0",
    "select distinct v from users",
    "with a as (select * from users), b as (select v from a) select count(*) from b",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select sum(i) from n",
    "select v, row_number() over (partition by v order by id), lag(v, 1) over w from users window w as (order by id)",
    "select json_extract(data, '$.a'), json_unquote(json_extract(data, '$.a')), json_object('a', v) from users",
    "select json_arrayagg(v), json_objectagg(name, v), json_length(data) from users group by data",
    "select * from json_table('[{\"a\": 1}]', '$[*]' columns (a int path '$.a')) t",
    "select now(), current_timestamp, sysdate(), curdate(), utc_timestamp(), unix_timestamp(made) from users",
    "select date_format(made, '%Y-%m-%d'), date_add(made, interval 1 day), datediff(now(), made) from users",
    "select extract(year from made), year(made), month(made), hour(made), timestampdiff(day, made, now()) from users",
    "select * from users where name like 'a%' or name regexp '^b' or name not like 'c' escape '|'",
    "select lower(name), upper(name), length(name), char_length(name), substring(name, 1, 2), left(name, 1) from users",
    "select concat(name, '-', v), concat_ws(',', v), trim(both ' ' from name), replace(name, 'a', 'b') from users",
    "select insert('abc', 1, 1, 'x'), repeat('a', 3), reverse('abc'), lpad('a', 3, ' '), locate('b', 'abc')",
    "select substring_index('a.b.c', '.', 2), find_in_set('b', 'a,b'), field('b', 'a', 'b'), elt(1, 'a')",
    "select group_concat(distinct name order by name separator '; ') from users",
    "select coalesce(v, 0), ifnull(v, 1), nullif(v, 1), if(v > 1, 'a', 'b'), case v when 1 then 'a' end from users",
    "select rand(), uuid(), sha2(name, 256), crc32(name), hex(name), to_base64(name) from users",
    "select sleep(0)",
    "select cast(v as char(10)), cast(name as binary), convert(v, decimal(9, 2)), convert(name using utf8) from users",
    "select doubled(v), most(), dbdyno.doubled(2) from users",
    "select * from few",
    "(select v from users) union all (select n from log)",
    "select u.name, l.n from users u left join log l on l.n = u.id join few using (id)",
    "select * from users where exists (select 1 from log where n = users.id) and v not in (select n from log)",
    "select v, count(*) from users group by v with rollup",
    "select straight_join * from users force index (primary) where id in (1, 2)",
    "select /*+ max_execution_time(1000) */ * from users",
    "select /*!40001 sql_no_cache */ * from users",
    "select 'get_lock(1)', \"load_file(2)\", `id` from users -- get_lock(\n",
    "select 1 # get_lock(\n",
    "select /* get_lock('guard', 0) */ 1",
    "select @n := 1, @n + 1",
    "select @@version, @@session.sql_mode, @@global.max_connections, database(), user(), connection_id()",
    "select last_insert_id(), row_count(), found_rows(), version()",
    "select round(v / 3, 2), truncate(v, 1), mod(v, 2), power(v, 2), sqrt(v), abs(-v), ceil(v / 2) from users",
    "select stddev(v), variance(v), bit_or(v), std(v) from users",
    "select st_distance(point(1, 1), point(2, 2)), st_astext(point(1, 2))",
    "select inet_aton('10.0.0.1'), bin(5), conv('a', 16, 2), greatest(1, 2), least(1, 2), interval(2, 1, 3)",
    "select t.a from (select 1 as a) as t cross join (select 2 as b) u",
    "select is_free_lock('guard'), is_used_lock('guard')",
    "show tables",
    "show create table users",
    "show variables like 'version%'",
    "describe users",
    "explain select * from users where id = 1",
    "select table_name from information_schema.tables where table_schema = database()",
    "start transaction",
    "begin",
    "savepoint a",
    "commit",
]

REAL_MYSQL_READS = [
    "table users order by id limit 2",
    "values row(1, 2), row(3, 4)",
    "select * from (values row(1, 2)) as t(a, b)",
    "select data->'$.a', data->>'$.a', 1 member of ('[1, 2]') from users",
    "select regexp_like(name, '^a'), any_value(v), bin_to_uuid(uuid_to_bin(uuid())), json_pretty(data) from users",
    "select * from users, lateral (select max(n) from log where n < users.v) l",
    "select grouping(v), count(*) from users group by v with rollup",
    "explain format=tree select * from users",
]

MARIADB_READS = [
    "values (1, 2), (3, 4)",
    "select median(v) over (), nvl(v, 1), json_detailed(data), to_char(made, 'YYYY') from users",
    "select lastval(numbers)",
    "select regexp_replace(name, 'a', 'b'), natural_sort_key(name) from users",
]

MYSQL_STATE = """
select sha2(group_concat(concat_ws('|', id, name, v) order by id), 256) from users;
select count(*) from log; select count(*) from old;
select count(*) from information_schema.tables; select @@global.max_connections;
select group_concat(user) from mysql.user; select is_free_lock('guard');
select count(*) from information_schema.processlist where user <> 'system user' and command <> 'Daemon';
"""


def check_mysql(served: Served, effects: Sequence[str], reads: Sequence[str]) -> None:
    before = served.sql(MYSQL_STATE)
    check_tables(target(served.server), [*MYSQL_EFFECTS, *effects], [*MYSQL_READS, *reads])
    assert served.sql(MYSQL_STATE) == before
    assert not list(served.server.data.rglob("dbdyno-guard-written"))
    assert not Path("/tmp/dbdyno-guard-written").exists()


@needs_mysql
def test_mariadb_lets_reads_pass_and_nothing_else(directory: Path) -> None:
    for served in serve(directory, "mysql", lambda it: ["mariadb", "-N", "-S", str(it.socket), "-u", it.user]):
        served.sql(MYSQL_SETUP + "create sequence numbers;")
        check_mysql(served, MARIADB_EFFECTS, MARIADB_READS)
        assert served.sql("select nextval(numbers)") == "1"
        # Which quotes enclose strings is the session's to say.
        ansi = target(served.server) | {"session": [["sql_mode", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"]]}
        hidden = ["select '\\', get_lock(1, 0), ''", "select \"get_lock\"('guard', 0)"]
        assert None not in told(ansi, hidden)
        assert told(ansi, ["select \"id\" from users where name = '\\'"]) == [None]


@needs_real_mysql
def test_mysql_lets_reads_pass_and_nothing_else(directory: Path) -> None:
    installation = installation_of("mysql", str(PROGRAM), "tests/servers/test_read_guard.py")
    client = ["mariadb", "-N"]
    for served in serve(directory, installation, lambda it: [*client, "-S", str(it.socket), "-u", it.user]):
        served.sql("set global log_bin_trust_function_creators = 1;" + MYSQL_SETUP)
        check_mysql(served, REAL_MYSQL_EFFECTS, REAL_MYSQL_READS)


# --- Files: SQLite and DuckDB work on a copy, so the harm is to other files, the process and other machines.

SQLITE_EFFECTS = [
    "attach 'other.db' as other",
    "ATTACH DATABASE 'other.db' AS other",
    "attach /* 'x' */ 'other.db' as other",
    "attach ? as other",
    "attach (select 'other.db') as other",
    "attach 'file:other.db?mode=rwc' as other",
    "attach ':memory:' || '' || 'other.db' as other",
    'attach "other.db" as other',
    "explain attach 'other.db' as other",
    "vacuum into 'other.db'",
    "vacuum main into 'other.db'",
    "VACUUM \"main\" INTO 'other.db'",
    "vacuum /* x */ main -- y\n into 'other.db'",
    "vacuum into ?",
    "explain vacuum into 'other.db'",
    "select load_extension('other.so')",
    "select load_extension('other.so', 'entry')",
    "select Load_Extension /* ( */ ('other.so')",
    "select \"load_extension\"('other.so')",
    "select [load_extension]('other.so')",
    "select 1 where load_extension('other.so')",
    "insert into users values (load_extension('other.so'))",
    "create view v as select load_extension('other.so')",
    "create trigger t after insert on users begin select load_extension('other.so'); end",
    "select fts3_tokenizer('simple', x'00')",
    "select writefile('other.db', 'x')",
    "select edit('x', 'vi')",
    "select readfile('/etc/passwd')",
    "select * from fsdir('/')",
    "select * from zipfile('other.zip')",
    "create virtual table t using csv(filename = 'other.csv')",
    "create virtual table t using zipfile('other.zip')",
    "create virtual table temp.t using vsv(filename = 'other.csv')",
    "pragma writable_schema = on",
    "pragma writable_schema(1)",
    "pragma main.writable_schema = reset",
    'pragma "writable_schema" = 1',
    "pragma temp_store_directory = '/tmp'",
    "pragma data_store_directory = '/tmp'",
    "pragma key = 'x'",
    "pragma rekey = 'x'",
    "pragma lock_proxy_file = 'other'",
    "pragma activate_extensions = 'x'",
    "pragma vdbe_trace = on",
    "select 'open",
]

SQLITE_WITHIN = [
    "select * from users where id = ?",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) select * from n",
    "insert into users (v) values (1) returning id",
    "replace into users (id, v) values (1, 2)",
    "update users set v = v + 1 where id = ?1",
    "delete from users where id = :id",
    'create table if not exists other (x, attach text, "vacuum into" int)',
    "create temp view v as select * from users",
    "create unique index i on users (v)",
    "create virtual table t using fts5(a, b)",
    "create virtual table temp.r using rtree(id, a, b)",
    "create trigger t after insert on users begin update users set v = 1; end",
    "drop table if exists other",
    "alter table users rename to people",
    "attach ':memory:' as m",
    "attach '' as m",
    "detach m",
    "vacuum",
    "reindex",
    "analyze users",
    "explain query plan select * from users",
    "pragma journal_mode = wal",
    "pragma main.cache_size = -2000",
    "pragma wal_checkpoint(truncate)",
    "pragma table_info(users)",
    "pragma user_version = 5",
    "select 'attach ''x'' as y', \"load_extension(1)\" from users -- vacuum into 'x'",
    "select json_extract(data, '$.a'), row_number() over (order by id) from users",
    "begin immediate",
    "commit",
    "savepoint a",
    "release a",
    "values (1), (2)",
]

DUCKDB_EFFECTS = [
    "attach 'other.duckdb' as other",
    "attach or replace database 'other.duckdb' as other",
    "attach 'postgresql://host/db' as p (type postgres)",
    "copy users to 'other.csv'",
    "copy (select 1) to 'other.parquet' (format parquet)",
    "COPY users TO '/dev/stdout'",
    "copy \"from\" to 'other.csv'",
    "copy users(id) to 'other.csv'",
    "copy from database a to b",
    "-- from\ncopy users to 'other.csv'",
    "explain analyze copy users to 'other.csv'",
    "prepare p as copy users to 'other.csv'",
    "export database 'other'",
    "import database 'other'",
    "install httpfs",
    "force install httpfs from 'http://host'",
    "load httpfs",
    "load '/tmp/other.duckdb_extension'",
    "update extensions",
    "call enable_logging()",
    "call pragma_version()",
    "force checkpoint",
    "use other",
    "create secret s (type s3)",
    "create persistent secret s (type s3)",
    "create or replace secret s (type s3)",
    "drop secret s",
    "set secret_directory = '/tmp'",
    "set home_directory = '/tmp'",
    "set extension_directory = '/tmp'",
    "set temp_directory = '/tmp'",
    "set allow_unsigned_extensions = true",
    "set autoinstall_known_extensions = true",
    "set global custom_extension_repository = 'http://host'",
    "set log_query_path = 'other'",
    "set profiling_output = 'other'",
    "set enable_external_access = true",
    "set lock_configuration = true",
    "reset extension_directory",
    "pragma enable_profiling",
    "pragma profiling_output = 'other'",
    "pragma add_parquet_key('a', 'b')",
    "pragma import_database('other')",
    "pragma copy_database('a', 'b')",
    "select write_log('x')",
    "select getenv('HOME')",
    "from enable_logging()",
    "select * from json_execute_serialized_sql('x')",
    "select * from postgres_execute('a', 'b')",
    "select 'open",
]

DUCKDB_WITHIN = [
    "select * from users where id = ?",
    "from users select id",
    "insert into users values (1, 2)",
    "update users set v = v + 1",
    "delete from users",
    "merge into users using (select 1 as id) s on users.id = s.id when matched then delete",
    "create or replace table other as select * from range(10)",
    "create temp table t (x int[], attach text)",
    "create macro double(a) as a * 2",
    "create sequence s",
    "create index i on users (v)",
    "drop table if exists other",
    "alter table users add column more int",
    "copy users from 'users.csv' (header)",
    "copy users (id, v) from 'users.csv'",
    "select * from read_csv('users.csv')",
    "select * from 'users.parquet'",
    "attach ':memory:' as m",
    "detach m",
    "set threads = 2",
    "set memory_limit = '1GB'",
    "pragma threads = 2",
    "set variable x = 1",
    "explain analyze select * from users",
    "explain update users set v = 1",
    "summarize users",
    "describe users",
    "show tables",
    "pivot users on v using count(*)",
    "checkpoint",
    "vacuum",
    "values (1, 2)",
    "select nextval('s'), random(), uuid()",
    "select $$copy users to 'x'$$, 'attach' -- install httpfs",
    "select list_transform([1, 2], x -> x + 1), {'a': 1}, map(['a'], [1])",
    "begin transaction",
    "commit",
]


def leading_beyond(place: dict[str, Any], texts: Sequence[str]) -> list[str | None]:
    task = {"kind": "reach", "target": place, "own": [], "statements": list(texts)}
    return ask({"schema": PLAN, "seed": 1, "task": task}, Reach, 300.0).beyond


@pytest.mark.parametrize(
    ("place", "effects", "within"),
    [
        pytest.param({"engine": "sqlite", "path": ""}, SQLITE_EFFECTS, SQLITE_WITHIN, id="sqlite"),
        pytest.param(
            {"engine": "duckdb", "path": "", "library": str(LIBRARY)},
            DUCKDB_EFFECTS,
            DUCKDB_WITHIN,
            id="duckdb",
            marks=needs_duckdb,
        ),
    ],
)
def test_what_leads_to_other_files_is_refused(place: dict[str, Any], effects: list[str], within: list[str]) -> None:
    hidden = [f"-- /*\n{text}" for text in effects] + [f"select 1; {text}" for text in effects]
    all_effects = [*effects, *hidden]
    passed = [text for text, why in zip(all_effects, leading_beyond(place, all_effects), strict=True) if why is None]
    assert not passed
    refused = [(text, why) for text, why in zip(within, leading_beyond(place, within), strict=True) if why is not None]
    assert not refused


@pytest.mark.parametrize(
    "statement",
    ["vacuum main into 'dbdyno-other.db'", "-- /*\nattach 'dbdyno-other.db' as o", "pragma writable_schema = 1"],
)
def test_a_named_sqlite_file_and_its_directory_stay_as_they_are(cli: Cli, statement: str) -> None:
    path = cli.directory / "users.db"
    with sqlite3.connect(path) as database:
        database.execute("create table users (id integer primary key, v)")
        database.execute("insert into users values (1, 2)")
    database.close()
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    file = cli.write("mine.toml", HEAD.replace("[load]\n", '[load]\nprepare = "never"\n') + transaction(statement))
    said = cli("run", file, "--system", f"sqlite:{path}", "--store", "runs.db", code=2)
    assert "--allow-writes" in said
    assert "dbdyno didn't create" not in said
    # What writes to the copy runs, and leaves the file alone.
    writing = cli.write("copy.toml", HEAD + transaction("update users set v = v + 1", "pragma user_version = 5"))
    cli("run", writing, "--system", f"sqlite:{path}", "--store", "runs.db")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert not list(cli.directory.rglob("dbdyno-other.db"))


def state_of(directory: Path) -> dict[str, str]:
    """The checksums of a directory's files, except experiments and results."""
    results = ("runs.db", "out.json")
    files = [each for each in directory.iterdir() if each.is_file() and not each.name.startswith(results)]
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files if each.suffix != ".toml"}


@needs_duckdb
def test_a_named_duckdb_file_and_the_files_beside_it_stay_as_they_are(cli: Cli) -> None:
    tables = HEAD + "[tables.users]\nrows = 4\ncolumns = { id = { type = 'integer', fill = { serial = 1 } } }\n"
    cli.run(cli.write("tables.toml", tables + transaction("select count(*) from users")), "--system", URL)
    (template,) = (cli.directory / "cache/templates").glob("*.db")
    path = cli.directory / "users.duckdb"
    shutil.copyfile(template, path)
    (cli.directory / "users.csv").write_text("id\n5\n")
    url = URL.replace("duckdb:", f"duckdb:{path}")
    before = state_of(cli.directory)
    for statement in (
        "copy users to 'users.csv'",
        "-- /*\nattach 'other.duckdb' as o",
        "export database 'other'",
        "explain analyze copy users to 'users.csv'",
        "prepare p as copy users to 'users.csv'",
        "set temp_directory = 'other'",
    ):
        text = HEAD.replace("[load]\n", '[load]\nprepare = "never"\n') + transaction(statement)
        said = cli("run", cli.write("mine.toml", text), "--system", url, "--store", "runs.db", code=2)
        assert "--allow-writes" in said
        assert "dbdyno didn't create" not in said
        assert state_of(cli.directory) == before
    # What writes to the copy, or reads another file, runs.
    writing = transaction("update users set id = id + 1", "copy users from 'users.csv'", "set threads = 1")
    document = cli.run(cli.write("copy.toml", HEAD + writing), "--system", url)
    assert document["cells"][0]["rounds"][0]["ok"] == 3
    document = cli.run(cli.write("reads.toml", HEAD + transaction("select count(*) from users")), "--system", url)
    settings = document["cells"][0]["system"]["settings"]
    confined = {name: settings[name] for name in ("access_mode", "enable_external_access", "lock_configuration")}
    assert confined == {"access_mode": "read_only", "enable_external_access": "false", "lock_configuration": "true"}
    # A table that an earlier statement makes lifts nothing but read-only access.
    making = transaction("create or replace table made (id int)", "select id from made")
    late = HEAD.replace("[load]\n", '[load]\nprepare = "never"\n')
    document = cli.run(cli.write("makes.toml", late + making), "--system", url)
    settings = document["cells"][0]["system"]["settings"]
    confined = {name: settings[name] for name in ("access_mode", "enable_external_access", "lock_configuration")}
    assert confined == {"access_mode": "automatic", "enable_external_access": "false", "lock_configuration": "true"}
    assert state_of(cli.directory) == before


@needs_duckdb
@pytest.mark.parametrize("statement", ["set temp_directory = 'other'", "copy users to 'other.csv'", "load httpfs"])
def test_duckdb_confines_statements_that_load(tmp_path: Path, statement: str) -> None:
    place = {"engine": "duckdb", "path": str(tmp_path / "t.duckdb"), "library": str(LIBRARY), "confined": True}
    before = ["create table users (id int)", "insert into users values (1)", "create index i on users (id)", statement]
    task = {"kind": "load", "target": place, "before": before, "tables": [], "after": []}
    with pytest.raises(SystemFailed, match="not allowed on a copy of a database"):
        ask({"schema": PLAN, "seed": 1, "task": task}, Loaded, 300.0)
    assert not list(tmp_path.glob("other*"))


@needs_duckdb
def test_duckdb_itself_says_which_statements_write(tmp_path: Path) -> None:
    place = {"engine": "duckdb", "path": str(tmp_path / "t.duckdb"), "library": str(LIBRARY)}
    before = [
        "create table users (id int, v int)",
        "insert into users values (1, 2)",
        "create sequence s",
        "create view counted as select nextval('s') as n",
        "create macro next_one() as nextval('s')",
        "create view few as select id from users",
    ]
    ask(
        {
            "schema": PLAN,
            "seed": 1,
            "task": {"kind": "load", "target": place, "before": before, "tables": [], "after": []},
        },
        Loaded,
        300.0,
    )
    kept = state_of(tmp_path)
    writing = [
        "insert into users values (2, 3)",
        "explain analyze delete from users",
        "explain analyse delete from users",
        "explain (analyse) delete from users",
        "EXPLAIN /* a */ (format json, analyze) delete from users",
        "explain analyze select nextval('s')",
        "select nextval('s')",
        "select n from counted",
        "select next_one()",
        "drop table users",
        "select * from nowhere",
        "select 'open",
    ]
    assert None not in told(place, writing)
    reading = ["select * from users where id = ?", "explain delete from users", "explain analyze select 1"]
    assert told(place, [*reading, "from few", "begin transaction"]) == [None] * 5
    assert state_of(tmp_path) == kept


# --- Through the command line, and what a file does besides its statements.


@needs_postgresql
def test_operators_behind_keywords_are_looked_up(postgresql: Served) -> None:
    postgresql.sql(
        "create function matching(a pair, b text) returns boolean language plpgsql as $$ begin return true; end $$;"
        "create operator ~ (leftarg = pair, rightarg = text, function = matching);"
    )
    try:
        place = target(postgresql.server)
        assert "matching" in str(told(place, ["select row(1, 2)::pair similar to 'a'"])[0])
    finally:
        postgresql.sql("drop function matching cascade")


@needs_postgresql
def test_a_statement_that_the_server_rejects_is_told_so(cli: Cli, postgresql: Served) -> None:
    for statement, error in [
        ("select nam from users", 'column "nam" does not exist'),
        ("selct name from users", "syntax error"),
        ("select 'open", "unterminated quoted string"),
    ]:
        file = cli.write("mine.toml", HEAD + transaction(statement, own="postgresql"))
        said = cli("run", file, "--system", postgresql.url, "--store", "runs.db", code=2)
        assert f"the server does not accept `{statement}`: " in said
        assert error in said
        assert "--allow-writes" not in said
    # An earlier statement of the file may make a table.
    file = cli.write("mine.toml", HEAD + transaction("select * from nowhere", own="postgresql"))
    said = cli("run", file, "--system", postgresql.url, "--store", "runs.db", code=2)
    assert 'relation "nowhere" does not exist' in said
    assert "--allow-writes" in said


@needs_postgresql
def test_the_command_line_refuses_what_is_no_read(cli: Cli, postgresql: Served) -> None:
    before = postgresql.sql(POSTGRESQL_STATE)
    for statement in ("select nextval('numbers')", "-- /*\ndo $$ begin delete from users; end $$"):
        file = cli.write("mine.toml", HEAD + transaction(statement, own="postgresql"))
        said = cli("run", file, "--system", postgresql.url, "--store", "runs.db", code=2)
        assert "--allow-writes" in said
        assert "Traceback" not in said
    assert postgresql.sql(POSTGRESQL_STATE) == before


def test_what_a_file_executes_and_loads_is_listed_and_announced(cli: Cli) -> None:
    systems = ["exec:/nowhere/program", "sqlite:?library=/nowhere/library.so", "postgresql://me@db.example/app"]
    text = HEAD + f"[factors]\nsystem = {json.dumps(systems)}\n" + '[tables.t]\nfile = "rows.tsv"\nrows = 1\n'
    text += "columns = { id = { type = 'integer', primary_key = true } }\n" + transaction("select * from t")
    file = cli.write("theirs.toml", text)
    cli.write("rows.tsv", "1\n")
    lines = [
        "runs `/nowhere/program`",
        "loads the library `/nowhere/library.so`",
        "connects to postgresql://me@db.example/app",
        f"sends `{cli.directory / 'rows.tsv'}` to postgresql://me@db.example/app",
    ]
    described = cli("describe", file)
    for line in lines:
        assert f"    {line}\n" in described
    announced = cli("run", file, "--store", "runs.db", code=2)
    for line in lines:
        assert f"mine {line}\n" in announced
    # Nothing is said of what the command line itself asks for.
    quiet = cli("run", "pk-lookup", "--system", "sqlite:?library=/nowhere/library.so", "--store", "runs.db", code=2)
    assert "loads the library" not in quiet
