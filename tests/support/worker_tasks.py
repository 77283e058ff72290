"""Tasks for the worker, and the events it answers with."""

import json
import subprocess
from typing import Any

from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import worker_path

SELECT = "select v from t where id = ?"


def work(kind: str, **task: Any) -> list[dict[str, Any]]:
    plan = {"schema": PLAN, "seed": 1, "task": {"kind": kind, **task}}
    done = subprocess.run([worker_path()], input=json.dumps(plan), capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def trial(target: dict[str, Any], changes: dict[str, Any] | None, sql: str = SELECT, **task: Any) -> dict[str, Any]:
    steps = [{"do": "execute", "statement": 0, "params": [{"kind": "uniform", "low": 1, "high": 5000}]}]
    usual = {
        "target": target,
        "clients": 1,
        "window": {"transactions": 20},
        "warmup": {"transactions": 5},
        "statements": [{"name": "s", "sql": sql, "places": [sql.index("?")]}],
        "transactions": [{"name": "t", "steps": steps}],
    }
    *_, last = work("trial", **usual | task | ({} if changes is None else {"changes": changes}))
    return last
