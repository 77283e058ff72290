"""Recognize the ends of ranges, such as ``between :a and :b``: an integer that lies a little above an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.experiment.distil.results import Integers
from dbdyno.experiment.distil.units import Unit
from dbdyno.experiment.distil.uses import Parsed, Use

_FEWEST_SAMPLES = 5
_FEWEST_DIFFERENT = 3
# The widths of ranges differ by less than this part of the distance between their beginnings.
_NARROW = 0.1


@dataclass(frozen=True)
class Width:
    """The difference between a parameter and parameter number ``base`` of the same statement."""

    base: int
    low: int
    high: int

    def words(self, base: str) -> str:
        """Return the parameter's values as a .sql file has them. ``base``: the name of the base parameter."""
        sign = "-" if self.high < 0 else "+"
        ends = sorted((abs(self.low), abs(self.high)))
        return f":{base} {sign} {ends[0]}" + (f"..{ends[1]}" if ends[1] > ends[0] else "")


def range_widths(unit: Unit, parsed: Mapping[int, Parsed], integers: Integers) -> dict[tuple[int, int], Width]:
    """Return the parameters that end a range, by the number of their statement and their own number in it."""
    found: dict[tuple[int, int], Width] = {}
    for number, slot in enumerate(unit.slots):
        uses = parsed[slot.statement].uses
        for place, use in enumerate(uses):
            if use.role != "range":
                continue
            for base in range(place):
                same = uses[base].role == "range" and (uses[base].table, uses[base].column) == (use.table, use.column)
                if same and (number, base) not in found:
                    width = _width(_pairs(unit, number, (base, place)), base, (uses[base], use), integers)
                    if width is not None:
                        found[number, place] = width
                        break
    return found


def _pairs(unit: Unit, number: int, places: tuple[int, int]) -> list[tuple[str, str]]:
    samples = [sample[number] for sample in unit.samples if max(places) < len(sample[number])]
    pairs = [(sample[places[0]], sample[places[1]]) for sample in samples]
    return [(a, b) for a, b in pairs if a is not None and b is not None]


def _width(pairs: Sequence[tuple[str, str]], base: int, uses: tuple[Use, Use], integers: Integers) -> Width | None:
    if len(pairs) < _FEWEST_SAMPLES:
        return None
    begins, ends = (integers(use, values) for use, values in zip(uses, zip(*pairs, strict=True), strict=True))
    if begins is None or ends is None or len(set(begins)) < _FEWEST_DIFFERENT:
        return None
    widths = [end - begin for begin, end in zip(begins, ends, strict=True)]
    low, high = min(widths), max(widths)
    is_narrow = high - low <= _NARROW * (max(begins) - min(begins))
    return Width(base, low, high) if is_narrow and (low >= 0 or high <= 0) else None
