"""What a result concludes of levels and cells, as rows: effects and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dbdyno.base.numbers import level
from dbdyno.model.result.reading import JsonObject, objects, part, texts
from dbdyno.report.frames.frame import Field, Frame, Kind, at, make_frame, pair


def effects_frame(document: Mapping[str, Any]) -> Frame:
    """Give a row for each effect: what a level does against the first one of its factor, all else equal."""
    return make_frame(objects(document.get("effects")), [_run(document), *_EFFECT])


def comparisons_frame(document: Mapping[str, Any]) -> Frame:
    """Give a row for each comparison: cell ``b`` against cell ``a``."""
    return make_frame(objects(document.get("comparisons")), [_run(document), *_COMPARISON])


def _run(document: Mapping[str, Any]) -> Field[JsonObject]:
    return Field("run", "text", lambda _: document.get("id"))


def _of(name: str, kind: Kind, key: str | None = None) -> Field[JsonObject]:
    return Field(name, kind, lambda each: at(each, key or name))


def _end(name: str, kind: Kind, key: str, place: int) -> Field[JsonObject]:
    return Field(name, kind, lambda each: pair(each.get(key), place))


def _level(key: str) -> Callable[[JsonObject], object]:
    return lambda each: None if each.get(key) is None else level(each[key])


def _joined(key: str, between: str) -> Callable[[JsonObject], object]:
    return lambda each: between.join(texts(each.get(key))) or None


def _levels(each: JsonObject) -> str | None:
    """Name the levels at which an effect holds, as ``threads=4,cache=shared``; None: at all of them."""
    return ",".join(f"{name}={level(value)}" for name, value in part(each, "at").items()) or None


# A ratio with its interval, and how sure a verdict is.
_RATIO = (
    _of("ratio", "number"),
    _end("ratio_low", "number", "ci95", 0),
    _end("ratio_high", "number", "ci95", 1),
)
_SURE = (
    _of("verdict", "text"),
    _of("detectable", "number"),
    _of("more_rounds", "whole"),
    _of("blocks", "whole"),
)

_EFFECT: tuple[Field[JsonObject], ...] = (
    _of("factor", "text"),
    _of("role", "text"),
    Field("level", "text", _level("level")),
    Field("against", "text", _level("against")),
    Field("at", "text", _levels),
    _of("metric", "text"),
    *_RATIO,
    *_SURE,
    Field("pairs", "whole", lambda each: len(each["cells"]) if isinstance(each.get("cells"), list) else None),
    Field("depends_on", "text", _joined("depends_on", ",")),
    _end("durability_from", "text", "durability", 0),
    _end("durability_to", "text", "durability", 1),
    _end("failed_from", "number", "failed", 0),
    _end("failed_to", "number", "failed", 1),
)

_COMPARISON: tuple[Field[JsonObject], ...] = (
    _of("a", "text"),
    _of("b", "text"),
    _of("metric", "text"),
    *_RATIO,
    *_SURE,
    _of("margin", "number"),
    Field("not_comparable", "text", _joined("not_comparable", "; ")),
    Field("lacking", "text", lambda each: each.get("lacking") or None),
)
