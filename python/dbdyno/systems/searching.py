"""How engines search: whether a plan looks up what it wants, and how text is compared.

A function for each engine, by its name; of an engine that is not here nothing is said.
"""

from collections.abc import Callable, Mapping, Sequence
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


def looks_up(engine: str, plan: Sequence[str]) -> bool | None:
    """Whether a plan goes to the rows it wants by an index; False: it reads all of a table or of an index.

    ``None``: there is no plan, or the engine's plans cannot be read here.
    """
    judge = _LOOKS_UP.get(engine.lower())
    return judge(plan) if judge and plan else None


def like_rule(
    engine: str, settings: Settings, columns: Sequence[Column], *, own_tables: bool = True
) -> CaseRule | None:
    """Say how ``LIKE`` compares capital letters with small ones; ``None`` where nothing that was read back tells.

    ``columns``: those that are compared, as the catalogue has them. ``own_tables``: of the experiment, their columns
    made without a word on it, so that they have the database's collation.
    """
    match engine.lower():
        case "sqlite":
            switch = settings.get("case_sensitive_like")
            return None if switch is None else _REGARDS if switch == "on" else _LETTERS
        case "postgresql":
            # Its LIKE goes by the collation only where that does not tell all texts apart that differ.
            return _alike([_of_collation(each) if _is_plain_text(each) else _citext(each) for each in columns])
    return equality_rule(engine, settings, columns, own_tables=own_tables)


def equality_rule(
    engine: str, settings: Settings, columns: Sequence[Column], *, own_tables: bool = True
) -> CaseRule | None:
    """Say how ``=`` does; as :func:`like_rule`."""
    match engine.lower():
        case "sqlite":
            return _alike([_of_collation(each, _LETTERS) for each in columns])
        case "postgresql":
            return _alike([_of_collation(each) if _is_plain_text(each) else _citext(each) for each in columns])
        case "mysql" | "mariadb":
            return _alike([_by_collation(each) for each in columns])
        case "sql server":
            collation = str(settings.get("collation") or "") if own_tables else ""
            by = f"goes by the collation {collation}"
            return CaseRule("_CI" not in collation.upper(), by) if collation else None
    return None


def _alike(rules: Sequence[CaseRule | None]) -> CaseRule | None:
    """Give the rule that all columns have in common."""
    return rules[0] if rules and all(each == rules[0] for each in rules) else None


def _of_collation(column: Column, disregarding: CaseRule | None = None) -> CaseRule | None:
    """Give the rule of a column's collation; of one that disregards case ``disregarding``."""
    regards = _collation(column).get("regards_case")
    return None if regards is None else _REGARDS if regards else disregarding


def _by_collation(column: Column) -> CaseRule | None:
    collation = _collation(column)
    regards = collation.get("regards_case")
    if regards is None:
        return None
    words = "regards case" if regards else "disregards case"
    return CaseRule(bool(regards), f"{words}, by the collation {collation.get('name')},")


def _citext(column: Column) -> CaseRule | None:
    return CaseRule(False, "disregards case, for columns of the type citext,") if _type(column) == "citext" else None


def _is_plain_text(column: Column) -> bool:
    return _type(column) in ("text", "character varying", "character", "name")


def _type(column: Column) -> str:
    """Give a column's type without its length."""
    return str(column.get("type") or "").partition("(")[0].strip().lower()


def _collation(column: Column) -> Column:
    return column.get("collation") or {}


_REGARDS = CaseRule(True, "regards case")
_LETTERS = CaseRule(False, "disregards the case of the letters A to Z alone")


def _sqlite_looks_up(plan: Sequence[str]) -> bool:
    # `SEARCH t USING INDEX i (word>? AND word<?)`; a scan reads all of the index it may name.
    return any(step.startswith("SEARCH ") for step in plan)


def _postgresql_looks_up(plan: Sequence[str]) -> bool:
    # `Index Scan using i on t` reads all of the index unless a line `Index Cond: …` stands below it.
    return any(step.strip().startswith("Index Cond:") for step in plan)


def _mysql_looks_up(plan: Sequence[str]) -> bool:
    # `simple, t, range, key i, …`: how the table is come by stands third; `ALL` and `index` read all of it.
    kinds = [step.split(", ")[2] for step in plan if step.count(", ") >= 2]
    return any(kind in ("system", "const", "eq_ref", "ref", "ref_or_null", "range", "index_merge") for kind in kinds)


_LOOKS_UP: dict[str, Callable[[Sequence[str]], bool]] = {
    "sqlite": _sqlite_looks_up,
    "postgresql": _postgresql_looks_up,
    "mysql": _mysql_looks_up,
    "mariadb": _mysql_looks_up,
}
