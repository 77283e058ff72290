"""Figures that others published about an experiment, as reference data beside one's own: never as one's own."""

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
    """One published figure. ``levels``: by factor, or by ``factor.value``, what the publication varied, as text.

    ``value`` and ``rounds`` are in the unit of the whole; ``cpu_percent`` is of one core; ``system`` is given where the
    publication compares several, ``rows`` are those returned by one transaction.
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
    """What was published. ``source`` is the file's own line on where the figures come from."""

    source: str
    machine: str
    year: int
    unit: str
    figures: tuple[PublishedFigure, ...]
    first_levels: Mapping[str, str]
    engine: str | None = None

    @property
    def label(self) -> str:
        """How a table or a chart calls them."""
        return f"published {self.year}: {self.machine}"

    def of(self, levels: Mapping[str, Level], engine: str) -> PublishedFigure | None:
        """Give the figure that belongs to a cell of a system with this engine, or ``None``.

        A factor that the publication did not vary must be at the first level of the file: at another the published
        figure answers another question. The system is compared where the figures tell systems apart, and its engine
        where they are of one. One that was only given another durability, or processors of its own, is still the system
        that was published; where several are, it is the one that says the most about it.
        """
        if self.engine not in (None, engine):
            return None
        found = [
            figure
            for figure in self.figures
            if _belongs(figure.levels, self.first_levels, levels) and _is_of(figure.system, levels)
        ]
        return max(found, key=lambda figure: len(figure.system.settings) if figure.system else 0, default=None)


def _belongs(wanted: Mapping[str, str], first: Mapping[str, str], levels: Mapping[str, Level]) -> bool:
    bound = {key: as_text(value) for name, level in levels.items() for key, value in level.bindings(name).items()}
    varied = {key.partition(".")[0] for key in wanted} | {SYSTEM}
    return all(bound.get(key) == value for key, value in wanted.items()) and all(
        level.name == first.get(name, level.name) for name, level in levels.items() if name not in varied
    )


def _is_of(system: SystemSpec | None, levels: Mapping[str, Level]) -> bool:
    if system is None:
        return True
    if SYSTEM not in levels:
        return False
    measured = without_processors(parse_url(levels[SYSTEM].name))
    return any(same_system(each, measured) for each in in_each_class(system))


def load_published(experiment: Experiment) -> PublishedFigures | None:
    """Read the figures published about an experiment; ``None`` where it names none.

    The file is one beside the experiment's own or one that is shipped. Raises InputError where it, a column or a
    number in it is not there.
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
    place = f"{experiment.place}: published.file"
    path = experiment.folder / published.file
    if not path.is_file():
        path = package_path("published", published.file)
    if not path.is_file():
        known = sorted(each.name for each in package_path("published").glob("*.csv"))
        raise InputError(place, f"there is no file `{published.file}`", nearest(published.file, known))
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    source = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    columns = list(rows[0]) if rows else []
    rounds = published.rounds.columns if published.rounds else []
    wanted = [published.value, *published.match.values(), *published.where, *rounds, *published.phases.values()]
    wanted += [column for column in (published.cpu_percent, published.rows) if column]
    for column in [*wanted, *([published.systems.column] if published.systems else [])]:
        if column not in columns:
            raise InputError(place, f"`{published.file}` has no column `{column}`", nearest(column, columns))
    return source, rows


def _figures(experiment: Experiment, published: Published, rows: list[dict[str, str]]) -> Iterator[PublishedFigure]:
    place = f"{experiment.place}: published"
    systems = published.systems
    urls = {name: parse_url(url) for name, url in systems.urls.items()} if systems else {}
    for row in rows:
        if systems and row[systems.column] not in urls:
            continue
        if row[published.value] and all(row[column] == value for column, value in published.where.items()):
            cpu = row[published.cpu_percent] if published.cpu_percent else ""
            value = _number(row[published.value], place)
            yield PublishedFigure(
                levels={factor: row[column] for factor, column in published.match.items()},
                value=1 / value if published.seconds else value,
                rounds=_rounds(published, row, place),
                cpu_percent=_number(cpu, place) if cpu else None,
                system=urls[row[systems.column]] if systems else None,
                phases_ms={
                    phase: _number(row[column], place) * 1000
                    for phase, column in published.phases.items()
                    if row[column]
                },
                rows=int(_number(row[published.rows], place)) if published.rows and row[published.rows] else None,
            )


def _rounds(published: Published, row: Row, place: str) -> tuple[float, ...]:
    """Turn the milliseconds of each round into a rate: the work of a round by its seconds."""
    rounds = published.rounds
    if rounds is None:
        return ()
    work = rounds.work * (_number(row[published.match[rounds.times]], place) if rounds.times else 1)
    return tuple(work / _number(row[column], place) * 1000 for column in rounds.columns if row[column])


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(place, f"`{text}` is not a number", "correct the file") from None
