"""Screening: select a part of the cells that still shows the effect of each factor.

It is a radial design. From each of a few base cells, one factor at a time is changed to each of its levels (Morris
1991, Factorial Sampling Plans for Preliminary Computational Experiments; Campolongo, Saltelli, Cariboni 2011, From
screening to quantitative sensitivity analysis). It has 1 + Σ(levels - 1) cells per base; the full design has Π levels.
The first base is the first cell. Each further base differs from the previous ones in as many factors as possible. The
effect of a factor is the mean of its effects at the bases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.model.plan.cell import ResolvedCell

BASES = 2

# A screening is worthwhile if it has at most this share of all cells.
_WORTH = 0.6

_Key = tuple[str, ...]


def screened(cells: Sequence[ResolvedCell], levels: Sequence[Sequence[str]], bases: int = BASES) -> list[ResolvedCell]:
    """Return the cells of a radial design, in the order of ``cells``.

    ``levels``: the level names of each factor, in this order. For each level of a factor, the result contains two cells
    that differ only in this factor, one of them with its first level. If excluded combinations prevent that at the
    bases, the first such pair of cells is added.
    """
    by_key = {_key(cell): cell for cell in cells}
    kept: dict[_Key, None] = {}
    chosen: list[_Key] = []
    for _ in range(min(bases, len(by_key))):
        base = _farthest(list(by_key), chosen)
        chosen.append(base)
        kept[base] = None
        kept.update(dict.fromkeys(each for each in by_key if _distance(each, base) == 1))
    for position, names in enumerate(levels):
        for pair in _missing(list(by_key), kept, position, names):
            kept.update(dict.fromkeys(pair))
    return [cell for key, cell in by_key.items() if key in kept]


def worth_screening(cells: int, of: int) -> bool:
    """Whether measuring only ``cells`` of ``of`` cells saves enough."""
    return cells <= _WORTH * of


def _key(cell: ResolvedCell) -> _Key:
    return tuple(level.name for level in cell.levels.values())


def _distance(a: _Key, b: _Key) -> int:
    return sum(one != other for one, other in zip(a, b, strict=True))


def _farthest(keys: Sequence[_Key], chosen: Sequence[_Key]) -> _Key:
    """Return the combination with the greatest minimum distance to the chosen ones; initially the first one."""
    return max(keys, key=lambda key: min((_distance(key, each) for each in chosen), default=0))


def _missing(
    keys: Sequence[_Key], kept: dict[_Key, None], position: int, names: Sequence[str]
) -> Iterator[tuple[_Key, _Key]]:
    """Yield a pair of cells for each level of a factor that no pair in ``kept`` compares with the first level."""
    there = {key[position] for key in keys}
    levels = [name for name in names if name in there]
    first = levels[0]
    for level in levels[1:]:
        pairs = [
            (with_first, key)
            for key in keys
            if key[position] == level and (with_first := (*key[:position], first, *key[position + 1 :])) in set(keys)
        ]
        if pairs and not any(a in kept and b in kept for a, b in pairs):
            yield pairs[0]
