"""The design of a run: which cells there are, and in what order each block measures them."""

import hashlib
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dbdyno.base.errors import InputError
from dbdyno.engines.url import label_duplicates, parse_url
from dbdyno.experiment.experiment import Experiment
from dbdyno.experiment.factors import SYSTEM, Factor
from dbdyno.experiment.resolve import resolve
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.levels import Level
from dbdyno.model.experiment.validation import nearest
from dbdyno.model.limits import MOST_CELLS
from dbdyno.model.plan.cell import Cell, ResolvedCell
from dbdyno.model.plan.system import SystemSpec

DEFAULT_SYSTEM = "sqlite:"

# Levels chosen in place of those of the file, by factor.
Chosen = Mapping[str, tuple[Level, ...]]


#: The id of a cell that has all factors as the experiment has them, each with one level.
SINGLE = "single"


@dataclass(frozen=True)
class Excluded:
    """A combination that is not measured, and why."""

    cell: Cell
    reason: str


@dataclass(frozen=True)
class Cells:
    """The cells of a run, in the order of the file's levels, and the combinations left out.

    ``levels``: the names of each factor's levels, in their order.
    """

    cells: tuple[ResolvedCell, ...]
    excluded: tuple[Excluded, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()


def parse_set(options: Iterable[str], experiment: Experiment) -> dict[str, tuple[Level, ...]]:
    """Read ``--set`` options, each ``factor=level,level``, into the levels chosen.

    A factor with plain levels takes any: ``4``, ``0.5`` and ``true`` are a number and a truth value as in TOML, all
    else is a text, in quotes if it has a comma. A factor with named levels takes its own only. Raises InputError.
    """
    chosen: dict[str, tuple[Level, ...]] = {}
    for option in options:
        place = f"--set {option}"
        name, equals, text = option.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(place, "there is no `=`", "write `--set factor=level,level`")
        factor = experiment.factors.get(name)
        if factor is None:
            raise InputError(place, f"`{experiment.name}` has no factor `{name}`", nearest(name, experiment.factors))
        if name in chosen:
            raise InputError(place, f"`{name}` is set twice", "give all its levels in one `--set`")
        levels = [_level(factor, item, place) for item in _split(text, place)]
        names = [level.name for level in levels]
        if len(set(names)) != len(names):
            raise InputError(place, "a level is named twice", "take one away")
        chosen[name] = tuple(levels)
    return chosen


def _split(text: str, place: str) -> list[str]:
    """Split at the commas that are not in quotes."""
    items, quote = [""], ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == ",":
            items.append("")
            continue
        items[-1] += character
    items = [item.strip() for item in items]
    if quote or not all(items):
        raise InputError(place, "a quote is not closed" if quote else "a level is empty", "write `factor=level,level`")
    return items


def _level(factor: Factor, text: str, place: str) -> Level:
    try:
        value = tomllib.loads(f"value = {text}").get("value")
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text
    level = Level.of(value if isinstance(value, bool | int | float | str) else text)
    known = factor.level(level.name)
    if known is None and factor.named:
        names = [each.name for each in factor.levels]
        raise InputError(place, f"`{factor.name}` has no level `{level.name}`", nearest(level.name, names))
    return known or level


def make_cells(
    experiment: Experiment,
    chosen: Chosen | None = None,
    systems: Sequence[SystemSpec] = (),
    refuse: Callable[[ResolvedCell], str | None] | None = None,
) -> Cells:
    """Combine the levels of all factors, those of ``chosen`` in place of the file's.

    ``systems`` take the place of the levels of the factor ``system``; without either, it is embedded SQLite. One named
    twice is two cells: a comparison of a system with itself. For systems of several engines, statements are translated.
    ``refuse`` gives the reason for which a cell cannot be measured, or ``None``. Raises InputError where no cell is
    left.
    """
    chosen = dict(chosen or {})
    specs = {spec.name: spec for spec in label_duplicates(systems)} or systems_of(experiment, chosen)
    if len({spec.engine for spec in specs.values()}) > 1:
        experiment = experiment.translated()
    factors, usual = factors_of(experiment), experiment.usual_factors()
    chosen[SYSTEM] = tuple(map(Level.of, specs))
    cells: list[ResolvedCell] = []
    excluded: list[Excluded] = []
    alike = _Alike()
    of_factors = [chosen[name] if name in chosen else usual[name].levels for name in factors]
    _check_number(experiment, of_factors)
    for combination in product(*of_factors):
        levels = dict(zip(factors, combination, strict=True))
        cell = Cell(cell_id(factors, levels), levels, specs[levels[SYSTEM].name])
        reason = _exclusion(experiment, cell)
        if reason is None:
            resolved = resolve(experiment, cell)
            reason = alike.reason(resolved) or (refuse(resolved) if refuse else None)
            if reason is None:
                cells.append(resolved)
        if reason is not None:
            excluded.append(Excluded(cell, reason))
    if not cells:
        first = excluded[0]
        raise InputError(experiment.place, f"no cell is left: `{first.cell.id}` is excluded: {first.reason}", "")
    names = tuple(tuple(level.name for level in levels) for levels in of_factors)
    return Cells(tuple(cells), tuple(excluded), names)


def _check_number(experiment: Experiment, levels: Sequence[Sequence[Level]]) -> None:
    """Raise InputError if there are more combinations of levels than a run could measure, before they are made."""
    number = math.prod(map(len, levels))
    if number > MOST_CELLS:
        problem = f"{number:,} combinations of levels; the limit is {MOST_CELLS:,}"
        raise InputError(f"{experiment.place}: factors", problem, "choose fewer levels, as with `--set factor=level`")


class _Alike:
    """Finds cells that differ in nothing but the settings of systems other than their own: one of them is enough."""

    def __init__(self) -> None:
        self._firsts: dict[tuple[str, str], ResolvedCell] = {}

    def reason(self, cell: ResolvedCell) -> str | None:
        """Say why a cell need not be measured, or ``None``."""
        engine = cell.system.engine
        # As text: a screening has hundreds of cells, and each would be held against all before it. The order in which
        # levels have set their settings is none of a definition's.
        seen = _for(cell.definition, engine).model_dump(mode="json", warnings=False)
        first = self._firsts.setdefault((cell.system.name, json.dumps(seen, sort_keys=True)), cell)
        # Where nothing differs at all, somebody wants to see the noise.
        if first is cell or cell.definition.system == first.definition.system:
            return None
        names = [f"`{name}`" for name, level in cell.levels.items() if level != first.levels[name]]
        return f"{' and '.join(names)} {'make' if len(names) > 1 else 'makes'} no difference to {engine}"


def _for(definition: Definition, engine: str) -> Definition:
    """Give what a system with this engine gets to see of a definition."""
    system = {name: settings for name, settings in definition.system.items() if name == engine}
    return definition.model_copy(update={"system": system})


def factors_of(experiment: Experiment) -> dict[str, Factor]:
    """Give the factors as cells are named by them: the system is one, whether or not the file says so."""
    # A level is the system's name, which has no password, and not the URL as it was written.
    systems = tuple(map(Level.of, file_systems(experiment)))
    return dict(experiment.factors) | {SYSTEM: Factor(SYSTEM, systems, named=False)}


def systems_of(experiment: Experiment, chosen: Chosen) -> dict[str, SystemSpec]:
    """Return the systems that the levels of the factor ``system`` name, by name; of the file, unless others are chosen.

    Raises InputError.
    """
    return _specs(chosen[SYSTEM]) if SYSTEM in chosen else file_systems(experiment)


def file_systems(experiment: Experiment) -> dict[str, SystemSpec]:
    """Give the systems that an experiment names, by name; embedded SQLite where it names none."""
    named = experiment.factors.get(SYSTEM)
    return _specs(named.levels if named else (Level.of(DEFAULT_SYSTEM),))


def _specs(levels: Iterable[Level]) -> dict[str, SystemSpec]:
    return {spec.name: spec for spec in (parse_url(level.name) for level in levels)}


def _exclusion(experiment: Experiment, cell: Cell) -> str | None:
    engine = cell.system.engine
    return next((each.reason for each in experiment.exclusions if each.covers(cell.levels, engine)), None)


def cell_id(factors: Mapping[str, Factor], levels: Mapping[str, Level]) -> str:
    """Name a combination, as ``threads=4,cache=shared``; :data:`SINGLE` where there is nothing to name."""
    parts = []
    for name, factor in factors.items():
        level = levels[name].name
        if len(factor.levels) > 1 or factor.level(level) is None:
            parts.append(f"{name}=" + (f'"{level}"' if "," in level else level))
    return ",".join(parts) or SINGLE


# Two cells go ABBA.
_PAIR = 2


def block_order(cells: Sequence[Cell], block_index: int, seed: int) -> list[Cell]:
    """Give the order in which a block (from 0) measures the cells; the same for the same seed.

    The order is random, each block's its own. Two cells go ABBA: each pair of blocks measures them in one order and
    then in the other, so that a steady drift of the machine hits both alike.
    """
    if len(cells) == _PAIR:
        ordered = sorted(cells, key=lambda cell: _draw(seed, block_index // 2, cell.id))
        return ordered if block_index % 2 == 0 else ordered[::-1]
    return sorted(cells, key=lambda cell: _draw(seed, block_index, cell.id))


def block_seed(seed: int, block_index: int) -> int:
    """Derive the seed of a block's trials, below 2^63: the same for all its cells, so that they draw the same keys."""
    return _seed(seed, block_index, "")


def growth_seed(seed: int, block_index: int, step: int) -> int:
    """Derive the seed of a block's trials at one size of a growing table, which draw no key that is there already."""
    return _seed(seed, block_index, f"size {step}")


def _seed(seed: int, block_index: int, text: str) -> int:
    return int.from_bytes(_draw(seed, block_index, text)[:8], "big") >> 1


def _draw(seed: int, block_index: int, text: str) -> bytes:
    # A hash and not `random`: it is the same in every version of Python, and a cell's draw depends on no other cell.
    return hashlib.sha256(f"{seed}/{block_index}/{text}".encode()).digest()
