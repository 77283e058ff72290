"""Trials that lost a load machine and were done again."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

LOAD_MACHINE_LOST = Kind("load machine lost", ("lost",))


def load_machine_lost(material: Material) -> Iterator[Finding]:
    """Say it of each cell, with what was said of the machine."""
    for cell in material.cells:
        lost = [why for each in cell["rounds"] for why in each["lost_machines"]]
        if lost:
            tries = "1 try of a trial was" if len(lost) == 1 else f"{len(lost)} tries of trials were"
            words = f"{tries} given up and done again from as many load machines: {'; '.join(dict.fromkeys(lost))}."
            yield LOAD_MACHINE_LOST.found(words, [cell["id"]], {"lost": lost})


RULE = Rule(load_machine_lost, (LOAD_MACHINE_LOST,))
