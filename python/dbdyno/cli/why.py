"""`dbdyno why`: find what limits a cell of an experiment or of a stored run, by changing it."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.document.run import stored_experiment
from dbdyno.base.console import Console
from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.base.resources import EXPERIMENT_SUFFIX, builtin_names
from dbdyno.cli.effect_checks import check_levels, check_write_options
from dbdyno.cli.experiment_source import ExperimentSource, is_sql_file
from dbdyno.cli.exports import Exports
from dbdyno.cli.run import command_line, finish, location_of_run, writing_store
from dbdyno.engines import names_program
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.experiment.design import parse_set
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.run_options import RunOptions
from dbdyno.run.execute import execute
from dbdyno.run.request import Request
from dbdyno.run.why_pilot import pick, plan_why
from dbdyno.store import RunRecord, Store, open_store


@dataclass(frozen=True)
class _Subject:
    """The experiment that `why` examines. The options contain its levels, systems and cell."""

    experiment: Experiment
    options: RunOptions

    @property
    def systems(self) -> list[SystemSpec]:
        return [parse_url(url) for url in self.options.systems]


def answer_why(
    source: ExperimentSource,
    options: RunOptions,
    store_location: str | None,
    exports: Exports,
    command: list[str],
    *,
    verbose: bool,
) -> int:
    """Measure, show the answer, write the exports; return the exit code. Raises DbdynoError.

    ``source``: names one experiment, or a stored run; ``command``: the arguments as typed.
    """
    console = Console(stderr=exports.to_output)
    exports.check()
    began = time.monotonic()
    subject = _subject(source, options, store_location)
    experiment, systems = subject.experiment, subject.systems
    seed = random.SystemRandom().getrandbits(48) if options.seed is None else options.seed
    options = replace(subject.options, seed=seed)
    picked = pick(experiment, parse_set(options.set, experiment), systems, options.cell)
    if picked.note:
        console.print(picked.note[0].upper() + picked.note[1:], style="dim", soft_wrap=True)
    planned = plan_why(experiment, picked, options, seed)
    request = Request(
        experiment=experiment,
        systems=systems,
        options=replace(options, cell=planned.cell),
        command=command_line(command),
        why=planned,
        began=began,
    )
    with writing_store(store_location) as store:
        document, interrupted = execute(request, store, Console(stderr=True))
        location = location_of_run(store, document, store_location)
        return finish(console, document, exports, interrupted, location, verbose=verbose)


def _subject(source: ExperimentSource, options: RunOptions, store_location: str | None) -> _Subject:
    """Find the experiment: a file, a built-in one, or a stored run's. Raises DbdynoError."""
    (name,) = source.experiments
    is_file = name.endswith(EXPERIMENT_SUFFIX) or is_sql_file(name)
    is_experiment = is_file or name in builtin_names()
    if is_experiment or (options.systems and all(map(names_program, options.systems))):
        return _checked(_Subject(source.experiment(options.systems), options), options.set)
    store = open_store(store_location, make=False)
    try:
        run = store.run(name)
        with store.interpreting(run.id):
            return _subject_of_run(run, options, store)
    except DbdynoError as error:
        hint = "give an experiment (`dbdyno list`, or a file), or a run (`dbdyno runs`)"
        raise InputError(name, str(error), hint) from None
    finally:
        store.close()


def _subject_of_run(run: RunRecord, options: RunOptions, store: Store) -> _Subject:
    """Take the levels, systems and cell of a stored run, unless options replace them."""
    stored = RunOptions.from_stored(run.options)
    given = {each.partition("=")[0].strip() for each in options.set}
    kept = [each for each in stored.set if each.partition("=")[0].strip() not in given]
    merged = replace(
        options,
        set=[*kept, *options.set],
        systems=options.systems or list(dict.fromkeys(stored.systems)),
        cell=options.cell or stored.cell,
    )
    return _checked(_Subject(stored_experiment(run, store), merged), options.set)


def _checked(subject: _Subject, levels: Sequence[str]) -> _Subject:
    """Return the subject. Raises InputError for an option without effect. ``levels``: as typed."""
    specs = check_levels(subject.experiment, levels, subject.systems)
    check_write_options(specs, subject.options.directory, allow_writes=subject.options.allow_writes)
    return subject
