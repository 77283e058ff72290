"""Rounds: their number, their differences, and incomplete windows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from statistics import fmean

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.experiment.generators import FROM_THE_CLOCK
from dbdyno.model.plan.generators import Generator, Now, Uuid, generators_in
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, number, part
from dbdyno.model.result.shape import Finding
from dbdyno.stats import Stopping, two_levels
from dbdyno.stats.rates import FEW


@finding(
    "ended",
    needs=("rounds", "why"),
    meaning="A stopping rule ended the run: it was precise enough, its time was up, or it had its maximum of rounds.",
    remedy="Increase `--budget` or `--rounds` if the results are not precise enough.",
)
def ended(material: Material) -> Iterator[Finding]:
    """Report which stopping rule ended the run."""
    rule = part(material.run.design, "stopping")
    target = Stopping.from_stored(rule).precision
    enough, not_enough = f"every requested interval is within {target}", f"{target} is not reached"
    if part(material.run.design, "why") or number(rule, "margin") is not None:
        enough, not_enough = "every verdict is conclusive", "not every verdict is conclusive"
    words = {
        "precise": f": {enough}.",
        "budget": f": the time budget of {number(rule, 'budget_s') or 0.0:g} s is spent, {not_enough}.",
        "most": f", the maximum: {not_enough}.",
    }
    for each in material.observed(ended.kind):
        if each["why"] in words:
            evidence = {"rounds": each["rounds"], "why": each["why"]}
            rounds = f"{each['rounds']} round{'s' * (each['rounds'] != 1)}"
            yield ended.found(f"Stopped after {rounds}{words[each['why']]}", [], evidence)


# SQLite functions that return the current time or a random value.
_OF_THE_MOMENT = re.compile(
    r"\bcurrent_(?:time(?:stamp)?|date)\b|\b(?:random|randomblob)\s*\(|'now'|\bunixepoch\s*\(\s*\)", re.IGNORECASE
)


def varying_counts(tasks: Mapping[str, TrialTask]) -> Iterator[Finding]:
    """Report cells whose counts differ between repetitions: one finding per reason. ``tasks``: by cell id."""
    reasons: dict[str, list[str]] = {}
    for cell, task in tasks.items():
        why = unrepeatable(task)
        if why:
            reasons.setdefault("; ".join(why), []).append(cell)
    for words, ids in reasons.items():
        yield counts_vary.found(f"The instruction counts are not repeatable: {words}.", ids, {"reasons": words})


def unrepeatable(task: TrialTask) -> list[str]:
    """Return the reasons why the counts of a plan's task differ between repetitions: one clause each.

    Random parameters follow from the seed, and SQLite's work from its input. Values from the clock, and SQL functions
    that return the time or a random value, differ each time.
    """
    found = []
    if task.clients > 1:
        found.append(f"only one client is counted, not {task.clients}")
    if task.arrival.loop == "open":
        found.append("transactions are counted back to back, not on their schedule")
    if any(is_from_the_clock(generator) for generator in generators_in(task.transactions)):
        found.append("values are generated from the clock")
    matches = (match for statement in task.statements for match in _OF_THE_MOMENT.finditer(statement.sql))
    named = {match.group(0).strip(" (").lower() for match in matches}
    if named:
        found.append(f"statements use {' and '.join(sorted(named))}")
    return found


def is_from_the_clock(generator: Generator) -> bool:
    """Whether a generator's value depends on the current time."""
    return isinstance(generator, Now) or (isinstance(generator, Uuid) and generator.version_name in FROM_THE_CLOCK)


@finding(
    "counts vary",
    needs=("reasons",),
    meaning="Instruction counts differ between repetitions, since the workload depends on the clock or on chance.",
    remedy="Use one client, a closed loop and values that follow from the seed.",
)
def counts_vary(material: Material) -> Iterator[Finding]:
    """Report cells whose instruction counts differ between repetitions."""
    counted = {cell.id for cell in material.cells if cell.instructions is not None}
    return varying_counts({cell: task for cell, task in material.tasks.items() if cell in counted})


@finding(
    "cut short",
    needs=("asked", "done"),
    meaning="The time limit ended a window before the requested number of transactions or statements.",
    remedy="Raise the time limit or lower the number.",
)
def cut_short(material: Material) -> list[Finding]:
    """Report trials that reached the time limit before the requested number of transactions or statements."""
    findings: list[Finding] = []
    for cell in material.cells:
        done = [round_ for round_ in cell.rounds if round_.status == "done" and round_.ended_by == "seconds"]
        for unit, key in (("transactions", "ok"), ("statements", "statements")):
            asked = next((int(round_.window[unit]) for round_ in done if round_.window.get(unit)), None)
            if asked is None:
                continue
            asked *= int(done[0].window.get("clients") or 1)
            counts = [int(getattr(round_, key) or 0) for round_ in done]
            reached = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
            findings.append(
                cut_short.found(
                    f"The window ended at its limit of {done[0].elapsed_s:g} s after {reached} of {asked:,} {unit}.",
                    [cell.id],
                    {"asked": asked, "done": counts},
                )
            )
    return findings


@finding(
    "outliers",
    needs=("blocks",),
    meaning="Some rounds are far from the other rounds of their cell.",
    remedy="Look for disturbances in those rounds, and run more rounds.",
)
def outliers(material: Material) -> list[Finding]:
    """Report rounds that are far from the other rounds of their cell."""
    hit = {cell.id: [round_.block for round_ in cell.rounds if round_.outlier] for cell in material.cells}
    hit = {cell: blocks for cell, blocks in hit.items() if blocks}
    if not hit:
        return []
    total = sum(len(blocks) for blocks in hit.values())
    words = "1 round is" if total == 1 else f"{total} rounds are"
    text = f"{words} far from the other rounds of the same cell. Outliers are kept and marked with an asterisk."
    return [outliers.found(text, hit, {"blocks": hit})]


@finding(
    "few transactions",
    needs=("warning", "completed"),
    meaning="A window contained fewer than 100 transactions, so its results are unreliable.",
    remedy="Lengthen the window with `stop` as the finding suggests.",
)
def few_transactions(material: Material) -> Iterator[Finding]:
    """Report cells with few transactions per window: one finding for all cells.

    In a timed window with few transactions, rounds differ by the transactions that happen to be in the window.
    """
    held: dict[str, float] = {}
    longest = 0
    for cell in material.cells:
        rounds = [round_ for round_ in done(cell) if round_.ended_by == "seconds" and round_.transactions_per_s]
        completed = fmean(round_.completed for round_ in rounds) if rounds else FEW
        if completed < FEW:
            held[cell.id] = completed
            per_s = fmean(round_.transactions_per_s or 0.0 for round_ in rounds)
            longest = max(longest, math.ceil(FEW / per_s))
    if not held:
        return
    words = (
        f"Each window contained only {_numbers(list(held.values()))}; results are unreliable below {FEW}. "
        f"Set `stop = {{ seconds = {longest:,} }}` to get that many."
    )
    observed: JsonObject = {"warning": few_transactions.name, "completed": min(held.values()), "by_cell": held}
    yield few_transactions.found(words, list(held), observed)


def _numbers(completed: list[float]) -> str:
    fewest, most = f"{min(completed):.3g}", f"{max(completed):.3g}"
    if fewest == most:
        return f"{fewest} transaction{'' if fewest == '1' else 's'}"
    return f"{fewest} to {most} transactions"


def levels_of(cell: Cell) -> tuple[float, float] | None:
    """Return the two throughputs between which the rounds alternate, or None if they form one group."""
    return two_levels([round_.throughput for round_ in done(cell) if round_.throughput is not None])


def _bistable(cell: Cell) -> tuple[str, JsonObject] | None:
    levels = levels_of(cell)
    if levels is None:
        return None
    words = (
        f"The rounds fall into two groups, around {levels[0]:,.4g} and {levels[1]:,.4g}, so the mean mostly reflects "
        "which group was more frequent. Run more rounds and look for what differs between the groups."
    )
    return words, {"levels": list(levels)}


@finding(
    "two levels",
    needs=("warning", "levels"),
    meaning="The rounds fall into two groups, so the mean mostly reflects which group was more frequent.",
    remedy="Run more rounds and look for what differs between the groups.",
)
def in_two_levels(material: Material) -> Iterator[Finding]:
    """Report cells whose rounds fall into two groups."""
    for cell in material.cells:
        said = _bistable(cell)
        # plan_changed reports rounds with different plans.
        if said is not None and not any(round_.plans for round_ in done(cell)):
            words, observed = said
            yield in_two_levels.found(words, [cell.id], {"warning": in_two_levels.name, **observed})
