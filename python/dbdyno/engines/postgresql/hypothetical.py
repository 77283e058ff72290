"""Ask the planner what it expects of hypothetical indexes, with the extension HypoPG if it is installed.

Creating a hypothetical index takes neither time nor space. Only EXPLAIN in the session that created it considers it
(https://hypopg.readthedocs.io/en/rel1_stable/usage.html).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.postgresql.psql import QUIET, client_program, connection, variables
from dbdyno.engines.statements import numbered

_TIMEOUT_S = 60.0

# Plans show a hypothetical index as `<13579>btree_t_n`.
_HYPOTHETICAL = re.compile(r"\bScan (?:Backward )?using \"?<\d+>|Bitmap Index Scan on \"?<\d+>")
_COST = re.compile(r"\(cost=[\d.]+\.\.([\d.]+)")
_GROUP, _STATEMENT = "dbdyno: the next indexes", "dbdyno: the next statement"
# What psql prints if an index was created. HypoPG doesn't know all kinds.
_MADE = "t"


def would_use(
    target: Mapping[str, Any], statements: Sequence[tuple[str, Sequence[Any]]], indexes: Sequence[str]
) -> list[bool] | None:
    """Return for each index whether the plan of a statement would use it; ``None`` if that can't be determined.

    Creates the extension in the database. ``target``: a running server, as in a plan; ``statements``: SQL with
    parameter values, or without values if they vary; ``indexes``: the statements that would create the indexes.
    """
    parts = _explained_with(
        target, statements, [[index] for index in indexes], "create extension if not exists hypopg;"
    )
    if parts is None:
        return None
    return [_MADE not in plans[0].split() or any(map(_HYPOTHETICAL.search, plans)) for plans in parts[1:]]


def estimated_gains(
    target: Mapping[str, Any], statements: Sequence[tuple[str, Sequence[Any]]], groups: Sequence[Sequence[str]]
) -> list[list[float | None] | None] | None:
    """Return how many times less each statement would cost with each group of indexes, by the planner's estimate.

    ``None`` for a statement whose plan would not use the indexes, for indexes of a kind that HypoPG doesn't know, and
    instead of the list if the extension isn't installed in the database. Changes nothing there. The arguments are
    those of :func:`would_use`; ``groups``: the statements that create indexes which are considered together.
    """
    parts = _explained_with(target, statements, groups, "set default_transaction_read_only = on;")
    if parts is None:
        return None
    now = [_cost(plan) for plan in parts[0][1:]]
    found: list[list[float | None] | None] = []
    for indexes, plans in zip(groups, parts[1:], strict=True):
        if plans[0].split().count(_MADE) < len(indexes):
            found.append(None)
            continue
        costs = [_cost(plan) if _HYPOTHETICAL.search(plan) else None for plan in plans[1:]]
        found.append([before / after if before and after else None for before, after in zip(now, costs, strict=True)])
    return found


def _cost(plan: str) -> float | None:
    total = _COST.search(plan)
    return float(total[1]) if total is not None else None


def _explained_with(
    target: Mapping[str, Any],
    statements: Sequence[tuple[str, Sequence[Any]]],
    groups: Sequence[Sequence[str]],
    first: str,
) -> list[list[str]] | None:
    """Return the plans without indexes, and with each group of them; ``None`` without HypoPG.

    Each list begins with the output of creating the indexes.
    """
    lines = [first]
    for indexes in [[], *groups]:
        # Prepared statements could keep a plan with an earlier index.
        lines += [f"\\echo {_GROUP}", "deallocate all;", "select count(*) from hypopg_reset();"]
        for index in indexes:
            lines += [f"\\set made {_text(index)}", "select hypopg_create_index(:'made') is not null;"]
        lines += [
            line for number, statement in enumerate(statements, 1) for line in _explained(number, *statement, target)
        ]
    output = _run(target, "\n".join(lines))
    parts = [part.split(_STATEMENT) for part in output.split(_GROUP)[1:]]
    is_installed = len(parts) == len(groups) + 1 and bool(parts[0][0].strip())
    return parts if is_installed else None


def _explained(number: int, sql: str, values: Sequence[Any], target: Mapping[str, Any]) -> Iterator[str]:
    prepared = numbered(sql, "$", str(target["engine"]))
    yield f"\\echo {_STATEMENT}"
    yield f"prepare dbdyno_{number} as {prepared};"
    # A plan for known values can use facts that a generic plan can't, such as a pattern's prefix.
    yield f"set plan_cache_mode = {'force_custom_plan' if values else 'force_generic_plan'};"
    given = map(_text, values) if values else ["null"] * len(re.findall(r"\$\d+", prepared))
    arguments = ", ".join(given)
    yield f"explain execute dbdyno_{number}{f'({arguments})' if arguments else ''};"


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float):
        return "null" if value is None else str(value).lower()
    return "'" + str(value).replace("'", "''") + "'"


def _run(target: Mapping[str, Any], script: str) -> str:
    """Return the output of a psql script, in which failed statements are skipped; empty if psql fails."""
    try:
        program = client_program("psql")
        command = [program, *QUIET, "--no-align", "--tuples-only", *connection(target)]
        done = subprocess.run(
            command,
            input=script,
            env=variables(target),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, SystemFailed):
        return ""
    return done.stdout
