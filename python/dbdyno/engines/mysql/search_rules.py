"""How MySQL and MariaDB compare strings.

An index of any collation supports a prefix search, since ``LIKE`` uses the column's collation.
"""

import re
from collections.abc import Sequence

from dbdyno.engines.prefix_rules import Json, PrefixRules, Search
from dbdyno.engines.string_rules import CaseRule, Column, collation_of, common_rule

_TEXTS = re.compile("(var)?char|(tiny|medium|long)?text|enum|set|(var)?binary|(tiny|medium|long)?blob", re.IGNORECASE)


def looks_up(plan: Sequence[str]) -> bool | None:
    """Whether a plan reads a table by an index lookup.

    In `simple, t, range, key i, …`, the third part is the access type; `ALL` and `index` are full scans.
    """
    if not plan:
        return None
    kinds = [step.split(", ")[2] for step in plan if step.count(", ") > 1]
    return any(kind in ("system", "const", "eq_ref", "ref", "ref_or_null", "range", "index_merge") for kind in kinds)


def case_rule(columns: Sequence[Column]) -> CaseRule | None:
    """Return the rule of ``=`` and ``LIKE``, from the columns' collations."""
    return common_rule([_by_collation(each) for each in columns])


def _by_collation(column: Column) -> CaseRule | None:
    collation = collation_of(column)
    regards = collation.get("regards_case")
    if regards is None:
        return None
    words = "is case-sensitive" if regards else "is case-insensitive"
    return CaseRule(bool(regards), f"{words}, by the collation {collation.get('name')},")


def _of_column(search: Search) -> str:
    kind = str(search.column.get("type") or "")
    if not kind or _TEXTS.match(kind):
        return ""
    return (
        f"{search.name} has the type {kind}: LIKE converts values to strings, but an index doesn't sort them as strings"
    )


def _of_index(search: Search, index: Json) -> str | None:  # noqa: ARG001
    method = index.get("method")
    if method == "btree":
        return ""
    return f"is of the kind {method}, which isn't sorted" if method in ("hash", "fulltext", "spatial") else None


def _help(search: Search) -> str:
    kind = str(search.column.get("type") or "")
    return "an index (btree) on it" if not kind or _TEXTS.match(kind) else ""


PREFIX_RULES = PrefixRules(_of_column, _of_index, _help)
"""Which indexes support a pattern with a fixed prefix."""
