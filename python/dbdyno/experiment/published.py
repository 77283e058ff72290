"""Published results for an experiment. Reports show them as references, separate from measured results."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dbdyno.base.errors import InputError
from dbdyno.base.resources import package_path
from dbdyno.engines.cpu_placement import without_processors
from dbdyno.engines.durability import in_each_class
from dbdyno.engines.url import parse_url, same_system
from dbdyno.experiment.experiment import Experiment
from dbdyno.experiment.factors import SYSTEM
from dbdyno.experiment.head import Published
from dbdyno.model.experiment.levels import Level, as_text
from dbdyno.model.experiment.validation import nearest
from dbdyno.model.plan.system import SystemSpec

Row = Mapping[str, str]


@dataclass(frozen=True)
class PublishedFigure:
    """One published result. ``levels``: the published levels as strings, by factor or ``factor.value``.

    ``value`` and ``rounds``: in ``PublishedFigures.unit``. ``cpu_percent``: 100 is one core. ``system``: set if the
    publication compares several systems. ``rows``: number of rows returned by one transaction.
    """

    levels: Mapping[str, str]
    value: float
    rounds: tuple[float, ...] = ()
    cpu_percent: float | None = None
    system: SystemSpec | None = None
    phases_ms: Mapping[str, float] = field(default_factory=dict)
    rows: int | None = None


@dataclass(frozen=True)
class PublishedFigures:
    """The published results for an experiment. ``source``: their origin, from the comments of the CSV file."""

    source: str
    machine: str
    year: int
    unit: str
    figures: tuple[PublishedFigure, ...]
    first_levels: Mapping[str, str]
    engine: str | None = None

    @property
    def label(self) -> str:
        """The label in tables and charts."""
        return f"published {self.year}: {self.machine}"

    def of(self, levels: Mapping[str, Level], engine: str) -> PublishedFigure | None:
        """Return the published result for a cell, given its levels and engine, or ``None``.

        Factors that the publication didn't vary must have the first level of the file, because other levels are
        different questions. If the results name systems, the cell's system must be the same, except for its durability
        and CPUs. If several results match, the one with the most settings is returned.
        """
        if self.engine not in (None, engine):
            return None
        figures = [
            figure
            for figure in self.figures
            if _belongs(figure.levels, self.first_levels, levels) and _measures_system(figure.system, levels)
        ]
        return max(figures, key=lambda figure: len(figure.system.settings) if figure.system else 0, default=None)


def _belongs(wanted: Mapping[str, str], first: Mapping[str, str], levels: Mapping[str, Level]) -> bool:
    bound = {key: as_text(value) for name, level in levels.items() for key, value in level.bindings(name).items()}
    varied = {key.partition(".")[0] for key in wanted} | {SYSTEM}
    return all(bound.get(key) == value for key, value in wanted.items()) and all(
        level.name == first.get(name, level.name) for name, level in levels.items() if name not in varied
    )


def _measures_system(system: SystemSpec | None, levels: Mapping[str, Level]) -> bool:
    if system is None:
        return True
    if SYSTEM not in levels:
        return False
    measured = without_processors(parse_url(levels[SYSTEM].name))
    return any(same_system(spec, measured) for spec in in_each_class(system))


def load_published(experiment: Experiment) -> PublishedFigures | None:
    """Read the published results for an experiment; ``None`` if it has none.

    The file is in the directory of the experiment or shipped with dbdyno. Raises InputError for a missing file, a
    missing column or an invalid number.
    """
    published = experiment.head.published
    if published is None:
        return None
    source, rows = _read(experiment, published)
    return PublishedFigures(
        source=source,
        machine=published.machine,
        year=published.year,
        unit=published.unit,
        figures=tuple(_figures(experiment, published, rows)),
        first_levels={name: level.name for name, level in experiment.first_levels().items()},
        engine=published.engine,
    )


def _read(experiment: Experiment, published: Published) -> tuple[str, list[dict[str, str]]]:
    location = f"{experiment.location}: published.file"
    path = experiment.folder / published.file
    if not path.is_file():
        path = package_path("published", published.file)
    if not path.is_file():
        known = sorted(each.name for each in package_path("published").glob("*.csv"))
        raise InputError(location, f"no such file `{published.file}`", nearest(published.file, known))
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    source = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    columns = list(rows[0]) if rows else []
    rounds = published.rounds.columns if published.rounds else []
    wanted = [published.value, *published.match.values(), *published.where, *rounds, *published.phases.values()]
    wanted += [column for column in (published.cpu_percent, published.rows) if column]
    for column in [*wanted, *([published.systems.column] if published.systems else [])]:
        if column not in columns:
            raise InputError(location, f"unknown column `{column}` in `{published.file}`", nearest(column, columns))
    return source, rows


def _figures(experiment: Experiment, published: Published, rows: list[dict[str, str]]) -> Iterator[PublishedFigure]:
    location = f"{experiment.location}: published"
    systems = published.systems
    urls = {name: parse_url(url) for name, url in systems.urls.items()} if systems else {}
    for row in rows:
        if systems and row[systems.column] not in urls:
            continue
        if row[published.value] and all(row[column] == value for column, value in published.where.items()):
            cpu = row[published.cpu_percent] if published.cpu_percent else ""
            value = _number(row[published.value], location)
            yield PublishedFigure(
                levels={factor: row[column] for factor, column in published.match.items()},
                value=1 / value if published.seconds else value,
                rounds=_rounds(published, row, location),
                cpu_percent=_number(cpu, location) if cpu else None,
                system=urls[row[systems.column]] if systems else None,
                phases_ms={
                    phase: _number(row[column], location) * 1000
                    for phase, column in published.phases.items()
                    if row[column]
                },
                rows=int(_number(row[published.rows], location)) if published.rows and row[published.rows] else None,
            )


def _rounds(published: Published, row: Row, location: str) -> tuple[float, ...]:
    """Return the rate of each round: the work of a round divided by its seconds."""
    rounds = published.rounds
    if rounds is None:
        return ()
    work = rounds.work * (_number(row[published.match[rounds.times]], location) if rounds.times else 1)
    return tuple(work / _number(row[column], location) * 1000 for column in rounds.columns if row[column])


def _number(text: str, location: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(location, f"`{text}` is not a number", "correct the file") from None
