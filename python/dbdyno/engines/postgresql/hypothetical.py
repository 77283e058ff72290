"""Ask the planner if it would use hypothetical indexes, with the extension HypoPG if it is installed.

Creating a hypothetical index takes neither time nor space. Only EXPLAIN in the session that created it considers it
(https://hypopg.readthedocs.io/en/rel1_stable/usage.html).
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.statements import numbered

_TIMEOUT_S = 60.0

# Plans show a hypothetical index as `<13579>btree_t_n`.
_HYPOTHETICAL = re.compile(r"\bScan using \"?<\d+>|Bitmap Index Scan on \"?<\d+>")
_NEXT = "dbdyno: the next index"


def would_use(
    target: Mapping[str, Any], statements: Sequence[tuple[str, Sequence[Any]]], indexes: Sequence[str]
) -> list[bool] | None:
    """Return for each index whether the plan of a statement would use it; ``None`` if that can't be determined.

    ``target``: a running server, as in a plan; ``statements``: SQL with parameter values, or without values if they
    vary; ``indexes``: the statements that would create the indexes.
    """
    psql = next((each.programs.get("psql") for each in find_installations(str(target["engine"]))), None)
    if psql is None:
        return None
    lines = ["create extension if not exists hypopg;"]
    for index in indexes:
        # Prepared statements could keep a plan with an earlier index.
        lines += [f"\\echo {_NEXT}", "deallocate all;", "select count(*) from hypopg_reset();"]
        lines += [f"\\set made {_text(index)}", "select count(*) from hypopg_create_index(:'made');"]
        lines += [line for number, each in enumerate(statements, 1) for line in _explained(number, *each, target)]
    done = _run([str(psql)], target, "\n".join(lines))
    if done is None or "hypopg" in done.stderr.lower():
        return None
    parts = done.stdout.split(_NEXT)[1:]
    return [bool(_HYPOTHETICAL.search(part)) for part in parts] if len(parts) == len(indexes) else None


def _explained(number: int, sql: str, values: Sequence[Any], target: Mapping[str, Any]) -> Iterator[str]:
    prepared = numbered(sql, "$", str(target["engine"]))
    yield f"prepare dbdyno_{number} as {prepared};"
    # A plan for known values can use facts that a generic plan can't, such as a pattern's prefix.
    yield f"set plan_cache_mode = {'force_custom_plan' if values else 'force_generic_plan'};"
    given = map(_text, values) if values else ["null"] * len(re.findall(r"\$\d+", prepared))
    arguments = ", ".join(given)
    yield f"explain (costs off) execute dbdyno_{number}{f'({arguments})' if arguments else ''};"


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float):
        return "null" if value is None else str(value).lower()
    return "'" + str(value).replace("'", "''") + "'"


def _run(program: list[str], target: Mapping[str, Any], script: str) -> "subprocess.CompletedProcess[str] | None":
    """Run a psql script; ``None`` if psql fails. Failed statements are reported on stderr and skipped."""
    where = ["--host", str(target["host"]), "--port", str(target["port"]), "--username", str(target["user"])]
    command = [*program, "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", *where, str(target["database"])]
    try:
        return subprocess.run(
            command, input=script, env=environment(), capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
