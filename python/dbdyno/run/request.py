"""The request of a run, and its preparation: its cells and the number of rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dbdyno.analysis.measured.cell_pairs import BASELINE, CANDIDATE
from dbdyno.analysis.why.cells import Why, why_cells
from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.experiment import Experiment
from dbdyno.experiment.compile import compile_cell, refusal
from dbdyno.experiment.design import SINGLE, Cells, make_cells, parse_set
from dbdyno.experiment.recommended_cells import Tried, recommendation_cells
from dbdyno.experiment.screening import screened
from dbdyno.model.experiment.objective import read_objective
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.run_options import RunOptions
from dbdyno.run.cluster_checks import check_cluster
from dbdyno.run.fix_trials import Fixing
from dbdyno.run.gate_baseline import Against, as_checked_out, on_side
from dbdyno.run.growth import check_growth
from dbdyno.run.instruction_counts import check_counting
from dbdyno.run.interleaving import check_interleaving
from dbdyno.run.rate_search import MIN_PROBE_S, Slo, closed_loop, configurations
from dbdyno.runtime.cluster.address import ClusterAddress, read_cluster
from dbdyno.runtime.process_limits import check_open_files, check_pipes, check_threads
from dbdyno.stats import Stopping

# Minimum rounds of a `dbdyno why`, whatever its budget; with fewer, the interval is useless.
_MIN_ROUNDS_OF_WHY = 4

# Rounds of the unchanged cell from which a tuning learns its plans, its settings and its bottleneck.
_ROUNDS_BEFORE_TUNING = 2

# The share of the budget for measuring statements if indexes are tried afterwards.
STATEMENTS_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run to carry out: an experiment, its systems with passwords, and the options.

    ``systems``: empty for the experiment's own; ``command``: the command line that is stored; ``against``: a baseline
    that is measured in the same rounds; ``why``: measure only its cell and the cell's changes; ``rule``: replaces the
    options' stopping rule; ``began``: the monotonic time at which the budget starts, None for the start of the run.
    """

    experiment: Experiment
    systems: list[SystemSpec] = field(default_factory=list)
    options: RunOptions = field(default_factory=RunOptions)
    command: list[str] = field(default_factory=list)
    against: Against | None = None
    why: Why | None = None
    rule: Stopping | None = None
    began: float | None = None

    @property
    def slice_s(self) -> float | None:
        """Seconds of a slice, if the options set them."""
        return None if self.options.interleaving == "none" else self.options.interleaving

    @property
    def cluster(self) -> ClusterAddress | None:
        """The cluster that generates the load; None for this machine. Raises InputError."""
        return None if self.options.cluster is None else read_cluster(self.options.cluster)

    @property
    def slo(self) -> Slo | None:
        """The objective whose highest rate is searched for. Raises InputError."""
        if self.options.slo is None:
            return None
        return Slo(read_objective(self.options.slo, "--slo"), self.options.budget_s)

    @property
    def stopping(self) -> Stopping:
        """The rule that ends a run of ``rounds = "auto"``. Raises InputError."""
        if self.rule is not None:
            return self.rule
        options, usual = self.options, Stopping()
        minimum = options.min_rounds or min(usual.minimum, options.max_rounds or usual.minimum)
        maximum = options.max_rounds or max(usual.maximum, minimum)
        if minimum > maximum:
            raise InputError("--min-rounds", f"{minimum} is more than the {maximum} allowed", "raise `--max-rounds`")
        kept = usual.kept if self.why is None else _MIN_ROUNDS_OF_WHY
        budget_s = options.budget_s
        if budget_s is not None and options.try_indexes:
            # The rest is for the indexes.
            budget_s *= STATEMENTS_SHARE
        rule = replace(usual, minimum=minimum, maximum=maximum, budget_s=budget_s, kept=kept)
        return rule if options.target is None else replace(rule, target=options.target, of_difference=0.0)


@dataclass(frozen=True)
class Prepared:
    """A checked request with its compiled cells. Nothing has been created or measured yet."""

    cells: Cells
    compiled: list[CompiledCell]
    rounds: int
    stopping: Stopping | None
    tried: list[Tried]
    all_cells: int
    """Number of cells of the whole design."""
    fixing: Fixing | None = None
    searched: Sequence[ResolvedCell] = ()
    """The configurations of a search for the highest rate; otherwise empty."""


def prepare(request: Request) -> Prepared:
    """Check a request and compile its cells. Raises InputError."""
    experiment = request.experiment
    chosen = parse_set(request.options.set, experiment)
    cells = make_cells(experiment, chosen, request.systems, refusal)
    if request.why is not None:
        return _of_why(request, request.why, cells)
    if request.slo is not None:
        return _of_slo(request, request.slo, cells)
    if request.against is not None:
        cells = on_side(cells, CANDIDATE, experiment)
    all_cells = len(cells.cells)
    if request.options.design == "screening":
        cells = _screened(cells, request)
    compiled = [compile_cell(experiment, cell) for cell in cells.cells]
    if request.against is not None:
        cells, compiled = _with_baseline(request.against, request.options.set, cells, compiled)
    tried = [Tried(recommendation) for recommendation in experiment.head.recommendations]
    if request.options.try_recommendations:
        more, tried = recommendation_cells(experiment, compiled)
        compiled += more
        cells = replace(cells, cells=(*cells.cells, *(cell.cell for cell in more)))
    _check_cells(request, compiled)
    growth = experiment.head.growth
    if growth is not None:
        check_growth(compiled, growth, slice_s=request.slice_s, counts=request.options.instructions)
    if request.cluster is not None:
        check_cluster(compiled, request.cluster, request.options, grows=growth is not None)
    if request.slice_s is not None and len(compiled) == 1:
        problem = "there is only one cell"
        raise InputError("--interleave", problem, "leave it out, or measure several cells")
    rounds = request.options.rounds if request.options.rounds is not None else experiment.rounds
    if rounds == "auto":
        return Prepared(cells, compiled, request.stopping.maximum, request.stopping, tried, all_cells)
    # A growing table has one round per window at a size.
    return Prepared(cells, compiled, rounds * windows(experiment), None, tried, all_cells)


def _check_cells(request: Request, compiled: Sequence[CompiledCell]) -> None:
    for cell in compiled:
        if request.cluster is None:
            check_capacity(cell)
        if request.options.instructions:
            check_counting(cell)
        if request.slice_s is not None:
            check_interleaving(cell, request.slice_s)


def check_capacity(compiled: CompiledCell) -> None:
    """Raise InputError if the limits of this machine are too low for the clients of a cell."""
    engine, load = engine_of(compiled.cell.system.engine), compiled.definition.load
    if engine.runs_programs:
        return
    location = (
        compiled.cell.system.name if compiled.cell.id == SINGLE else f"{compiled.cell.system.name} {compiled.cell.id}"
    )
    if load.clients_as == "processes":
        check_pipes(load.clients, location)
        return
    if engine.in_worker:
        check_threads(load.clients, location)
    check_open_files(load.clients, engine.files_per_client, location)


def _of_why(request: Request, why: Why, cells: Cells) -> Prepared:
    """Check the cells of a `dbdyno why`. Raises InputError."""
    cell = next((cell for cell in cells.cells if cell.id == why.cell), None)
    if cell is None:
        raise InputError(request.experiment.location, f"the cell `{why.cell}` doesn't exist any more", "start it again")
    compiled = why_cells(request.experiment, cell, why)
    made = Cells(tuple(compiled_cell.cell for compiled_cell in compiled))
    rounds = request.options.rounds if request.options.rounds is not None else "auto"
    if request.options.tune:
        tuned = Fixing(request.experiment, cell, why, request.stopping, request.options.index_budget_bytes)
        return Prepared(made, compiled, _ROUNDS_BEFORE_TUNING, None, [], len(compiled), tuned)
    fixing = Fixing(request.experiment, cell, why) if request.options.fix else None
    if rounds == "auto":
        return Prepared(made, compiled, request.stopping.maximum, request.stopping, [], len(compiled), fixing)
    return Prepared(made, compiled, rounds, None, [], len(compiled), fixing)


def _of_slo(request: Request, slo: Slo, cells: Cells) -> Prepared:
    """Check the configurations of a search, and compile its initial closed loops. Raises InputError."""
    experiment = request.experiment
    found = configurations(experiment, cells.cells)
    each_s = slo.seconds(len(found)) / len(found)
    if each_s < MIN_PROBE_S:
        several = f"{len(found)} searches" if len(found) > 1 else "a search"
        problem = f"{slo.seconds(len(found)):g} s is too short for {several}"
        raise InputError("--budget", problem, f"give at least {MIN_PROBE_S * len(found):g} s")
    compiled = [closed_loop(experiment, cell, slo, each_s) for cell in found]
    _check_cells(request, compiled)
    made = Cells(tuple(cell.cell for cell in compiled), cells.excluded)
    if request.cluster is not None:
        check_cluster(compiled, request.cluster, request.options)
    return Prepared(made, compiled, 1, None, [], len(compiled), searched=found)


def _screened(cells: Cells, request: Request) -> Cells:
    """Leave out cells that the effects of the factors don't need. Raises InputError if all are needed."""
    if request.experiment.head.growth is not None or request.against is not None:
        raise InputError("--design screening", "each cell of this experiment is needed", "leave the option out")
    kept = tuple(screened(cells.cells, cells.levels))
    if len(kept) == len(cells.cells):
        problem = f"none of the {len(kept)} cells can be left out"
        raise InputError("--design screening", problem, "leave the option out, or vary more factors")
    return replace(cells, cells=kept)


def _with_baseline(
    against: Against, chosen: list[str], cells: Cells, compiled: list[CompiledCell]
) -> tuple[Cells, list[CompiledCell]]:
    other = against.experiment
    made = make_cells(other, parse_set(chosen, other), against.systems, refusal)
    made = on_side(made, BASELINE, other)
    before = [as_checked_out(compile_cell(other, cell), against.checkout) for cell in made.cells]
    excluded = (*made.excluded, *cells.excluded)
    return Cells((*(cell.cell for cell in before), *cells.cells), excluded), [*before, *compiled]


def windows(experiment: Experiment) -> int:
    """Return the number of windows per round of an experiment."""
    return 1 if experiment.head.growth is None else experiment.head.growth.windows
