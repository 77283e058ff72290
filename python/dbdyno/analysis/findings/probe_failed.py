"""What of the machine could not be measured."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

PROBE_FAILED = Kind("probe failed", ("probe", "error"))

_WORDS = {"device": "The storage device", "ceiling": "The worker's own ceiling"}


def probe_failed(material: Material) -> Iterator[Finding]:
    """Say it, with the error that the laboratory met."""
    for each in material.observed(PROBE_FAILED):
        what = _WORDS.get(str(each["probe"]), str(each["probe"]))
        evidence = {"probe": each["probe"], "error": each["error"]}
        yield PROBE_FAILED.found(f"{what} could not be measured: {each['error']}.", [], evidence)


RULE = Rule(probe_failed, (PROBE_FAILED,))
