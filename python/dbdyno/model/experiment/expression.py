"""Parse pgbench's expressions into the expression trees of a plan.

Operators, functions and constants follow the documentation of PostgreSQL 15 for pgbench ("Built-In Operators",
"Built-In Functions"). Precedence and associativity were determined by running pgbench 15.
"""

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from dbdyno.base.text import shortened
from dbdyno.model.experiment.validation import nearest
from dbdyno.model.plan.expression import Branch, Call, Case, Constant, Function, Tree, Variable, operands

# Variables that pgbench sets automatically.
AUTOMATIC = ("client_id", "random_seed", "default_seed")

# Each level of a tree is two levels of the plan's JSON, and its parser accepts at most 128.
MAX_LEVELS = 32
_MAX_OPEN = 100
_MAX_DIGITS = len(str(2**63))
_DIVIDE = r"split it into several `\set`"

NAME = r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*"

_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)
    | :(?P<variable>{NAME})
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign><<|>>|<>|!=|<=|>=|[-+*/%<>=&|\#~(),])""",
    re.VERBOSE,
)

# By function: its name in a plan, and the minimum and maximum number of arguments (None: unlimited).
_FUNCTIONS: dict[str, tuple[Function, int, int | None]] = {
    "abs": ("abs", 1, 1),
    "debug": ("debug", 1, 1),
    "double": ("double", 1, 1),
    "int": ("int", 1, 1),
    "exp": ("exp", 1, 1),
    "ln": ("ln", 1, 1),
    "pi": ("pi", 0, 0),
    "pow": ("power", 2, 2),
    "power": ("power", 2, 2),
    "sqrt": ("sqrt", 1, 1),
    "mod": ("modulo", 2, 2),
    "greatest": ("greatest", 1, None),
    "least": ("least", 1, None),
    "random": ("random", 2, 2),
    "random_gaussian": ("random_gaussian", 3, 3),
    "random_exponential": ("random_exponential", 3, 3),
    "random_zipfian": ("random_zipfian", 3, 3),
    "hash": ("hash_murmur2", 1, 2),
    "hash_murmur2": ("hash_murmur2", 1, 2),
    "hash_fnv1a": ("hash_fnv1a", 1, 2),
    "permute": ("permute", 2, 3),
}
# Functions whose last argument is an optional seed.
_SEEDED = ("hash_murmur2", "hash_fnv1a", "permute")

# Binary operators with their precedence. `is`, `isnull` and `notnull` (between `not` and `=`) are parsed separately.
_OR, _AND, _NOT, _IS, _COMPARISON, _BITS, _SUM, _PRODUCT, _SIGN = range(9)
_BINARY: dict[str, tuple[int, Function]] = {
    "or": (_OR, "or"),
    "and": (_AND, "and"),
    "=": (_COMPARISON, "equal"),
    "<>": (_COMPARISON, "not_equal"),
    "!=": (_COMPARISON, "not_equal"),
    "<": (_COMPARISON, "less"),
    "<=": (_COMPARISON, "less_or_equal"),
    ">": (_COMPARISON, "greater"),
    ">=": (_COMPARISON, "greater_or_equal"),
    "|": (_BITS, "bit_or"),
    "&": (_BITS, "bit_and"),
    "#": (_BITS, "bit_xor"),
    "<<": (_BITS, "shift_left"),
    ">>": (_BITS, "shift_right"),
    "+": (_SUM, "add"),
    "-": (_SUM, "subtract"),
    "*": (_PRODUCT, "multiply"),
    "/": (_PRODUCT, "divide"),
    "%": (_PRODUCT, "modulo"),
}
_CONSTANTS = {"null": None, "true": True, "false": False}
_KEYWORDS = ("and", "or", "not", "is", "isnull", "notnull", *_CONSTANTS, "case", "when", "then", "else", "end")


class ExpressionError(ValueError):
    """A string isn't a valid expression. ``at``: the position of the error, in characters from 0."""

    def __init__(self, at: int, problem: str, hint: str) -> None:
        """``problem`` and ``hint``: a clause each, without a full stop."""
        self.at = at
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}; {hint}")


@dataclass(frozen=True)
class Expression:
    """A parsed expression.

    ``text``: in one line. ``variables``: the variables that earlier steps must set.
    """

    text: str
    tree: Tree
    variables: tuple[str, ...]


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse_expression(text: str) -> Expression:
    """Parse an expression. Raises ExpressionError."""
    parser = _Parser(text)
    tree = parser.whole()
    if _levels(tree) > MAX_LEVELS:
        raise ExpressionError(0, f"it is nested deeper than {MAX_LEVELS} levels", _DIVIDE)
    return Expression(" ".join(text.split()), tree, tuple(dict.fromkeys(parser.variables)))


def substitute_variables(text: str, values: dict[str, str]) -> str:
    """Replace some variables of an expression by values, which are written as constants. Raises ExpressionError."""
    pieces = []
    for token in _tokens(text, spaces=True):
        value = values.get(token.text) if token.kind == "variable" else None
        if value is not None:
            pieces.append(f"({value})" if value.startswith("-") else value)
        else:
            pieces.append(f":{token.text}" if token.kind == "variable" else token.text)
    return " ".join("".join(pieces).split())


def _tokens(text: str, *, spaces: bool = False) -> list[_Token]:
    tokens = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            problem = f"the character `{text[at]}` is not part of an expression"
            raise ExpressionError(at, problem, "expressions consist of numbers, `:variables`, operators and functions")
        kind = str(match.lastgroup)
        if kind != "space" or spaces:
            tokens.append(_Token(kind, match[kind], at))
        at = match.end()
    return tokens


def _call(function: Function, *arguments: Tree) -> Tree:
    return Call(function=function, arguments=arguments)


def _constant(value: bool | int | float | None) -> Tree:
    return Constant(value=value)


def _levels(tree: Tree) -> int:
    """Count the levels of a tree. This is not recursive, because long chains of operators make deep trees."""
    levels, row = 0, [tree]
    while row:
        levels += 1
        row = [inner for each in row for inner in operands(each)]
    return levels


class _Parser:
    """A recursive-descent parser with precedence climbing for binary operators."""

    def __init__(self, text: str) -> None:
        self.variables: list[str] = []
        self._tokens = _tokens(text)
        self._end = len(text)
        self._next = 0
        self._level = 0

    def whole(self) -> Tree:
        """Parse the whole string."""
        tree = self._expression(_OR)
        if self._peek() is not None:
            raise self._unexpected()
        return tree

    def _peek(self) -> str | None:
        """Return the next token, words in lower case, or None at the end."""
        if self._next >= len(self._tokens):
            return None
        token = self._tokens[self._next]
        return token.text.lower() if token.kind in ("sign", "word") else token.text

    def _take(self, wanted: str) -> bool:
        if self._peek() == wanted and self._tokens[self._next].kind in ("sign", "word"):
            self._next += 1
            return True
        return False

    def _demand(self, wanted: str) -> None:
        if not self._take(wanted):
            raise self._unexpected(f"`{wanted}` is missing")

    def _unexpected(self, wanted: str = "") -> ExpressionError:
        if self._next >= len(self._tokens):
            return ExpressionError(self._end, wanted or "the expression ends too early", "complete it")
        token = self._tokens[self._next]
        shown = f":{token.text}" if token.kind == "variable" else token.text
        hint = "put parentheses around a comparison" if shown in _COMPARISONS else "write an operator between values"
        return ExpressionError(token.at, f"unexpected `{shown}`" + (f": {wanted}" if wanted else ""), hint)

    def _expression(self, least: int) -> Tree:
        """Parse operators with at least the precedence ``least``."""
        self._level += 1
        if self._level > _MAX_OPEN:
            raise ExpressionError(self._tokens[self._next - 1].at, "too many open parentheses or operators", _DIVIDE)
        tree = self._prefix()
        compared = False
        while True:
            operator = self._peek()
            if operator in ("is", "isnull", "notnull") and least <= _IS:
                tree = self._test(tree)
                compared = False
            elif operator in _BINARY and self._tokens[self._next].kind in ("sign", "word"):
                precedence, function = _BINARY[operator]
                if precedence < least:
                    break
                if compared and precedence == _COMPARISON:
                    raise self._unexpected()
                self._next += 1
                tree = _call(function, tree, self._expression(precedence + 1))
                compared = precedence == _COMPARISON
            else:
                break
        self._level -= 1
        return tree

    def _prefix(self) -> Tree:
        if self._take("not"):
            return _call("not", self._expression(_NOT))
        if self._take("~"):
            return _call("bit_not", self._expression(_BITS + 1))
        if self._take("+"):
            return self._expression(_SIGN)
        if self._take("-"):
            # The smallest 64-bit integer can't be parsed as a negated number, because 2^63 is out of range.
            if self._peek() == str(2**63):
                self._next += 1
                return _constant(-(2**63))
            return _call("negate", self._expression(_SIGN))
        return self._value()

    def _test(self, tree: Tree) -> Tree:
        if self._take("isnull"):
            return _call("is", tree, _constant(None))
        if self._take("notnull"):
            return _call("not", _call("is", tree, _constant(None)))
        self._demand("is")
        negated = self._take("not")
        for word, value in _CONSTANTS.items():
            if self._take(word):
                test = _call("is", tree, _constant(value))
                return _call("not", test) if negated else test
        raise self._unexpected("expected `null`, `true` or `false` after `is`")

    def _value(self) -> Tree:
        if self._next >= len(self._tokens):
            raise self._unexpected()
        token = self._tokens[self._next]
        if token.kind == "number":
            self._next += 1
            return _constant(_number(token))
        if token.kind == "variable":
            self._next += 1
            if token.text not in AUTOMATIC:
                self.variables.append(token.text)
            return Variable(name=token.text)
        if self._take("("):
            tree = self._expression(_OR)
            self._demand(")")
            return tree
        word = token.text.lower()
        if word in _CONSTANTS:
            self._next += 1
            return _constant(_CONSTANTS[word])
        if self._take("case"):
            return self._case()
        if token.kind == "word" and word not in _KEYWORDS:
            return self._function(token)
        raise self._unexpected()

    def _case(self) -> Tree:
        branches = []
        while self._take("when"):
            when = self._expression(_OR)
            self._demand("then")
            branches.append(Branch(when=when, then=self._expression(_OR)))
        if not branches:
            raise self._unexpected("expected `when` after `case`")
        otherwise = self._expression(_OR) if self._take("else") else None
        self._demand("end")
        return Case(branches=branches, otherwise=otherwise)

    def _function(self, token: _Token) -> Tree:
        name = token.text.lower()
        self._next += 1
        if name not in _FUNCTIONS:
            hint = "the natural logarithm is `ln`" if name == "log" else nearest(name, _FUNCTIONS)
            raise ExpressionError(token.at, f"unknown function `{token.text}`", hint)
        self._demand("(")
        arguments: list[Tree] = []
        if not self._take(")"):
            arguments.append(self._expression(_OR))
            while self._take(","):
                arguments.append(self._expression(_OR))
            self._demand(")")
        function, least, most = _FUNCTIONS[name]
        if len(arguments) < least or (most is not None and len(arguments) > most):
            wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} or {most}"
            problem = f"`{name}` takes {wanted} arguments, not {len(arguments)}"
            raise ExpressionError(token.at, problem, "change the number of arguments")
        if function in _SEEDED and len(arguments) < (most or 0):
            arguments.append(Variable(name="default_seed"))
        return _call(function, *arguments)


_COMPARISONS = {sign for sign, (precedence, _) in _BINARY.items() if precedence == _COMPARISON}


def _number(token: _Token) -> int | float:
    if token.text.isdigit():
        digits = token.text.lstrip("0") or "0"
        # Python refuses to convert thousands of digits.
        if len(digits) > _MAX_DIGITS or int(digits) >= 2**63:
            shown = shortened(token.text, _MAX_DIGITS)
            raise ExpressionError(token.at, f"{shown} is too large for an integer", "append `.0`")
        return int(digits)
    number = float(token.text)
    if number in (float("inf"), float("-inf")):
        raise ExpressionError(token.at, f"{token.text} is too large for a double", "write a smaller number")
    return number


def read_constant(text: str) -> bool | int | float | None:
    """Parse a value like pgbench's ``-D``: an integer, a number, a Boolean or null.

    Raises ValueError for other strings, and for integers that don't fit into 64 bits.
    """
    lower = text.lower()
    if lower == "null":
        return None
    if lower and ("true".startswith(lower) or "yes".startswith(lower) or lower == "on"):
        return True
    if lower and ("false".startswith(lower) or "no".startswith(lower) or lower in ("off", "of")):
        return False
    if re.fullmatch(r"[-+]?\d+", text):
        whole = int(text)
        if not -(2**63) <= whole < 2**63:
            raise ValueError(text)
        return whole
    if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", text):
        number = float(text)
        if math.isfinite(number):
            return number
    raise ValueError(text)
