"""How engines compare text: what their folders say it with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Settings = Mapping[str, object]

# As the catalogue has it: `name`, `type`, and its `collation` where there is one.
Column = Mapping[str, Any]


@dataclass(frozen=True)
class CaseRule:
    """Whether a comparison tells capital letters from small ones; ``words``: what it does, a predicate."""

    regards: bool
    words: str


REGARDS = CaseRule(True, "is case-sensitive")


def alike(rules: Sequence[CaseRule | None]) -> CaseRule | None:
    """Give the rule that all columns have in common."""
    return rules[0] if rules and all(each == rules[0] for each in rules) else None


def of_collation(column: Column, disregarding: CaseRule | None = None) -> CaseRule | None:
    """Give the rule of a column's collation; of one that disregards case ``disregarding``."""
    regards = collation_of(column).get("regards_case")
    return None if regards is None else REGARDS if regards else disregarding


def type_of(column: Column) -> str:
    """Give a column's type without its length."""
    return str(column.get("type") or "").partition("(")[0].strip().lower()


def collation_of(column: Column) -> Column:
    """Give a column's collation as the catalogue has it; nothing where it has none."""
    return column.get("collation") or {}
