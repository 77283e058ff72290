"""Limits of the system's that a web tier met and told of in its replies, each with the setting that lifts it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule

LIMIT = Kind("limit met", ("limit", "cells", "failed"))

# What a web application says of itself, as dbdyno's own does: `{"error": "too-many-connections", …}`.
_TOLD = re.compile(r'"error"\s*:\s*"(?P<reason>[a-z-]+)"')

# What each is, and what lifts it: the application's setting, and where it is not the application's, whose.
_LIMITS: Mapping[str, tuple[str, str]] = {
    "pool-exhausted": ("all kept connections of a web server were in use", "`pool` of the web tier"),
    "too-many-connections": (
        "the database took no further connection",
        "`max_connections` of the database (`db.max_connections`), or a smaller `pool` of the web tier",
    ),
    "too-many-open-files": (
        "a web server may open no further file or connection",
        "`open_files` of the web tier (`ulimit -n`)",
    ),
    "out-of-ports": (
        "there was no local port left for a connection to the database",
        "`net.ipv4.ip_local_port_range` of the machine, or kept connections (`persistent=on`)",
    ),
    "backlog-full": (
        "the queue of the database's listening socket was full",
        "`net.core.somaxconn` of the machine, or kept connections (`persistent=on`)",
    ),
}


def limit_findings(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Say which limits were met, in how many cells, and what lifts each; trials that failed are among them."""
    met: dict[str, list[Cell]] = {}
    failed: dict[str, int] = {}
    for cell in cells:
        for each in cell["rounds"]:
            for kind, message in (*each["failures"].items(), ("", each["error"] or "")):
                told = _TOLD.search(message)
                if told is None or told["reason"] not in _LIMITS:
                    continue
                reason = told["reason"]
                if cell not in met.setdefault(reason, []):
                    met[reason].append(cell)
                failed[reason] = failed.get(reason, 0) + each["failed"].get(kind, 0)
    for reason, found in met.items():
        what, lifts = _LIMITS[reason]
        where = found[0]["id"] if len(found) == 1 else f"{len(found)} cells"
        text = f"A limit was met with {where}: {what} ({reason}). It is lifted by {lifts}."
        observed = {"limit": reason, "cells": len(found), "failed": failed[reason]}
        yield LIMIT.found(text, [cell["id"] for cell in found], observed)


def _find(material: Material) -> Iterator[Finding]:
    yield from limit_findings(material.cells)


RULE = Rule(_find, (LIMIT,))
