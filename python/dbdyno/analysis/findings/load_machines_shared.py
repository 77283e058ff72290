"""Load machines that are one machine."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import objects, text
from dbdyno.model.result.shape import Finding

LOAD_MACHINES_SHARED = Kind("load machines shared", ("warning", "machines", "hosts"))


def load_machines_shared(material: Material) -> Iterator[Finding]:
    """Say that there are fewer machines than load machines: they take processors from one another."""
    machines = objects(material.run.options.get("load_machines"))
    hosts = {boot for each in machines if (boot := text(each, "boot"))}
    if not hosts or len(hosts) == len(machines):
        return
    one = "one machine" if len(hosts) == 1 else f"{len(hosts)} machines"
    words = (
        f"The {len(machines)} load machines are {one}, whose processors they share: they give no more load than it has."
    )
    observed = {"warning": LOAD_MACHINES_SHARED.name, "machines": len(machines), "hosts": len(hosts)}
    yield LOAD_MACHINES_SHARED.found(words, [], observed)


RULE = Rule(load_machines_shared, (LOAD_MACHINES_SHARED,))
