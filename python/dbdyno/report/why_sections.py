"""The tables of a `dbdyno why` in the HTML report."""

from __future__ import annotations

from dbdyno.analysis.why.sizes import time_words
from dbdyno.base.numbers import NONE, bracketed, percent
from dbdyno.model.result.shape import Document
from dbdyno.model.result.why import ChangeEffect
from dbdyno.report.sections import CellTable, Column
from dbdyno.report.why import VERDICTS, shares


def effect_words(document: Document) -> str:
    """Return the effect that elasticities describe, as a clause."""
    return "p99 of the response time grows" if _is_by_time(document) else "the rate falls"


def _is_by_time(document: Document) -> bool:
    return document.why is not None and document.why.metric == "p99"


def resource_table(document: Document) -> CellTable:
    """Return each resource with its verdict; no rows if the run changed no resource."""
    saved = "p99" if _is_by_time(document) else "the time"
    heads = [
        Column("resource", right=False),
        Column(f"share of {saved} saved [95 %]", style="number"),
        Column("elasticity [95 %]", style="number"),
        Column("verdict", right=False),
        Column("inferred", right=False),
        Column("test", right=False),
    ]
    why = document.why
    rows = []
    for resource in why.resources if why is not None and why.tests else ():
        free = next((test for test in resource.tests if test.kind == "free"), None)
        slower = next((test for test in resource.tests if test.kind == "slower"), None)
        right = {True: "right", False: "wrong", None: "open"}[resource.inferred_right] if resource.inferred else ""
        crooked = slower is not None and not slower.linear
        test = resource.untested or ("from the smallest size only, because the sizes disagree" if crooked else "")
        rows.append(
            [
                resource.name,
                NONE if free is None else shares(free.share, free.ci95),
                shares(resource.elasticity, resource.elasticity_ci95),
                VERDICTS[resource.verdict],
                right,
                test,
            ]
        )
    return CellTable(heads, rows)


def change_table(document: Document) -> CellTable:
    """Return each change with its effect; no rows if the run is not a `why`."""
    heads = [
        Column("change", right=False),
        Column("what it does", right=False),
        Column("observed", style="number"),
        Column("rate, times [95 %]", style="number"),
        Column("p99, times [95 %]", style="number"),
        Column("blocks", style="number"),
    ]
    why = document.why
    rows = [
        [
            one.change,
            one.does,
            _observed(one, resource.resource),
            NONE if one.rate is None else bracketed(one.rate, one.rate_ci95),
            ("≥" if one.p99_is_bound else "") + bracketed(one.p99, one.p99_ci95) if one.p99 else NONE,
            str(one.blocks),
        ]
        for resource in (why.resources if why is not None else ())
        for test in resource.tests
        for one in test.changes
    ]
    return CellTable(heads, rows)


def _observed(one: ChangeEffect, resource: str) -> str:
    if one.observed is None:
        return ""
    return percent(one.observed) if resource == "processors" else time_words(float(f"{one.observed:.3g}"))
