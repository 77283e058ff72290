"""The condition of a ``when`` step: ``n > 0``, ``name = 'x'``, ``n is null``."""

import re
from typing import Annotated, Any, NamedTuple

from pydantic import PlainValidator

from dbdyno.model.experiment.expression import ExpressionError, parse_expression
from dbdyno.model.experiment.generators import Constant, Expression, Variable, read_expression
from dbdyno.model.experiment.strict import check_fits
from dbdyno.model.experiment.validation import show, wrong
from dbdyno.model.plan.steps import Compare

COMPARISONS: dict[str, Compare] = {
    "=": "eq",
    "==": "eq",
    "!=": "ne",
    "<>": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}

_OPERAND = r"(?P<{0}>[A-Za-z_]\w*|-?\d[\d_]*(?:\.\d+)?|'(?:[^']|'')*')"
_COMPARISON = re.compile(
    rf"\s*{_OPERAND.format('left')}\s*(?P<compare>==|=|!=|<>|<=|>=|<|>)\s*{_OPERAND.format('right')}\s*"
)
_NULL = re.compile(r"\s*(?P<left>[A-Za-z_]\w*)\s+is\s+(?P<no>not\s+)?null\s*", re.IGNORECASE)

# Words of expressions that aren't variables.
_WORD = re.compile(r"(?<![:\w])[A-Za-z_]\w*(?!\s*\()")
_OPERATORS = frozenset(("and", "or", "not", "is", "null", "isnull", "notnull", "true", "false"))

_REMEDY = "compare a variable with a variable, a number or a 'string', such as `n > 0` or `n is null`"


class Condition(NamedTuple):
    """A comparison. ``compare``: its name in a plan. ``right``: None for ``is_null`` and ``is_not_null``.

    If ``left`` is an expression, its truth value is compared with 0.
    """

    left: Constant | Variable | Expression
    compare: Compare
    right: Constant | Variable | None = None

    @property
    def variables(self) -> list[str]:
        """The names of the variables in the condition."""
        if isinstance(self.left, Expression):
            return list(self.left.expression.variables)
        return [side.variable for side in (self.left, self.right) if isinstance(side, Variable)]


def read_condition(value: Any) -> Condition:
    """Read a condition. Raises a validation error if it is invalid."""
    if isinstance(value, str):
        if match := _NULL.fullmatch(value):
            return Condition(Variable(variable=match["left"]), "is_not_null" if match["no"] else "is_null")
        if match := _COMPARISON.fullmatch(value):
            return Condition(_operand(match["left"]), COMPARISONS[match["compare"]], _operand(match["right"]))
    if isinstance(value, dict) and list(value) == ["expression"]:
        return Condition(Expression(expression=read_expression(value["expression"])), "ne", Constant(constant=0))
    raise wrong(f"{show(value)} is not a condition", _as_expression(value) or _REMEDY)


def _as_expression(value: Any) -> str | None:
    """Return the hint that proposes an expression whose variables are the words of a text; None if it is invalid."""
    text = _WORD.sub(lambda match: match[0] if match[0].lower() in _OPERATORS else f":{match[0]}", str(value))
    try:
        parse_expression(text)
    except ExpressionError:
        return None
    return f'write `{{ expression = "{text}" }}`'


def _operand(text: str) -> Constant | Variable:
    if text.startswith("'"):
        return Constant(constant=text[1:-1].replace("''", "'"))
    if text[0].isalpha() or text[0] == "_":
        return Variable(variable=text)
    number = float(text) if "." in text else int(text)
    check_fits(number)
    return Constant(constant=number)


ConditionText = Annotated[Condition, PlainValidator(read_condition)]
