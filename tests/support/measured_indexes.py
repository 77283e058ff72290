"""What `dbdyno queries` measures of candidate indexes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import Cli


def measured_indexes(cli: Cli, system: str, *arguments: str) -> tuple[str, dict[str, Any]]:
    """Return the output for `q.sql` and the indexes of its only system; it stops early, since times don't matter."""
    options = ("--budget", "2m", "--target", "90%", "--json", "out.json")
    told = cli("queries", "q.sql", "--system", system, *options, *arguments)
    (found,) = json.loads((Path(cli.directory) / "out.json").read_text())["indexes"]
    return told, found
