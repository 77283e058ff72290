"""What an engine's SQL has of what SQLite's has, as far as a translation must know."""

from dataclasses import dataclass
from typing import Literal

_FEW = frozenset[str]()


@dataclass(frozen=True, kw_only=True)
class SqlTarget:
    """An engine's SQL. What is left out is as the standard has it, or as most engines do.

    ``engine``: its name in experiments; ``grammar``: that of its dialect in sqlglot. ``lacks``: what it does not read
    as it is meant, by the name of sqlglot's class, or of a function that it has none for
    (:data:`dbdyno.engines.transpile.unsupported.NAMES`).
    """

    engine: str
    grammar: str
    lacks: frozenset[str] = _FEW

    # Where nulls come in an order that does not say it: as small values, as large ones, or behind all others.
    nulls: Literal["small", "large", "last"] = "large"
    savepoints: bool = True
    # `limit ?` stands behind what it limits, so that its value comes behind theirs.
    limit_behind: bool = True
    # `->>`; else `json_unquote(json_extract(…))` is written.
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
    # The function `format` knows `%s` only.
    format_of_texts: bool = False
    full_join: bool = True
    natural_join: bool = True
    join_using: bool = True
    default_values: bool = False
    returning: bool = False
    # Of inserts and deletes, on one of its products and not on another: which.
    returning_of: str = ""
    ordered_changes: bool = False
