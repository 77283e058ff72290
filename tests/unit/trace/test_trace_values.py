"""Values in traces: what is kept of them, and that equal values look equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.base.errors import InputError
from dbdyno.trace.values import Values, key_path, known_key, length_class, read_value, trace_key

HASHED, KEPT = Values(b"k" * 32), Values(None)


@given(st.text())
def test_hashed_values_show_type_and_length_only(text: str) -> None:
    kind, length, digest = HASHED.of(text).split(":")
    assert kind in ("string", "integer", "number", "date")
    assert int(length) == length_class(len(text))
    assert len(digest) == 16
    assert digest != Values(b"l" * 32).of(text).split(":")[2]


@given(st.text())
def test_kept_strings_can_be_read_back(text: str) -> None:
    written = KEPT.of(text)
    value = read_value(written)
    assert value.literal == written
    assert written.strip("'").replace("''", "'") == text.strip("'") or written == text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (HASHED.of(42), HASHED.of_literal("42")),
        (HASHED.of(42), HASHED.of_text("42")),
        (HASHED.of("it's"), HASHED.of_literal("'it''s'")),
        (HASHED.of(None), "null"),
        (HASHED.of(True), "true"),
        (HASHED.of_literal("NULL"), "null"),
    ],
)
def test_the_same_value_looks_the_same_wherever_it_is_from(first: str, second: str) -> None:
    assert first == second


def test_digits_with_a_leading_zero_are_a_string() -> None:
    assert HASHED.of("0612345678").startswith("string:16:")
    assert HASHED.of("612345678").startswith("integer:16:")


def test_the_key_is_private_and_stays(tmp_path: Path) -> None:
    trace = tmp_path / "day.trace"
    assert known_key(trace) is None
    key = trace_key(trace)
    assert trace_key(trace) == key == known_key(trace)
    assert key_path(trace).stat().st_mode & 0o777 == 0o600
    key_path(trace).write_text("no key")
    with pytest.raises(InputError, match=r"day\.trace\.key: it is not the key of a trace; remove it"):
        trace_key(trace)
