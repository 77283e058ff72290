"""Why a pattern that begins with fixed characters is not looked up: from the rows of the engine's catalogue.

An index serves such a pattern where it keeps together what begins alike for the rule by which ``LIKE`` compares. Which
indexes there are and what they are sorted by is read from the catalogue; of an engine that is not here, of a table that
it does not have, and of an index of an unknown kind nothing is said.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.searches import PrefixSearch
from dbdyno.systems.searching import Settings

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Why:
    """Why no index serves a pattern: a clause, and the rows of the catalogue and settings that say it.

    ``can_be_helped``: another index or setting would let the engine look it up.
    """

    words: str
    rows: Json
    can_be_helped: bool = True


@dataclass(frozen=True)
class _Search:
    """What is searched, as the catalogue has it."""

    prefix: PrefixSearch
    table: Json
    column: Json
    settings: Settings
    version: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"`{self.column['name']}`"


# Why an index does not serve a search, a predicate; empty: it does; None: that is not known.
_Judge = Callable[[_Search, Json], str | None]


@dataclass(frozen=True)
class _Engine:
    """What is known of an engine's searches.

    ``of_column``: why no index on such a column serves, or empty; ``of_index``: why one does not; ``help``: what would,
    a clause, empty where nothing is known that would.
    """

    of_column: Callable[[_Search], str]
    of_index: _Judge
    help: Callable[[_Search], str]


def why_no_prefix(
    engine: str, version: str, settings: Settings, catalog: Json, search: PrefixSearch, passed_over: Sequence[str] = ()
) -> Why | None:
    """Say why a pattern was not looked up; ``None`` where the catalogue does not tell.

    ``catalog``: as the document has it; ``passed_over``: indexes that the engine itself says it could have used.
    """
    rules = _ENGINES.get(engine.lower())
    table = _by_name(catalog.get("tables"), search.column.table)
    column = _by_name((table or {}).get("columns"), search.column.name)
    if rules is None or table is None or column is None:
        return None
    number = tuple(int(each) for each in re.findall(r"\d+", version)[:2])
    asked = _Search(search, table, column, settings, number)
    indexes = [each for each in table.get("indexes") or [] if _begins_with(each, column["name"])]
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


def _helped(words: str, asked: _Search, rules: _Engine, rows: Json) -> Why:
    would = rules.help(asked)
    return Why(f"{words}: {would} would let it look up how the pattern begins" if would else words, rows, bool(would))


def _by_name(of: Any, name: str | None) -> Json | None:
    """Find a table or a column. Engines differ in whether names regard case: one that fits exactly goes first."""
    if name is None or not isinstance(of, list):
        return None
    exact = [each for each in of if each.get("name") == name]
    alike = exact or [each for each in of if str(each.get("name")).lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _begins_with(index: Json, column: str) -> bool:
    keys = index.get("keys") or []
    return bool(keys) and str(keys[0].get("column") or "").lower() == column.lower()


def _usable(index: Json) -> str:
    if not index.get("usable", True):
        return "may not be used: it is invisible, ignored or not whole"
    # Whether a statement is about those rows alone is for the engine to say, and by its plan it does not.
    return "holds only some of the rows" if index.get("partial") else ""


def _key_collation(index: Json) -> Json:
    return index["keys"][0].get("collation") or {}


# SQLite: https://www.sqlite.org/optoverview.html#the_like_optimization


def _sqlite_column(search: _Search) -> str:
    kind = str(search.column.get("type") or "").upper()
    is_text = "INT" not in kind and any(word in kind for word in ("CHAR", "CLOB", "TEXT"))
    if not is_text and search.prefix.prefix[0] in "0123456789+-.":
        return (
            f"{search.name} has the type `{kind.lower()}`, which may hold numbers, and the pattern begins as a number "
            "does: an index keeps numbers in another order than their texts"
        )
    escape = search.prefix.escape
    if escape is not None and (search.version < (3, 21) or not escape.isascii()):
        return "SQLite looks up no pattern with such an ESCAPE"
    return ""


def _sqlite_index(search: _Search, index: Json) -> str | None:
    switch, name = search.settings.get("case_sensitive_like"), _key_collation(index).get("name")
    if switch is None or not name:
        return None
    needed = "BINARY" if switch == "on" else "NOCASE"
    if str(name).upper() == needed:
        return ""
    rule = "regards" if switch == "on" else "disregards"
    return f"is in the order of {str(name).upper()}, and LIKE {rule} case (case_sensitive_like={switch})"


def _sqlite_help(search: _Search) -> str:
    switch = search.settings.get("case_sensitive_like")
    if switch is None:
        return ""
    collations = {
        str(_key_collation(each).get("name")).upper()
        for each in search.table.get("indexes") or []
        if _begins_with(each, search.column["name"])
    }
    needed, other = ("binary", "nocase") if switch == "on" else ("nocase", "binary")
    index = f"an index on it with `collate {needed}`"
    if other.upper() not in collations:
        return index
    return f"`case_sensitive_like={'off' if switch == 'on' else 'on'}`, or {index},"


# PostgreSQL: the chapters "Operator Classes and Operator Families" and "Index Types" of its documentation.

_PATTERN_CLASSES = ("text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops")


def _postgresql_column(search: _Search) -> str:
    kind = str(search.column.get("type"))
    return f"{search.name} is of the type citext, whose LIKE no index serves" if kind == "citext" else ""


def _postgresql_index(search: _Search, index: Json) -> str | None:  # noqa: ARG001
    method, of_class = index.get("method"), str(index["keys"][0].get("operator_class") or "")
    if of_class.endswith("_trgm_ops") or of_class in _PATTERN_CLASSES:
        return ""
    if method == "hash":
        return "is one of hashes, which are in no order"
    if method == "spgist" and of_class == "text_ops":
        return ""
    collation = _key_collation(index)
    if method != "btree" or collation.get("by_bytes") is None:
        return None
    if collation["by_bytes"]:
        return ""
    return f"is in the order of the collation {collation.get('name')}, which does not keep together what begins alike"


def _postgresql_help(search: _Search) -> str:
    if search.column.get("type") == "citext":
        return ""
    by_bytes = (search.column.get("collation") or {}).get("by_bytes")
    return "an index on it" if by_bytes else "an index with `text_pattern_ops` or the collation C"


# MySQL and MariaDB: an index in any collation serves, since LIKE goes by the collation that the column has.

_TEXTS = re.compile("(var)?char|(tiny|medium|long)?text|enum|set|(var)?binary|(tiny|medium|long)?blob", re.IGNORECASE)


def _mysql_column(search: _Search) -> str:
    kind = str(search.column.get("type") or "")
    if not kind or _TEXTS.match(kind):
        return ""
    return (
        f"{search.name} is of the type {kind}: LIKE makes a text of each value, and an index has them in another order"
    )


def _mysql_index(search: _Search, index: Json) -> str | None:  # noqa: ARG001
    method = index.get("method")
    if method == "btree":
        return ""
    return f"is of the kind {method}, which is in no order" if method in ("hash", "fulltext", "spatial") else None


def _mysql_help(search: _Search) -> str:
    kind = str(search.column.get("type") or "")
    return "an index (btree) on it" if not kind or _TEXTS.match(kind) else ""


_ENGINES = {
    "sqlite": _Engine(_sqlite_column, _sqlite_index, _sqlite_help),
    "postgresql": _Engine(_postgresql_column, _postgresql_index, _postgresql_help),
    "mysql": _Engine(_mysql_column, _mysql_index, _mysql_help),
    "mariadb": _Engine(_mysql_column, _mysql_index, _mysql_help),
}
