"""Find the first release that harms a statement, by bisection over the releases between two systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.analysis.upgrade import Since, StatementUpgrade
from dbdyno.base.errors import DbdynoError, InputError, RunInterrupted, SystemFailed
from dbdyno.engines.sqlite.library import find_library
from dbdyno.engines.sqlite.releases import Release, known_releases, release_source, version_numbers
from dbdyno.engines.sqlite.settings import read_settings
from dbdyno.engines.url import with_settings, without_setting
from dbdyno.experiment import Experiment
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.plan_tries import has_plan_of, prepare_statements, rejected_statements, statement_cells, time_ratio
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.row_checks import compare_cells


@dataclass(frozen=True)
class Step:
    """A release between the old and the new system. ``find``: returns its system, building it if necessary."""

    name: str
    find: Callable[[], SystemSpec]


def sqlite_version(system: SystemSpec) -> str:
    """Return the version of a system's SQLite library, building it if necessary. Raises DbdynoError."""
    settings = read_settings(system.settings, system.name)
    return find_library(settings).identity.split()[0]


def sqlite_steps(new: SystemSpec, first: str, last: str) -> list[Step]:
    """Return the known SQLite releases between two versions, oldest first. ``new``: their other settings.

    Raises InputError if the first version isn't older than the last one.
    """
    if version_numbers(first) >= version_numbers(last):
        problem = f"`--from` is SQLite {first} and `--to` SQLite {last}"
        raise InputError("--bisect", problem, "name an older release with `--from`, or releases with `--via`")
    between: dict[tuple[int, ...], Release] = {}
    for release in known_releases():
        numbers = version_numbers(release.version)
        if version_numbers(first) < numbers < version_numbers(last):
            known = between.get(numbers)
            better = known is None or (_effort(release) < _effort(known))
            between[numbers] = release if better or known is None else known
    return [Step(f"SQLite {release.version}", _finder(new, release)) for _, release in sorted(between.items())]


def _effort(release: Release) -> int:
    return 0 if release.cached else 1 if release.family.client_is_installed() else 2


def _finder(new: SystemSpec, release: Release) -> Callable[[], SystemSpec]:
    def find() -> SystemSpec:
        source = release_source(release.spec)
        return with_settings(without_setting(new, "library"), {"source": str(source.directory)})

    return find


@dataclass
class Bisection:
    """Finds the first release that harms each statement.

    ``old``: its system; ``steps``: the releases between both sides; ``ends``: the names of both sides; ``note``: called
    before each release is prepared.
    """

    experiment: Experiment
    old: SystemSpec
    steps: Sequence[Step]
    ends: tuple[str, str]
    provisioners: Provisioners
    seed: int
    note: Callable[[str], None]
    skipped: dict[str, str] = field(default_factory=dict)
    """Releases that could not be used, with the reason."""
    _systems: dict[str, SystemSpec] = field(default_factory=dict)
    _cells: dict[str, Mapping[str, CompiledCell]] = field(default_factory=dict)
    _plans: dict[str, TrialResult] = field(default_factory=dict)

    def find(self, statements: Sequence[StatementUpgrade]) -> list[StatementUpgrade]:
        """Return the statements, with the first release that harms each harmed statement. Raises RunInterrupted."""
        harmed = [statement.name for statement in statements if statement.is_harmed]
        return [
            replace(statement, since=self._since(statement, harmed)) if statement.name in harmed else statement
            for statement in statements
        ]

    def _since(self, statement: StatementUpgrade, harmed: Sequence[str]) -> Since:
        steps = list(self.steps)
        good, bad = -1, len(steps)
        while bad - good > 1:
            middle = (good + bad) // 2
            verdict = self._harms(steps[middle], statement, harmed)
            if verdict is None:
                del steps[middle]
                bad -= 1
            elif verdict:
                bad = middle
            else:
                good = middle
        names = [self.ends[0], *(step.name for step in steps), self.ends[1]]
        return Since(names[bad + 1], names[good + 1])

    def _harms(self, step: Step, statement: StatementUpgrade, harmed: Sequence[str]) -> bool | None:
        """Whether a release harms a statement; None if the release can't be used."""
        if step.name in self.skipped:
            return None
        try:
            return self._judge(step, statement, self._cells_of(step, harmed))
        except RunInterrupted:
            raise
        except DbdynoError as error:
            self.skipped[step.name] = str(error)
            return None

    def _judge(self, step: Step, statement: StatementUpgrade, cells: Mapping[str, CompiledCell]) -> bool:
        """Whether a release harms a statement. Raises DbdynoError."""
        own = cells[statement.name]
        if statement.rejected:
            return bool(rejected_statements({statement.name: own}, self.provisioners))
        old = statement_cells(self.experiment, self.old, [statement.name])[statement.name]
        if statement.rows.verdict == "differ":
            return compare_cells(old, own, self.seed, self.provisioners).verdict == "differ"
        if statement.change is not None:
            prepared = self._prepared(step, cells)
            if has_plan_of(statement.old, statement.name, prepared):
                return False
            if has_plan_of(statement.new, statement.name, prepared):
                return True
        # Times decide between releases with the same plan, and about a third plan.
        ratio = time_ratio(old, own, self.provisioners, self.seed)
        if ratio is None or statement.ratio is None:
            raise SystemFailed("a trial failed")
        return math.log(ratio.mean) > math.log(statement.ratio) / 2

    def _cells_of(self, step: Step, names: Sequence[str]) -> Mapping[str, CompiledCell]:
        if step.name not in self._cells:
            self.note(f"building and preparing {step.name}")
            self._cells[step.name] = statement_cells(self.experiment, step.find(), names)
        return self._cells[step.name]

    def _prepared(self, step: Step, cells: Mapping[str, CompiledCell]) -> TrialResult:
        if step.name not in self._plans:
            self._plans[step.name] = prepare_statements(cells, self.provisioners)
        return self._plans[step.name]
