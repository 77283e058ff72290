"""Which of several installed servers was started."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

SEVERAL_SERVERS = Kind("one of several servers", ("engine", "installed"))


def several_servers(material: Material) -> Iterator[Finding]:
    """Say which was taken where none was asked for, and how to take another. The first that is listed was taken."""
    for each in material.observed(SEVERAL_SERVERS):
        (taken, title), *others = each["installed"].items()
        told = ", ".join(f"{other} ({server})" for server, other in others)
        words = f"`{each['engine']}:` is {title} ({taken}), of the highest version number here; "
        words += f"`program=` takes another: {told}."
        evidence = {"engine": each["engine"], "installed": each["installed"]}
        yield SEVERAL_SERVERS.found(words, [], evidence)


RULE = Rule(several_servers, (SEVERAL_SERVERS,))
