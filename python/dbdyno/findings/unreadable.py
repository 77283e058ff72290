"""Stored data that cannot be read."""

from dbdyno.document.finding import Kind
from dbdyno.findings.rule import Rule

UNREADABLE = Kind("unreadable data", ("error",))

RULE = Rule(
    lambda material: [
        UNREADABLE.found(words, [cell], {"error": words})
        for cell, troubles in material.unreadable.items()
        for words in troubles
    ],
    (UNREADABLE,),
)
