"""The rules that name the bottleneck, each by the evidence that decides it."""

from typing import Any

import pytest

from dbdyno.analysis.bottleneck import embedded
from dbdyno.analysis.bottleneck import server as on_a_server
from dbdyno.analysis.bottleneck.common import MORE_LOAD
from dbdyno.analysis.measured.bottlenecks import bottleneck_of
from dbdyno.analysis.measured.derived import derived
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.store import TrialRecord
from experiment_files import compiled, steps
from synthetic_events import as_stored, disk, result_of


def diagnose(trial: dict[str, Any], *more: Any, **named: Any) -> dict[str, str] | None:
    return embedded.diagnose(result_of(**trial), *more, **named)


def diagnose_server(trial: dict[str, Any], *more: Any, **named: Any) -> dict[str, str] | None:
    return on_a_server.diagnose_server(result_of(**trial), *more, **named)


SEGMENTS = (
    "idle engine read write lock_calls prepare sync mutex_wait file_lock_wait run_queue unknown".split()  # noqa: SIM905
)


def result(cpu_s: float = 0.0, cores: int = 4, machine: float = 0.0, steal: float = 0.0, **segments: float) -> Any:
    """A trial of two clients and one second, of which ``segments`` are the shares."""
    return {
        "elapsed_s": 1.0,
        "watched_s": 1.0,
        "completed": 100,
        "accounting": {"ok": 100},
        "time": {
            "client_s": 2.0,
            "cpu_s": cpu_s,
            "segments": {name: 2.0 * segments.get(name, 0.0) for name in SEGMENTS},
        },
        "cpu": {
            "cores": cores,
            "machine_percent": machine + 100 * cpu_s,
            "process_percent": 100 * cpu_s,
            "steal_percent": steal,
        },
        "io": {"syncs": 200, "file_lock_waits": 7},
        "engine": {
            "engine": "sqlite",
            "settings": {"journal_mode": "delete", "cache_size": "2000", "page_size": "4096", "mmap_size": "0"},
        },
    }


@pytest.mark.parametrize(
    ("trial", "resource", "evidence"),
    [
        (result(cpu_s=0.2, idle=0.9, engine=0.1), "offered load", "idle for 90 %"),
        (result(cpu_s=0.4, sync=0.8, engine=0.2), "device sync", "2 syncs per transaction of 8 ms each"),
        (result(cpu_s=1.0, file_lock_wait=0.5, engine=0.5), "file lock", "(7 times)"),
        (result(cpu_s=2.0, engine=0.9, read=0.1), "CPU", "2 clients kept 200 % of 200 % CPU busy: 90 % computing"),
        (result(cpu_s=2.0, cores=2, engine=1.0), "CPU", "200 % of the machine's 200 % CPU busy"),
        (result(cpu_s=2.0, engine=0.7, prepare=0.3), "CPU", "30 % parsing statements"),
        (
            result(cpu_s=0.8, cores=2, machine=80, engine=0.4, run_queue=0.6),
            "disturbed machine",
            "other programs used 80 % of one CPU",
        ),
        (
            result(cpu_s=0.8, cores=2, steal=70, engine=0.4, run_queue=0.6),
            "disturbed machine",
            "the host took 70 %",
        ),
        (result(cpu_s=1.1, sync=0.3, engine=0.4, read=0.3), "device sync", "30 % of the time"),
        (result(cpu_s=1.1, read=0.6, engine=0.4), "page cache", "60 % of the time went into reading pages"),
        (result(cpu_s=1.1, unknown=0.5, engine=0.5), "unclear", "no cause stands out: engine 50 %, unknown 50 %"),
    ],
)
def test_the_bottleneck_follows_the_evidence(trial: Any, resource: str, evidence: str) -> None:
    bottleneck = diagnose(trial, clients=2)
    assert bottleneck is not None
    assert bottleneck["resource"] == resource, bottleneck
    assert evidence in bottleneck["evidence"]
    assert bottleneck["advice"]


def test_a_short_window_shows_that_clients_had_no_cpu_and_not_what_others_used() -> None:
    trial = result(cpu_s=0.8, cores=2, machine=80, engine=0.4, run_queue=0.6) | {"elapsed_s": 0.02}
    bottleneck = diagnose(trial, clients=2)
    assert bottleneck is not None
    assert bottleneck["resource"] == "disturbed machine"
    assert bottleneck["evidence"] == "clients or server were ready but had no CPU for 60 % of the time"
    # Clients that outnumber the CPUs wait for one another.
    crowded = diagnose(trial, clients=8)
    assert crowded is not None and crowded["resource"] != "disturbed machine"


def test_clients_that_wait_for_a_cpu_that_nobody_else_used_are_not_disturbed() -> None:
    bottleneck = diagnose(result(cpu_s=0.8, cores=2, machine=5, engine=0.4, run_queue=0.6), clients=2)
    assert bottleneck is not None and bottleneck["resource"] == "unclear"
    bottleneck = diagnose(result(cpu_s=0.8, cores=2, machine=46, engine=0.4, run_queue=0.6), clients=2)
    assert bottleneck is not None and bottleneck["resource"] == "disturbed machine"
    assert bottleneck["evidence"].endswith("other programs used 46 % of one CPU")


def throttling(throttled_s: float, whose: str = "client") -> dict[str, Any]:
    quota = {"cpus": 0.5, "periods": 10, "throttled_periods": 9 if throttled_s else 0, "throttled_s": throttled_s}
    return {"throttling": {whose: quota}}


@pytest.mark.parametrize(
    ("trial", "resource"),
    [
        (result(cpu_s=0.5, cores=2, engine=0.5, unknown=0.5) | throttling(0.5), "CPU quota"),
        (result(cpu_s=0.5, cores=2, machine=150, engine=0.5, run_queue=0.5) | throttling(0.5), "CPU quota"),
        (result(cpu_s=0.5, cores=2, engine=0.3, sync=0.7) | throttling(0.5), "device sync"),
        (result(cpu_s=1.0, cores=2, engine=1.0) | throttling(0.0), "unclear"),
    ],
)
def test_a_cpu_quota_that_stopped_clients_is_named(trial: Any, resource: str) -> None:
    for elapsed_s in (1.0, 0.1):
        shorter = trial["throttling"]["client"] | {
            "throttled_s": trial["throttling"]["client"]["throttled_s"] * elapsed_s
        }
        bottleneck = diagnose(trial | {"elapsed_s": elapsed_s, "throttling": {"client": shorter}}, clients=1)
        assert bottleneck is not None
        assert bottleneck["resource"] == resource
        if resource == "CPU quota":
            assert bottleneck["evidence"] == (
                "a CPU quota of 0.5 stopped the client in 9 of 10 periods, for "
                f"{'100' if trial['time']['segments']['run_queue'] else '50'} % of the time; it used 50 % of a CPU"
            )


def test_a_servers_cpu_quota_is_named() -> None:
    trial = result(cpu_s=0.1, cores=2, engine=1.0) | throttling(0.6, "server")
    bottleneck = diagnose_server(trial | {"server": {"cpu": {"process_percent": 49.0}}}, clients=1)
    assert bottleneck is not None
    assert bottleneck["resource"] == "CPU quota"
    assert (
        "stopped the server in 9 of 10 periods, for 60 % of the time; it used 49 % of a CPU" in bottleneck["evidence"]
    )


def test_what_a_server_waits_for_is_named_before_what_disturbed_it() -> None:
    trial = result(cpu_s=0.1, cores=2, machine=110, engine=1.0)
    trial["server"] = {"cpu": {"process_percent": 20.0}}
    trial["engine"] = {"engine": "PostgreSQL", "version": "15.8", "settings": {"fsync": "on"}}
    trial["waits"] = {"samples": 100, "query_s": 0.1, "seen": {"IO:WALSync": 174, "CPU:running": 26}}
    bottleneck = diagnose_server(trial, clients=2)
    assert bottleneck is not None
    assert bottleneck["resource"] == "disk flush"
    assert bottleneck["evidence"].startswith("87 % (79 to 93 %) of all clients' time went into waiting: WALSync")
    assert bottleneck["evidence"].endswith("; other programs used 90 % of one CPU")


def test_another_program_that_holds_the_lock_is_named() -> None:
    trial = result(cpu_s=0.01, file_lock_wait=0.98, engine=0.02)
    alone = diagnose(trial, clients=1)
    assert alone is not None and alone["resource"] == "file lock"
    assert alone["evidence"].endswith("; the one client can only wait for another program")
    holder = {"pid": 4711, "command": "python3 backup.py", "samples": 40}
    held = diagnose(trial | {"lock_holders": {"samples": 50, "holders": [holder]}}, clients=1)
    assert held is not None and held["resource"] == "file lock"
    assert held["evidence"].endswith("another program, process 4711 (python3 backup.py), held it in 40 of 50 samples")
    # One that was hardly seen with it held up nobody.
    seldom = diagnose(trial | {"lock_holders": {"samples": 50, "holders": [holder | {"samples": 2}]}}, clients=2)
    assert seldom is not None and "4711" not in seldom["evidence"]


def test_reads_that_reach_the_device_are_the_devices() -> None:
    trial = result(cpu_s=0.8, read=0.6, engine=0.4) | {"disk": disk(reads=5000, read_ms=0.12)}
    bottleneck = diagnose(trial, clients=2)
    assert bottleneck is not None
    assert bottleneck["resource"] == "device reads"
    assert "5,000 reads/s of 0.12 ms" in bottleneck["evidence"]


def test_reads_of_the_device_are_named_before_what_disturbed_them() -> None:
    trial = result(cpu_s=0.6, cores=2, machine=100, read=0.4, engine=0.3, run_queue=0.3)
    slow = diagnose(trial | {"disk": disk(reads=8000, read_ms=0.06)}, clients=2)
    assert slow is not None
    assert slow["resource"] == "device reads"
    assert slow["evidence"].endswith("other programs used 100 % of one CPU")
    # Pages that came from the cache of the kernel were read by the CPU that others used.
    cached = diagnose(trial | {"disk": disk(reads=8, read_ms=0.06)}, clients=2)
    assert cached is not None and cached["resource"] == "disturbed machine"


def test_a_mutex_is_named_with_who_takes_it() -> None:
    sites = [
        {"mutex": "shared B-tree", "function": "sqlite3BtreeEnter", "waits": 9, "wait_s": 0.9, "stack": []},
        {"mutex": "memory allocator", "function": "sqlite3Malloc", "waits": 1, "wait_s": 0.1, "stack": []},
    ]
    trial = result(cpu_s=1.0, mutex_wait=0.5, engine=0.5) | {"mutex": {"contended": 10, "wait_s": 1.0, "sites": sites}}
    bottleneck = diagnose(trial, clients=2)
    assert bottleneck == {
        "resource": "mutex",
        "evidence": "clients waited 50 % of their time for a mutex, 90 % of that for the shared B-tree mutex, "
        "which sqlite3BtreeEnter acquires",
        "advice": "give each connection a page cache of its own (cache=private)",
    }


def test_a_log_that_is_synced_is_not_told_to_use_a_log() -> None:
    trial = result(cpu_s=0.4, sync=0.8, engine=0.2) | {
        "engine": {"engine": "sqlite", "settings": {"journal_mode": "wal"}}
    }
    bottleneck = diagnose(trial, clients=2)
    assert bottleneck is not None
    assert "journal_mode" not in bottleneck["advice"]


READS: Any = {"cpu_s": 1.1, "read": 0.6, "engine": 0.4}
LOCKS: Any = {"cpu_s": 2.0, "lock_calls": 0.7, "engine": 0.3}
WRITES: Any = {"cpu_s": 2.0, "write": 0.7, "engine": 0.3}


@pytest.mark.parametrize(
    ("shares", "settings", "data_bytes", "advised", "not_advised"),
    [
        (READS, {}, 80_000_000, "raise cache_size (7.81 MB for 76.3 MB of data), or map the file with mmap_size", ""),
        (READS, {"mmap_size": "99999999"}, 80_000_000, "raise cache_size", "mmap_size"),
        (READS, {"cache_size": "-200000"}, 80_000_000, "a longer warm-up", "raise"),
        (LOCKS, {}, None, "journal_mode=wal", "locking_mode"),
        (LOCKS, {"journal_mode": "wal"}, None, "keep one read transaction open", "journal_mode"),
        (WRITES, {}, None, "journal_mode=wal", "cache_size"),
        (WRITES, {"journal_mode": "wal"}, None, "more rows per transaction", "journal_mode"),
        ({"cpu_s": 1.0, "file_lock_wait": 0.5, "engine": 0.5}, {"journal_mode": None}, None, "shorter write", "wal"),
        ({"cpu_s": 0.4, "sync": 0.8}, {"journal_mode": "wal", "synchronous": "full"}, None, "synchronous=normal", ""),
        ({"cpu_s": 0.4, "sync": 0.8}, {"journal_mode": "wal", "synchronous": "normal"}, None, "more rows", "normal"),
    ],
)
def test_what_is_in_force_or_not_known_is_not_advised(
    shares: Any, settings: dict[str, Any], data_bytes: int | None, advised: str, not_advised: str
) -> None:
    trial = result(**shares)
    own = {name: of for name, of in (trial["engine"]["settings"] | settings).items() if of is not None}
    bottleneck = diagnose(
        trial | {"engine": {"engine": "sqlite", "settings": own, "catalog": {"data_bytes": data_bytes}}}, clients=2
    )
    assert bottleneck is not None
    assert advised in bottleneck["advice"]
    assert not not_advised or not_advised not in bottleneck["advice"]


@pytest.mark.parametrize(("options", "advised"), [(["DEFAULT_MEMSTATUS=0"], False), (["THREADSAFE=1"], True)])
def test_a_library_built_so_is_not_told_to_be_built_so(options: list[str], advised: bool) -> None:
    sites = [{"mutex": "memory allocator", "function": "sqlite3Malloc", "waits": 9, "wait_s": 0.9, "stack": []}]
    trial = result(cpu_s=1.0, mutex_wait=0.5, engine=0.5) | {"mutex": {"contended": 10, "wait_s": 1.0, "sites": sites}}
    trial["engine"]["compile_options"] = options
    bottleneck = diagnose(trial, clients=2)
    assert bottleneck is not None
    assert ("DEFAULT_MEMSTATUS" in bottleneck["advice"]) == advised


@pytest.mark.parametrize(
    ("sql", "plan", "over", "advised"),
    [
        ("select * from t where a = ?", "SCAN t", [], True),
        ("select * from t where a = ?", "SEARCH t USING INDEX i (a=?)", [], False),
        # What asks for all rows, or for what an index does not look up, is not helped by one.
        ("select count(*) from t", "SCAN t", [], False),
        ("select * from t where a <> ?", "SCAN t", [], False),
        # Nor where there is one, and reading all is cheaper.
        ("select * from t where a > ?", "SCAN t", ["i"], False),
        # Of a plan that was not read nothing is known.
        ("select * from t where a = ?", "", [], False),
    ],
)
def test_an_index_is_advised_for_a_statement_that_would_use_one(
    sql: str, plan: str, over: list[str], advised: bool
) -> None:
    trial = result(cpu_s=2.0, engine=1.0)
    trial["engine"] |= {"engine": "sqlite", "plans": {"s": [plan] if plan else []}, "passed_over": {"s": over}}
    bottleneck = diagnose(trial, clients=2, statements={"s": sql})
    assert bottleneck is not None
    assert bottleneck["advice"].startswith("cheaper statements")
    assert ("an index for" in bottleneck["advice"]) == advised


def test_who_tries_again_is_not_told_to() -> None:
    trial = result(engine=1.0)
    trial["accounting"] = {"issued": 100, "ok": 1, "failed": {"deadlock": 99}, "retries": 0}
    for retries in (0, 7):
        trial["accounting"]["retries"] = retries
        bottleneck = diagnose(trial, clients=2)
        assert bottleneck is not None
        assert ("load.retry" in bottleneck["advice"]) == (retries == 0)


BOTH = pytest.mark.parametrize("judge", [diagnose, diagnose_server])


@BOTH
def test_an_overloaded_open_loop_is_not_told_to_raise_the_rate(judge: Any) -> None:
    trial = result(cpu_s=0.2, idle=0.6, engine=0.4)
    trial["accounting"] = {"issued": 1000, "ok": 991, "failed": {}, "skipped": 9}
    assert judge(trial, clients=2)["resource"] == "offered load"
    trial["accounting"] = {"issued": 1000, "ok": 990, "failed": {}, "skipped": 10}
    bottleneck = judge(trial, clients=2)
    assert bottleneck["resource"] == "number of clients"
    assert bottleneck["evidence"].endswith("60 % of the time, yet 10 of 1,000 arrivals were skipped")
    assert "rate" not in bottleneck["advice"]


@BOTH
def test_a_rate_is_named_only_where_there_is_one(judge: Any) -> None:
    trial = result(cpu_s=0.2, idle=0.6, engine=0.4) | {"latency_ms": {"service": {"count": 0}}}
    assert judge(trial, clients=2)["advice"] == MORE_LOAD
    trial["latency_ms"] = {name: {"count": 0} for name in ("service", "response", "queue")}
    assert judge(trial, clients=2)["advice"] == "raise the rate, or use more clients"


@BOTH
def test_where_most_transactions_fail_that_comes_first(judge: Any) -> None:
    trial = result(cpu_s=0.2, idle=0.9, engine=0.1)
    # Half of those begun is not most; what was skipped did not fail.
    trial["accounting"] = {"issued": 150, "ok": 50, "failed": {"locked": 50}, "skipped": 50}
    assert judge(trial, clients=2)["resource"] != "failures"
    trial["accounting"] = {"issued": 1000, "ok": 200, "failed": {"constraint": 1, "locked": 699}, "skipped": 100}
    trial["failures"] = {"constraint": "not unique", "locked": "database is locked"}
    trial["engine"]["engine"] = "sqlite"
    bottleneck = judge(trial, clients=2)
    assert bottleneck["resource"] == "failures"
    assert bottleneck["evidence"] == (
        '700 of 900 transactions failed (78 %), 699 of the kind locked: "database is locked"'
    )
    assert "BEGIN IMMEDIATE" in bottleneck["advice"]
    assert "busy_timeout" in bottleneck["advice"]


@pytest.mark.parametrize(
    ("begins", "busy_timeout", "advice"),
    [
        ({"deferred", "immediate"}, "0", "BEGIN IMMEDIATE, which can wait for the lock, and a busy_timeout that is"),
        (set(), "0", "a busy_timeout that is long enough; none is set"),
        (set(), "200", "a busy_timeout that is long enough: 200 ms is too short"),
        ({"immediate"}, "200", "a busy_timeout that is long enough: 200 ms is too short"),
    ],
)
def test_what_begins_with_the_lock_is_not_told_to(begins: set[str], busy_timeout: str, advice: str) -> None:
    trial = result(engine=1.0)
    trial["accounting"] = {"issued": 100, "ok": 1, "failed": {"locked": 99}}
    trial["engine"] = {"engine": "sqlite", "settings": {"busy_timeout": busy_timeout}}
    bottleneck = diagnose(trial, clients=2, begins=begins)
    assert bottleneck is not None
    assert bottleneck["advice"].startswith(advice)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ('{ execute = "select 1" }', set()),
        ('{ begin = "deferred" }, { commit = true }', {"deferred"}),
        ('{ repeat = 2, steps = [{ begin = "immediate" }, { commit = true }] }', {"immediate"}),
        ('{ execute = "begin" }, { execute = "commit" }', {"deferred"}),
        ('{ execute = "BEGIN exclusive" }, { execute = "commit" }', {"exclusive"}),
    ],
)
def test_how_the_transactions_of_a_cell_begin(text: str, begins: set[str]) -> None:
    assert compiled(steps(text))[0].task.begins == begins


def test_the_bottleneck_of_a_trial_knows_how_its_transactions_begin() -> None:
    trial = result(engine=1.0)
    trial["accounting"] = {"issued": 100, "ok": 1, "failed": {"locked": 99}}
    trial["engine"]["engine"] = "sqlite"
    (alone,) = compiled(steps('{ execute = "select 1" }'))
    (begun,) = compiled(steps('{ begin = "deferred" }, { commit = true }'))

    def advice(cell: CompiledCell) -> str:
        plan = cell.plan({"engine": "sqlite"}, 1).json
        stored = as_stored(result_of(**trial))
        (read,) = derived([TrialRecord(cell="a", block=0, position=0, status="done", plan=plan, result=stored)])
        bottleneck = bottleneck_of(read)
        assert bottleneck is not None
        return bottleneck.advice

    assert "BEGIN" not in advice(alone)
    assert "BEGIN" in advice(begun)


def test_what_is_advised_against_failures_goes_by_their_kind_and_the_engine() -> None:
    trial = result(engine=1.0)
    trial["accounting"] = {"issued": 100, "ok": 1, "failed": {"constraint": 99}}
    trial["failures"] = {"constraint": "not unique"}
    bottleneck = diagnose(trial, clients=2)
    assert bottleneck is not None
    assert bottleneck["evidence"] == '99 of 100 transactions failed (99 %), all of the kind constraint: "not unique"'
    assert bottleneck["advice"].startswith("fix the cause")
    trial["accounting"]["failed"] = {"locked": 99}
    trial["engine"]["engine"] = "PostgreSQL"
    elsewhere = diagnose_server(trial, clients=2)
    assert elsewhere is not None
    assert "BEGIN IMMEDIATE" not in elsewhere["advice"]


def test_nothing_done_has_no_bottleneck() -> None:
    assert diagnose({"time": {"client_s": 0.0}}, clients=1) is None


@pytest.mark.parametrize(
    ("machine", "steal", "evidence"),
    [
        (110, 0, "other programs used 90 % of one CPU"),
        (100, 70, "other programs used 80 % of one CPU, the host took 70 %"),
    ],
)
def test_whoever_disturbs_a_server_is_named(machine: float, steal: float, evidence: str) -> None:
    trial = result(cpu_s=0.1, cores=2, machine=machine, steal=steal, engine=1.0)
    trial["server"] = {"cpu": {"process_percent": 20.0}}
    bottleneck = diagnose_server(trial, clients=2)
    assert bottleneck is not None
    assert (bottleneck["resource"], bottleneck["evidence"]) == ("disturbed machine", evidence)


def test_of_a_window_of_a_moment_nothing_is_said() -> None:
    bottleneck = diagnose(result(cpu_s=0.8, cores=2, sync=0.9) | {"elapsed_s": 0.0006}, clients=2)
    assert bottleneck is not None
    assert bottleneck["resource"] == "unclear"
    assert bottleneck["evidence"].startswith("the window took 0.6 ms, too short")
