"""The experiment of a command: a built-in one, a file, or pgbench scripts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbdyno.base.errors import InputError
from dbdyno.engines import names_program
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment, programs_experiment
from dbdyno.experiment.design import DEFAULT_SYSTEM, file_systems
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.factors import MIX_FACTORS, QUERY_FACTOR, SYSTEM
from dbdyno.model.experiment.sql import ANY, DIALECTS

if TYPE_CHECKING:
    from dbdyno.experiment.samples import Sample


_TRACE = ".trace"


def is_sql_file(name: str) -> bool:
    """Whether an experiment's name is the name of a file of statements: SQL, or a trace of an application."""
    return name.lower().endswith((".sql", _TRACE))


def divide_chosen(
    experiments: Sequence[str], chosen: Sequence[str], *, mix: bool = False, clients: str | None = None
) -> tuple[list[str], list[str]]:
    """Separate levels of factors from parameter values, which SQL files have.

    The only factor of such a file selects the statement; with ``mix``, it has those of a workload. ``clients``: the
    levels of the factor of this name, as typed. Raises InputError.
    """
    is_file = any(map(is_sql_file, experiments))
    if mix and not is_file:
        raise InputError("--mix", "it applies to SQL files only", "leave it out, or name a .sql file")
    if clients is not None:
        if is_file and not mix:
            problem = "each statement of the file is measured alone, with one client"
            raise InputError("--clients", problem, "add `--mix` to measure the file as one workload")
        if any(each.partition("=")[0].strip() == "clients" for each in chosen):
            raise InputError("--clients", "`--set clients` gives them, too", "leave one of them out")
        chosen = [*chosen, f"clients={clients}"]
    if not is_file:
        return list(chosen), []
    factors = MIX_FACTORS if mix else (QUERY_FACTOR,)
    levels = [each for each in chosen if each.partition("=")[0].strip() in factors]
    return levels, [each for each in chosen if each not in levels]


def _keeps_data(systems: Sequence[str]) -> bool:
    """Whether statements must leave the data as they are: those of a server that dbdyno didn't start."""
    return any(parse_url(system).host is not None for system in systems)


@dataclass(frozen=True)
class ExperimentSource:
    """The experiment as typed. ``scale`` and ``defines`` apply to pgbench scripts (``pgbench``).

    ``statements``: replace an experiment. ``values``: of parameters. ``translate``: statements are SQLite's SQL, and
    are translated for other engines. ``mix``: a file of statements is one workload.
    """

    experiments: list[str] = field(default_factory=list)
    pgbench: bool = False
    scale: int | None = None
    defines: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    directory: str | None = None
    translate: bool = False
    mix: bool = False
    # Both sides of a gate get the same workload of a trace, by file, and the same values, by table and column.
    distilled: dict[str, str] = field(default_factory=dict, compare=False)
    drawn: "dict[tuple[str, tuple[str, ...]], Sequence[Sequence[int | float | str]]]" = field(
        default_factory=dict, compare=False
    )

    def experiment(self, systems: Sequence[str]) -> Experiment:
        """Read the experiment for ``systems``, as they were typed, with values of the columns it names.

        The values are sampled on the first system. Raises InputError.
        """
        from dbdyno.experiment.samples import with_samples

        made = self.written(systems)
        return with_samples(made, self._sampler(made, systems))

    def written(self, systems: Sequence[str]) -> Experiment:
        """Read the experiment as :meth:`experiment`, without values of the columns it names."""
        made = self._experiment(systems)
        if not self.translate:
            return made
        known = systems or ([] if SYSTEM in made.factors else [DEFAULT_SYSTEM])
        if known and {parse_url(each).engine for each in known} <= set(DIALECTS):
            raise InputError("--translate", "these systems need no translation", "leave it out")
        if self.statements or (not self.pgbench and any(map(is_sql_file, self.experiments))):
            return made
        if made.document.get("dialect") is not None:
            raise InputError("--translate", f"`{made.name}` says which SQL it is in", "leave it out")
        if not made.document.get("transactions"):
            raise InputError("--translate", f"`{made.name}` does not contain statements", "leave it out")
        return make_experiment(parse(f'dialect = "sqlite"\n{made.text}', made.location, made.folder))

    def _experiment(self, systems: Sequence[str]) -> Experiment:
        if self.statements:
            from dbdyno.experiment.statements import statements_experiment

            engine = self._statement_engine(systems)
            keeps = _keeps_data(systems)
            return statements_experiment(self.statements, self._parameter_values(), engine, keeps_data=keeps)
        if self.pgbench:
            from dbdyno.experiment.pgbench.experiment import from_options

            return from_options(self.experiments, 1 if self.scale is None else self.scale, self.defines, systems)
        if self.scale is not None or self.defines:
            problem = "`--scale` and `--define` apply to pgbench scripts only"
            raise InputError("experiment", problem, "add `--pgbench`")
        if len(self.experiments) > 1:
            problem = "several experiments are named"
            raise InputError("experiment", problem, "name one; pgbench scripts need `--pgbench`")
        if self.experiments and is_sql_file(self.experiments[0]):
            return self._queries(self.experiments[0], systems)
        if self.experiments:
            return load_experiment(self.experiments[0])
        if systems and all(map(names_program, systems)):
            return programs_experiment()
        raise InputError("experiment", "none is named", "`dbdyno list` shows the built-in ones")

    def _queries(self, file: str, systems: Sequence[str]) -> Experiment:
        """Read a file of statements."""
        from dbdyno.experiment.queries import merged, queries_experiment, read_queries, read_statements
        from dbdyno.experiment.sql_file import read_sql_file

        engine, given = self._statement_engine(systems), self._parameter_values()
        is_trace = file.lower().endswith(_TRACE)
        text = self._text_of_trace(file, systems) if is_trace else read_sql_file(file)
        if self.mix:
            from dbdyno.experiment.mix import mix_experiment

            queries = read_statements(text, file, engine)
            made = mix_experiment(queries, given, file, engine)
        else:
            queries = merged(read_queries(text, file, engine))
            made = queries_experiment(queries, given, file, engine, keeps_data=_keeps_data(systems))
        # Only a file has lines that the user can look up.
        places = {} if is_trace else {each.name: f"{file}, line {each.line}: {each.name}" for each in queries}
        return replace(made, places=places)

    def _text_of_trace(self, file: str, systems: Sequence[str]) -> str:
        """Make a workload of a trace, whose values are those of the first system."""
        from dbdyno.cli.distil import DistilOptions, distilled

        if file not in self.distilled:
            workload = distilled(file, systems[0] if systems else None, DistilOptions(self.directory))
            self.distilled[file] = workload.text
        return self.distilled[file]

    def _statement_engine(self, systems: Sequence[str]) -> str:
        """Return the engine that gets statements unchanged; ``any`` if they are translated."""
        engines = {parse_url(system).engine for system in systems or [DEFAULT_SYSTEM]}
        return ANY if self.translate or len(engines) > 1 else engines.pop()

    def _parameter_values(self) -> dict[str, str]:
        given: dict[str, str] = {}
        for value in self.values:
            name, equals, words = value.partition("=")
            if not equals or not words.strip():
                raise InputError("--set", f"{value} gives no values", "write `--set customer=1..1000`")
            parameter = name.strip().removeprefix(":")
            if parameter in given:
                raise InputError(f"--set {value}", f"`{parameter}` is set twice", "give all its values in one `--set`")
            given[parameter] = words.strip()
        return given

    def _sampler(self, experiment: Experiment, systems: Sequence[str]) -> "Sample":
        """Return a function that samples columns on the first system of a run."""
        from dbdyno.experiment.samples import MAX_VALUES

        def sample(table: str, columns: Sequence[str]) -> "Sequence[Sequence[int | float | str]]":
            key = (table, tuple(columns))
            if key not in self.drawn:
                from dbdyno.run.column_samples import sample_columns

                system = parse_url(systems[0]) if systems else next(iter(file_systems(experiment).values()))
                self.drawn[key] = sample_columns(system, table, columns, MAX_VALUES, self.directory)
            return self.drawn[key]

        return sample
