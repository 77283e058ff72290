"""The answer of a run, put together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote
from statistics import fmean
from typing import Any

from dbdyno.answer import words
from dbdyno.answer.by_effects import ByEffects, by_effects
from dbdyno.answer.configurations import Configuration, Ranking, rank
from dbdyno.answer.short import SYSTEM, short_systems
from dbdyno.document.cell import Cell
from dbdyno.document.effects import Answer, Effect, Recommended
from dbdyno.document.effects import Configuration as Told
from dbdyno.document.reading import JsonObject, objects, part, text, texts
from dbdyno.engines.known import known_engine
from dbdyno.numbers import level as level_text
from dbdyno.results.alike import varied
from dbdyno.results.durable import class_of
from dbdyno.results.metrics import ANSWERS, failing


def build_answer(
    design: JsonObject,
    experiment: str,
    cells: Sequence[Cell],
    roles: Mapping[str, str],
    margin: float,
    confidence: float,
    effects: Sequence[Effect] = (),
    family: int = 1,
) -> Answer:
    """Say what a run answers, as far as it was measured; ``effects``: of its factors.

    ``family``: the number of comparisons of the run's table (:func:`dbdyno.stats.decide`).
    """
    systems = short_systems(list(dict.fromkeys(cell["system"]["name"] for cell in cells)))
    measured = [cell for cell in cells if cell["throughput"]["mean"] is not None]
    report, screening = part(design, "report"), part(design, "screening")
    if not measured:
        return _said([], systems)
    if screening:
        own = [each for each in effects if each["role"] == "choice" and not each["at"] and each["metric"] != ANSWERS]
        return _said(words.of_screening(own, screening, systems, _whole(experiment, own)), systems)
    axis = _chained(report, measured)
    if axis is not None:
        return _said(words.of_chain(measured, axis, confidence, family), systems)
    ranking = rank(measured, roles, systems, margin, confidence, family)
    if len(ranking.configurations) < 2:
        times = report.get("times") is True
        said = words.of_times(measured) if times else words.of_loads(measured, ranking.loads, systems)
        return _said([*said, *words.of_missing(measured, cells, systems)], systems)
    shown = by_effects(ranking, effects) if ranking.best is ranking.first else None
    return {
        "text": words.answer(ranking, systems, margin, shown),
        "systems": systems,
        "configurations": [_told(each) for each in ranking.configurations],
        "recommended": _recommended(ranking, shown, systems, design, experiment),
    }


def said(sentences: list[str], cells: Sequence[Cell]) -> Answer:
    """Make the answer of a run that is about no choice; ``sentences``: of it."""
    return _said(sentences, short_systems(list(dict.fromkeys(cell["system"]["name"] for cell in cells))))


def _said(sentences: list[str], systems: dict[str, str]) -> Answer:
    """Make an answer where there is nothing to choose."""
    return {"text": sentences, "systems": systems, "configurations": [], "recommended": None}


def _chained(report: JsonObject, measured: Sequence[Cell]) -> str | None:
    """Give the factor whose levels are a chain of changes, where cells differ in nothing else."""
    axis = text(report, "x")
    return axis if report.get("chain") and len(measured) > 1 and varied(measured) == [axis] else None


# How a statement begins that makes an index on a table that is there.
_INDEX = re.compile(r"\s*create\s+(unique\s+)?index\b", re.IGNORECASE)

# An open effect of less is not followed.
_AHEAD = 1.05


def _whole(experiment: str, effects: Sequence[Effect]) -> str:
    """Give the command that measures, in all combinations, the levels that are ahead by their effects.

    ``effects``: of the choices on throughput.
    """
    command = ["dbdyno", "run", quote(experiment)]
    for factor in dict.fromkeys(each["factor"] for each in effects):
        of = [each for each in effects if each["factor"] == factor]
        # What is open and may be ahead is worth measuring; what is not is left as it is.
        ahead = [
            each for each in of if each["verdict"] in ("faster", "inconclusive") and (each["ratio"] or 0.0) > _AHEAD
        ]
        levels = [of[0]["against"], *([max(ahead, key=lambda each: each["ratio"] or 0.0)["level"]] if ahead else [])]
        if factor == SYSTEM:
            command += [word for level in levels for word in ("--system", quote(str(level)))]
        else:
            command += ["--set", quote(f"{factor}={','.join(map(level_text, levels))}")]
    return " ".join(command)


def _told(each: Configuration) -> Told:
    ratio, cells = each.against, list(each.cells.values())
    classes = [class_of(cell) for cell in cells]
    return {
        "name": each.name,
        "levels": dict(each.levels),
        "cells": [cell["id"] for cell in cells],
        "ratio": None if ratio is None else ratio.mean,
        "ci95": None if ratio is None else ratio.ends,
        "verdict": None if each.decision is None or each.not_ranked else each.decision.verdict,
        "durability": classes[0] if len(set(classes)) == 1 else None,
        "failed": fmean(failing(cell) for cell in cells),
        "price": each.price,
        "gain": each.gain,
        "not_ranked": each.not_ranked,
        "at": [
            {
                "load": dict(standing.load),
                "ratio": None if standing.ratio is None else standing.ratio.mean,
                "ci95": None if standing.ratio is None else standing.ratio.ends,
                "verdict": standing.decision.verdict,
                "metric": standing.metric,
            }
            for standing in each.at
        ],
    }


def _recommended(
    ranking: Ranking, shown: ByEffects | None, systems: Mapping[str, str], design: JsonObject, experiment: str
) -> Recommended:
    first = ranking.first
    best = ranking.best if shown is None else shown.configuration
    before = first if ranking.set_aside is None else ranking.set_aside
    changed = {name: level for (name, level), (_, old) in zip(best.levels, before.levels, strict=True) if level != old}
    of_best, of_before = (next(iter(each.cells.values())) for each in (best, before))
    if best is before:
        others = [each for each in ranking.free if each is not first]
        slower = all(each.decision is not None and each.decision.verdict == "slower" for each in others)
        why = "it is the fastest" if others and slower else "no other that costs no more is shown to be faster"
        return {"configuration": first.name, "why": why, "changes": {}, "price": [], "apply": [], "command": ""}
    if best is first:
        taken = words.failing_words(before, first)
    elif shown is None:
        taken = f"{words.ratio_words(best.against)} times {first.name}"
    else:
        taken = f"{words.effect_words(shown, systems)} over all other choices"
    return {
        "configuration": best.name,
        "why": taken,
        "changes": changed,
        "price": list(best.price),
        "apply": _lines(design, of_best, of_before),
        "command": _command(experiment, changed),
    }


def _lines(design: JsonObject, best: Cell, first: Cell) -> list[str]:
    """Give what makes the indexes and sets the settings that differ, in the engine's own words."""
    planned = {text(each, "id"): each for each in objects(design.get("cells"))}
    of_best, of_first = (planned.get(cell["id"], {}) for cell in (best, first))
    engine = text(part(of_best, "system"), "engine")
    if engine is None or engine != text(part(of_first, "system"), "engine"):
        return []
    new, old = part(of_best, "asked"), part(of_first, "asked")
    differing = {name: str(value) for name, value in new.items() if old.get(name) != value}
    made = [each for each in texts(of_best.get("makes")) if each not in texts(of_first.get("makes"))]
    indexes = [f"{each};" for each in made if _INDEX.match(each)]
    return [*indexes, *(known_engine(engine).applying(differing) if differing else ())]


def _command(experiment: str, changed: Mapping[str, Any]) -> str:
    """Give a command that measures with what was chosen; none where `run` cannot choose it."""
    if not experiment and set(changed) != {SYSTEM}:
        return ""
    parts = ["dbdyno", "run", *([experiment] if experiment else [])]
    for name, level in changed.items():
        parts += ["--system", quote(str(level))] if name == SYSTEM else ["--set", quote(f"{name}={level_text(level)}")]
    return " ".join(parts)
