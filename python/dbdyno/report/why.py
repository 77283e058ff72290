"""The terminal table of a `dbdyno why`: one row per resource, the largest first."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from dbdyno.analysis.why.metric import gain_of
from dbdyno.base.numbers import NONE, ROUNDS_TO_10, milliseconds, times
from dbdyno.model.result.why import ChangeEffect, ResourceTest, Why, WhyResource
from dbdyno.report.rows import Row, laid_out, wrapped

VERDICTS = {"bottleneck": "the bottleneck", "part": "a part", "not": "no", "inconclusive": "inconclusive"}
"""Verdicts as tables write them."""

_TIMES = "\N{MULTIPLICATION SIGN}"
# Columns to drop first if the terminal is narrow.
_SPARE = (f"p99 {_TIMES}", "p99 ms", "inferred", "change")


def why_lines(why: Why, width: int) -> Iterator[Text]:
    """Yield the lines for a terminal of ``width`` columns."""
    rows = [row_of(resource, why) for resource in why.resources if resource.tests]
    if rows:
        yield from laid_out(rows, width, _SPARE)
    untested = [f"{resource.name} ({resource.untested})" for resource in why.resources if resource.untested]
    if untested:
        yield from wrapped(f"Not tested: {', '.join(untested)}.", width, "dim", "  ")


def row_of(resource: WhyResource, why: Why) -> Row:
    """Return the values of the test that decides about a resource."""
    test = _deciding(resource)
    shown = shown_change(test, why)
    share, ends = (None, None) if test is None else (test.share, test.ci95)
    inferred = {True: "right", False: "wrong", None: "open"}[resource.inferred_right] if resource.inferred else ""
    return Row(
        resource.name,
        {
            "change": "" if shown is None else change_words(resource, shown),
            **_figures(shown, why),
            "share [95 %]": shares(share, ends),
            "verdict": VERDICTS[resource.verdict],
            "inferred": inferred,
        },
    )


def _figures(shown: ChangeEffect | None, why: Why) -> dict[str, str]:
    """Return the effect of a change on the rate and the p99; for an open loop that keeps up on the p99 only."""
    if why.metric == "p99":
        known = shown is not None and shown.p99 is not None
        bound = "≥" if shown is not None and shown.p99_is_bound else ""
        return {
            f"p99 {_TIMES} [95 %]": bound + _bracketed(shown.p99, shown.p99_ci95) if shown is not None else "",
            "p99 ms": bound + milliseconds((shown.p99 or 0.0) * (why.p99_ms or 0.0)) if known and shown else "",
        }
    return {
        f"rate {_TIMES} [95 %]": "" if shown is None else _bracketed(shown.rate, shown.rate_ci95),
        f"p99 {_TIMES}": "" if shown is None or shown.p99 is None else _three(shown.p99),
    }


def _deciding(resource: WhyResource) -> ResourceTest | None:
    """Return the test whose interval gives the verdict; if both do, the test that removes the resource."""
    tests = sorted((test for test in resource.tests if test.changes), key=lambda test: test.kind != "free")
    return next((test for test in tests if test.verdict == resource.verdict), tests[0] if tests else None)


def shown_change(test: ResourceTest | None, why: Why) -> ChangeEffect | None:
    """Return the change that the table shows: the largest gain, or the largest delay."""
    if test is None:
        return None
    if test.kind == "free":
        return max(test.changes, key=lambda one: gain_of(one, why.metric))
    return test.changes[-1]


def change_words(resource: WhyResource, shown: ChangeEffect) -> str:
    """Return the name of a change without its resource."""
    first = resource.name.split()[-1]
    return shown.change.removeprefix(f"{first} ")


def shares(share: float | None, ends: list[float] | None) -> str:
    """Return an elasticity with its interval."""
    if share is None:
        return NONE
    return f"{share:.2f}" if ends is None else f"{share:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"


def _bracketed(ratio: float | None, ends: list[float] | None) -> str:
    if ratio is None:
        return NONE
    return _three(ratio) if ends is None else f"{_three(ratio)} [{_three(ends[0])}, {_three(ends[1])}]"


def _three(ratio: float) -> str:
    """Return a ratio with two decimals below 10, to keep columns narrow."""
    return f"{ratio:.2f}" if abs(ratio) < ROUNDS_TO_10 else times(ratio)
