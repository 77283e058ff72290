"""A part of a design that still tells what each factor does by itself.

A radial design: from each of a few bases, every factor is moved through its levels while all else stays as it is at the
base (Morris 1991, Factorial Sampling Plans for Preliminary Computational Experiments; Campolongo, Saltelli, Cariboni
2011, From screening to quantitative sensitivity analysis). It has 1 + Σ(levels - 1) cells for each base, where all
combinations are Π levels. The first base is the first cell, and each other one differs from those before in as many
factors as any does: an effect is the mean of what it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.model.plan.cell import ResolvedCell

BASES = 2

# Fewer cells than this share of all are worth leaving the rest out.
_WORTH = 0.6

_Key = tuple[str, ...]


def screened(cells: Sequence[ResolvedCell], levels: Sequence[Sequence[str]], bases: int = BASES) -> list[ResolvedCell]:
    """Give the cells of a radial design, in their order. Each level of a factor has a cell that differs in it alone.

    ``levels``: of each factor, in their order. Combinations that are excluded are stepped over; a level that then is
    held against nothing has the first two cells that differ in it alone.
    """
    by_key = {_key(cell): cell for cell in cells}
    kept: dict[_Key, None] = {}
    chosen: list[_Key] = []
    for _ in range(min(bases, len(by_key))):
        base = _farthest(list(by_key), chosen)
        chosen.append(base)
        kept[base] = None
        kept.update(dict.fromkeys(each for each in by_key if _distance(each, base) == 1))
    for place, names in enumerate(levels):
        for pair in _missing(list(by_key), kept, place, names):
            kept.update(dict.fromkeys(pair))
    return [cell for key, cell in by_key.items() if key in kept]


def worth_screening(cells: int, of: int) -> bool:
    """Whether measuring so many cells of all saves much."""
    return cells <= _WORTH * of


def _key(cell: ResolvedCell) -> _Key:
    return tuple(level.name for level in cell.levels.values())


def _distance(a: _Key, b: _Key) -> int:
    return sum(one != other for one, other in zip(a, b, strict=True))


def _farthest(keys: Sequence[_Key], chosen: Sequence[_Key]) -> _Key:
    """Give the combination whose least distance to those chosen is the greatest; at first the first one."""
    return max(keys, key=lambda key: min((_distance(key, each) for each in chosen), default=0))


def _missing(
    keys: Sequence[_Key], kept: dict[_Key, None], place: int, names: Sequence[str]
) -> Iterator[tuple[_Key, _Key]]:
    """Give a pair for each level of a factor that no two cells kept hold against the first level."""
    there = {key[place] for key in keys}
    levels = [name for name in names if name in there]
    first = levels[0]
    for level in levels[1:]:
        pairs = [
            (with_first, key)
            for key in keys
            if key[place] == level and (with_first := (*key[:place], first, *key[place + 1 :])) in set(keys)
        ]
        if pairs and not any(a in kept and b in kept for a, b in pairs):
            yield pairs[0]
