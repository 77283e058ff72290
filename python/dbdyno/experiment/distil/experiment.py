"""Make a readable experiment of a workload."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno.engines.lookup import all_engines
from dbdyno.experiment.distil.tables import SyntheticTables
from dbdyno.experiment.distil.workload import Workload, stage_lines
from dbdyno.experiment.mix import mix_document
from dbdyno.experiment.queries import read_statements
from dbdyno.experiment.toml_text import COMMENT
from dbdyno.model.experiment.generators import read_column, read_pattern, read_ranks
from dbdyno.model.experiment.sql import ANY


def experiment_document(workload: Workload, output: str, trace: str, engine: str) -> dict[str, Any]:
    """Return the experiment of a workload, as TOML has it. ``engine``: see :func:`mix_document`. Raises InputError."""
    statements = read_statements(workload.text, output, workload.engine)
    source = Path(trace).name
    document = mix_document(statements, {}, output, engine)
    document["name"] = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(output).stem)
    document["title"] = f"Workload of {source}"
    document["question"] = f"How many transactions of {source} per second, and where does their time go?"
    document["factors"]["clients"] = [workload.clients]
    if workload.phases:
        document["load"][COMMENT] = [
            "The recorded rate varied. To repeat it, remove `stop`, the factor `seconds` and all steps with `think`,",
            "and the first character of each line below. Clients then don't wait for each other's transactions.",
            "Leave it so to find out what the system can do: `run`, `why` and `tune` need clients without a rate.",
            *stage_lines(workload.phases),
        ]
    return document


def with_tables(
    document: Mapping[str, Any], tables: SyntheticTables, names: Mapping[str, str], engine: str
) -> dict[str, Any]:
    """Return an experiment with generated tables, whose values its parameters have.

    ``names``: of the tables, by their names in statements; ``engine``: of the trace.
    """
    # An engine's function isn't translated for others.
    keys = {each.name: each.last_key or each.last_number for each in all_engines()}
    last_key = {ANY: keys[engine], **{name: text for name, text in keys.items() if text and name != engine}}

    def replaced(part: Any) -> Any:
        if isinstance(part, dict):
            column = read_column(part["column"]) if isinstance(part.get("column"), str) else None
            if column is not None:
                exponent = part.get("draw", {}).get("zipf")
                written, pattern = read_pattern(column[1])
                name, ranks = read_ranks(written)
                table = names[column[0]]
                if ranks:
                    return tables.ranked(table, name.strip('"`'), ranks)
                value = tables.parameter(table, name.strip('"`'), exponent)
                if pattern == "v":
                    return value
                return {"format": {"template": pattern.replace("v", "{}"), "parts": [value]}}
            made = {key: replaced(each) for key, each in part.items()}
            return {**made, "execute": last_key} if made.get("execute", "") == last_key[ANY] else made
        return [replaced(each) for each in part] if isinstance(part, list) else part

    made = {**document, "transactions": replaced(document["transactions"])}
    # A file's tables come before what runs on them.
    parts = list(made)
    before, after = parts[: parts.index("system")], parts[parts.index("system") :]
    return {**{key: made[key] for key in before}, "tables": tables.document(), **{key: made[key] for key in after}}
