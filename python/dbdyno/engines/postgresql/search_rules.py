"""How PostgreSQL compares strings; see "Operator Classes and Operator Families" in its documentation."""

from collections.abc import Sequence

from dbdyno.engines.prefix_rules import Json, PrefixRules, Search, key_collation
from dbdyno.engines.string_rules import CaseRule, Column, collation_rule, common_rule, type_of

_PATTERN_CLASSES = ("text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops")


def looks_up(plan: Sequence[str]) -> bool | None:
    """Whether a plan has an `Index Cond: …`; without one, `Index Scan using i on t` reads the whole index."""
    return any(step.strip().startswith("Index Cond:") for step in plan) if plan else None


def case_rule(columns: Sequence[Column]) -> CaseRule | None:
    """Return the rule of ``=`` and ``LIKE``.

    They depend on the collation only if it is nondeterministic.
    """
    return common_rule([collation_rule(each) if _is_plain_text(each) else _citext(each) for each in columns])


def _citext(column: Column) -> CaseRule | None:
    return CaseRule(False, "is case-insensitive, for citext columns,") if type_of(column) == "citext" else None


def _is_plain_text(column: Column) -> bool:
    return type_of(column) in ("text", "character varying", "character", "name")


def _of_column(search: Search) -> str:
    kind = str(search.column.get("type"))
    return f"{search.name} has the type citext, whose LIKE can't use an index" if kind == "citext" else ""


def _of_index(search: Search, index: Json) -> str | None:  # noqa: ARG001
    method, of_class = index.get("method"), str(index["keys"][0].get("operator_class") or "")
    if of_class.endswith("_trgm_ops") or of_class in _PATTERN_CLASSES:
        return ""
    if method == "hash":
        return "is a hash index, which isn't sorted"
    if method == "spgist" and of_class == "text_ops":
        return ""
    collation = key_collation(index)
    if method != "btree" or collation.get("by_bytes") is None:
        return None
    if collation["by_bytes"]:
        return ""
    return f"is in the order of the collation {collation.get('name')}, which doesn't group equal prefixes"


def _help(search: Search) -> str:
    if search.column.get("type") == "citext":
        return ""
    by_bytes = (search.column.get("collation") or {}).get("by_bytes")
    return "an index on it" if by_bytes else "an index with `text_pattern_ops` or the collation C"


PREFIX_RULES = PrefixRules(_of_column, _of_index, _help)
"""Which indexes support a pattern with a fixed prefix."""
