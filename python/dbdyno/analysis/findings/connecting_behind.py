"""What a connection to the database for each request costs, where it is not clients that connect but what they ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.answer.short import short_systems
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.searching import all_of
from dbdyno.analysis.measured.alike import varied, words_of
from dbdyno.analysis.measured.effects import contrast_of
from dbdyno.analysis.measured.judging import noise_of_cells, why_not_comparable
from dbdyno.analysis.measured.metrics import usual_metric
from dbdyno.base.numbers import rough
from dbdyno.engines import known_engine
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, count, objects, part, text
from dbdyno.model.result.shape import Finding
from dbdyno.stats import Ratio
from dbdyno.stats.effects import pooled
from dbdyno.stats.intervals import Noise

CONNECTING_BEHIND = Kind("connection for each request", ("ratios",))


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two cells that differ in nothing but whether connections to the database are kept: they are in ``kept``."""

    kept: Cell
    anew: Cell

    @property
    def by(self) -> str:
        """What the two are compared by."""
        return usual_metric(self.kept, self.anew)

    def ratio(self, confidence: float) -> Ratio | None:
        """Give that of the one with a connection for each request to the other, from blocks that both have."""
        return _pooled([self], self.by, confidence)


def connecting_behind(
    cells: Sequence[Cell],
    design: JsonObject,
    tasks: Mapping[str, JsonObject],
    label: str,
    confidence: float,
    family: int = 1,
) -> Iterator[Finding]:
    """Say what a connection for each request does to each system, over all levels of the other factors.

    Two cells are compared that differ in one factor, which changes this one setting and no other; pairs that did other
    work are left out, and named. The levels have the same weight (:func:`dbdyno.stats.effects.pooled`). ``tasks``: of
    the plans, by cell; ``label``: what is counted, in the plural; ``family``: the number of comparisons of the run's
    table (:func:`dbdyno.stats.decide`).
    """
    confidence = 1 - (1 - confidence) / family
    pairs = list(_pairs(cells, design))
    unlike = {pair.anew["id"]: why for pair in pairs if (why := why_not_comparable(pair.kept, pair.anew))}
    by_system: dict[str, list[_Pair]] = {}
    for pair in pairs:
        if pair.anew["id"] not in unlike:
            by_system.setdefault(pair.kept["system"]["name"], []).append(pair)
    short = short_systems(list(by_system))
    told: dict[str, list[str]] = {}
    ratios: dict[str, JsonObject] = {}
    for system, own in by_system.items():
        metric = own[0].by
        alike = [pair for pair in own if pair.by == metric]
        ratio = _pooled(alike, metric, confidence, noise_of_cells(cells, metric))
        if ratio is None:
            continue
        place = f" on {short[system]}" if len(by_system) > 1 else ""
        words = f"{_size(ratio)}{place}{_details(alike, tasks, confidence)}"
        told.setdefault(metric, []).append(words)
        ratios[system] = {
            "metric": metric,
            "ratio": ratio.mean,
            "ci95": ratio.ends,
            "cells": [[pair.kept["id"], pair.anew["id"]] for pair in alike],
        }
    if not ratios:
        return
    sentences = [
        f"With a connection to the database for each request, {_what(metric, label)} "
        f"{all_of(parts)} times what they are with kept ones"
        for metric, parts in told.items()
    ]
    words = ". ".join(sentences) + "."
    if unlike:
        first, why = next(iter(unlike.items()))
        words += f" {_number(len(unlike))} left out, where other work was done: {first} ({'; '.join(why)})."
    ids = [each for own in ratios.values() for pair in own["cells"] for each in pair]
    yield CONNECTING_BEHIND.found(words, ids, {"ratios": ratios, "left_out": unlike})


def _what(metric: str, label: str) -> str:
    return f"{label} are" if metric == "throughput" else f"response times ({metric}) are"


def _pairs(cells: Sequence[Cell], design: JsonObject) -> Iterator[_Pair]:
    planned = {str(each.get("id", "")): each for each in objects(design.get("cells"))}
    asked = {cell["id"]: part(planned.get(cell["id"], {}), "asked") for cell in cells}
    keeps: dict[bool, list[Cell]] = {True: [], False: []}
    for cell in cells:
        engine = known_engine(text(part(planned.get(cell["id"], {}), "system"), "engine") or "")
        kept_there = engine.keeps_connections({name: str(value) for name, value in asked[cell["id"]].items()})
        if kept_there is not None and cell["throughput"]["mean"]:
            keeps[kept_there].append(cell)
    for anew in keeps[False]:
        for kept in keeps[True]:
            settings = _differences(asked[kept["id"]], asked[anew["id"]])
            if settings == 1 and _differences(kept["factors"], anew["factors"]) == 1:
                yield _Pair(kept, anew)


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return sum(one.get(name) != other.get(name) for name in one.keys() | other.keys())


def _pooled(pairs: Sequence[_Pair], metric: str, confidence: float, noise: Noise | None = None) -> Ratio | None:
    return pooled([contrast_of(pair.kept, pair.anew, metric) for pair in pairs], confidence, noise)


def _size(ratio: Ratio) -> str:
    ends = ratio.ends
    return f"{ratio.mean:.3g} " + (f"({ends[0]:.3g} to {ends[1]:.3g})" if ends else "(no interval: one round)")


def _details(pairs: Sequence[_Pair], tasks: Mapping[str, JsonObject], confidence: float) -> str:
    """Say where it was the least and the most, and what it added to each request of the fewest clients."""
    several = varied([pair.kept for pair in pairs])
    ratios = [(ratio.mean, pair) for pair in pairs if (ratio := pair.ratio(confidence)) is not None]
    parts = []
    if len(ratios) > 1:
        ends = min(ratios, key=lambda each: each[0]), max(ratios, key=lambda each: each[0])
        parts.append(" to ".join(f"{mean:.3g} with {_where(pair, several)}" for mean, pair in ends))
    clients = {pair.kept["id"]: count(tasks.get(pair.kept["id"], {}), "clients") or 0 for pair in pairs}
    few = min(pairs, key=lambda pair: clients[pair.kept["id"]])
    number, kept, anew = clients[few.kept["id"]], few.kept["throughput"]["mean"], few.anew["throughput"]["mean"]
    if few.by == "throughput" and number and kept and anew and kept > anew:
        added = number * (1 / anew - 1 / kept) * 1000
        place = f" with {_where(few, several)}" if several else ""
        parts.append(f"{rough(added)} ms more for each request{place}")
    return f" ({'; '.join(parts)})" if parts else ""


def _where(pair: _Pair, several: Sequence[str]) -> str:
    levels = pair.kept["factors"]
    return words_of({name: levels[name] for name in several if name in levels})


def _number(pairs: int) -> str:
    return "A pair of cells is" if pairs == 1 else f"{pairs} pairs of cells are"


def _of_run(material: Material) -> Iterator[Finding]:
    yield from connecting_behind(
        material.cells,
        material.run.design,
        material.tasks,
        material.measure.label,
        material.confidence,
        material.family,
    )


RULE = Rule(_of_run, (CONNECTING_BEHIND,))
