"""`dbdyno why`: a cell of an experiment or of a stored run, and what changes of it prove."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.analysis.document.run import stored_experiment
from dbdyno.base.console import Console
from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.base.resources import EXPERIMENT_SUFFIX, builtin_names
from dbdyno.cli.effects import check_levels, check_places
from dbdyno.cli.exports import Exports
from dbdyno.cli.named_experiment import Named, divide_chosen, is_sql_file
from dbdyno.cli.run import command_line, finish, holder, writing_store
from dbdyno.cli.values import read_duration, read_rounds
from dbdyno.engines import names_program
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.experiment.design import parse_set
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.execute import execute
from dbdyno.run.request import Request
from dbdyno.run.why_pilot import pick, plan_why
from dbdyno.stats import Stopping
from dbdyno.store import RunRecord, Store, open_store

# Rounds at least and at most, where verdicts decide.
_LEAST, _MOST = 5, 30
# Fewer rounds tell too little, whatever the time.
_KEPT = 4


@dataclass(frozen=True)
class WhyAsked:
    """The options as they were typed. ``asked``: an experiment or a run."""

    asked: str
    cell: str | None
    chosen: list[str]
    systems: list[str]
    rounds: str
    budget: str
    seed: int | None
    directory: str | None
    allow_writes: bool
    fix: bool = False


@dataclass(frozen=True)
class _Of:
    """What is asked about: an experiment, its levels, and its systems."""

    experiment: Experiment
    chosen: Sequence[str]
    systems: Sequence[SystemSpec]
    cell: str | None


def answer_why(
    asked: WhyAsked, store_place: str | None, exports: Exports, command: list[str], *, verbose: bool = False
) -> int:
    """Measure, show the answer, write the exports; give the exit code. Raises DbdynoError."""
    console = Console(stderr=exports.to_output)
    exports.check()
    began = time.monotonic()
    rounds, budget_s = read_rounds(asked.rounds), read_duration(asked.budget, "--budget")
    of = _of(asked, store_place)
    seed = random.SystemRandom().getrandbits(48) if asked.seed is None else asked.seed
    picked = pick(of.experiment, parse_set(of.chosen, of.experiment), list(of.systems), of.cell)
    if picked.said:
        console.print(picked.said[0].upper() + picked.said[1:], style="dim", soft_wrap=True)
    planned = plan_why(of.experiment, picked, seed, asked.directory, allow_writes=asked.allow_writes, budget_s=budget_s)
    request = Request(
        of.experiment,
        list(of.chosen),
        list(of.systems),
        rounds or "auto",
        seed,
        asked.directory,
        command_line(command),
        stopping=Stopping(minimum=_LEAST, maximum=_MOST, budget_s=budget_s, kept=_KEPT),
        interleaving="none",
        allow_writes=asked.allow_writes,
        why=planned,
        fix=asked.fix,
        began=began,
    )
    with writing_store(store_place) as store:
        document, interrupted = execute(request, store, Console(stderr=True))
        place = holder(store, document, store_place)
        return finish(console, document, exports, interrupted, place, verbose=verbose)


def _of(asked: WhyAsked, store_place: str | None) -> _Of:
    """Find what is asked about: a file, a built-in experiment, or a run. Raises DbdynoError."""
    is_file = asked.asked.endswith(EXPERIMENT_SUFFIX) or is_sql_file(asked.asked)
    is_experiment = is_file or asked.asked in builtin_names()
    if is_experiment or (asked.systems and all(map(names_program, asked.systems))):
        chosen, values = divide_chosen([asked.asked], asked.chosen)
        experiment = Named([asked.asked], values=values).experiment(asked.systems)
        systems = [parse_url(url) for url in asked.systems]
        _check(asked, experiment, chosen, systems)
        return _Of(experiment, chosen, systems, asked.cell)
    store = open_store(store_place, make=False)
    try:
        run = store.run(asked.asked)
        with store.interpreting(run.id):
            return _of_run(asked, run, store)
    except DbdynoError as error:
        hint = "give an experiment (`dbdyno list`, or a file), or a run (`dbdyno runs`)"
        raise InputError(asked.asked, str(error), hint) from None
    finally:
        store.close()


def _of_run(asked: WhyAsked, run: RunRecord, store: Store) -> _Of:
    """Ask about a run: its levels and systems, but for what is given. That of a `why` is its cell."""
    options = run.options
    given = {each.partition("=")[0].strip() for each in asked.chosen}
    kept = [each for each in options.get("set", []) if each.partition("=")[0].strip() not in given]
    urls = asked.systems or list(dict.fromkeys(options.get("systems", [])))
    cell = asked.cell or options.get("cell")
    experiment, systems = stored_experiment(run, store), [parse_url(url) for url in urls]
    _check(asked, experiment, asked.chosen, systems)
    return _Of(experiment, [*kept, *asked.chosen], systems, cell)


def _check(asked: WhyAsked, experiment: Experiment, chosen: Sequence[str], systems: Sequence[SystemSpec]) -> None:
    """Raise InputError for an option that has no effect."""
    specs = check_levels(experiment, chosen, systems)
    check_places(specs, asked.directory, allow_writes=asked.allow_writes)
