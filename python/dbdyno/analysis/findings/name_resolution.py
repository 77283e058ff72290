"""Names of hosts that cost each new connection time."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import number
from dbdyno.model.result.shape import Finding

NAME_RESOLUTION = Kind("name resolution", ("system", "host", "seconds"))


def name_resolution(material: Material) -> Iterator[Finding]:
    """Say what resolving a name took, or trying the addresses at which nobody answers."""
    for each in material.observed(NAME_RESOLUTION):
        name, host, seconds = each["system"], each["host"], number(each, "seconds") or 0.0
        if each.get("silent"):
            words = f"{name}: `{host}` means {each['silent']} first, where nothing answers: each new connection loses "
            words += f"{seconds * 1000:.1f} ms before it tries {each.get('answers')}; write that in the URL."
        else:
            words = f"{name}: resolving `{host}` took {seconds * 1000:.0f} ms, and each new connection does it again."
        evidence = {key: value for key, value in each.items() if key != "kind"}
        yield NAME_RESOLUTION.found(words, [], evidence)


RULE = Rule(name_resolution, (NAME_RESOLUTION,))
