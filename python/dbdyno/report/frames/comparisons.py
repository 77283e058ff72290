"""Frames of the effects of levels and the comparisons of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from dbdyno.base.numbers import level
from dbdyno.model.result.effects import Effect
from dbdyno.model.result.shape import Comparison, Document
from dbdyno.report.frames.frame import Field, Frame, make_frame, pair

_Judged = TypeVar("_Judged", Effect, Comparison)


def effects_frame(document: Document) -> Frame:
    """Return one row per effect of a level, compared with the first level of its factor."""
    return make_frame(document.effects, [_run(document), *_EFFECT])


def comparisons_frame(document: Document) -> Frame:
    """Return one row per comparison of cell ``b`` with cell ``a``."""
    return make_frame(document.comparisons, [_run(document), *_COMPARISON])


def _run(document: Document) -> Field[_Judged]:
    return Field("run", "text", lambda _: document.id)


def _level(value: object) -> str | None:
    return None if value is None else level(value)


def _joined(values: Sequence[str], between: str) -> str | None:
    return between.join(values) or None


def _levels(effect: Effect) -> str | None:
    """Return the levels at which an effect holds, such as ``threads=4,cache=shared``; None if it is pooled."""
    return _joined([f"{name}={level(value)}" for name, value in effect.at.items()], ",")


def _end(name: str, read: Callable[[Effect], object], position: int) -> Field[Effect]:
    return Field(
        name, "text" if name.startswith("durability") else "number", lambda effect: pair(read(effect), position)
    )


def _ratio(_of: type[_Judged]) -> tuple[Field[_Judged], ...]:
    """Return the columns of a ratio, its interval and its verdict."""
    return (
        Field("ratio", "number", lambda each: each.ratio),
        Field("ratio_low", "number", lambda each: pair(each.ci95, 0)),
        Field("ratio_high", "number", lambda each: pair(each.ci95, 1)),
        Field("verdict", "text", lambda each: each.verdict),
        Field("detectable", "number", lambda each: each.detectable),
        Field("more_rounds", "whole", lambda each: each.more_rounds),
        Field("blocks", "whole", lambda each: each.blocks),
    )


_EFFECT: tuple[Field[Effect], ...] = (
    Field("factor", "text", lambda effect: effect.factor),
    Field("role", "text", lambda effect: effect.role),
    Field("level", "text", lambda effect: _level(effect.level)),
    Field("against", "text", lambda effect: _level(effect.against)),
    Field("at", "text", _levels),
    Field("metric", "text", lambda effect: effect.metric),
    *_ratio(Effect),
    Field("pairs", "whole", lambda effect: len(effect.cells)),
    Field("depends_on", "text", lambda effect: _joined(effect.depends_on, ",")),
    _end("durability_from", lambda effect: effect.durability, 0),
    _end("durability_to", lambda effect: effect.durability, 1),
    _end("failed_from", lambda effect: effect.failed, 0),
    _end("failed_to", lambda effect: effect.failed, 1),
)

_COMPARISON: tuple[Field[Comparison], ...] = (
    Field("a", "text", lambda comparison: comparison.a),
    Field("b", "text", lambda comparison: comparison.b),
    Field("metric", "text", lambda comparison: comparison.metric),
    *_ratio(Comparison),
    Field("margin", "number", lambda comparison: comparison.margin),
    Field("not_comparable", "text", lambda comparison: _joined(comparison.not_comparable, "; ")),
    Field("lacking", "text", lambda comparison: comparison.lacking or None),
)
