"""Interleaved cells that do not sync alike what they write."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.document.finding import Kind
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule

TURNS_SYNC_UNLIKE = Kind("turns sync unlike", ("settings",))


def turns_sync_unlike(material: Material) -> Iterator[Finding]:
    """Say it of the cells that the laboratory found to write, as their engines tell."""
    words = (
        "These cells do not sync alike what they write, and took turns: what one leaves to the kernel is written to "
        "the device in the others' turns; `--turns none` measures them one after another."
    )
    for each in material.observed(TURNS_SYNC_UNLIKE):
        yield TURNS_SYNC_UNLIKE.found(words, each["settings"], {"settings": each["settings"]})


RULE = Rule(turns_sync_unlike, (TURNS_SYNC_UNLIKE,))
