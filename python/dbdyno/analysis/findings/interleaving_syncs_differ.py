"""Interleaved cells that do not sync alike what they write."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

INTERLEAVING_SYNCS_DIFFER = Kind("interleaved cells sync differently", ("settings",))


def interleaving_syncs_differ(material: Material) -> Iterator[Finding]:
    """Say it of the cells that the laboratory found to write, as their engines tell."""
    words = (
        "These cells do not sync alike what they write, and were interleaved: what one leaves to the kernel is written "
        "to the device in the others' slices; `--interleave none` measures them one after another."
    )
    for each in material.observed(INTERLEAVING_SYNCS_DIFFER):
        yield INTERLEAVING_SYNCS_DIFFER.found(words, each["settings"], {"settings": each["settings"]})


RULE = Rule(interleaving_syncs_differ, (INTERLEAVING_SYNCS_DIFFER,))
