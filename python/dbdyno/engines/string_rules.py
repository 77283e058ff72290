"""Types with which engines describe how they compare strings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Settings = Mapping[str, object]

# A column of the catalog: `name`, `type`, and `collation` if it has one.
Column = Mapping[str, Any]


@dataclass(frozen=True)
class CaseRule:
    """Whether a comparison is case-sensitive. ``words``: a verb phrase that describes it."""

    regards: bool
    words: str


CASE_SENSITIVE = CaseRule(True, "is case-sensitive")


def common_rule(rules: Sequence[CaseRule | None]) -> CaseRule | None:
    """Return the rule that all columns share; ``None`` if they differ."""
    return rules[0] if rules and all(rule == rules[0] for rule in rules) else None


def collation_rule(column: Column, disregarding: CaseRule | None = None) -> CaseRule | None:
    """Return the rule of a column's collation; ``disregarding``: the rule of a case-insensitive one."""
    regards = collation_of(column).get("regards_case")
    return None if regards is None else CASE_SENSITIVE if regards else disregarding


def type_of(column: Column) -> str:
    """Return a column's type without its length, in lower case."""
    return str(column.get("type") or "").partition("(")[0].strip().lower()


def collation_of(column: Column) -> Column:
    """Return a column's collation from the catalog; empty if it has none."""
    return column.get("collation") or {}
