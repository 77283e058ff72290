"""The types of plans: as the worker's schema says, written without what is left out, and read as they were written."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

from dbdyno.engines.sqlite.targets import trial_target
from dbdyno.experiment import load_experiment
from dbdyno.model.plan.reading import read_task
from dbdyno.model.plan.requests import Request, TakeStatus
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.tasks import ProgramTask, Task, TrialTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from experiment_files import ALL, compiled, worker_schema

JsonSchema = dict[str, Any]

# Objects with keys that plans don't have types for: targets are the engines', questions those of B-trees.
OPEN = ("target", "questions")

# The keys that tell the alternatives of a union apart.
TAGS = ("kind", "do", "op", "from", "loop")


@cache
def of_types() -> JsonSchema:
    return TypeAdapter[Any](WorkerPlan[Task]).json_schema()


def differences(one: JsonSchema, other: JsonSchema) -> list[str]:
    """Give the places where a schema of the worker and one of the types differ."""
    return list(differing(one, other, (one, other), "plan", set()))


def differing(
    one: JsonSchema, other: JsonSchema, roots: tuple[JsonSchema, JsonSchema], place: str, seen: set[tuple[str, str]]
) -> Iterator[str]:
    # Generators, expressions and steps contain one another.
    pair = (json.dumps(one), json.dumps(other))
    if pair in seen:
        return
    seen.add(pair)
    first, second = (
        {key_of(each): each for each in alternatives(schema, root)}
        for schema, root in zip((one, other), roots, strict=True)
    )
    # A key that the types leave out where it is None needs no null of the worker's.
    if first.keys() != second.keys() and first.keys() != second.keys() - {("null",)}:
        yield f"{place}: {sorted(map(str, first.keys() ^ second.keys()))}"
    for key in (first.keys() & second.keys()) - {("null",)}:
        a, b = first[key], second[key]
        if a.get("minimum") != b.get("minimum"):
            yield f"{place}: minimum"
        if "items" in a:
            yield from differing(a["items"], b["items"], roots, f"{place}[]", seen)
        yield from differing_keys(a, b, roots, f"{place}.{key[-1]}", seen)


def differing_keys(
    one: JsonSchema, other: JsonSchema, roots: tuple[JsonSchema, JsonSchema], place: str, seen: set[tuple[str, str]]
) -> Iterator[str]:
    first, second = one.get("properties", {}), other.get("properties", {})
    for name in first.keys() ^ second.keys():
        yield f"{place}.{name}"
    for name in first.keys() & second.keys() - {*OPEN}:
        defaults = (first[name].get("default"), second[name].get("default"))
        if None not in defaults and defaults[0] != defaults[1]:
            yield f"{place}.{name}: defaults {defaults}"
        yield from differing(first[name], second[name], roots, f"{place}.{name}", seen)


def alternatives(schema: JsonSchema, root: JsonSchema) -> Iterator[JsonSchema]:
    """Give a schema's alternatives, none of which is a reference."""
    beside = {key: value for key, value in schema.items() if key == "properties"}
    if "$ref" in schema:
        inner = [root["$defs"][schema["$ref"].removeprefix("#/$defs/")]]
    elif "anyOf" in schema or "oneOf" in schema:
        inner = schema.get("anyOf") or schema["oneOf"]
    elif "enum" in schema:
        inner = [{"const": each} for each in schema["enum"]]
    elif isinstance(schema.get("type"), list):
        inner = [schema | {"type": each} for each in schema["type"]]
    else:
        yield schema
        return
    for each in inner:
        # The tag of an alternative can stand beside a reference to its other keys.
        for found in alternatives(each, root):
            yield found | {"properties": beside["properties"] | found["properties"]} if beside else found


def key_of(alternative: JsonSchema) -> tuple[str, ...]:
    if "const" in alternative:
        return "const", str(alternative["const"])
    properties = alternative.get("properties", {})
    tags = [str(properties[tag]["const"]) for tag in TAGS if "const" in properties.get(tag, {})]
    if properties and (tags or len(properties) == 1):
        return "object", *(tags or properties)
    return (str(alternative["type"]),)


def test_the_types_of_plans_are_as_the_workers_schema_says() -> None:
    assert differences(worker_schema("plan"), of_types()) == []


def dropped(schema: JsonSchema) -> None:
    del schema["$defs"]["Record"]["properties"]["waits"]


def added(schema: JsonSchema) -> None:
    schema["$defs"]["Statement"]["properties"]["more"] = {"type": "integer"}


def of_another_type(schema: JsonSchema) -> None:
    schema["$defs"]["Serial"]["properties"]["start"]["type"] = "number"


def another_default(schema: JsonSchema) -> None:
    schema["$defs"]["Record"]["properties"]["interval_ms"]["default"] = 500


def another_word(schema: JsonSchema) -> None:
    schema["$defs"]["Begin"]["properties"]["mode"]["enum"].append("concurrent")


def no_such_kind(schema: JsonSchema) -> None:
    del schema["$defs"]["Nullable"]["properties"]["kind"]["const"]


@pytest.mark.parametrize("change", [dropped, added, of_another_type, another_default, another_word, no_such_kind])
def test_a_type_that_differs_is_told(change: Callable[[JsonSchema], None]) -> None:
    schema = copy.deepcopy(of_types())
    change(schema)
    assert differences(worker_schema("plan"), schema)


@pytest.mark.parametrize("path", ALL)
def test_a_stored_plan_is_read_as_it_was_written(path: str) -> None:
    for cell in compiled(load_experiment(path)):
        plan = cell.plan(trial_target(cell, "/x.db"), 1)
        read = read_task(plan.json)
        assert as_json(read) == plan.json["task"]


def test_what_is_no_plan_of_this_version_is_not_read() -> None:
    assert read_task({}) is None
    assert read_task({"task": {"clients": 2}}) == TrialTask(clients=2)
    assert read_task({"task": {"clients": 2, "of a later version": 1}}) == TrialTask(clients=2)
    assert read_task({"task": {"transactions": [{"name": "a", "steps": [{"do": "jump"}]}]}}) is None
    assert read_task({"task": {"kind": "program", "command": ["sh"]}}) == ProgramTask(command=["sh"])


def test_the_json_leaves_out_what_is_not_used() -> None:
    assert as_json(TrialTask()).keys() == {
        "kind", "clients", "arrival", "warmup", "window", "connect", "prepare", "retry", "statements", "transactions",
        "record", "target",
    }  # fmt: skip
    assert as_json(Request(method="GET", path=["/"], take=[TakeStatus()]))["take"] == [{"from": "status"}]
