"""Lines of a worker in which something was changed: each is an event, or an InvalidEvent."""

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.model.events.reading import InvalidEvent, ReceivedEvent, read_line
from dbdyno.runtime.worker import Stoppable, WorkerFailed, read_events
from synthetic import lookup_design, lookup_trials

EXAMPLES = 2500

TRIAL = lookup_trials(lookup_design(), 1, 1)[0]
EVENTS: list[dict[str, Any]] = [
    (TRIAL.result or {}) | {"histograms": {"service": "HISTFAAAAUN4nDWQ"}},
    TRIAL.intervals[0],
    {"event": "error", "kind": "connect", "message": "no", "code": "28000"},
    {"event": "phase", "phase": "window"},
    {"event": "ready", "phase": "warmup"},
    {"event": "loaded", "tables": [{"table": "t", "rows": 5, "seconds": 0.5}]},
    {"event": "held", "abandoned": ["dbdyno_0123456789ab_trial"]},
    {"event": "answer", "answer": "1"},
    {"event": "check", "name": "n", "outcome": "failed", "why": "w"},
    {"event": "counted", "groups": [{"group": 3, "executions": 1, "rows": 1, "hash": "00"}]},
]

VALUES = st.one_of(
    st.sampled_from(
        [
            *(None, True, -1, 0, 1, 0.5, 2**63, 2**64, 10**30, -(2**63) - 1, 1e300, float("inf"), float("nan")),
            *("", "\ud800", "\0", "x" * 10_000, "result", "interval", "1e999"),
            *([], {}, [[[]]], {"count": 0}, {"event": "phase"}, [{"": None}], {"\ud800": 1}),
        ]
    ),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in a document, with a key or an index of it."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


@st.composite
def changed_lines(draw: st.DrawFn) -> str:
    event = copy.deepcopy(draw(st.sampled_from(EVENTS)))
    for _ in range(draw(st.integers(1, 3))):
        all_places = list(places(event))
        if not all_places:
            break
        container, key = all_places[draw(st.integers(0, len(all_places) - 1))]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "remove":
                del container[key]
            case "add" if isinstance(container, dict):
                container[draw(st.text(max_size=5))] = copy.deepcopy(draw(VALUES))
            case _:
                container[key] = copy.deepcopy(draw(VALUES))
    return json.dumps(event)


@st.composite
def cut_lines(draw: st.DrawFn) -> str:
    text = json.dumps(draw(st.sampled_from(EVENTS)))
    start = draw(st.integers(0, len(text)))
    return text[:start] + draw(st.text(max_size=5)) + text[start + draw(st.integers(0, 10)) :]


def read_or_refuse(line: str) -> None:
    refused = ""
    try:
        read_line(line)
    except InvalidEvent as error:
        refused = str(error)
    # It is shown on a terminal and stored.
    assert len(refused.encode()) < 2000


def test_the_lines_themselves_are_events() -> None:
    for each in EVENTS[:-1]:
        assert read_line(json.dumps(each)).raw == each


@settings(max_examples=EXAMPLES)
@given(changed_lines())
def test_a_changed_line_is_an_event_or_refused(line: str) -> None:
    read_or_refuse(line)


@settings(max_examples=EXAMPLES)
@given(cut_lines())
def test_a_line_whose_text_was_changed_is_an_event_or_refused(line: str) -> None:
    read_or_refuse(line)


def test_a_line_that_is_nested_deeply_or_a_long_number_is_refused() -> None:
    for line in ("[" * 200_000, '{"a":' * 200_000, "9" * 10_000, '{"event": ' + "9" * 10_000 + "}"):
        with pytest.raises(InvalidEvent):
            read_line(line)


@settings(max_examples=200)
@given(st.lists(changed_lines() | cut_lines(), max_size=4), st.integers(-9, 2))
def test_whatever_a_worker_writes_ends_well_or_as_a_failed_worker(lines: list[str], code: int) -> None:
    with contextlib.suppress(WorkerFailed):
        for heard in read_events(lines, lambda: (code, ""), Stoppable()):
            assert isinstance(heard, ReceivedEvent)
