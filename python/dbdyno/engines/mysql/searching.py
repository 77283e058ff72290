"""How MySQL and MariaDB search.

An index in any collation serves a pattern, since ``LIKE`` goes by the collation that the column has.
"""

import re
from collections.abc import Sequence

from dbdyno.engines.prefix_rules import Json, PrefixRules, Search
from dbdyno.engines.searching import CaseRule, Column, alike, collation_of

_TEXTS = re.compile("(var)?char|(tiny|medium|long)?text|enum|set|(var)?binary|(tiny|medium|long)?blob", re.IGNORECASE)


def looks_up(plan: Sequence[str]) -> bool | None:
    """Whether a table is come by otherwise than by reading all of it or of an index.

    `simple, t, range, key i, …`: how stands third; `ALL` and `index` read all.
    """
    if not plan:
        return None
    kinds = [step.split(", ")[2] for step in plan if step.count(", ") > 1]
    return any(kind in ("system", "const", "eq_ref", "ref", "ref_or_null", "range", "index_merge") for kind in kinds)


def case_rule(columns: Sequence[Column]) -> CaseRule | None:
    """Say how ``=`` and ``LIKE`` compare: by the columns' collations."""
    return alike([_by_collation(each) for each in columns])


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
        f"{search.name} is of the type {kind}: LIKE makes a text of each value, and an index has them in another order"
    )


def _of_index(search: Search, index: Json) -> str | None:  # noqa: ARG001
    method = index.get("method")
    if method == "btree":
        return ""
    return f"is of the kind {method}, which is in no order" if method in ("hash", "fulltext", "spatial") else None


def _help(search: Search) -> str:
    kind = str(search.column.get("type") or "")
    return "an index (btree) on it" if not kind or _TEXTS.match(kind) else ""


PREFIX_RULES = PrefixRules(_of_column, _of_index, _help)
"""Which indexes serve a pattern that begins with fixed characters."""
