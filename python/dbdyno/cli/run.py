"""The command that runs an experiment."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dbdyno.analysis.measured.metrics import keeps_up
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, StoreError
from dbdyno.cli.effect_checks import check_levels, check_write_options
from dbdyno.cli.experiment_source import ExperimentSource
from dbdyno.cli.exports import Exports
from dbdyno.engines import engine_of_product
from dbdyno.engines.cpu_placement import read_processors, with_processors
from dbdyno.engines.durability import with_durability
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.model.experiment.objective import read_objective
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.result import Document
from dbdyno.model.run_options import RunOptions
from dbdyno.run.execute import execute, resume
from dbdyno.run.request import Request
from dbdyno.store import Store, open_store
from dbdyno.store.urls import display_name, store_url

INTERRUPTED = 130
"""The exit code of a run that was interrupted."""


# Options that imply `--rounds auto`, by field name.
_IMPLY_AUTO = {
    "target": "--target",
    "min_rounds": "--min-rounds",
    "max_rounds": "--max-rounds",
    "budget_s": "--budget",
}
_NOT_IN_SEARCHES = {
    "rounds": "--rounds",
    "target": "--target",
    "min_rounds": "--min-rounds",
    "max_rounds": "--max-rounds",
    "margin": "--margin",
    "interleaving": "--interleave",
    "instructions": "--instructions",
    "try_recommendations": "--try-recommendations",
    "design": "--design",
}


@dataclass(frozen=True, kw_only=True)
class RunCommand:
    """A command that measures: the source of its experiment, and the options of the run.

    ``same_durability``, ``processors``: settings for all systems, as typed; ``uses_objective``: an objective in the
    experiment's file starts a search, unless ``rounds`` are given.
    """

    source: ExperimentSource = field(default_factory=ExperimentSource)
    options: RunOptions = field(default_factory=RunOptions)
    same_durability: str | None = None
    processors: str | None = None
    uses_objective: bool = False

    def request(self, command: list[str]) -> Request:
        """Check the options and read the experiment. ``command``: the arguments as typed. Raises InputError."""
        options = self.options
        experiment = self.source.experiment(options.systems)
        specs = check_levels(experiment, options.set, [parse_url(url) for url in options.systems])
        check_write_options(specs, options.directory, allow_writes=options.allow_writes)
        if options.try_recommendations and not experiment.head.recommendations:
            problem = f"`{experiment.name}` has no recommendations"
            raise InputError("--try-recommendations", problem, "leave it out")
        options = _with_rounds(self._with_objective(experiment))
        systems = self._with_settings(specs)
        request = Request(experiment=experiment, systems=systems, options=options, command=command_line(command))
        _ = request.stopping
        return request

    def read(self, file: str) -> Experiment:
        """Read another experiment file with the same options. Raises InputError."""
        return replace(self.source, experiments=[file]).experiment(self.options.systems)

    def _with_objective(self, experiment: Experiment) -> RunOptions:
        """Return the options with the objective to search for, if there is one. Raises InputError."""
        options = self.options
        in_file = experiment.head.slo if self.uses_objective and options.rounds is None else None
        objective = in_file if options.slo is None else read_objective(options.slo, "--slo")
        if objective is None:
            return options
        unset = RunOptions()
        given = [flag for name, flag in _NOT_IN_SEARCHES.items() if getattr(options, name) != getattr(unset, name)]
        if given:
            hint = "leave it out; `--budget` limits the time of the search"
            words = str(objective)
            if options.slo is None:
                words = f"`slo` in {experiment.location}: {objective}"
                hint += ", and `--rounds` measures rounds instead"
            raise InputError(given[0], f"does not apply to a search for the highest rate ({words})", hint)
        return replace(options, slo=str(objective))

    def _with_settings(self, specs: list[SystemSpec]) -> list[SystemSpec]:
        """Return the systems with the settings for all of them; empty for the experiment's unchanged systems."""
        if not self.options.systems and self.same_durability is None and self.processors is None:
            return []
        if self.processors is not None:
            specs = with_processors(specs, read_processors(self.processors))
        if self.same_durability is not None:
            specs = [with_durability(spec, self.same_durability) for spec in specs]
        return specs


def _with_rounds(options: RunOptions) -> RunOptions:
    """Return the options with ``rounds = "auto"`` if an option implies it. Raises InputError."""
    given = [flag for name, flag in _IMPLY_AUTO.items() if getattr(options, name) is not None]
    if not given or options.slo is not None or options.rounds == "auto":
        return options
    if options.rounds is None:
        return replace(options, rounds="auto")
    problem = f"it has no effect with `--rounds {options.rounds}`, which fixes the number of rounds"
    raise InputError(given[0], problem, "leave one of them out")


def run_experiment(
    run: RunCommand, store_location: str | None, exports: Exports, command: list[str], *, verbose: bool = False
) -> int:
    """Run, show the result, write the exports; return the exit code. Raises DbdynoError.

    ``verbose``: show all details below the answer.
    """
    console = Console(stderr=exports.to_output)
    exports.check()
    with measured(run, store_location, command) as (document, interrupted, location):
        return finish(console, document, exports, interrupted, location, verbose=verbose)


def resume_run(
    name: str, systems: Sequence[str], store_location: str | None, exports: Exports, *, verbose: bool = False
) -> int:
    """Resume a stored run, as :func:`run_experiment`. ``systems``: URLs that give passwords again."""
    console = Console(stderr=exports.to_output)
    exports.check()
    given = [parse_url(url) for url in systems]
    with closing(open_store(store_location, make=False, write=True)) as store:
        document, interrupted = resume(name, store, Console(stderr=True), given)
        _summarize(store, document)
        code = finish(
            console, document, exports, interrupted, location_of_run(store, document, store_location), verbose=verbose
        )
        _raise_store_errors(store)
        return code


def finish(
    console: Console, document: Document, exports: Exports, interrupted: bool, location: str | None, *, verbose: bool
) -> int:
    """Show the result and its place in the store, and write the exports; return the exit code."""
    from dbdyno.report.brief import show_brief

    console.print()
    show_brief(document, console, followed=verbose)
    if verbose:
        from dbdyno.report.table import show_details

        console.print()
        show_details(document, console)
    _last_lines(console, document, interrupted, location)
    # Last, so that a full disk doesn't prevent the output above.
    exports.write(document)
    if exports.report is not None:
        console.print(f"report: {exports.report.resolve()}", soft_wrap=True)
    if interrupted:
        return INTERRUPTED
    return 1 if document.status == "failed" else 0


@contextmanager
def writing_store(location: str | None) -> Iterator[Store]:
    """Open a store for new runs. Raises DbdynoError, and StoreError at the end if the store could not take them all."""
    with closing(open_store(location)) as store:
        yield store
        _raise_store_errors(store)


@contextmanager
def measured(
    run: RunCommand, store_location: str | None, command: list[str]
) -> Iterator[tuple[Document, bool, str | None]]:
    """Run; yield the result, whether it was interrupted, and its store. Raises DbdynoError.

    Progress goes to standard error. After the result was shown, raises StoreError if the store could not take it.
    """
    request = run.request(command)
    if run.source.statements and not run.options.systems:
        Console(stderr=True).print("no --system is given: this measures a new, empty SQLite database")
    with writing_store(store_location) as store:
        document, interrupted = execute(request, store, Console(stderr=True))
        _summarize(store, document)
        yield document, interrupted, location_of_run(store, document, store_location)


def _summarize(store: Store, document: Document) -> None:
    """Store the summary of a run for `history`. If that fails, `history` creates it and reports the error."""
    from dbdyno.analysis.history.stored_runs import keep_summary

    with suppress(StoreError):
        keep_summary(store, document.id)


def location_of_run(store: Store, document: Document, location: str | None) -> str | None:
    """Return the location of the store that contains a run: ``location``, or the fallback if that store failed."""
    unsent = store.unsent.get(document.id)
    return location if unsent is None else unsent.location


def report_store_errors(store: Store, console: Console) -> None:
    """Print the errors of a store, if the exit code has another meaning."""
    for run in store.unsent.values():
        console.print(str(run.why), soft_wrap=True)
    store.unsent.clear()


def _raise_store_errors(store: Store) -> None:
    if store.unsent:
        raise StoreError("\n".join(str(run.why) for run in store.unsent.values()))


def _last_lines(console: Console, document: Document, interrupted: bool, store_location: str | None) -> None:
    # The printed command names the store, without a password.
    where = "" if store_location is None else f" --store {shlex.quote(display_name(store_url(store_location)))}"
    console.print()
    if interrupted:
        resumed = f"go on with: dbdyno run --resume {document.id}{where}"
        line = resumed if document.slo is None else "a search for the highest rate cannot be resumed"
        console.print(f"interrupted; {line}", soft_wrap=True)
    line = f"run {document.id} is stored: dbdyno show {document.id}{where}"
    console.print(line, soft_wrap=True)
    if can_be_proven(document):
        command = f"dbdyno why {document.id}{where}"
        open_loop = all(keeps_up(cell) for cell in document.cells)
        line = f"what limits it is inferred; to prove it: {command}"
        if open_loop:
            line = f"to find what decides its response time: {command}"
        console.print(line, soft_wrap=True)


def can_be_proven(document: Document) -> bool:
    """Whether `dbdyno why` can add to a run: a bottleneck is inferred, and its load can be changed."""
    if document.why is not None or document.slo is not None:
        return False
    inferred = any(cell.bottleneck is not None and cell.bottleneck.proven is None for cell in document.cells)
    known = [engine_of_product(cell.system.engine) for cell in document.cells]
    plain = not document.growth and "cluster" not in document.options
    return inferred and plain and not any(engine.runs_programs for engine in known)


def command_line(arguments: list[str]) -> list[str]:
    """Return the command as typed, with the program's name instead of its path on this machine."""
    return [Path(arguments[0]).name, *arguments[1:]]
