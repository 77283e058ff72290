"""Why a pattern that begins with fixed characters is not looked up: from the rows of the engine's catalogue.

An index serves such a pattern where it keeps together what begins alike for the rule by which ``LIKE`` compares. Which
indexes there are and what they are sorted by is read from the catalogue; of an engine that is not here, of a table that
it does not have, and of an index of an unknown kind nothing is said.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.engines.known import engine_of_product
from dbdyno.engines.prefix_rules import Json, PrefixRules, PrefixSearch, Search, begins_with
from dbdyno.engines.searching import Settings


@dataclass(frozen=True)
class Why:
    """Why no index serves a pattern: a clause, and the rows of the catalogue and settings that say it.

    ``can_be_helped``: another index or setting would let the engine look it up.
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
    """Say why a pattern was not looked up; ``None`` where the catalogue does not tell.

    ``catalog``: as the document has it; ``passed_over``: indexes that the engine itself says it could have used.
    """
    rules = engine_of_product(engine).prefix_rules()
    number = tuple(int(each) for each in re.findall(r"\d+", version)[:2])
    asked = in_catalog(number, settings, catalog, search)
    if rules is None or asked is None:
        return None
    table, column = asked.table, asked.column
    indexes = [each for each in table.get("indexes") or [] if begins_with(each, column["name"])]
    rows: dict[str, Any] = {"table": table["name"], "column": column, "indexes": indexes}
    unfit = rules.of_column(asked)
    if unfit:
        return Why(unfit, rows, can_be_helped=False)
    if not indexes:
        others = [str(each["name"]) for each in table.get("indexes") or []]
        rows["other_indexes"] = others
        return _helped(f"no index of `{table['name']}` begins with {asked.name}", asked, rules, rows)
    judged = {str(each["name"]): _usable(each) or rules.of_index(asked, each) for each in indexes}
    rows["settings"] = {name: settings[name] for name in ("case_sensitive_like", "lc_collate") if name in settings}
    serving = [name for name, why in judged.items() if why == ""]
    over = [name for name in serving if name in passed_over]
    if over:
        rows["passed_over"] = over
        words = f"the index `{over[0]}` could serve it, and the engine takes reading all rows for cheaper"
        return Why(words, rows, can_be_helped=False)
    if serving:
        words = f"by the catalogue the index `{serving[0]}` could serve it; why it does not is not known"
        return Why(words, rows, can_be_helped=False)
    known = {name: why for name, why in judged.items() if why}
    if len(known) < len(judged):
        return None
    told = "; ".join(f"the index `{name}` {why}" for name, why in known.items())
    return _helped(told, asked, rules, rows)


def in_catalog(version: tuple[int, ...], settings: Settings, catalog: Json, search: PrefixSearch) -> Search | None:
    """Give what is searched as the catalogue has it; ``None`` where it does not have it."""
    table = _by_name(catalog.get("tables"), search.column.table)
    column = _by_name((table or {}).get("columns"), search.column.name)
    return None if table is None or column is None else Search(search, table, column, settings, version)


def _helped(words: str, asked: Search, rules: PrefixRules, rows: Json) -> Why:
    would = rules.help(asked)
    return Why(f"{words}: {would} would let it look up how the pattern begins" if would else words, rows, bool(would))


def _by_name(of: Any, name: str | None) -> Json | None:
    """Find a table or a column. Engines differ in whether names regard case: one that fits exactly goes first."""
    if name is None or not isinstance(of, list):
        return None
    exact = [each for each in of if each.get("name") == name]
    alike = exact or [each for each in of if str(each.get("name")).lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _usable(index: Json) -> str:
    if not index.get("usable", True):
        return "may not be used: it is invisible, ignored or not whole"
    # Whether a statement is about those rows alone is for the engine to say, and by its plan it does not.
    return "holds only some of the rows" if index.get("partial") else ""
