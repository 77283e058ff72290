"""How engines search: whether a plan looks up what it wants, how text is compared, what makes a search use an index.

A function for each engine, by its name; of an engine that is not here nothing is said.
"""

from collections.abc import Callable, Mapping, Sequence

Settings = Mapping[str, object]

# The variables in which MySQL says how texts are compared, the nearest to the statement first.
_MYSQL_COLLATIONS = ("collation_connection", "collation_database", "collation_server")


def looks_up(engine: str, plan: Sequence[str]) -> bool | None:
    """Whether a plan goes to the rows it wants by an index; False: it reads all of a table or of an index.

    ``None``: there is no plan, or the engine's plans cannot be read here.
    """
    judge = _LOOKS_UP.get(engine.lower())
    return judge(plan) if judge and plan else None


def like_regards_case(engine: str, settings: Settings) -> bool | None:
    """Whether ``LIKE`` tells capital letters from small ones; ``None`` where that is not known."""
    rule = _LIKE.get(engine.lower())
    return rule(settings) if rule else None


def equality_regards_case(engine: str, settings: Settings) -> bool | None:
    """Whether ``=`` does, on a column that is made without a word on it; ``None`` where that is not known."""
    if engine.lower() in ("sqlite", "postgresql"):
        return True
    return like_regards_case(engine, settings)


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


def _sqlite_like(settings: Settings) -> bool | None:
    switch = settings.get("case_sensitive_like")
    return None if switch is None else switch == "on"


def _mysql_like(settings: Settings) -> bool | None:
    collation = next((str(settings[name]) for name in _MYSQL_COLLATIONS if settings.get(name)), None)
    return None if collation is None else not collation.endswith("_ci")


def _why_sqlite(settings: Settings) -> str:
    if _sqlite_like(settings):
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
_LIKE: dict[str, Callable[[Settings], bool | None]] = {
    "sqlite": _sqlite_like,
    "postgresql": lambda _: True,
    "mysql": _mysql_like,
    "mariadb": _mysql_like,
}
_WHY: dict[str, Callable[[Settings], str]] = {"sqlite": _why_sqlite, "postgresql": _why_postgresql}
