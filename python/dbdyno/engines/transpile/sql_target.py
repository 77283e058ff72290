"""The features of SQLite's SQL that an engine supports, as far as translation depends on them."""

from dataclasses import dataclass
from typing import Literal

_FEW = frozenset[str]()


@dataclass(frozen=True, kw_only=True)
class SqlTarget:
    """An engine's SQL. The defaults follow the standard, or the majority of engines.

    ``engine``: its name in experiments; ``grammar``: the name of its dialect in sqlglot. ``lacks``: what it doesn't
    support with SQLite's meaning, by the name of sqlglot's class, or of a function without a class
    (:data:`dbdyno.engines.transpile.unsupported.NAMES`).
    """

    engine: str
    grammar: str
    lacks: frozenset[str] = _FEW

    # Default position of nulls in an order: like small values, like large values, or always last.
    nulls: Literal["small", "large", "last"] = "large"
    savepoints: bool = True
    # `limit ?` is at the end, so its value follows the other values.
    limit_behind: bool = True
    # Supports `->>`; otherwise `json_unquote(json_extract(…))` replaces it.
    json_arrow: bool = True

    # `+` concatenates strings.
    plus_concatenates: bool = False

    on_conflict: bool = False
    log_is_of_ten: bool = False
    partial_index: bool = True
    analyze: bool = False
    limit_in_subquery: bool = True
    json_extract: bool = True
    filter_clause: bool = False
    substr_from_end: bool = False
    substr_from_zero: bool = True
    # The function `format` only supports `%s`.
    format_of_texts: bool = False
    full_join: bool = True
    natural_join: bool = True
    join_using: bool = True
    default_values: bool = False
    returning: bool = False
    # If only one of its products supports `returning` for inserts and deletes: a clause that says which.
    returning_of: str = ""
    ordered_changes: bool = False
