"""The schemas in the repository are those that the worker's types give, and what it writes is as they say."""

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dbdyno.engines.sqlite.targets import load_target, trial_target
from dbdyno.plan.cell import PLAN
from dbdyno.worker import worker_path
from experiment_files import ROOT, compiled, event_schema, small
from synthetic import lookup_design, lookup_trials

LOAD = "\n[load]\nclients = 2\nstop = { transactions = 50 }\n[measure]\nphases = true\ninterval_ms = 50\n"


def said(plan: dict[str, Any] | str, code: int = 0) -> list[dict[str, Any]]:
    """Give the events of a worker."""
    text = plan if isinstance(plan, str) else json.dumps(plan)
    done = subprocess.run([worker_path()], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def validate(event: dict[str, Any] | None) -> None:
    """Check an event, of which what is wrong in the type that it comes nearest to is told."""
    error = jsonschema.exceptions.best_match(event_schema().iter_errors(event))
    assert error is None, (list(error.absolute_path), error.message[-300:])


def task(kind: str, **keys: Any) -> dict[str, Any]:
    return {"schema": PLAN, "seed": 1, "task": {"kind": kind, **keys}}


@pytest.mark.parametrize("of", ["plan", "event"])
def test_the_schema_is_that_of_the_worker(of: str) -> None:
    printed = subprocess.run([worker_path(), "schema", of], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == json.loads((ROOT / f"docs/{of}.schema.json").read_text()), "run `make schema`"


def test_a_wrong_plan_is_refused() -> None:
    (event,) = said('{"schema": "dbdyno.plan/9"}', code=2)
    assert (event["event"], event["kind"]) == ("error", "plan")
    event_schema().validate(event)


def test_events_are_as_the_schema_says(tmp_path: Path) -> None:
    (cell,) = compiled(small(load=LOAD))
    path = str(tmp_path / "small.db")
    target = load_target(cell, path)
    events = said(cell.load_plan(target)) + said(cell.trial_plan(trial_target(cell, path), 1))
    events += said(task("inspect", target=target)) + said(task("check", target=target))
    events += said(task("reach", target=target, own=[], statements=["attach 'x' as y", "select 1"]))
    events += said(task("device", directory=str(tmp_path), seconds=0.01, bytes=1 << 20, depths=[1]))
    events += said(task("inspect", target={"engine": "sqlite", "path": path, "library": "/nowhere"}), code=1)
    assert {each["event"] for each in events} >= {
        "loaded", "phase", "interval", "result", "facts", "check", "checked", "reach", "device", "error",
    }  # fmt: skip
    for each in events:
        validate(each)


def test_a_key_that_no_type_has_is_not_taken() -> None:
    with pytest.raises(jsonschema.ValidationError):
        event_schema().validate({"event": "phase", "phase": "window", "more": 1})


def test_results_that_tests_make_up_are_as_the_worker_writes_them() -> None:
    for trial in lookup_trials(lookup_design(), 1, 1):
        validate(trial.result)
        for each in trial.intervals:
            validate(each)
