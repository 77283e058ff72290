"""pgbench's expressions: read as pgbench reads them, and refused where it refuses them.

tests/support/pgbench_expressions.json holds what pgbench of PostgreSQL 15 printed for each text (`\\set x debug(…)`);
its trees are computed by a test beside the worker's code. An entry without a tree is one that pgbench refuses to read.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.model.experiment.expression import ExpressionError, parse_expression, read_constant, substitute_variables
from dbdyno.model.plan.serialization import as_json

EXAMPLES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "support/pgbench_expressions.json").read_text()
)


def test_expressions_are_read_as_pgbench_reads_them() -> None:
    assert len(EXAMPLES) > 400
    for example in EXAMPLES:
        if "tree" in example:
            assert as_json(parse_expression(example["text"]).tree) == example["tree"], example["text"]


def test_what_pgbench_does_not_read_is_refused() -> None:
    refused = [example["text"] for example in EXAMPLES if "tree" not in example]
    assert len(refused) > 15
    for text in refused:
        with pytest.raises(ExpressionError):
            parse_expression(text)


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("1 +", 3, "ends too early"),
        ("(1", 2, "`)` is missing"),
        ("log(5)", 0, "unknown function `log`; the natural logarithm is `ln`"),
        ("randon(1, 2)", 0, "did you mean `random`?"),
        ("random(1)", 0, "takes 2 arguments, not 1"),
        ("hash(1, 2, 3)", 0, "takes 1 or 2 arguments, not 3"),
        ("1 < 2 < 3", 6, "unexpected `<`; put parentheses around a comparison"),
        ("'a'", 0, "the character `'` is not part of an expression"),
        ("9223372036854775808", 0, "too large for an integer"),
        ("1e999", 0, "too large for a double"),
        ("1 is 2", 5, "after `is`"),
        ("case 1 end", 5, "expected `when` after `case`"),
        ("+".join(["1"] * 50), 0, "nested deeper"),
        ("(" * 200, 100, "too many open"),
        ("+".join(["1"] * 5000), 0, "nested deeper"),
    ],
)
def test_an_error_is_told_with_its_place(text: str, at: int, words: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_expression(text)
    assert words in str(error.value)
    assert abs(error.value.at - at) <= 1


def test_variables_are_named_and_automatic_ones_are_not() -> None:
    parsed = parse_expression("random(:low, :high + :low) + :client_id + hash(:low)")
    assert parsed.variables == ("low", "high")
    assert {"op": "variable", "name": "default_seed"} in as_json(parsed.tree)["arguments"][1]["arguments"]


def test_values_are_put_in_the_place_of_variables() -> None:
    text = substitute_variables("-:x + :xx\t* :y - :z", {"x": "-5", "y": "1.5", "z": "null"})
    assert text == "-(-5) + :xx * 1.5 - null"
    assert parse_expression(text).variables == ("xx",)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("+12", 12),
        ("-9223372036854775808", -(2**63)),
        ("1e2", 100.0),
        (".5", 0.5),
        ("t", True),
        ("on", True),
        ("Yes", True),
        ("of", False),
        ("N", False),
        ("NULL", None),
    ],
)
def test_a_text_is_a_constant(text: str, value: object) -> None:
    read = read_constant(text)
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize("text", ["", "o", "nu", "abc", "1.5.", "99999999999999999999", "1 2"])
def test_a_text_is_no_constant(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text) or "^$"):
        read_constant(text)


@given(st.text(alphabet="0123456789.+-*/%<>=!&|#~(),: \nabcdefisnotrulwhendcasxe'\"\\é", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    wrong = None
    try:
        parsed = parse_expression(text)
    except ExpressionError as error:
        wrong = error
    if wrong is None:
        assert parse_expression(parsed.text).tree == parsed.tree
    else:
        assert wrong.problem and wrong.hint and 0 <= wrong.at <= len(text)
