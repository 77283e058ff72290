"""Why a run ended when it did, where a rule decided that."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import number, part
from dbdyno.model.result.shape import Finding
from dbdyno.stats import Stopping

ENDED = Kind("ended", ("rounds", "why"))


def ended(material: Material) -> Iterator[Finding]:
    """Say it, by the rule that the design has and the laboratory found to hold."""
    rule = part(material.run.design, "stopping")
    target = Stopping.from_stored(rule).precision
    enough, not_enough = f"every interval asked for is within {target}", f"{target} is not reached"
    if part(material.run.design, "why") or number(rule, "margin") is not None:
        enough, not_enough = "every verdict is settled", "not every verdict is settled"
    words = {
        "precise": f": {enough}.",
        "budget": f": the time budget of {number(rule, 'budget_s') or 0.0:g} s is spent, {not_enough}.",
        "most": f", the most allowed: {not_enough}.",
    }
    for each in material.observed(ENDED):
        if each["why"] in words:
            evidence = {"rounds": each["rounds"], "why": each["why"]}
            rounds = f"{each['rounds']} round{'s' * (each['rounds'] != 1)}"
            yield ENDED.found(f"Stopped after {rounds}{words[each['why']]}", [], evidence)


RULE = Rule(ended, (ENDED,))
