"""Explain from the engine's catalog why no index is used for a pattern with a fixed prefix.

An index supports such a pattern if it sorts values with the same prefix next to each other, under the rule by which
``LIKE`` compares. The catalog lists the indexes and their collations. There is no explanation for an engine without
rules, a table that isn't in the catalog, or an unknown kind of index.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.engines.lookup import engine_of_product
from dbdyno.engines.prefix_rules import Json, PrefixRules, PrefixSearch, Search, begins_with
from dbdyno.engines.string_rules import Settings


@dataclass(frozen=True)
class Why:
    """Why no index is used for a pattern: a clause, and the catalog entries and settings that show it.

    ``can_be_helped``: with another index or setting, the engine could use an index.
    """

    words: str
    rows: Json
    can_be_helped: bool = True


def why_no_prefix(  # noqa: PLR0911 - the first rule that applies
    engine: str,
    version: str,
    settings: Settings,
    catalog: Json,
    search: PrefixSearch,
    *,
    passed_over: Sequence[str] = (),
) -> Why | None:
    """Return why no index was used for a pattern; ``None`` if the catalog doesn't explain it.

    ``catalog``: as in the result document; ``passed_over``: indexes that the engine reports as usable but didn't use.
    """
    rules = engine_of_product(engine).prefix_rules()
    number = tuple(int(each) for each in re.findall(r"\d+", version)[:2])
    asked = in_catalog(number, settings, catalog, search)
    if rules is None or asked is None:
        return None
    table, column = asked.table, asked.column
    indexes = [index for index in table.get("indexes") or [] if begins_with(index, column["name"])]
    rows: dict[str, Any] = {"table": table["name"], "column": column, "indexes": indexes}
    unfit = rules.of_column(asked)
    if unfit:
        return Why(unfit, rows, can_be_helped=False)
    if not indexes:
        others = [str(index["name"]) for index in table.get("indexes") or []]
        rows["other_indexes"] = others
        return _helped(f"no index of `{table['name']}` begins with {asked.name}", asked, rules, rows)
    judged = {str(index["name"]): _usable(index) or rules.of_index(asked, index) for index in indexes}
    rows["settings"] = {name: settings[name] for name in ("case_sensitive_like", "lc_collate") if name in settings}
    serving = [name for name, why in judged.items() if why == ""]
    over = [name for name in serving if name in passed_over]
    if over:
        rows["passed_over"] = over
        words = f"the index `{over[0]}` could be used, but the engine estimates that a full scan is cheaper"
        return Why(words, rows, can_be_helped=False)
    if serving:
        words = f"according to the catalog, the index `{serving[0]}` could be used; why it isn't used is unknown"
        return Why(words, rows, can_be_helped=False)
    known = {name: why for name, why in judged.items() if why}
    if len(known) < len(judged):
        return None
    reasons = "; ".join(f"the index `{name}` {why}" for name, why in known.items())
    return _helped(reasons, asked, rules, rows)


def in_catalog(version: tuple[int, ...], settings: Settings, catalog: Json, search: PrefixSearch) -> Search | None:
    """Return a search with its catalog entries; ``None`` if the catalog lacks the table or column."""
    table = _by_name(catalog.get("tables"), search.column.table)
    column = _by_name((table or {}).get("columns"), search.column.name)
    return None if table is None or column is None else Search(search, table, column, settings, version)


def _helped(words: str, asked: Search, rules: PrefixRules, rows: Json) -> Why:
    would = rules.help(asked)
    return Why(f"{words}: {would} would let it look up the pattern's prefix" if would else words, rows, bool(would))


def _by_name(entries: Any, name: str | None) -> Json | None:
    """Find a table or a column. Engines differ in whether names are case-sensitive, so prefer an exact match."""
    if name is None or not isinstance(entries, list):
        return None
    exact = [entry for entry in entries if entry.get("name") == name]
    matches = exact or [entry for entry in entries if str(entry.get("name")).lower() == name.lower()]
    return matches[0] if len(matches) == 1 else None


def _usable(index: Json) -> str:
    if not index.get("usable", True):
        return "can't be used: it is invisible, ignored or incomplete"
    # Only the engine can decide whether a statement needs just those rows, and its plan says that it doesn't.
    return "contains only some of the rows" if index.get("partial") else ""
