"""The catalogues of fixes: what applies to which cell, what it costs, and how transactions are written otherwise."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from dbdyno.analysis.why.fixes import ENTRIES, choose
from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.analysis.why.rewrite import can_batch, can_insert_rows, can_join_reads, rewritten
from dbdyno.engines import all_engines, engine_of
from dbdyno.engines.fix_entries import Entry
from dbdyno.engines.fixes import Situation, StatementFacts
from dbdyno.model.experiment.load import Load
from dbdyno.model.plan.change import INJECTED
from dbdyno.model.plan.fix import SERIOUS, Fix, Price, Source, conflict, together
from dbdyno.model.plan.generators import Constant, Format, Generator, Nullable, Reference, Serial, Uniform
from dbdyno.model.plan.steps import Begin, Chance, Commit, Execute, Repeat, Rollback, Step, Think, Transaction
from dbdyno.model.plan.tasks import Statement, TrialTask

UPDATE = StatementFacts("update", "update t set n = n + 1 where id = ?")
LOOKUP = StatementFacts(
    "lookup", "select n from t where id = ?", (), ("SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",), 1.0
)
INSERT = StatementFacts("insert", "insert into t (n, name) values (?, ?)")


def load(**changed: object) -> Load:
    return Load.model_validate({"stop": {"seconds": 1}, **changed})


_VERBS: dict[object, Step] = {
    "begin": Begin(),
    "commit": Commit(),
    "rollback": Rollback(),
    "think": Think(milliseconds=Constant(value=1)),
}


def steps(*kinds: object) -> Transaction:
    """A transaction whose steps run statements, by number, or are verbs."""
    made = [
        Execute(statement=each, params=[Constant(value=each)]) if isinstance(each, int) else _VERBS[each]
        for each in kinds
    ]
    return Transaction(name="t", steps=made)


def task_of(texts: list[str], *transactions: Transaction) -> TrialTask:
    return TrialTask(statements=[Statement(name="s", sql=text) for text in texts], transactions=transactions)


SQLITE = {
    "journal_mode": "delete",
    "synchronous": "full",
    "cache_size": "2000",
    "page_size": "4096",
    "mmap_size": "0",
    "locking_mode": "normal",
    "threadsafe": "1",
    "temp_store": "0",
    "busy_timeout": "0",
    "case_sensitive_like": "off",
    "wal_autocheckpoint": "1000",
}


def situation(*resources: str, engine: str = "sqlite", **changed: object) -> Situation:
    made = Situation(
        engine,
        tuple(resources),  # type: ignore[arg-type]
        load(),
        SQLITE,
        statements=[UPDATE],
        transactions=[steps("begin", 0, "commit")],
        begins=frozenset({"deferred"}),
        data_bytes=400e6,
        memory_bytes=8e9,
        processors=2,
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def names(of: Situation) -> list[str]:
    return [each.name for each in choose(of, 99).fixes]


ALL = [
    *((each.name, entry) for each in all_engines() for entry in each.fixes()),
    *(("any", entry) for entry in ENTRIES),
]


@pytest.mark.parametrize(("engine", "entry"), ALL, ids=[f"{name}: {entry.name}" for name, entry in ALL])
def test_an_entry_says_against_what_it_is_when_it_applies_and_where_that_is_written(engine: str, entry: Entry) -> None:
    assert entry.against
    assert set(entry.against) <= RESOURCE_NAMES.keys()
    assert entry.applies
    assert entry.source.title
    assert entry.source.section
    assert entry.source.url.startswith(("https://", "docs/"))


@pytest.mark.parametrize("engine", [each.name for each in all_engines() if each.fixes()])
def test_names_of_a_catalogue_are_each_of_one_entry(engine: str) -> None:
    found = [each.name for each in engine_of(engine).fixes()]
    assert len(found) == len(set(found))


class TestSqlite:
    def test_a_flush_asks_for_a_log_and_for_fewer_commits(self) -> None:
        found = {each.name: each for each in choose(situation("flush"), 99).fixes}
        assert {"journal_mode=wal", "journal_mode=wal, synchronous=normal", "10 in a transaction"} <= found.keys()
        assert found["journal_mode=wal"].lines == ["PRAGMA journal_mode = wal;"]
        assert not found["journal_mode=wal"].is_serious

    def test_what_loses_commits_says_so(self) -> None:
        found = {each.name: each for each in choose(situation("flush"), 99).fixes}
        (price,) = [each for each in found["journal_mode=wal, synchronous=normal"].prices if each.kind == "durability"]
        assert "loses" in price.text

    def test_what_is_in_force_is_not_tried(self) -> None:
        of = situation("flush", settings=SQLITE | {"journal_mode": "wal", "synchronous": "normal"})
        assert not {"journal_mode=wal", "synchronous=normal"} & set(names(of))

    def test_nothing_is_tried_against_what_does_not_limit_it(self) -> None:
        assert names(situation()) == []
        assert "journal_mode=wal" not in names(situation("parsing"))

    def test_a_file_that_is_shared_is_not_taken_for_one_client(self) -> None:
        assert "locking_mode=exclusive" in names(situation("locks"))
        assert "locking_mode=exclusive" not in names(situation("locks", load=load(clients=2)))

    def test_a_cache_costs_its_bytes_in_each_connection(self) -> None:
        (found,) = [each for each in choose(situation("cache"), 99).fixes if "cache_size" in each.settings]
        (price,) = found.prices
        assert price.bytes == pytest.approx(1.25 * 400e6, rel=0.01)
        several = situation("cache", load=load(clients=4))
        (found,) = [each for each in choose(several, 99).fixes if "cache_size" in each.settings]
        (price,) = found.prices
        assert price.bytes == pytest.approx(4 * 1.25 * 400e6, rel=0.01)

    def test_a_cache_is_no_larger_than_memory_has_room_for(self) -> None:
        (found,) = [
            each for each in choose(situation("cache", memory_bytes=100e6), 99).fixes if "cache_size" in each.settings
        ]
        assert found.prices[0].bytes == pytest.approx(40e6, rel=0.01)

    def test_a_shared_cache_asks_for_private_ones_and_for_dirty_reads_at_a_price(self) -> None:
        of = situation("locks", load=load(clients=2), settings=SQLITE | {"cache": "shared"})
        found = {each.name: each for each in choose(of, 99).fixes}
        assert [each.kind for each in found["read_uncommitted=on"].prices] == ["isolation"]
        assert found["read_uncommitted=on"].is_serious
        assert conflict(found["cache=private"], found["read_uncommitted=on"])

    def test_transactions_that_write_begin_with_the_lock(self) -> None:
        assert "begin immediate" in names(situation("locks", load=load(clients=2)))
        assert "begin immediate" not in names(situation("locks", load=load(clients=2), begins=frozenset({"immediate"})))

    def test_who_fails_on_a_lock_waits_for_it(self) -> None:
        assert "busy_timeout=5000" not in names(situation("locks"))
        assert "busy_timeout=5000" in names(situation("locks", failed=frozenset({"locked"})))


POSTGRESQL = {
    "fsync": "on",
    "synchronous_commit": "on",
    "wal_sync_method": "fdatasync",
    "wal_compression": "off",
    "max_wal_size": "1GB",
    "wal_buffers": "4MB",
    "shared_buffers": "128MB",
    "random_page_cost": "4",
    "jit": "on",
    "work_mem": "4MB",
    "autovacuum": "on",
}


def postgresql(*resources: str, **changed: object) -> Situation:
    return situation(*resources, engine="postgresql", **({"settings": POSTGRESQL} | changed))


class TestPostgresql:
    def test_a_flush_asks_for_what_shares_it_and_at_a_price_for_what_leaves_it_out(self) -> None:
        found = {each.name: each for each in choose(postgresql("flush", load=load(clients=8)), 99).fixes}
        assert found["synchronous_commit=off"].is_serious
        assert not found["commit_delay=200, commit_siblings=3"].is_serious
        assert found["synchronous_commit=off"].lines == [
            "ALTER SYSTEM SET synchronous_commit = 'off';",
            "SELECT pg_reload_conf();",
        ]

    def test_one_client_shares_no_flush(self) -> None:
        assert not any("commit_delay" in each for each in names(postgresql("flush")))

    def test_a_cache_that_holds_all_data_is_left_as_it_is(self) -> None:
        assert any("shared_buffers" in each for each in names(postgresql("read")))
        assert not any("shared_buffers" in each for each in names(postgresql("read", data_bytes=64e6)))

    def test_what_takes_a_new_start_says_so(self) -> None:
        (found,) = [each for each in choose(postgresql("read"), 99).fixes if "shared_buffers" in each.settings]
        assert found.lines[-1] == "-- then restart the server"

    def test_a_server_that_runs_already_keeps_its_settings(self) -> None:
        chosen = choose(postgresql("flush", named=True), 99)
        assert not any(each.settings for each in chosen.fixes)
        assert any(each.startswith("synchronous_commit=off") for each in chosen.left_out)


MYSQL = {
    "innodb_flush_log_at_trx_commit": "1",
    "log_bin": "OFF",
    "innodb_buffer_pool_size": str(128 << 20),
    "innodb_flush_method": "fsync",
    "innodb_log_file_size": str(96 << 20),
    "innodb_io_capacity": "200",
    "innodb_adaptive_hash_index": "OFF",
    "tx_isolation": "REPEATABLE-READ",
    "performance_schema": "OFF",
}


class TestMysql:
    def test_without_a_binary_log_none_is_left_out(self) -> None:
        found = names(situation("flush", engine="mysql", settings=MYSQL))
        assert "innodb_flush_log_at_trx_commit=2" in found
        assert "no binary log" not in found

    def test_a_binary_log_is_flushed_later_as_well(self) -> None:
        of = situation("flush", engine="mysql", settings=MYSQL | {"log_bin": "ON", "sync_binlog": "1"})
        found = {each.name: each for each in choose(of, 99).fixes}
        fix = found["innodb_flush_log_at_trx_commit=2, sync_binlog=0"]
        assert fix.is_serious
        assert fix.lines == ["innodb_flush_log_at_trx_commit = 2", "sync_binlog = 0"]

    def test_locks_between_rows_go_with_a_weaker_isolation_at_its_price(self) -> None:
        of = situation("locks", engine="mysql", settings=MYSQL, load=load(clients=4))
        (found,) = [each for each in choose(of, 99).fixes if "transaction_isolation" in each.settings]
        assert [each.kind for each in found.prices] == ["isolation"]

    def test_tables_of_another_storage_engine_have_no_pool(self) -> None:
        catalog = {"tables": [{"name": "t", "storage_engine": "MyISAM"}]}
        of = situation("read", engine="mysql", settings=MYSQL, catalog=catalog)
        assert not any("innodb" in each for each in names(of))


class TestOfNoEngine:
    def test_statements_and_connections_are_kept(self) -> None:
        of = situation("connect", "parsing", load=load(connect="per-transaction", prepare="never"))
        found = {each.name: each for each in choose(of, 99).fixes}
        assert found["connections kept"].load == {"connect": "once"}
        assert found["prepared once"].load == {"prepare": "once", "connect": "once"}

    def test_what_limits_it_most_comes_first(self) -> None:
        of = situation("connect", "flush", load=load(connect="per-transaction"))
        assert names(of)[0] == "connections kept"

    def test_many_clients_share_a_connection_for_each_processor(self) -> None:
        of = situation("locks", engine="postgresql", load=load(clients=32))
        (found,) = [each for each in choose(of, 99).fixes if each.name == "pool of 2"]
        assert found.load == {"clients": 2}

    def test_transactions_that_arrive_by_the_clock_are_not_put_together(self) -> None:
        """Ten in one would bring ten times the work at the same rate, and each would wait for nine others."""
        closed, arriving = (situation("flush", load=load(**arrival)) for arrival in ({}, {"arrival": {"rate": 100}}))
        assert "10 in a transaction" in names(closed)
        assert "10 in a transaction" not in names(arriving)
        assert "10 in a transaction (transactions arrive one at a time)" in choose(arriving, 99).left_out

    def test_no_more_are_taken_than_there_is_time_for_and_the_rest_is_named(self) -> None:
        chosen = choose(situation("flush", "write", "locks", "processors"), 3)
        assert len(chosen.fixes) == 3
        assert all("more than 3" in each for each in chosen.left_out)
        assert chosen.left_out


CATALOG = {
    "tables": [
        {
            "name": "t",
            "rows": 100_000,
            "columns": [{"name": "id"}, {"name": "n"}, {"name": "name", "type": "text"}],
            "indexes": [],
        }
    ]
}
SCAN = StatementFacts("scan", "select name from t where n = ?", (), ("SCAN t",), 1.0)


class TestIndexes:
    def test_a_table_that_is_read_whole_asks_for_an_index_and_one_that_covers(self) -> None:
        of = situation("processors", statements=[SCAN], transactions=[steps(0)], catalog=CATALOG)
        found = {each.name: each for each in choose(of, 99).fixes}
        assert found["index t (n)"].statements == ("create index on_t_n on t (n)",)
        assert found["covering index t (n, name)"].statements == ("create index on_t_n_name on t (n, name)",)
        assert conflict(found["index t (n)"], found["covering index t (n, name)"])

    def test_what_writes_to_the_table_makes_it_dearer(self) -> None:
        of = situation("processors", statements=[SCAN, UPDATE], transactions=[steps(0, 1)], catalog=CATALOG)
        (found,) = [each for each in choose(of, 99).fixes if each.name == "index t (n)"]
        assert [each.kind for each in found.prices] == ["writes"]

    def test_all_columns_are_covered_by_the_table_alone(self) -> None:
        every = replace(SCAN, sql="select * from t where n = ?")
        of = situation("processors", statements=[every], transactions=[steps(0)], catalog=CATALOG)
        assert "index t (n)" in names(of)
        assert not any(each.startswith("covering") for each in names(of))

    def test_a_pattern_asks_for_an_index_in_the_order_of_like(self) -> None:
        like = StatementFacts("like", "select n from t where name like ?", ("abc%",), ("SCAN t",), 1.0)
        of = situation("processors", statements=[like], transactions=[steps(0)], catalog=CATALOG)
        (found,) = [each for each in choose(of, 99).fixes if "collate" in each.name]
        assert found.statements == ('create index "on_t_name_collate_nocase" on "t" ("name" collate nocase)',)

    def test_a_pattern_on_postgresql_asks_for_the_order_of_bytes(self) -> None:
        like = StatementFacts("like", "select n from t where name like ?", ("abc%",), ("Seq Scan on t",), 1.0)
        of = postgresql("processors", statements=[like], transactions=[steps(0)], catalog=CATALOG)
        (found,) = [each for each in choose(of, 99).fixes if "pattern_ops" in each.name]
        assert found.statements[0].endswith('on "t" ("name" text_pattern_ops)')

    def test_a_server_that_runs_already_is_given_none(self) -> None:
        of = postgresql("processors", statements=[SCAN], catalog=CATALOG, named=True, own_tables=False)
        assert not any(each.statements for each in choose(of, 99).fixes)


class TestOrder:
    """A file lock limits a load whose statements could use many indexes."""

    TABLES = 12

    def of(self, *resources: str, engine: str = "sqlite", **changed: object) -> Situation:
        read = {"sqlite": "SCAN", "postgresql": "Seq Scan on"}[engine]
        tables = [CATALOG["tables"][0] | {"name": f"t{number}"} for number in range(self.TABLES)]
        scans = [
            StatementFacts(f"scan {number}", f"select name from t{number} where n = ?", (), (f"{read} t{number}",), 1.0)
            for number in range(self.TABLES)
        ]
        return situation(
            *resources,
            engine=engine,
            statements=[UPDATE, *scans],
            transactions=[steps("begin", *range(self.TABLES + 1), "commit")],
            catalog={"tables": tables},
            load=load(clients=8),
            **changed,
        )

    def test_what_relieves_a_file_lock_most_precedes_indexes(self) -> None:
        chosen = [each.name for each in choose(self.of("locks", "flush", "processors")).fixes]
        assert {"journal_mode=wal", "begin immediate", "pool of 2"} == set(chosen[:3])
        assert chosen.index("journal_mode=wal") < chosen.index("index t0 (n)")

    def test_indexes_take_half_of_the_places_unless_there_are_too_few_others(self) -> None:
        def count(*resources: str) -> int:
            return sum(each.is_index for each in choose(self.of(*resources)).fixes)

        assert count("locks", "flush", "processors") == 5
        # Only the mapping of the file and its cache are known for it.
        assert count("cache") == 8

    @pytest.mark.parametrize(
        ("engine", "settings", "known"),
        [
            ("sqlite", SQLITE, {"journal_mode=wal", "journal_mode=wal, synchronous=normal", "journal_mode=persist"}),
            (
                "postgresql",
                {"synchronous_commit": "on", "fsync": "on", "commit_delay": "0", "jit": "on"},
                {"synchronous_commit=off", "commit_delay=200, commit_siblings=3"},
            ),
        ],
    )
    def test_what_relieves_commits_precedes_indexes(
        self, engine: str, settings: Mapping[str, str], known: set[str]
    ) -> None:
        found = choose(self.of("flush", "processors", engine=engine, settings=settings)).fixes
        chosen = [each.name for each in found]
        first_index = next(number for number, each in enumerate(found) if each.is_index)
        assert known <= set(chosen[:first_index])

    def test_statements_that_take_longest_have_their_indexes_first(self) -> None:
        of = self.of("processors")
        slowest = replace(of.statements[7], seconds=2.0)
        of = replace(of, statements=[*of.statements[:7], slowest, *of.statements[8:]])
        found = [each.name for each in choose(of).fixes if each.is_index]
        assert found[:2] == ["index t6 (n)", "covering index t6 (n, name)"]


class TestTransactions:
    def test_several_are_done_in_one(self) -> None:
        task = task_of([UPDATE.sql], steps("begin", 0, "commit"), steps(0))
        assert can_batch(task.transactions, [UPDATE.sql])
        fix = Fix("", "", (), Source("", "", ""), (), batch=10)
        for made in rewritten(task, fix, [True]).transactions:
            assert [each.do for each in made.steps] == ["begin", "repeat", "commit"]
            repeat = made.steps[1]
            assert isinstance(repeat, Repeat) and repeat.times == 10
            assert [each.do for each in repeat.steps] == ["execute"]
        assert fix.work == 10

    @pytest.mark.parametrize("kinds", [("begin", 0, "rollback"), (0, "think"), ("begin", 0, "commit", 0)])
    def test_what_takes_back_or_waits_is_not(self, kinds: tuple[object, ...]) -> None:
        assert not can_batch([steps(*kinds)], [UPDATE.sql])

    def test_a_statement_that_begins_is_no_part_of_one(self) -> None:
        assert not can_batch([steps(0, 1)], ["begin", UPDATE.sql])

    def test_reads_are_done_in_one(self) -> None:
        task = task_of([LOOKUP.sql], steps(0, 0))
        assert can_join_reads(task.transactions, [LOOKUP.sql], [False])
        made = rewritten(task, Fix("", "", (), Source("", "", ""), (), reads=True), [False])
        assert [each.do for each in made.transactions[0].steps] == ["begin", "execute", "execute", "commit"]

    @pytest.mark.parametrize(("kinds", "writes"), [((0,), False), ((0, 0), True), (("begin", 0, 0, "commit"), False)])
    def test_one_read_or_a_write_or_one_transaction_already_is_left(
        self, kinds: tuple[object, ...], writes: bool
    ) -> None:
        assert not can_join_reads([steps(*kinds)], [LOOKUP.sql], [writes])

    def test_rows_are_inserted_together(self) -> None:
        places = [at for at, character in enumerate(INSERT.sql) if character == "?"]
        statement = Statement(name="s", sql=INSERT.sql, places=places, example=[1, 2])
        task = TrialTask(statements=[statement], transactions=[steps(0)])
        assert can_insert_rows(task.transactions, [INSERT.sql])
        made = rewritten(task, Fix("", "", (), Source("", "", ""), (), rows=3), [True])
        sql = "insert into t (n, name) values (?, ?), (?, ?), (?, ?)"
        together_places = [at for at, each in enumerate(sql) if each == "?"]
        assert made.statements == [Statement(name="s", sql=sql, places=together_places)]
        (step,) = made.transactions[0].steps
        assert isinstance(step, Execute) and len(step.params) == 3
        # What it is made from stays as it was.
        assert task.statements[0].sql == INSERT.sql

    def test_rows_of_a_statement_have_keys_of_their_own(self) -> None:
        serial = Serial(start=101, step=2)
        of_column = Reference(of=serial, stream=1, row=Serial(start=5, step=1))
        insert = Execute(statement=0, params=[serial, Format(template="{}", parts=[serial]), of_column])
        task = task_of(["insert into t values (?, ?, ?)"], Transaction(name="t", steps=[insert]))
        made = rewritten(task, Fix("", "", (), Source("", "", ""), (), rows=2), [True])
        (step,) = made.transactions[0].steps
        assert isinstance(step, Execute)
        assert step.params[0] == Serial(start=101, step=4)
        assert step.params[3] == Serial(start=103, step=4)
        assert step.params[4] == Format(template="{}", parts=[step.params[3]])
        assert step.params[5] == replace(of_column, row=Serial(start=6, step=2))

    @pytest.mark.parametrize(
        "text",
        [
            "insert into t (n) select n from u where id = (?)",
            "insert into t (n) values (?) on conflict do nothing",
            "insert into t (n, name) values (?, 'a)(')",
            "insert into t (n) values (?), (?)",
            "update t set n = (?)",
        ],
    )
    def test_what_is_no_insert_of_one_row_is_left(self, text: str) -> None:
        assert not can_insert_rows([steps(0)], [text])

    def test_only_what_writes_begins_otherwise(self) -> None:
        task = task_of([UPDATE.sql, LOOKUP.sql], steps("begin", 0, "commit"), steps("begin", 1, "commit"))
        made = rewritten(task, Fix("", "", (), Source("", "", ""), (), begins="immediate"), [True, False])
        first = [each.steps[0] for each in made.transactions]
        assert first == [Begin(mode="immediate"), Begin()]


class TestTogether:
    ONE = Fix("a", "x", (Price("memory", "m"),), Source("", "", ""), ("A;",), settings={"s": "1"}, closing=("reload",))
    OTHER = Fix("b", "y", (Price("durability", "d"),), Source("", "", ""), ("B;",), load={"k": 1}, closing=("reload",))

    def test_all_of_both_is_had_at_both_prices(self) -> None:
        both = together("a + b", [self.ONE, self.OTHER])
        assert both.settings == {"s": "1"}
        assert both.load == {"k": 1}
        assert [each.kind for each in both.prices] == ["memory", "durability"]
        assert both.is_serious
        assert both.lines == ["A;", "B;", "reload"]

    def test_what_sets_the_same_otherwise_conflicts(self) -> None:
        assert not conflict(self.ONE, self.OTHER)
        assert conflict(self.ONE, replace(self.ONE, settings={"s": "2"}))
        assert conflict(replace(self.ONE, batch=10), replace(self.OTHER, rows=10))

    def test_a_fix_is_read_as_it_was_stored(self) -> None:
        assert Fix.read(self.ONE.stored()) == self.ONE


def test_prices_that_change_what_may_be_relied_on_are_known() -> None:
    assert {"durability", "isolation"} == SERIOUS
    assert set(INJECTED) <= RESOURCE_NAMES.keys()


@pytest.mark.parametrize(
    ("params", "step"),
    [
        ([Uniform(low=1, high=2)], 1),
        ([Serial(start=7)], 1),
        ([Serial(start=7, step=10), Serial(start=8, step=10)], 10),
        ([Reference(of=Serial(step=5), stream=1, row=Uniform(low=0, high=9))], 1),
        ([Nullable(share=0.5, of=Serial(start=0, step=-3))], 3),
    ],
)
def test_how_far_one_use_moves_counters(params: list[Generator], step: int) -> None:
    chance = Chance(probability=0.5, then=[Execute(statement=0, params=params)])
    assert TrialTask(transactions=[Transaction(name="t", steps=[chance])]).counter_step == step
