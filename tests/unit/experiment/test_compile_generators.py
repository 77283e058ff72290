"""Generators in a plan: each kind, and whatever is nested in whatever."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engines.sqlite.targets import trial_target
from dbdyno.experiment.compile.generators import Columns
from dbdyno.model.limits import MAX_CLIENTS, MAX_RATE, MAX_TEXT_LENGTH
from dbdyno.model.plan.cell import CompiledCell
from experiment_files import compiled, plan_schema, small, steps, task_json


def _plan(cell: CompiledCell) -> dict[str, Any]:
    return cell.plan(trial_target(cell, "/x"), 1).json


TOML_GENERATORS = [
    ("5", {"kind": "constant", "value": 5}),
    ("true", {"kind": "constant", "value": True}),
    ("{ constant = 'x' }", {"kind": "constant", "value": "x"}),
    ("{ null = true }", {"kind": "constant", "value": None}),
    ("{ serial = { step = 3 } }", {"kind": "serial", "start": 1, "step": 3}),
    ("{ uniform = [1, 2.5] }", {"kind": "uniform_real", "low": 1, "high": 2.5}),
    ("{ zipf = [1, 9] }", {"kind": "zipf", "low": 1, "high": 9, "exponent": 1.0, "scattered": False}),
    ("{ gaussian = [1, 9] }", {"kind": "gaussian", "low": 1, "high": 9, "deviations": 3.0}),
    ("{ text = 3 }", {"kind": "text", "min": 3, "max": 3}),
    ("{ words = [1, 2] }", {"kind": "words", "min": 1, "max": 2}),
    (
        "{ words = { count = 2, vocabulary = 9, without = ['x'] } }",
        {"kind": "words", "min": 2, "max": 2, "vocabulary": {"size": 9, "exponent": 1.0, "without": ["x"]}},
    ),
    ("{ pick = [1, 'a'] }", {"kind": "pick", "values": [1, "a"]}),
    (
        "{ pick = { values = [1, 2], weights = [1, 0.5] } }",
        {"kind": "pick", "values": [1, 2], "weights": [1.0, 0.5]},
    ),
    ("{ uuid = 'v7' }", {"kind": "uuid", "version": "v7", "format": "dashed"}),
    ("{ uuid = 'v7_monotonic' }", {"kind": "uuid", "version": "v7_monotonic", "format": "dashed"}),
    ("{ uuid = 'ulid' }", {"kind": "uuid", "version": "ulid", "format": "base32"}),
    (
        "{ uuid = { version = 'ulid', format = 'bytes' } }",
        {"kind": "uuid", "version": "ulid", "format": "bytes"},
    ),
    (
        "{ uuid = { version = 'time_blocked', interval_length = 5 } }",
        {
            "kind": "uuid",
            "version": {"time_blocked": {"interval_length": 5, "interval_count": 65536}},
            "format": "dashed",
        },
    ),
    (
        "{ format = { template = 'a{}', parts = [1] } }",
        {"kind": "format", "template": "a{}", "parts": [{"kind": "constant", "value": 1}]},
    ),
    ("{ now = 'text' }", {"kind": "now", "format": "text"}),
    (
        "{ nullable = { share = 1, of = 2 } }",
        {"kind": "nullable", "share": 1.0, "of": {"kind": "constant", "value": 2}},
    ),
    ("{ row_of = 'user' }", {"kind": "uniform", "low": 0, "high": 9}),
    (
        "{ row_of = 'user', draw = { gaussian = {} } }",
        {"kind": "gaussian", "low": 0, "high": 9, "deviations": 3.0},
    ),
    (
        "{ text = { length = [1, 2], characters = 'a-c_-' } }",
        {"kind": "text", "min": 1, "max": 2, "characters": "abc_-"},
    ),
    (
        "{ pick = { values = [1, { uniform = [2, 3] }], weights = [3, 1] } }",
        {
            "kind": "choice",
            "of": [{"kind": "constant", "value": 1}, {"kind": "uniform", "low": 2, "high": 3}],
            "weights": [3.0, 1.0],
        },
    ),
    (
        "{ pick = { values = ['a'], index = { row_of = 'user' } } }",
        {
            "kind": "choice",
            "of": [{"kind": "constant", "value": "a"}],
            "index": {"kind": "uniform", "low": 0, "high": 9},
        },
    ),
    (
        "{ date = ['1970-01-02', '1970-01-31'] }",
        {"kind": "time", "of": {"kind": "uniform", "low": 1, "high": 30}, "format": "date"},
    ),
    (
        "{ timestamp = '1970-01-02 00:00:01' }",
        {"kind": "time", "of": {"kind": "constant", "value": 86401}, "format": "timestamp"},
    ),
    ("{ next = 'user.id' }", {"kind": "serial", "start": 11, "step": 1, "counter": "user.id"}),
]


@pytest.mark.parametrize(("toml", "expected"), TOML_GENERATORS)
def test_generators(toml: str, expected: dict[str, Any]) -> None:
    made = steps(f'{{ set = "x", value = {toml} }}, {{ execute = "select ?", params = [{{ variable = "x" }}] }}')
    steps_made = task_json(compiled(made)[0])["transactions"][0]["steps"]
    assert steps_made[0]["value"] == expected
    assert steps_made[1]["params"] == [{"kind": "variable", "name": "x"}]
    if expected["kind"] != "serial" or "next" not in toml:
        plan = _plan(compiled(made)[0])
        assert plan_schema().is_valid(plan)


whole = st.integers(-(2**62), 2**62)
leaves = st.one_of(
    whole.map(str),
    st.tuples(whole, whole).map(lambda pair: f"{{ uniform = [{min(pair)}, {max(pair)}] }}"),
    st.integers(0, MAX_TEXT_LENGTH).map(lambda length: f"{{ text = {length} }}"),
    st.sampled_from(["{ uuid = 'v4' }", "{ now = 'text' }", "{ key = 'user.name' }", "{ row_of = 'user' }", "false"]),
    st.lists(whole, min_size=1, max_size=3).map(lambda values: f"{{ pick = {values} }}"),
)
nested = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.floats(0, 1), inner).map(lambda it: f"{{ nullable = {{ share = {it[0]:f}, of = {it[1]} }} }}"),
        st.lists(inner, max_size=3).map(
            lambda parts: f"{{ format = {{ template = '{'{}' * len(parts)}', parts = [{', '.join(parts)}] }} }}"
        ),
        inner.map(lambda row: f"{{ key = 'user.id', row = {row} }}"),
        inner.map(lambda of: f"{{ pick = {{ values = [1, {of}], weights = [1, 2] }} }}"),
        inner.map(lambda of: f"{{ pick = {{ values = [{of}], index = {of} }} }}"),
        inner.map(lambda of: f"{{ date = {of} }}"),
    ),
    max_leaves=6,
)


@given(nested, st.integers(0, 2**63 - 1))
def test_whatever_generators_are_nested_the_plan_is_valid(toml: str, seed: int) -> None:
    cell = compiled(steps(f'{{ execute = "select ?", params = [{toml}] }}'))[0]
    assert [error.message for error in plan_schema().iter_errors(cell.plan(trial_target(cell, "/x"), seed).json)] == []


@given(
    clients=st.integers(1, MAX_CLIENTS),
    rate=st.floats(0.001, MAX_RATE),
    seconds=st.floats(0.001, 1e6),
    attempts=st.integers(1, 100),
)
def test_whatever_the_load_the_plan_is_valid(clients: int, rate: float, seconds: float, attempts: int) -> None:
    load = (
        f"\n[load]\nclients = {clients}\narrival = {{ rate = {rate:f} }}\nstop = {{ seconds = {seconds:f} }}\n"
        f'retry = {{ attempts = {attempts}, on = ["locked"] }}\n'
    )
    plan = _plan(compiled(small(load=load))[0])
    assert [error.message for error in plan_schema().iter_errors(plan)] == []
    assert plan["task"]["clients"] == clients


def test_the_number_of_a_stream_needs_a_table() -> None:
    with pytest.raises(KeyError):
        Columns({}).stream("t", "c")
