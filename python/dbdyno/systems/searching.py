"""How engines search: whether a plan looks up what it wants, how text is compared, what makes a search use an index.

A function for each engine, by its name; of an engine that is not here nothing is said.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Settings = Mapping[str, object]


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


def like_rule(engine: str, settings: Settings, *, own_tables: bool = True) -> CaseRule | None:
    """Say how ``LIKE`` compares capital letters with small ones; ``None`` where that is not known.

    ``own_tables``: of the experiment, their columns made without a word on it. Of others little is known.
    """
    match engine.lower():
        case "sqlite":
            switch = settings.get("case_sensitive_like")
            return None if switch is None else _REGARDS if switch == "on" else _LETTERS
        case "postgresql":
            return _REGARDS
    return _of_column(engine, settings) if own_tables else None


def equality_rule(engine: str, settings: Settings, *, own_tables: bool = True) -> CaseRule | None:
    """Say how ``=`` does; as :func:`like_rule`."""
    if not own_tables:
        return None
    return _REGARDS if engine.lower() in ("sqlite", "postgresql") else _of_column(engine, settings)


def _of_column(engine: str, settings: Settings) -> CaseRule | None:
    """Say how engines compare that go by the collation of the column, and not by that of the session."""
    match engine.lower():
        case "mysql" | "mariadb":
            # Databases are made in utf8mb4, whatever the server's own is, and have the usual collation of that.
            return _UNACCENTED
        case "sql server":
            collation = str(settings.get("collation") or "")
            by = f"goes by the collation {collation}"
            return CaseRule("_CI" not in collation.upper(), by) if collation else None
    return None


_REGARDS = CaseRule(True, "regards case")
_LETTERS = CaseRule(False, "disregards the case of the letters A to Z alone")
_UNACCENTED = CaseRule(False, "disregards case and accents")


def why_no_prefix(engine: str, settings: Settings) -> str:
    """Say why a pattern that begins with fixed characters is not looked up, and what would make it; may be empty."""
    explain = _WHY.get(engine.lower())
    return explain(settings) if explain else ""


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


def _why_sqlite(settings: Settings) -> str:
    if settings.get("case_sensitive_like") == "on":
        return "LIKE regards case there, so that an index in SQLite's own order (`binary`) could serve it"
    return (
        "LIKE disregards case there and the index does not: `case_sensitive_like=on`, or an index with "
        "`collate nocase`, would let it look up how the pattern begins"
    )


def _why_postgresql(settings: Settings) -> str:
    collation = settings.get("lc_collate")
    order = f"the collation {collation}" if collation else "a collation other than C"
    return (
        f"an index in the order of {order} does not keep together what begins alike: an index with "
        "`text_pattern_ops`, or a database with the collation C, would let it look that up"
    )


_LOOKS_UP: dict[str, Callable[[Sequence[str]], bool]] = {
    "sqlite": _sqlite_looks_up,
    "postgresql": _postgresql_looks_up,
    "mysql": _mysql_looks_up,
    "mariadb": _mysql_looks_up,
}
_WHY: dict[str, Callable[[Settings], str]] = {"sqlite": _why_sqlite, "postgresql": _why_postgresql}
