"""How SQLite compares strings: https://www.sqlite.org/optoverview.html#the_like_optimization."""

from collections.abc import Sequence

from dbdyno.engines.prefix_rules import Json, PrefixRules, Search, begins_with, key_collation
from dbdyno.engines.string_rules import CASE_SENSITIVE, CaseRule, Column, Settings, collation_rule, common_rule

_LETTERS = CaseRule(False, "is case-insensitive for A to Z only")


def looks_up(plan: Sequence[str]) -> bool | None:
    """Whether a plan contains a search such as `SEARCH t USING INDEX i (word>? AND word<?)`."""
    return any(step.startswith("SEARCH ") for step in plan) if plan else None


def like_rule(settings: Settings) -> CaseRule | None:
    """Return the rule of ``LIKE``, from the setting read back."""
    switch = settings.get("case_sensitive_like")
    return None if switch is None else CASE_SENSITIVE if switch == "on" else _LETTERS


def equality_rule(columns: Sequence[Column]) -> CaseRule | None:
    """Return the rule of ``=``, from the columns' collations."""
    return common_rule([collation_rule(each, _LETTERS) for each in columns])


def _of_column(search: Search) -> str:
    kind = str(search.column.get("type") or "").upper()
    is_text = "INT" not in kind and any(word in kind for word in ("CHAR", "CLOB", "TEXT"))
    if not is_text and search.prefix.prefix[0] in "0123456789+-.":
        return (
            f"{search.name} has the type `{kind.lower()}`, which allows numbers, and the pattern begins like a number: "
            "an index doesn't sort numbers like strings"
        )
    escape = search.prefix.escape
    if escape is not None and (search.version < (3, 21) or not escape.isascii()):
        return "SQLite doesn't use an index for a pattern with this ESCAPE"
    return ""


def _of_index(search: Search, index: Json) -> str | None:
    switch, name = search.settings.get("case_sensitive_like"), key_collation(index).get("name")
    if switch is None or not name:
        return None
    needed = "BINARY" if switch == "on" else "NOCASE"
    if str(name).upper() == needed:
        return ""
    rule = "case-sensitive" if switch == "on" else "case-insensitive"
    return f"is in the order of {str(name).upper()}, and LIKE is {rule} (case_sensitive_like={switch})"


def _help(search: Search) -> str:
    switch = search.settings.get("case_sensitive_like")
    if switch is None:
        return ""
    collations = {
        str(key_collation(each).get("name")).upper()
        for each in search.table.get("indexes") or []
        if begins_with(each, search.column["name"])
    }
    needed, other = ("binary", "nocase") if switch == "on" else ("nocase", "binary")
    index = f"an index on it with `collate {needed}`"
    if other.upper() not in collations:
        return index
    return f"`case_sensitive_like={'off' if switch == 'on' else 'on'}`, or {index},"


PREFIX_RULES = PrefixRules(_of_column, _of_index, _help)
"""Which indexes support a pattern with a fixed prefix."""
