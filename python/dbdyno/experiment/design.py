"""The design of a run: its cells, and the order in which each block measures them."""

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
from dbdyno.model.limits import MAX_CELLS
from dbdyno.model.plan.cell import Cell, ResolvedCell
from dbdyno.model.plan.system import SystemSpec

DEFAULT_SYSTEM = "sqlite:"

# Levels by factor that replace those of the file.
Chosen = Mapping[str, tuple[Level, ...]]


#: The id of the only cell if every factor has one level.
SINGLE = "single"


@dataclass(frozen=True)
class Excluded:
    """A combination of levels that is not measured, and the reason."""

    cell: Cell
    reason: str


@dataclass(frozen=True)
class Cells:
    """The cells of a run, in the order of the levels in the file, and the excluded combinations.

    ``levels``: the level names of each factor, in this order.
    """

    cells: tuple[ResolvedCell, ...]
    excluded: tuple[Excluded, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()


def parse_set(options: Iterable[str], experiment: Experiment) -> dict[str, tuple[Level, ...]]:
    """Parse ``--set`` options of the form ``factor=level,level``. Returns the chosen levels by factor.

    A factor with plain levels accepts any level: a number or Boolean as in TOML (``4``, ``0.5``, ``true``), or a
    string, which must be quoted if it contains a comma. A factor with named levels accepts only these. Raises
    InputError.
    """
    chosen: dict[str, tuple[Level, ...]] = {}
    for option in options:
        location = f"--set {option}"
        name, equals, text = option.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(location, "missing `=`", "write `--set factor=level,level`")
        factor = experiment.factors.get(name)
        if factor is None:
            raise InputError(location, f"`{experiment.name}` has no factor `{name}`", nearest(name, experiment.factors))
        if name in chosen:
            raise InputError(location, f"`{name}` is set twice", "give all its levels in one `--set`")
        levels = [_level(factor, item, location) for item in _split(text, location)]
        names = [level.name for level in levels]
        if len(set(names)) != len(names):
            raise InputError(location, "duplicate level", "remove one")
        chosen[name] = tuple(levels)
    return chosen


def _split(text: str, location: str) -> list[str]:
    """Split at commas outside quotes."""
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
        raise InputError(
            location, "a quote is not closed" if quote else "a level is empty", "write `factor=level,level`"
        )
    return items


def _level(factor: Factor, text: str, location: str) -> Level:
    try:
        value = tomllib.loads(f"value = {text}").get("value")
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text
    level = Level.of(value if isinstance(value, bool | int | float | str) else text)
    known = factor.level(level.name)
    if known is None and factor.named:
        names = [each.name for each in factor.levels]
        raise InputError(location, f"`{factor.name}` has no level `{level.name}`", nearest(level.name, names))
    return known or level


def make_cells(
    experiment: Experiment,
    chosen: Chosen | None = None,
    systems: Sequence[SystemSpec] = (),
    refuse: Callable[[ResolvedCell], str | None] | None = None,
) -> Cells:
    """Combine the levels of all factors to cells.

    ``chosen``: levels that replace those of the file. ``systems`` replace the levels of the factor ``system``; the
    default is embedded SQLite. A system that is given twice yields two cells, to compare it with itself. If the systems
    have several engines, statements are translated. ``refuse``: returns the reason why a cell can't be measured, or
    ``None``. Raises InputError if all cells are excluded.
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
        raise InputError(experiment.location, f"all cells are excluded: `{first.cell.id}`: {first.reason}", "")
    names = tuple(tuple(level.name for level in levels) for levels in of_factors)
    return Cells(tuple(cells), tuple(excluded), names)


def _check_number(experiment: Experiment, levels: Sequence[Sequence[Level]]) -> None:
    """Raise InputError if there are too many combinations of levels."""
    number = math.prod(map(len, levels))
    if number > MAX_CELLS:
        problem = f"{number:,} combinations of levels; the limit is {MAX_CELLS:,}"
        raise InputError(f"{experiment.location}: factors", problem, "choose fewer levels with `--set factor=level`")


class _Alike:
    """Finds redundant cells: those that differ from another cell only in settings of other engines."""

    def __init__(self) -> None:
        self._firsts: dict[tuple[str, str], ResolvedCell] = {}

    def reason(self, cell: ResolvedCell) -> str | None:
        """Return why a cell is redundant, or ``None``."""
        engine = cell.system.engine
        # Compare JSON strings in a dictionary: a screening has hundreds of cells, too many to compare all pairs. Sort
        # the keys, because the order of settings doesn't matter.
        seen = _for(cell.definition, engine).model_dump(mode="json", warnings=False)
        first = self._firsts.setdefault((cell.system.name, json.dumps(seen, sort_keys=True)), cell)
        # Keep identical cells: they show the noise.
        if first is cell or cell.definition.system == first.definition.system:
            return None
        names = [f"`{name}`" for name, level in cell.levels.items() if level != first.levels[name]]
        return f"{' and '.join(names)} {'make' if len(names) > 1 else 'makes'} no difference to {engine}"


def _for(definition: Definition, engine: str) -> Definition:
    """Return a definition without the settings of other engines."""
    system = {name: settings for name, settings in definition.system.items() if name == engine}
    return definition.model_copy(update={"system": system})


def factors_of(experiment: Experiment) -> dict[str, Factor]:
    """Return the factors of an experiment, including ``system``, which the file may omit."""
    # Use the system's name as its level instead of the URL in the file, which may contain a password.
    systems = tuple(map(Level.of, file_systems(experiment)))
    return dict(experiment.factors) | {SYSTEM: Factor(SYSTEM, systems, named=False)}


def systems_of(experiment: Experiment, chosen: Chosen) -> dict[str, SystemSpec]:
    """Return the systems of the factor ``system`` by name: the chosen ones, by default those of the file.

    Raises InputError.
    """
    return _specs(chosen[SYSTEM]) if SYSTEM in chosen else file_systems(experiment)


def file_systems(experiment: Experiment) -> dict[str, SystemSpec]:
    """Return the systems in an experiment file by name; the default is embedded SQLite."""
    named = experiment.factors.get(SYSTEM)
    return _specs(named.levels if named else (Level.of(DEFAULT_SYSTEM),))


def _specs(levels: Iterable[Level]) -> dict[str, SystemSpec]:
    return {spec.name: spec for spec in (parse_url(level.name) for level in levels)}


def _exclusion(experiment: Experiment, cell: Cell) -> str | None:
    engine = cell.system.engine
    return next(
        (exclusion.reason for exclusion in experiment.exclusions if exclusion.covers(cell.levels, engine)), None
    )


def cell_id(factors: Mapping[str, Factor], levels: Mapping[str, Level]) -> str:
    """Return the id of a combination, such as ``threads=4,cache=shared``; :data:`SINGLE` if nothing varies."""
    parts = []
    for name, factor in factors.items():
        level = levels[name].name
        if len(factor.levels) > 1 or factor.level(level) is None:
            parts.append(f"{name}=" + (f'"{level}"' if "," in level else level))
    return ",".join(parts) or SINGLE


# Number of cells that are measured in ABBA order.
_PAIR = 2


def block_order(cells: Sequence[Cell], block_index: int, seed: int) -> list[Cell]:
    """Return the cells in the order in which a block (from 0) measures them, which depends only on the seed.

    The order is random for each block. Two cells are measured in ABBA order: in each pair of blocks, the second block
    has the reverse order of the first, so that a steady drift of the machine affects both cells equally.
    """
    if len(cells) == _PAIR:
        ordered = sorted(cells, key=lambda cell: _draw(seed, block_index // 2, cell.id))
        return ordered if block_index % 2 == 0 else ordered[::-1]
    return sorted(cells, key=lambda cell: _draw(seed, block_index, cell.id))


def block_seed(seed: int, block_index: int) -> int:
    """Return the seed of a block's trials, below 2^63. All cells of a block share it, so they draw the same keys."""
    return _seed(seed, block_index, "")


def growth_seed(seed: int, block_index: int, step: int) -> int:
    """Return the seed of a block's trials at one size of a growing table; new at each size, for new random keys."""
    return _seed(seed, block_index, f"size {step}")


def _seed(seed: int, block_index: int, text: str) -> int:
    return int.from_bytes(_draw(seed, block_index, text)[:8], "big") >> 1


def _draw(seed: int, block_index: int, text: str) -> bytes:
    # A hash instead of `random`: it is the same in every version of Python, and independent of the other cells.
    return hashlib.sha256(f"{seed}/{block_index}/{text}".encode()).digest()
