"""The expression trees of a plan (crates/protocol/src/plan/expression.rs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Discriminator

Function = Literal[
    "add",
    "subtract",
    "multiply",
    "divide",
    "modulo",
    "negate",
    "equal",
    "not_equal",
    "less",
    "less_or_equal",
    "greater",
    "greater_or_equal",
    "and",
    "or",
    "not",
    "is",
    "truth",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bit_not",
    "shift_left",
    "shift_right",
    "abs",
    "debug",
    "double",
    "int",
    "exp",
    "ln",
    "pi",
    "power",
    "sqrt",
    "greatest",
    "least",
    "random",
    "random_gaussian",
    "random_exponential",
    "random_zipfian",
    "hash_fnv1a",
    "hash_murmur2",
    "permute",
]
"""The operators and functions."""


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A value: a number, a Boolean or null."""

    op: Literal["constant"] = "constant"
    value: bool | int | float | str | None


@dataclass(frozen=True, kw_only=True)
class Variable:
    """The value of a variable of the transaction."""

    op: Literal["variable"] = "variable"
    name: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """An operator or a function with its arguments."""

    op: Literal["call"] = "call"
    function: Function
    arguments: Sequence[Tree]


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A condition, and the value if it holds."""

    when: Tree
    then: Tree


@dataclass(frozen=True, kw_only=True)
class Case:
    """The value of the first branch whose condition holds, otherwise ``otherwise`` (null if it is missing)."""

    op: Literal["case"] = "case"
    branches: Sequence[Branch]
    otherwise: Tree | None = None


Tree = Annotated[Constant | Variable | Call | Case, Discriminator("op")]
"""An expression tree."""


def operands(tree: Tree) -> Iterator[Tree]:
    """Yield the trees directly below a tree."""
    match tree:
        case Call():
            yield from tree.arguments
        case Case():
            for branch in tree.branches:
                yield branch.when
                yield branch.then
            if tree.otherwise is not None:
                yield tree.otherwise
