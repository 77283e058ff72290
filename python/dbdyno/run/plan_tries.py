"""Find changes of a system that bring a statement's old plan back, by trying them on copies and in sessions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.measured.statements import plan_nodes
from dbdyno.analysis.plan_changes import plans_of
from dbdyno.analysis.row_differences import RowVerdict
from dbdyno.analysis.upgrade import Remedy, StatementUpgrade, differing_settings
from dbdyno.base.errors import DbdynoError, InputError, RunInterrupted, SystemFailed
from dbdyno.engines import engine_of, engine_of_product
from dbdyno.engines.plans import kinds
from dbdyno.engines.url import with_settings, without_setting
from dbdyno.experiment import Experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import Window, without_analysis
from dbdyno.model.result.cell import Cell
from dbdyno.run.interleaving import USUAL_SLICE_S
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.row_checks import compare_cells
from dbdyno.run.runner import measure
from dbdyno.run.statement_checks import prepare_on
from dbdyno.run.trial import Plan, Trial, Watcher
from dbdyno.stats import Ratio, paired_ratio

# Rounds of a timed change, and seconds of each window.
_ROUNDS, _WINDOW_S = 6, 0.25
# Maximum number of changes to report per statement.
_MAX_REMEDIES = 2


@dataclass(frozen=True)
class Candidate:
    """A change to try. ``words``: how the user makes it; ``added``: statements that run on a copy of the data."""

    words: str
    system: SystemSpec
    added: tuple[str, ...] = ()


@dataclass
class Budget:
    """The time for tries. ``seconds`` from the moment that it is created."""

    seconds: float

    def __post_init__(self) -> None:
        """Start it."""
        self._end = time.monotonic() + self.seconds

    @property
    def is_spent(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._end


def candidates(old: SystemSpec, new: SystemSpec, was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Candidate]:
    """Yield the changes to try on the new system: settings as on the old one, fresh statistics, planner switches.

    ``was``, ``now``: the settings in effect on both.
    """
    engine = engine_of(new.engine)
    builds = engine.build_settings
    tried: list[tuple[str, str]] = []

    def read(name: str, value: str) -> str | None:
        """Return a value in the engine's form; None if the engine doesn't accept it."""
        try:
            settings = engine.read_settings({**new.settings, name: value}, "", named=new.host is not None)
        except InputError:
            return None
        return dict(settings.shown()).get(name, value)

    def fits(name: str, value: str) -> bool:
        known = [each for of, each in (*now.items(), *tried) if of == name]
        wanted = None if name in builds else read(name, value)
        if wanted is None or wanted in [read(name, each) for each in known]:
            return False
        tried.append((name, value))
        return True

    for name, value in new.settings.items():
        if name not in builds and name not in old.settings:
            tried += [(name, was[name])] if name in was else []
            yield Candidate(f"without {name}={value}", without_setting(new, name))
    for name, value in {**old.settings, **differing_settings(was, now)}.items():
        if new.settings.get(name) != value and fits(name, value):
            yield _setting(new, name, value)
    if engine.fresh_statistics is not None and new.database is not None:
        yield Candidate(f"`{engine.fresh_statistics}`", new, (engine.fresh_statistics,))
    for name, value in engine.planner_switches(was, now):
        if fits(name, value):
            yield _setting(new, name, value)


def _setting(system: SystemSpec, name: str, value: str) -> Candidate:
    return Candidate(f"?{name}={value}", with_settings(system, {name: value}))


def statement_cells(experiment: Experiment, system: SystemSpec, names: Sequence[str]) -> dict[str, CompiledCell]:
    """Return the cell of each statement on a system, by name. Raises InputError."""
    levels = tuple(level for level in experiment.factors[STATEMENT].levels if level.name in names)
    made = make_cells(experiment, {STATEMENT: levels}, [system]).cells
    return {str(cell.factors[STATEMENT]): compile_cell(experiment, cell) for cell in made}


def prepare_statements(cells: Mapping[str, CompiledCell], provisioners: Provisioners) -> TrialResult:
    """Prepare statements on their system without executing them; the result has their plans by name.

    Raises DbdynoError.
    """
    first = next(iter(cells.values()))
    provisioner = provisioners.of(first)
    provisioner.check(first)
    statements = [
        replace(statement, name=name)
        for name, compiled in cells.items()
        for statement in without_analysis(compiled.task.statements)[:1]
    ]
    with provisioner.ready(first, 0) as ready:
        return prepare_on(ready.target, statements, provisioners)


def rejected_statements(cells: Mapping[str, CompiledCell], provisioners: Provisioners) -> dict[str, str]:
    """Return why a system rejects statements, by name. Raises DbdynoError if the system itself fails."""
    found, error = _rejected(list(cells.items()), provisioners)
    if error is not None and len(found) == len(cells) > 1 and len(set(found.values())) == 1:
        # The system itself fails.
        raise error
    return found


def _rejected(
    cells: Sequence[tuple[str, CompiledCell]], provisioners: Provisioners
) -> tuple[dict[str, str], SystemFailed | None]:
    """Return why a system rejects statements, and the first failure. Those that fail together are tried in halves."""
    try:
        prepare_statements(dict(cells), provisioners)
    except SystemFailed as error:
        if len(cells) == 1:
            return {cells[0][0]: str(error).partition(": ")[2] or str(error)}, error
        middle = len(cells) // 2
        halves = [_rejected(half, provisioners)[0] for half in (cells[:middle], cells[middle:])]
        return {**halves[0], **halves[1]}, error
    return {}, None


def has_plan_of(cell: Cell | None, name: str, prepared: TrialResult) -> bool:
    """Whether a prepared statement has a plan of the same kind as in a measured cell. ``name``: the statement's."""
    if cell is None or not cell.statements or name not in prepared.engine.plans:
        return False
    own = cell.statements[0]
    is_server = engine_of_product(cell.system.engine).is_server
    nodes = plan_nodes(cell.system, own.sql, prepared.engine.plans[name])
    return kinds(nodes, is_server=is_server) in [kinds(each, is_server=is_server) for each in plans_of(cell, own)]


@dataclass
class Tries:
    """Tries changes of the new system. ``old``, ``new``: the systems; ``note``: called before each try."""

    experiment: Experiment
    old: SystemSpec
    new: SystemSpec
    provisioners: Provisioners
    seed: int
    budget: Budget
    note: Callable[[str], None]

    def find(self, statements: Sequence[StatementUpgrade]) -> tuple[list[StatementUpgrade], list[str]]:
        """Return the statements with their remedies, and notes on changes that were not tried.

        Raises RunInterrupted, and InputError for an unusable system.
        """
        wanted = {statement.name: statement for statement in statements if _wants(statement)}
        known = next(
            (statement for statement in wanted.values() if statement.old is not None and statement.new is not None),
            None,
        )
        if known is None or known.old is None or known.new is None:
            return list(statements), []
        was, now = (_settings_of(cell) for cell in (known.old, known.new))
        all_of = list(candidates(self.old, self.new, was, now))
        old_cells = statement_cells(self.experiment, self.old, list(wanted))
        notes: list[str] = []
        for number, candidate in enumerate(all_of):
            open_ones = [name for name, statement in wanted.items() if len(statement.remedies) < _MAX_REMEDIES]
            if not open_ones:
                break
            if self.budget.is_spent:
                left = ", ".join(each.words for each in all_of[number : number + 5])
                more = "" if len(all_of) <= number + 5 else f" and {len(all_of) - number - 5} more"
                notes.append(f"not tried within the budget: {left}{more} (`--budget` sets it)")
                break
            self.note(f"trying {candidate.words}")
            for name, remedy in self._try(candidate, {name: wanted[name] for name in open_ones}, old_cells):
                wanted[name] = replace(wanted[name], remedies=[*wanted[name].remedies, remedy])
            for name in open_ones:
                wanted[name] = replace(wanted[name], tried=wanted[name].tried + 1)
        engine = engine_of(self.new.engine)
        if engine.is_server:
            notes.append("fresh statistics were not tried: `analyze` would change the server's")
        return [wanted.get(statement.name, statement) for statement in statements], notes

    def _try(
        self, candidate: Candidate, wanted: Mapping[str, StatementUpgrade], old_cells: Mapping[str, CompiledCell]
    ) -> Iterator[tuple[str, Remedy]]:
        try:
            cells = {
                name: replace(cell, added=(*cell.added, *candidate.added))
                for name, cell in statement_cells(self.experiment, candidate.system, list(wanted)).items()
            }
            prepared = prepare_statements(cells, self.provisioners)
        except RunInterrupted:
            raise
        except DbdynoError:
            # The system doesn't accept the change.
            return
        for name, statement in wanted.items():
            if statement.rows.verdict == "differ":
                verdict: RowVerdict = compare_cells(old_cells[name], cells[name], self.seed, self.provisioners)
                if verdict.verdict == "equal":
                    yield name, Remedy(candidate.words, "rows")
            elif statement.change is not None and has_plan_of(statement.old, name, prepared):
                # Without time to measure it, the plan alone is reported.
                spent = self.budget.is_spent
                ratio = None if spent else time_ratio(old_cells[name], cells[name], self.provisioners, self.seed)
                yield name, Remedy(candidate.words, "plan", ratio)


def _settings_of(cell: Cell) -> dict[str, str]:
    return {name: str(value) for name, value in cell.system.settings.items()}


def _wants(statement: StatementUpgrade) -> bool:
    slower = statement.is_slower and statement.change is not None
    return slower or statement.rows.verdict == "differ"


def time_ratio(a: CompiledCell, b: CompiledCell, provisioners: Provisioners, seed: int) -> Ratio | None:
    """Measure two cells in a few short rounds; return the time of b as a multiple of the time of a.

    None if a trial fails.
    """
    shorter = [
        replace(
            cell,
            cell=replace(cell.cell, id=name),
            task=replace(
                cell.task, statements=without_analysis(cell.task.statements), window=Window(seconds=_WINDOW_S)
            ),
        )
        for name, cell in (("a", a), ("b", b))
    ]
    interleaved = engine_of(a.cell.system.engine).in_worker and engine_of(b.cell.system.engine).in_worker
    plan = Plan("", shorter, _ROUNDS, seed, slice_s=USUAL_SLICE_S if interleaved else None)
    found: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for block in range(_ROUNDS):
        trials = [Trial(cell, block, position, plan) for position, cell in enumerate(shorter)]
        in_order = trials if block % 2 == 0 else trials[::-1]
        for group in [in_order] if interleaved else [[each] for each in in_order]:
            for _ in measure(group, provisioners, Watcher(), provisioners.interrupted):
                provisioners.interrupted.check()
        for times, trial in zip(found, trials, strict=True):
            result = trial.result
            if trial.error is not None or not isinstance(result, TrialResult) or not result.cycles.count:
                return None
            times[block] = result.cycles.seconds / result.cycles.count
    ratio = paired_ratio(*found)
    return ratio if ratio is not None and math.isfinite(ratio.mean) else None
