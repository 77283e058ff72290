"""Stored data that cannot be read."""

from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result.finding import Kind

UNREADABLE = Kind("unreadable data", ("error",))

RULE = Rule(
    lambda material: [
        UNREADABLE.found(words, [cell], {"error": words})
        for cell, troubles in material.unreadable.items()
        for words in troubles
    ],
    (UNREADABLE,),
)
