"""The command that runs an experiment."""

import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dbdyno.analysis.measured.metrics import keeps_up
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, StoreError
from dbdyno.cli.effects import check_levels, check_places
from dbdyno.cli.exports import Exports
from dbdyno.cli.named_experiment import Named
from dbdyno.cli.values import read_duration, read_rounds, read_share
from dbdyno.engines import engine_of_product
from dbdyno.engines.durability import with_durability
from dbdyno.engines.placing import read_processors, with_processors
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.model.experiment.objective import read_objective
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.result import Document
from dbdyno.run.execute import execute, resume
from dbdyno.run.interleaving import Interleaving
from dbdyno.run.request import Design, Request
from dbdyno.run.searching import Slo
from dbdyno.runtime.cluster.address import read_cluster
from dbdyno.stats import Stopping
from dbdyno.store import Store, open_store
from dbdyno.store.places import shown, store_url

INTERRUPTED = 130
"""The exit code of a run that was interrupted."""


@dataclass(frozen=True)
class Asked:
    """The options of a run as they were typed; see :class:`dbdyno.run.request.Request`.

    ``searches``: an objective in the experiment's file starts a search, unless ``rounds`` are given.
    """

    named: Named = field(default_factory=Named)
    chosen: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    rounds: str | None = None
    seed: int | None = None
    directory: str | None = None
    resumed: str | None = None
    margin: str | None = None
    target: str | None = None
    min_rounds: int | None = None
    max_rounds: int | None = None
    budget: str | None = None
    wait_idle: bool = False
    instructions: bool = False
    same_durability: str | None = None
    processors: str | None = None
    try_recommendations: bool = False
    interleaving: str | None = None
    allow_writes: bool = False
    design: str = "full"
    cluster: str | None = None
    slo: str | None = None
    searches: bool = False

    def request(self, command: list[str]) -> Request:
        """Check and read them. Raises InputError."""
        experiment = self.named.experiment(self.systems)
        specs = check_levels(experiment, self.chosen, [parse_url(url) for url in self.systems])
        check_places(specs, self.directory, allow_writes=self.allow_writes)
        if self.try_recommendations and not experiment.head.recommendations:
            problem = f"`{experiment.name}` has no recommendations"
            raise InputError("--try-recommendations", problem, "leave it out")
        rounds = read_rounds(self.rounds)
        slo = self._slo(experiment)
        rules = {"target": self.target, "min-rounds": self.min_rounds, "max-rounds": self.max_rounds}
        given = [f"--{name}" for name, value in (rules | {"budget": self.budget}).items() if value is not None]
        if given and slo is None and rounds is None:
            rounds = "auto"
        if given and slo is None and rounds != "auto":
            problem = f"it has no effect with `--rounds {rounds}`, which fixes the number of rounds"
            raise InputError(given[0], problem, "leave one of them out")
        return Request(
            experiment,
            self.chosen,
            self._with_settings(specs),
            rounds,
            self.seed,
            self.directory,
            command_line(command),
            None if self.margin is None else read_share(self.margin, "--margin"),
            self._stopping(),
            self.wait_idle,
            self.instructions,
            self.try_recommendations,
            self._interleaving(),
            self.allow_writes,
            design=_design(self.design),
            cluster=None if self.cluster is None else read_cluster(self.cluster),
            slo=slo,
        )

    def read(self, file: str) -> Experiment:
        """Read another file of the same kind with these options. Raises InputError."""
        return replace(self.named, experiments=[file]).experiment(self.systems)

    def _slo(self, experiment: Experiment) -> Slo | None:
        """Return the objective that is searched for; None if there is none. Raises InputError."""
        of_file = experiment.head.slo if self.searches and self.rounds is None else None
        objective = of_file if self.slo is None else read_objective(self.slo, "--slo")
        if objective is None:
            return None
        others = {
            "--rounds": self.rounds,
            "--target": self.target,
            "--min-rounds": self.min_rounds,
            "--max-rounds": self.max_rounds,
            "--margin": self.margin,
            "--interleave": self.interleaving,
            "--instructions": self.instructions or None,
            "--try-recommendations": self.try_recommendations or None,
            "--design": None if self.design == "full" else self.design,
        }
        given = [name for name, value in others.items() if value is not None]
        if given:
            hint = "leave it out; `--budget` limits the time of the search"
            asked = str(objective)
            if self.slo is None:
                asked = f"`slo` in {experiment.place}: {objective}"
                hint += ", and `--rounds` measures rounds instead"
            raise InputError(given[0], f"does not apply to a search for the highest rate ({asked})", hint)
        return Slo(objective, None if self.budget is None else read_duration(self.budget, "--budget"))

    def _with_settings(self, specs: list[SystemSpec]) -> list[SystemSpec]:
        """Return the systems with the settings that the durability and the processors need; none if none is named."""
        if not self.systems and self.same_durability is None and self.processors is None:
            return []
        if self.processors is not None:
            specs = with_processors(specs, read_processors(self.processors))
        if self.same_durability is not None:
            specs = [with_durability(spec, self.same_durability) for spec in specs]
        return specs

    def _interleaving(self) -> Interleaving:
        match self.interleaving:
            case None | "none":
                return self.interleaving
            case _:
                return read_duration(self.interleaving, "--interleave")

    def _stopping(self) -> Stopping:
        usual = Stopping()
        minimum = self.min_rounds or min(usual.minimum, self.max_rounds or usual.minimum)
        maximum = self.max_rounds or max(usual.maximum, minimum)
        if minimum > maximum:
            raise InputError("--min-rounds", f"{minimum} is more than the {maximum} allowed", "raise `--max-rounds`")
        rule = replace(
            usual,
            minimum=minimum,
            maximum=maximum,
            budget_s=None if self.budget is None else read_duration(self.budget, "--budget"),
        )
        if self.target is None:
            return rule
        return replace(rule, target=read_share(self.target, "--target"), of_difference=0.0)


def _design(name: str) -> Design:
    match name:
        case "full" | "screening":
            return name
        case _:
            raise InputError("--design", f"there is no design {name}", "take `full` or `screening`")


def run_experiment(
    asked: Asked, store_place: str | None, exports: Exports, command: list[str], *, verbose: bool = False
) -> int:
    """Run or resume, show the result, write the exports; give the exit code. Raises DbdynoError.

    ``verbose``: all that is known of it is shown below the answer.
    """
    console = Console(stderr=exports.to_output)
    exports.check()
    with carried_out(asked, store_place, command) as (document, interrupted, place):
        return finish(console, document, exports, interrupted, place, verbose=verbose)


def finish(
    console: Console, document: Document, exports: Exports, interrupted: bool, place: str | None, *, verbose: bool
) -> int:
    """Show the result, say where it is stored, and write the files that are asked for; give the exit code."""
    from dbdyno.report.brief import show_brief

    console.print()
    show_brief(document, console, followed=verbose)
    if verbose:
        from dbdyno.report.table import show_details

        console.print()
        show_details(document, console)
    _last_lines(console, document, interrupted, place)
    # Last, so that a full disk costs none of the above.
    exports.write(document)
    if exports.report is not None:
        console.print(f"report: {exports.report.resolve()}", soft_wrap=True)
    if interrupted:
        return INTERRUPTED
    return 1 if document["status"] == "failed" else 0


@contextmanager
def writing_store(place: str | None) -> Iterator[Store]:
    """Open a store for runs. Raises DbdynoError; in the end StoreError, where it could not take all of them."""
    with closing(open_store(place)) as store:
        yield store
        _raise_troubles(store)


@contextmanager
def carried_out(
    asked: Asked, store_place: str | None, command: list[str]
) -> Iterator[tuple[Document, bool, str | None]]:
    """Run or resume; give the result, whether it was interrupted, and its store. Raises DbdynoError.

    Progress goes to standard error.
    Once the result has been shown, raises StoreError where the store could not take all of it.
    """
    if asked.resumed is None:
        request = asked.request(command)
        if asked.named.statements and not asked.systems:
            Console(stderr=True).print("no --system is given: this measures a new, empty SQLite database")
        with writing_store(store_place) as store:
            document, interrupted = execute(request, store, Console(stderr=True))
            _summarize(store, document)
            yield document, interrupted, holder(store, document, store_place)
        return
    given = [parse_url(url) for url in asked.systems]
    with closing(open_store(store_place, make=False, write=True)) as store:
        document, interrupted = resume(asked.resumed, store, Console(stderr=True), given)
        _summarize(store, document)
        yield document, interrupted, holder(store, document, store_place)
        _raise_troubles(store)


def _summarize(store: Store, document: Document) -> None:
    """Store the summary of a run that `history` reads. If that fails, `history` makes it and reports the error."""
    from dbdyno.analysis.history.reading import keep_summary

    with suppress(StoreError):
        keep_summary(store, document["id"])


def holder(store: Store, document: Document, place: str | None) -> str | None:
    """Give the store that has a run: the one at ``place``, or where it is kept because that could not take it."""
    elsewhere = store.elsewhere.get(document["id"])
    return place if elsewhere is None else elsewhere.place


def tell_troubles(store: Store, console: Console) -> None:
    """Say what a store could not take, where the exit code is to say something else."""
    for each in store.elsewhere.values():
        console.print(str(each.why), soft_wrap=True)
    store.elsewhere.clear()


def _raise_troubles(store: Store) -> None:
    if store.elsewhere:
        raise StoreError("\n".join(str(each.why) for each in store.elsewhere.values()))


def _last_lines(console: Console, document: Document, interrupted: bool, store_place: str | None) -> None:
    # A command that is copied finds the run where it is; with no password in it.
    where = "" if store_place is None else f" --store {shlex.quote(shown(store_url(store_place)))}"
    console.print()
    if interrupted:
        resumed = f"go on with: dbdyno run --resume {document['id']}{where}"
        line = resumed if document["slo"] is None else "a search for the highest rate cannot be resumed"
        console.print(f"interrupted; {line}", soft_wrap=True)
    line = f"run {document['id']} is stored: dbdyno show {document['id']}{where}"
    console.print(line, soft_wrap=True)
    if can_be_proven(document):
        command = f"dbdyno why {document['id']}{where}"
        open_loop = all(keeps_up(each) for each in document["cells"])
        line = f"what limits it is inferred; to prove it: {command}"
        if open_loop:
            line = f"to find what decides its response time: {command}"
        console.print(line, soft_wrap=True)


def can_be_proven(document: Document) -> bool:
    """Whether a `dbdyno why` of a run would tell more: it has a cause that is inferred, and its load can be changed."""
    if document["why"] is not None or document["slo"] is not None:
        return False
    inferred = any(
        each["bottleneck"] is not None and each["bottleneck"]["proven"] is None for each in document["cells"]
    )
    known = [engine_of_product(each["system"]["engine"]) for each in document["cells"]]
    plain = not document["growth"] and "cluster" not in document["options"]
    return inferred and plain and not any(each.runs_programs for each in known)


def command_line(arguments: list[str]) -> list[str]:
    """Give the command as typed, the program by its name and not by its path on this machine."""
    return [Path(arguments[0]).name, *arguments[1:]]
