"""The schemas in the repository are those that the worker's types give, and what it writes is as they say."""

import ast
import copy
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pydantic import TypeAdapter

import dbdyno
from dbdyno.analysis.predict import schema as prediction
from dbdyno.engines.sqlite.targets import load_target, trial_target
from dbdyno.model.events.reading import Event, InvalidEvent, read_event, read_line
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.model.result import schema
from dbdyno.runtime.worker import worker_path
from experiment_files import ROOT, compiled, event_schema, small, worker_schema
from synthetic import lookup_design, lookup_trials

PACKAGE = ROOT / "python" / "dbdyno"
LOAD = "\n[load]\nclients = 2\nstop = { transactions = 50 }\n[measure]\nphases = true\ninterval_ms = 50\n"


def said(plan: dict[str, Any] | str, code: int = 0) -> list[dict[str, Any]]:
    """Give the events of a worker."""
    text = plan if isinstance(plan, str) else json.dumps(plan)
    done = subprocess.run([worker_path()], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def task(kind: str, **keys: Any) -> dict[str, Any]:
    return {"schema": PLAN, "seed": 1, "task": {"kind": kind, **keys}}


def test_the_worker_prints_a_schema_of_plans() -> None:
    schema = worker_schema("plan")
    jsonschema_rs.meta.validate(schema)
    assert set(schema["required"]) == {"schema", "seed", "task"}
    assert types(schema["$defs"]["Schema"], schema) == [{"const": PLAN}]


@pytest.mark.parametrize(
    ("make", "root"),
    [(schema.json_schema, schema.shape.Document), (prediction.json_schema, prediction.prediction.Prediction)],
)
def test_a_schema_names_the_fields_of_the_types(make: Callable[[], dict[str, Any]], root: Any) -> None:
    made = make()
    jsonschema_rs.meta.validate(made)
    assert made["required"] == list(made["properties"]) == [each.name for each in fields(root)]


@pytest.mark.parametrize("path", sorted((PACKAGE / "model").rglob("*.py")), ids=lambda path: path.stem)
def test_each_description_follows_its_field(path: Path) -> None:
    """A string below another statement than a field would be the description of nothing."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            for before, after in pairwise(node.body):
                lost = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                assert not lost or isinstance(before, ast.AnnAssign | ast.Assign), f"{path.name}:{after.lineno}"


def test_a_closed_schema_has_no_reader_refuse_more(tmp_path: Path) -> None:
    of_later = {"schema": schema.shape.SCHEMA, "id": "a", "experiment": "b", "cells": [], "of a later version": 1}
    (tmp_path / "later.json").write_text(json.dumps(of_later))
    with pytest.raises(jsonschema_rs.ValidationError, match="of a later version"):
        jsonschema_rs.validate(schema.json_schema(closed=True), of_later)
    assert dbdyno.load(tmp_path / "later.json").cells().empty


def test_a_wrong_plan_is_refused() -> None:
    (event,) = said('{"schema": "dbdyno.plan/9"}', code=2)
    assert (event["event"], event["kind"]) == ("error", "plan")
    event_schema().validate(event)


def test_events_are_as_the_schema_says(tmp_path: Path) -> None:
    (cell,) = compiled(small(load=LOAD))
    path = str(tmp_path / "small.db")
    target = load_target(cell, path)
    events = said(cell.load_plan(target).json) + said(cell.plan(trial_target(cell, path), 1).json)
    events += said(task("inspect", target=target)) + said(task("check", target=target))
    events += said(task("ask", target=target, sql="select 1"))
    events += said(task("reach", target=target, own=[], statements=["attach 'x' as y", "select 1"]))
    events += said(task("device", directory=str(tmp_path), seconds=0.01, bytes=1 << 20, depths=[1]))
    events += said(task("inspect", target={"engine": "sqlite", "path": path, "library": "/nowhere"}), code=1)
    assert {each["event"] for each in events} >= {
        "loaded", "phase", "interval", "result", "facts", "check", "checked", "reach", "answer", "device", "error",
    }  # fmt: skip
    for each in events:
        event_schema().validate(each)
        read_event(each)


def test_a_key_that_no_type_has_is_not_taken() -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        event_schema().validate({"event": "phase", "phase": "window", "more": 1})


def test_results_that_tests_make_up_are_as_the_worker_writes_them() -> None:
    for trial in lookup_trials(lookup_design(), 1, 1):
        event_schema().validate(trial.result)
        for each in trial.intervals:
            event_schema().validate(each)


def types(schema: dict[str, Any], root: dict[str, Any]) -> list[Any]:
    """Give what a schema allows, as a sorted list of alternatives without names, references and words.

    An alternative is a constant, a type, a list or a mapping with what is in it, or an object with its properties: for
    each whether it is required, and its alternatives. What is said beside a reference, or beside alternatives, holds
    for each of them; so null is an alternative like others, whichever way it is written.
    """
    found: dict[str, Any] = {}
    for each in alternatives(schema, root):
        made = alternative(each, root)
        found[json.dumps(made, sort_keys=True)] = made
    return [found[key] for key in sorted(found)]


def alternatives(schema: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give a schema's alternatives, none of which has a reference or alternatives of its own."""
    beside = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf", "oneOf", "enum")}
    if "$ref" in schema:
        inner = [root["$defs"][schema["$ref"].removeprefix("#/$defs/")]]
    elif "anyOf" in schema or "oneOf" in schema:
        inner = schema.get("anyOf") or schema["oneOf"]
    elif "enum" in schema:
        inner = [{"const": each} for each in schema["enum"]]
    elif isinstance(schema.get("type"), list):
        inner = [{"type": each} for each in schema["type"]]
        del beside["type"]
    else:
        yield schema
        return
    for each in inner:
        merged = beside | each
        for key, none in (("properties", {}), ("required", [])):
            if key in beside or key in each:
                both = beside.get(key, none), each.get(key, none)
                merged[key] = both[0] | both[1] if key == "properties" else [*both[0], *both[1]]
        yield from alternatives(merged, root)


def alternative(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    if "const" in schema:
        return {"const": schema["const"]}
    if "properties" in schema:
        required = schema.get("required", [])
        return {name: [name in required, types(each, root)] for name, each in schema["properties"].items()}
    kind = schema["type"]
    if kind == "array":
        return {"each of": types(schema["items"], root)}
    if kind == "object":
        return {"by name": types(schema["additionalProperties"], root)}
    return [kind, schema["minimum"]] if "minimum" in schema and kind in ("integer", "number") else kind


def of_worker() -> dict[str, Any]:
    return worker_schema("event")


def of_models() -> dict[str, Any]:
    return TypeAdapter[Any](Event).json_schema()


def by_event(schema: dict[str, Any]) -> dict[str, Any]:
    return {each["event"][1][0]["const"]: each for each in types(schema, schema)}


def test_the_models_are_as_the_schema_says() -> None:
    worker, models = by_event(of_worker()), by_event(of_models())
    assert models.keys() == worker.keys()
    for name, wanted in worker.items():
        assert models[name] == wanted, name


def test_a_model_takes_no_more_than_its_fields() -> None:
    """An object of the models is closed, where the worker's types say nothing of it."""
    schema = of_models()
    assert all(each["additionalProperties"] is False for each in schema["$defs"].values() if "properties" in each)


def renamed(schema: dict[str, Any]) -> None:
    cpu = schema["$defs"]["CpuShare"]
    cpu["properties"]["processors"] = cpu["properties"].pop("cores")
    cpu["required"] = ["processors" if each == "cores" else each for each in cpu["required"]]


def dropped(schema: dict[str, Any]) -> None:
    del schema["$defs"]["CpuShare"]["properties"]["cores"]
    schema["$defs"]["CpuShare"]["required"].remove("cores")


def of_another_type(schema: dict[str, Any]) -> None:
    schema["$defs"]["Segments"]["properties"]["sync"]["type"] = "integer"


def optional(schema: dict[str, Any]) -> None:
    schema["$defs"]["Key"]["required"].remove("prefix")


def not_nullable(schema: dict[str, Any]) -> None:
    schema["$defs"]["Key"]["properties"]["prefix"]["type"] = "integer"


def another_word(schema: dict[str, Any]) -> None:
    schema["$defs"]["EndedBy"]["oneOf"][0]["const"] = "operations"


def another_event(schema: dict[str, Any]) -> None:
    schema["oneOf"].pop()


@pytest.mark.parametrize(
    "change", [renamed, dropped, of_another_type, optional, not_nullable, another_word, another_event]
)
def test_a_schema_that_differs_is_told(change: Callable[[dict[str, Any]], None]) -> None:
    schema = copy.deepcopy(of_worker())
    change(schema)
    assert by_event(schema) != by_event(of_models())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("oops\n", "not valid JSON: oops"),
        ("[1]", "not a JSON object"),
        ('{"event": "phase"}', "`phase.phase`: field required"),
        ('{"event": "held", "abandoned": [1]}', "`held.abandoned.0`: input should be a valid string, not 1"),
        ('{"event": "phase", "phase": "a", "more": 1}', "`phase.more`: extra inputs are not permitted"),
        (
            '{"event": "writes", "statements": [{"name": "s", "writes": "yes"}]}',
            "`writes.statements.0.why`: field required",
        ),
        ('{"event": "speed"}', "'speed'"),
    ],
)
def test_a_line_that_is_no_event_is_one_clear_error(line: str, words: str) -> None:
    with pytest.raises(InvalidEvent) as error:
        read_line(line)
    assert words in str(error.value)
