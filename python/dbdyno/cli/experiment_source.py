"""The experiment of a command: a built-in one, a file, or pgbench scripts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbdyno.base.errors import InputError
from dbdyno.engines import names_program
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment, programs_experiment
from dbdyno.experiment.design import DEFAULT_SYSTEM
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.factors import QUERY_FACTOR, SYSTEM
from dbdyno.model.experiment.sql import ANY, DIALECTS

if TYPE_CHECKING:
    from dbdyno.experiment.parameter_values import Column
    from dbdyno.model.plan.system import SystemSpec


def is_sql_file(name: str) -> bool:
    """Whether an experiment's name is the name of a file of SQL statements."""
    return name.lower().endswith(".sql")


def divide_chosen(experiments: Sequence[str], chosen: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate levels of factors from parameter values, which a file of statements has.

    The only factor of such a file selects the statement.
    """
    if not any(map(is_sql_file, experiments)):
        return list(chosen), []
    levels = [each for each in chosen if each.partition("=")[0].strip() == QUERY_FACTOR]
    return levels, [each for each in chosen if each not in levels]


@dataclass(frozen=True)
class ExperimentSource:
    """The experiment as typed. ``scale`` and ``defines`` apply to pgbench scripts (``pgbench``).

    ``statements``: replace an experiment. ``values``: of parameters. ``translate``: statements are SQLite's SQL, and
    are translated for other engines.
    """

    experiments: list[str] = field(default_factory=list)
    pgbench: bool = False
    scale: int | None = None
    defines: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    directory: str | None = None
    translate: bool = False
    # Both sides of a gate get the same values, by table and column.
    drawn: "dict[tuple[str, str], Sequence[int | float | str]]" = field(default_factory=dict, compare=False)

    def experiment(self, systems: Sequence[str]) -> Experiment:
        """Read the experiment for ``systems``, as they were typed. Raises InputError."""
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
        return make_experiment(parse(f'dialect = "sqlite"\n{made.text}', made.place, made.folder))

    def _experiment(self, systems: Sequence[str]) -> Experiment:
        if self.statements:
            from dbdyno.experiment.statements import statements_experiment

            engine = self._statement_engine(systems)
            return statements_experiment(self.statements, self._parameter_values(), engine, self._sampler(systems))
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
        """Read a file of statements, and sample the values of columns on the first system."""
        from dbdyno.experiment.queries import queries_experiment, read_queries
        from dbdyno.experiment.sql_file import read_sql_file

        engine = self._statement_engine(systems)
        queries = read_queries(read_sql_file(file), file, engine)
        return queries_experiment(queries, self._parameter_values(), file, self._sampler(systems), engine)

    def _statement_engine(self, systems: Sequence[str]) -> str:
        """Return the engine that gets statements as they are written; ``any`` if they are translated."""
        engines = {parse_url(each).engine for each in systems or [DEFAULT_SYSTEM]}
        return ANY if self.translate or len(engines) > 1 else engines.pop()

    def _parameter_values(self) -> dict[str, str]:
        given: dict[str, str] = {}
        for each in self.values:
            name, equals, words = each.partition("=")
            if not equals or not words.strip():
                raise InputError("--set", f"{each} gives no values", "write `--set customer=1..1000`")
            parameter = name.strip().removeprefix(":")
            if parameter in given:
                raise InputError(f"--set {each}", f"`{parameter}` is set twice", "give all its values in one `--set`")
            given[parameter] = words.strip()
        return given

    def _sampler(self, systems: Sequence[str]) -> "Callable[[Column], Sequence[int | float | str]]":
        """Return a function that samples a column on the first system."""
        from dbdyno.experiment.queries import MOST_VALUES
        from dbdyno.run.column_samples import sample_column

        system = _sampled_system(systems)

        def sample(column: "Column") -> "Sequence[int | float | str]":
            key = (column.table, column.column)
            if key not in self.drawn:
                self.drawn[key] = sample_column(system, *key, MOST_VALUES, self.directory)
            return self.drawn[key]

        return sample


def _sampled_system(systems: Sequence[str]) -> "SystemSpec":
    return parse_url(systems[0] if systems else DEFAULT_SYSTEM)
