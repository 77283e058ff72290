"""Data that could not be measured or read."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.model.result.reading import objects, text
from dbdyno.model.result.shape import Finding


@finding(
    "not measured",
    needs=("excluded",),
    meaning="The experiment excludes some combinations of levels.",
    remedy="Change `exclude` in the experiment if you need them.",
)
def not_measured(material: Material) -> Iterator[Finding]:
    """Report the combinations that a design excludes: one finding per reason."""
    reasons: dict[str, list[str]] = {}
    for each in objects(material.run.design.get("excluded")):
        cell, reason = text(each, "id"), text(each, "reason")
        if cell is not None and reason is not None:
            reasons.setdefault(reason, []).append(cell)
    for reason, ids in reasons.items():
        yield not_measured.found(f"Not measured: {', '.join(ids)}: {reason}.", [], {"excluded": ids})


_WORDS = {"device": "The storage device", "ceiling": "The worker's own ceiling"}


@finding(
    "probe failed",
    needs=("probe", "error"),
    meaning="dbdyno could not measure the device or the worker's own ceiling.",
    remedy="Fix the error in the finding; results that need this measurement are missing.",
)
def probe_failed(material: Material) -> Iterator[Finding]:
    """Report failed measurements of the machine, with the error."""
    for each in material.observed(probe_failed.kind):
        what = _WORDS.get(str(each["probe"]), str(each["probe"]))
        evidence = {"probe": each["probe"], "error": each["error"]}
        yield probe_failed.found(f"{what} could not be measured: {each['error']}.", [], evidence)


_SUBJECTS = {"space": "The space of tables and indexes"}


@finding(
    "not looked at",
    needs=("what", "error"),
    meaning="dbdyno could not read the space of tables and indexes, or time a query, after a trial.",
    remedy="Fix the error in the finding, and measure again.",
)
def not_looked_at(material: Material) -> Iterator[Finding]:
    """Report failed inspections of the data: one finding per error."""
    failed: dict[tuple[str, str], list[str]] = {}
    for cell in material.cells:
        for what, error in cell.not_looked_at.items():
            failed.setdefault((what, error), []).append(cell.id)
    for (what, error), cells in failed.items():
        words = f"{_SUBJECTS.get(what, f'The time to {what}')} is unknown: {error}."
        yield not_looked_at.found(words, cells, {"what": what, "error": error})


@finding(
    "unreadable data",
    needs=("error",),
    meaning="Stored data of a trial cannot be read, so they are not part of the results.",
    remedy="Run the experiment again, or restore the store from a backup.",
)
def unreadable(material: Material) -> Iterator[Finding]:
    """Report errors in reading stored data, by cell."""
    for cell, troubles in material.unreadable.items():
        for words in troubles:
            yield unreadable.found(words, [cell], {"error": words})
