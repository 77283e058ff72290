"""Every kind of finding names the observation it rests on, and is not said without it. All results are synthetic."""

import ast
import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dbdyno
from dbdyno.analysis.document import build_document
from dbdyno.analysis.findings.connections import connect_findings
from dbdyno.analysis.findings.registry import KINDS, ORDER, RULES
from dbdyno.analysis.findings.rounds import varying_counts
from dbdyno.analysis.findings.services import one_at_a_time
from dbdyno.analysis.measured.histograms import encode_ns
from dbdyno.engines.sqlite.lock_findings import lock_findings
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell as MeasuredCell
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.finding import Kind, Measured, UnfoundedError
from dbdyno.model.result.shape import Finding
from dbdyno.store import TrialRecord
from experiment_files import TABLE, compiled, experiment
from synthetic import lookup_document, lookup_result, run_record
from synthetic_events import an_interval, as_stored, changed, rate_of

PACKAGE = Path(dbdyno.__file__).parent
FINDINGS = PACKAGE / "analysis" / "findings"


# What a run says of itself as it goes: its own rule, its own clock and its own errors are what was observed, and what
# the engine said of each statement. They have tests of their own (test_run, test_resolution, test_writes, test_turns).
def result(ok: int = 1000, seconds: float = 10.0, **changes: Any) -> dict[str, Any]:
    made = TrialResult.model_validate(lookup_result(1, "private", random.Random(1)))
    made = changed(made, {"accounting": {"issued": ok, "ok": ok}, **rate_of(ok, 1, seconds), "elapsed_s": seconds})
    return as_stored(changed(made, changes))


@dataclass
class Cell:
    """A cell: its system, and the result of each of its rounds."""

    results: list[dict[str, Any]]
    system: str = "sqlite:"
    plan: Any = None
    intervals: Any = ()


def found(*cells: Cell, **run: Any) -> list[Finding]:
    design = {"cells": [], "recommendations": run.pop("recommendations", []), "measure": run.pop("measure", {})}
    trials = []
    for number, cell in enumerate(cells):
        name = "abc"[number]
        design["cells"].append({"id": name, "system": {"name": cell.system}, "factors": {"system": cell.system}})
        trials += [
            TrialRecord(
                cell=name,
                block=block,
                position=number,
                status="done",
                result=each,
                plan=cell.plan or {},
                intervals=list(cell.intervals),
            )
            for block, each in enumerate(cell.results)
        ]
    return build_document(run_record(design, **run), trials).findings


def searching(values: list[Any], sql: str = "select * from w where word like ?") -> Any:
    return {"task": {"statements": [{"name": "s", "sql": sql, "example": values}], "window": {}, "clients": 1}}


def whole(plan: list[str]) -> dict[str, Any]:
    times = {"transactions": {}, "statements": {"s": encode_ns([500_000_000] * 900)}, "controls": {}, "timed_s": 500.0}
    counts = {"s": {"executions": 9, "rows": 9, "changed": 0}}
    catalog = {"tables": [{"name": "w", "storage_engine": None, "columns": [], "indexes": []}]}
    return result(engine={"plans": {"s": plan}, "catalog": catalog}, statements=counts, operations=times)


ESTIMATE = {
    "step": "Seq Scan on w",
    "table": "w",
    "depth": 0,
    "expected": 5.0,
    "found": 50_000.0,
    "executions": 1.0,
    "at_least": False,
}


def estimated(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """A result with what was expected and found of a statement, which no finding on its time is made of."""
    return result(
        engine={
            "engine": "PostgreSQL",
            "estimates": {"s": steps} if steps else {},
            "plans": {"s": ["Sort", "  Sort Key: n", "  ->  Seq Scan on w"]},
        }
    )


def referred(rows: int, **settings: str) -> dict[str, Any]:
    """A slow DELETE on a table that another one refers to."""
    key = {"table": "v", "columns": ["of_w"], "rows": rows, "parent": "w", "parent_columns": ["n"]}
    key |= {"on_delete": "cascade", "on_update": "no action", "indexed": False}
    made = whole([])
    made["engine"] |= {"engine": "SQLite" if settings else "PostgreSQL", "settings": settings}
    made["engine"]["catalog"] = {"data_bytes": None, "tables": [], "foreign_keys": [key]}
    return made


def prepared(plan: str) -> dict[str, Any]:
    """A statement whose generic plan has a cost of 3."""
    plans = {"generic": [plan], "generic_cost": 3.0, "custom": ["Seq Scan on w"], "custom_cost": 9.0}
    return result(engine={"engine": "PostgreSQL", "settings": {}, "prepared": {"s": plans}})


def searched(rows: int, plan: str = "SCAN w", **engine: Any) -> dict[str, Any]:
    collation = {"name": "BINARY", "provider": None, "by_bytes": None, "regards_case": True}
    column = {"name": "word", "type": "text", "collation": collation}
    catalog = {"tables": [{"name": "w", "storage_engine": None, "columns": [column], "indexes": []}]}
    told = {"plans": {"s": [plan]}, "settings": {"case_sensitive_like": "off"}, "catalog": catalog, **engine}
    return result(engine=told, statements={"s": {"executions": 1, "rows": rows, "changed": 0}})


def timeline(levels: list[int]) -> list[dict[str, Any]]:
    return [as_stored(an_interval(at, ok)) for at, ok in enumerate(levels)]


RECOMMENDATION = {"name": "r", "answers": "prefix-scan", "engine": "sqlite", "does": "it", "cells": {"a": "b"}}
POSTGRESQL = {"engine": "PostgreSQL", "settings": {}}
ADD = "update t set v = 1"
SYNCED: dict[str, Any] = {"ok": 100, "engine": {"durability": {"class": "power-safe"}}}
LARGE = {"time": {"segments": {"sync": 5.0}}}


def locked(blind: bool, busy_timeout: str) -> list[Finding]:
    steps = (
        '[[transactions]]\nname = "x"\nsteps = [{ begin = "deferred" }, { execute = "select * from user" }, '
        '{ execute = "update user set name = 1" }, { commit = true }]\n[load]\nstop = { transactions = 9 }\n'
    )
    settings = {} if blind else {"busy_timeout": busy_timeout}
    rounds = [{"status": "done", "failed": {"locked": 3}, "io": None}]
    cells: list[Measured] = []
    for each in compiled(experiment(HEADLESS, TABLE, steps)):
        cell: Any = {
            "id": each.cell.id,
            "system": {"name": "sqlite:", "settings": settings},
            "failed": {"locked": 3},
            "rounds": rounds,
            "latency_ms": {},
        }
        cells.append(Measured(from_json(MeasuredCell, cell), each.task, ""))
    return lock_findings(cells)


def overtaken(blind: bool) -> list[Finding]:
    """Two waits of half a second, of thousands of transactions that take a tenth of a millisecond."""
    seconds = 0.0001 if blind else 1.0
    cell: Any = {
        "id": "a",
        "failed": {},
        "rounds": [{"status": "done", "io": {"file_lock_waits": 2}, "segments": {"file_lock_wait": seconds}}],
        "latency_ms": {"service": {"p99": 0.1, "max": 800.0}},
    }
    return lock_findings([Measured(from_json(MeasuredCell, cell), TrialTask(), "")])


HEADLESS = 'name = "x"\ntitle = "x"\n'
READ = '[[transactions]]\nname = "r"\nsteps = [{ execute = "select * from user" }]\n'


def counted(blind: bool) -> list[Finding]:
    text = f"{READ}\n[load]\nclients = {1 if blind else 2}\nstop = {{ seconds = 1 }}\n"
    return list(varying_counts({each.cell.id: each.task for each in compiled(experiment(HEADLESS, TABLE, text))}))


def designed(blind: bool, **design: Any) -> list[Finding]:
    """What is said of a design before anything is measured."""
    return build_document(run_record({} if blind else design), []).findings


def seen(blind: bool, kind: str, **observed: Any) -> list[Finding]:
    """What is said of what the laboratory saw; blind, it saw that there was something and not what."""
    observation = {"kind": kind, **(dict.fromkeys(observed) if blind else observed)}
    return build_document(run_record({"stopping": {"target": 0.03}}, observations=[observation]), []).findings


def asked_for(blind: bool) -> list[Finding]:
    design = {"cells": [{"id": "a", "system": {"name": "sqlite:", "engine": "sqlite"}, "asked": {"threads": "100"}}]}
    engine = {"engine": "sqlite", "settings": {} if blind else {"threads": "8"}}
    trial = TrialRecord(cell="a", block=0, position=0, status="done", result=result(engine=engine))
    return build_document(run_record(design), [trial]).findings


BEHIND = {"task": {"target": {"engine": "http"}, "clients": 9, "window": {}}}

FREE = {"process_percent": 10.0, "hottest_thread_percent": 5.0, "machine_percent": 400.0, "cores": 4}


def tiers(web: float, database: float) -> list[dict[str, Any]]:
    return [{"name": "web 1", "cpu_percent": web}, {"name": "database", "cpu_percent": database}]


def limit(blind: bool) -> dict[str, Any]:
    code = "503 teapot" if blind else "503 too-many-connections"
    return {"kind": "status", "code": code, "count": 1, "message": "login: status 503"}


STATEMENT = {"statement": "update t set v = 1", "why": "the plan", "certain": True, "told": "`update` writes"}


# By kind, what makes it be said; and what is known less, so that it is not.
def on_machines(
    rates: tuple[int, ...] = (1000, 1000, 1000),
    began_ms: tuple[float, ...] = (0.0, 0.0, 0.0),
    lost: tuple[str, ...] | list[str] = (),
    boots: tuple[str, ...] = ("x", "y", "z"),
    took_ms: tuple[float, ...] = (0.03, 0.03, 0.03),
) -> list[Finding]:
    """What is said of a trial of ten seconds that three load machines did, each so much in a second."""
    noise = random.Random(3)
    parts, machines, agreed = [], [], 10**12
    for number, (rate, began, boot, ms) in enumerate(zip(rates, began_ms, boots, took_ms, strict=True)):
        told = [
            an_interval(index, round(rate * noise.uniform(0.99, 1.01)), p50_ms=ms * noise.uniform(0.99, 1.01))
            for index in range(10)
        ]
        made = result(sum(each.ok for each in told), began_ns=agreed + 500 + round(began * 1e6))
        parts.append({"result": made, "intervals": [as_stored(each) for each in told]})
        clock = {"offset_ns": 500, "uncertainty_ns": 100_000}
        machines.append({"name": f"{number + 1} (10.0.0.{number})", "host": boot, "boot": boot, "clients": 2, **clock})
    around = {"load_machines": {"agreed_ns": agreed, "machines": machines, "lost": list(lost)}}
    design = {
        "cells": [{"id": "a", "system": {"name": "sqlite:"}, "factors": {}}],
        "recommendations": [],
        "measure": {},
    }
    trial = TrialRecord(cell="a", block=0, position=0, status="done", parts=parts, around=around)
    return build_document(run_record(design, options={"load_machines": machines}), [trial]).findings


def in_turn(blind: bool) -> list[Finding]:
    cells: list[Any] = [
        {
            "id": f"clients={clients}",
            "system": {"name": "http://a/", "engine": "http"},
            "throughput": {"mean": 200.0},
            "latency_ms": {"service": {"p50": 5.0 * (1 if blind else clients)}},
            "cpu_percent": {"machine": 20.0, "cores": 2},
        }
        for clients in (1, 8)
    ]
    return list(one_at_a_time([from_json(MeasuredCell, each) for each in cells]))


SCENARIOS: dict[str, Callable[[bool], list[Finding]]] = {
    "durability contradicted": lambda blind: found(
        Cell(
            [
                result(
                    **SYNCED,
                    io={"syncs": 100 if blind else 0, "writes": 300},
                    disk=None,
                    work={"rows_changed": 100, "transactions_changing": 100},
                )
            ]
        )
    ),
    "not comparable": lambda blind: found(
        *(
            Cell([result(work={"rows_returned": 1000 if blind else rows, "rows_returned_squared": 0.0})] * 2, system)
            for rows, system in ((1000, "sqlite:"), (5000, "sqlite:?mmap_size=0"))
        )
    ),
    "other rows": lambda blind: found(
        Cell([searched(7)], "sqlite:", searching(["ab%"])),
        Cell([searched(7 if blind else 5, **POSTGRESQL)], "postgresql:", searching(["ab%"])),
    ),
    "counts may differ": lambda blind: found(
        *(
            Cell(
                [searched(1, **engine | ({"engine": "sqlite"} if blind else {}))],
                system,
                searching(["ab%"], "select count(*) from w where word like ?"),
            )
            for system, engine in (("sqlite:", {}), ("postgresql:", POSTGRESQL))
        )
    ),
    "other product": lambda blind: found(
        Cell([result(engine={"engine": "MongoDB" if blind else "FerretDB", "version": "1.24"})], "mongodb:")
    ),
    "lost updates": lambda blind: found(
        Cell(
            [
                result(
                    engine={
                        "engine": "FerretDB",
                        "lost_updates": None if blind else {"sessions": 4, "acknowledged": 9, "counted": 8},
                    }
                )
            ],
            "mongodb:",
        )
    ),
    "prefix scan": lambda blind: found(
        Cell([searched(7, "SCAN w", **({"plans": {}} if blind else {}))], "sqlite:", searching(["ab%"]))
    ),
    "whole table": lambda blind: found(
        Cell(
            [whole([] if blind else ["SCAN w"])],
            "sqlite:",
            searching([7], "select * from w where n = ?"),
        )
    ),
    "foreign key without index": lambda blind: found(
        Cell([referred(9 if blind else 9000)], "postgresql:", searching([7], "delete from w where n = ?"))
    ),
    "foreign keys not enforced": lambda blind: found(
        Cell(
            [referred(9 if blind else 9000, foreign_keys="off")],
            "sqlite:",
            searching([7], "delete from w where n = ?"),
        )
    ),
    "generic plan": lambda blind: found(
        Cell(
            [prepared("Seq Scan on w" if blind else "Index Scan Backward using i on w")],
            "postgresql:",
            {"task": searching([7], "select * from w where n = ?")["task"] | {"prepare": "once"}},
        )
    ),
    "row estimate": lambda blind: found(
        Cell([estimated([] if blind else [ESTIMATE])], "sqlite:", searching([7], "select * from w where n = ?"))
    ),
    "recommendation": lambda blind: found(
        Cell([searched(7, "SEARCH w" if blind else "SCAN w")] * 3, "sqlite:", searching(["ab%"])),
        Cell([searched(7, "SEARCH w USING INDEX i")] * 3, "sqlite:?case_sensitive_like=on", searching(["ab%"])),
        recommendations=[RECOMMENDATION],
    ),
    "failures": lambda blind: found(
        Cell([result(accounting={"issued": 1001, "failed": {} if blind else {"locked": 1}, "skipped": int(blind)})])
    ),
    "skipped": lambda blind: found(Cell([result(accounting={"issued": 1100, "skipped": 0 if blind else 100})])),
    "cut short": lambda blind: found(
        Cell(
            [result(ended_by="seconds")],
            plan={"task": {"clients": 1, "window": {} if blind else {"transactions": 5000}}},
        )
    ),
    "locked while upgrading": lambda blind: locked(blind, "5000"),
    "overtaken while waiting": overtaken,
    "locked without waiting": lambda blind: locked(blind, "0"),
    "change": lambda blind: [
        each for each in lookup_document(rounds=1 if blind else 5).findings if each.kind == "change"
    ],
    "one at a time": in_turn,
    "more commits than syncs": lambda blind: found(
        Cell([result(**SYNCED, seconds=0.01, io={"syncs": 0 if blind else 100})])
    ),
    "slower device": lambda blind: found(
        Cell(
            [result(**SYNCED, **LARGE, io={"syncs": 100, "write_bytes": 0 if blind else 100 * 4096})],
            plan={"task": {"record": {"io": not blind}}},
        )
    ),
    "outliers": lambda blind: found(Cell([result(ok) for ok in (1000, 1010, 990, 1005, 1000 if blind else 600)])),
    "unsettled": lambda blind: found(
        Cell([result()] * 2, intervals=timeline([] if blind else [100, 101, 100, 140, 180, 181, 180, 181, 180, 180]))
    ),
    "stalled": lambda blind: found(
        Cell([result()], intervals=timeline([100, 0 if not blind else 100, 0 if not blind else 100, 100, 100]))
    ),
    "few transactions": lambda blind: found(Cell([result(5, ended_by="transactions" if blind else "seconds")])),
    "two levels": lambda blind: found(
        Cell([result(ok) for ok in ((1000, 1001, 1002, 999, 2000, 2001, 2002, 1999)[: 1 if blind else 8])])
    ),
    "plan changed": lambda blind: found(
        Cell(
            [result(engine={"plans": {"s": [plan]}}) for plan in ("SCAN w", "SCAN w" if blind else "SEARCH w")],
            plan=searching([]),
        )
    ),
    "disturbed": lambda blind: found(
        Cell([result(cpu={"process_percent": 50.0, "machine_percent": 50.0 if blind else 150.0})])
    ),
    "overrun": lambda blind: found(
        Cell([result(io={"syncs": 0 if blind else 100}, interleaving={"overrun_s": 3.0, "real_s": 20.0})])
    ),
    "busy client": lambda blind: found(
        Cell([result(1_000_000, work={"statements": 1_000_000})]),
        ceiling={} if blind else {"operations_per_s": 110_000.0},
    ),
    "load machines differ": lambda blind: on_machines(rates=(1000, 1000, 990 if blind else 600)),
    "load machines apart": lambda blind: on_machines(began_ms=(0.0, 0.2, 0.4 if blind else 900.0)),
    "load machine lost": lambda blind: on_machines(
        lost=[] if blind else ["load machine 2 (10.0.0.2) was lost: it ended"]
    ),
    "load machines shared": lambda blind: on_machines(boots=("x", "y", "z" if blind else "y")),
    "fits in cache": lambda blind: found(
        Cell([result(io={"cache_hits": 5000, "cache_misses": 5000 if blind else 0})]), measure={"beyond_cache": True}
    ),
    "unreadable data": lambda blind: found(Cell([result(histograms={} if blind else {"service": "!"})])),
    "not measured": lambda blind: designed(blind, excluded=[{"id": "n=1", "reason": "it makes no sense"}]),
    "steps left out": lambda blind: designed(
        blind, cells=[{"id": "a", "system": {"name": "sqlite:", "engine": "sqlite"}, "left_out": ["begin"]}]
    ),
    "checks left out": lambda blind: designed(
        blind, cells=[{"id": "a", "system": {"name": "sqlite:", "engine": "sqlite"}, "unchecked": ["rows"]}]
    ),
    "counts vary": counted,
    "setting not in force": lambda blind: asked_for(blind),  # noqa: PLW0108
    "ended": lambda blind: seen(blind, "ended", rounds=5, why="precise"),
    "probe failed": lambda blind: seen(blind, "probe failed", probe="device", error="it is gone"),
    "name resolution": lambda blind: seen(blind, "name resolution", system="mysql://db/", host="db", seconds=0.2),
    "writes allowed": lambda blind: seen(
        blind, "writes allowed", system="sqlite:", wrote_to="other files", statements=[STATEMENT]
    ),
    "one of several servers": lambda blind: seen(
        blind, "one of several servers", engine="mysql", installed={"/a": "MariaDB 11", "/b": "MySQL 8"}
    ),
    "indexes on another device": lambda blind: seen(
        blind, "indexes on another device", system="postgresql:", directory="/mnt/other"
    ),
    "interleaved cells sync differently": lambda blind: seen(
        blind, "interleaved cells sync differently", settings={"a": {"synchronous": "off"}}
    ),
    "connecting": lambda blind: connecting(blind),  # noqa: PLW0108
    "connection for each request": lambda blind: behind(blind),  # noqa: PLW0108
    "bottleneck tier": lambda blind: found(
        *(
            Cell([result(cpu=FREE, tiers=tiers(40.0 if blind else 390.0, 395.0 if blind else 40.0))], system, BEHIND)
            for system in ("web:?database=sqlite", "web:?database=postgresql")
        )
    ),
    "limit met": lambda blind: found(
        Cell(
            [
                result(
                    accounting={"issued": 1001, "failed": {"status": 1}},
                    failed_by_code=[limit(blind)],
                    engine={"engine": "http"},
                )
            ]
        )
    ),
    "backlog full": lambda blind: around(
        "listeners",
        {
            "sockets": [{"part": "", "address": "127.0.0.1:80", "backlog": 1, "dropped": 0 if blind else 3}],
            "somaxconn": 4096,
        },
    ),
    "falls as it grows": lambda blind: grown([1000] * 4 + [1000 if blind else 200] * 4),
    "key order": lambda blind: grown([200] * 4 + [1000] * 4, kinds=("serial", "serial") if blind else ("v4", "serial")),
    "memory not limited": lambda blind: around(
        "memory_limit", {"bytes": 64_000_000, "means": "cgroup v1", "refused": None if blind else "it is not allowed"}
    ),
    "not looked at": lambda blind: around(
        "after", {"space": [], "timed": [], "failed": {} if blind else {"space": "no such table: dbstat"}}
    ),
}


def grown(rates: list[int], kinds: tuple[str, str] = ()) -> list[Finding]:  # type: ignore[assignment]
    """What is said of two cells of four windows each: two sizes, or of one size and two ``kinds`` of keys."""
    levels = [{"rows": 1000, "key": kind} for kind in kinds] or [
        {"rows": 1000, "key": "v4"},
        {"rows": 9000, "key": "v4"},
    ]
    # A table that grows has two sizes at least.
    levels = [*levels, *({"rows": 10, "key": kind} for kind in dict.fromkeys(kinds))]
    cells = [
        {"id": f"c{number}", "system": {"name": "sqlite:"}, "factors": {"system": "sqlite:", **each}}
        for number, each in enumerate(levels)
    ]
    design = {
        "cells": cells,
        "factors": {"rows": [10, 1000, 9000], "key": list(kinds) or ["v4"]},
        "growth": {"factor": "rows", "table": "t", "windows": 4},
        "report": {"x": "rows", "by": "key", "questions": ["rows"] if kinds else []},
    }
    keys = {"v4": {"kind": "uuid", "version": "v4"}, "serial": {"kind": "serial", "start": 1, "step": 1}}
    trials = [
        TrialRecord(
            cell=cells[number // 4]["id"],  # type: ignore[arg-type]
            block=number % 4,
            position=0,
            status="done",
            result=result(rate + number % 4),
            plan={"task": {"transactions": [{"name": "t", "steps": [inserting(keys[levels[number // 4]["key"]])]}]}},
        )
        for number, rate in enumerate([*rates, *[1000] * 4 * (len(levels) - 2)])
    ]
    return build_document(run_record(design), trials).findings


def inserting(key: dict[str, Any]) -> dict[str, Any]:
    return {"do": "execute", "statement": 0, "params": [key]}


def around(name: str, what: dict[str, Any]) -> list[Finding]:
    """What is said of a trial with something around it."""
    trial = TrialRecord(cell="a", block=0, position=0, status="done", result=result(), around={name: what})
    return build_document(run_record({"cells": [{"id": "a", "system": {"name": "sqlite:"}}]}), [trial]).findings


def connecting(blind: bool) -> list[Finding]:
    own = experiment(HEADLESS, TABLE, READ, '[load]\nconnect = "per-transaction"\nstop = { seconds = 1 }\n')
    there = compiled(own)
    cells = [
        {
            "id": each.cell.id,
            "system": {"name": "sqlite:"},
            "factors": {},
            "latency_ms": {} if blind else {"connect": {"mean": 1.0, "count": 100}},
            "time": {"client_s": 1.0},
        }
        for each in there
    ]
    measured = [from_json(MeasuredCell, each) for each in cells]
    return connect_findings(measured, {}, {each.cell.id: each.task for each in there})


def behind(blind: bool) -> list[Finding]:
    """What is said of a web tier that keeps its connections and one that does not; blind, nobody knows which does."""
    cells = [
        {
            "id": each,
            "system": {"name": "web:", "engine": "web"},
            "factors": {"system": "web:", "kept": each},
            "asked": {} if blind else {"persistent": each},
        }
        for each in ("on", "off")
    ]
    trials = [
        TrialRecord(cell=str(cell["id"]), block=0, position=at, status="done", result=result(1000 - 500 * at))
        for at, cell in enumerate(cells)
    ]
    return build_document(run_record({"cells": cells}), trials).findings


def test_a_run_that_waited_for_a_quiet_machine_is_not_told_to() -> None:
    def told(**options: Any) -> str:
        cell = Cell([result(cpu={"process_percent": 50.0, "machine_percent": 150.0})])
        return next(each.text for each in found(cell, options=options) if each.kind == "disturbed")

    assert told().endswith(". Use `--wait-idle` to wait for an idle machine.")
    assert told(wait_idle=True).endswith(", although each trial waited for an idle machine.")


def test_a_server_of_the_users_is_no_other_program() -> None:
    """What it takes of this machine's processors is not known, and is what is measured."""
    busy = [result(cpu={"process_percent": 50.0, "machine_percent": 150.0})]

    def told(system: str) -> bool:
        return any(each.kind == "disturbed" for each in found(Cell(busy, system=system)))

    assert told("sqlite:") and told("postgresql://me@db.example/app")
    for here in ("postgresql://me@127.0.0.1:5/app", "mysql://me@localhost/app", "postgresql://me@%2Ftmp:5/app"):
        assert not told(here)


@pytest.mark.parametrize(
    ("rates", "took_ms", "named"),
    [
        ((600, 1000, 1000), (0.03, 0.03, 0.03), "1"),
        # What takes longer, and does as much, is not behind the one that does less.
        ((600, 1000, 1000), (0.03, 0.09, 0.03), "1"),
        ((1000, 1000, 1000), (0.03, 0.09, 0.03), "2"),
        ((1000, 1000, 600), (0.03, 0.03, 0.09), "3"),
    ],
)
def test_the_load_machine_that_is_furthest_behind_is_named(
    rates: tuple[int, ...], took_ms: tuple[float, ...], named: str
) -> None:
    (differ,) = [each for each in on_machines(rates, took_ms=took_ms) if each.kind == "load machines differ"]
    assert str(differ.evidence["machine"]).split()[0] == named


def test_every_kind_has_a_scenario() -> None:
    assert set(SCENARIOS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_has_a_sentence_of_meaning_and_one_of_remedy(kind: Kind) -> None:
    for sentence in (kind.meaning, kind.remedy):
        assert sentence[0].isupper() or sentence.startswith("dbdyno ")
        assert sentence.endswith(".") and len(sentence.split()) <= 25


@pytest.mark.parametrize("kind", SCENARIOS)
def test_a_finding_carries_its_observation_and_is_not_said_without_it(kind: str) -> None:
    said = [each for each in SCENARIOS[kind](False) if each.kind == kind]
    assert said
    for each in said:
        observed = {name: each.evidence.get(name) for name in KINDS[kind].needs}
        assert all(of not in (None, "", [], {}) for of in observed.values()), observed
    assert [each.text for each in SCENARIOS[kind](True) if each.kind == kind] == []


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS.values() for name in kind.needs])
@pytest.mark.parametrize("nothing", [None, "", [], {}])
def test_no_finding_can_be_made_without_its_observation(kind: Kind, name: str, nothing: Any) -> None:
    evidence: dict[str, Any] = dict.fromkeys(kind.needs, 0)
    assert kind.found("So it is.", [], copy.copy(evidence)).evidence == evidence
    with pytest.raises(UnfoundedError, match=name):
        kind.found("So it is.", [], evidence | {name: nothing})


def test_each_rule_is_registered_and_has_its_place_in_the_order() -> None:
    decorated = sum(path.read_text(encoding="utf-8").count("\n@finding(\n") for path in FINDINGS.glob("*.py"))
    # The engines' own findings are one rule more.
    assert len(RULES) == decorated + 1
    assert len(KINDS) == sum(len(rule.kinds) for rule in RULES)
    assert list(KINDS) == list(ORDER)


def calls() -> Iterator[tuple[Path, str]]:
    """The name of everything that the package's source calls by its own name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield path, node.func.id


def test_findings_are_made_in_one_place() -> None:
    assert {path.name for path, name in calls() if name == "Finding"} == {"finding.py"}
