"""Connections that found the queue of a listening socket full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.bottleneck.tiers import tier_of
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

BACKLOG = Kind("backlog full", ("tier", "dropped", "backlog", "lifted_by", "cells"))


def backlog_findings(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Say whose queue was full, how often in which cells, and which setting makes it longer."""
    full: dict[tuple[str, int, str], list[tuple[Cell, int]]] = {}
    for cell in cells:
        engine = engine_of_product(cell["system"]["engine"])
        for each in cell["rounds"]:
            for told in each["listeners"]:
                if not told["dropped"]:
                    continue
                tier = tier_of(told["part"]) if told["part"] else "server"
                own = engine.listen_setting(told["part"]) or f"the backlog that the {tier} asks for (listen(2))"
                kernels = f"`net.core.somaxconn` ({told['somaxconn']})"
                # The kernel cuts what is asked for to that.
                lifts = f"{kernels} and {own}" if told["backlog"] >= told["somaxconn"] else f"{own}, up to {kernels}"
                full.setdefault((tier, told["backlog"], lifts), []).append((cell, told["dropped"]))
    for (tier, backlog, lifts), hit in full.items():
        found = list(dict.fromkeys(cell["id"] for cell, _ in hit))
        dropped = sum(times for _, times in hit)
        where = found[0] if len(found) == 1 else f"{len(found)} cells"
        text = f"The queue of connections that wait to be accepted by the {tier} was full with {where}: it holds"
        text += (
            f" {backlog:,}, and the kernel dropped what else came {dropped:,} times. Who is dropped asks again after"
        )
        text += f" 1 s, then after 2 s and more, which is in the times of connecting. It is lifted by {lifts}."
        observed = {"tier": tier, "dropped": dropped, "backlog": backlog, "lifted_by": lifts, "cells": len(found)}
        yield BACKLOG.found(text, found, observed)


def _find(material: Material) -> Iterator[Finding]:
    yield from backlog_findings(material.cells)


RULE = Rule(_find, (BACKLOG,))
