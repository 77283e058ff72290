"""The experiment that a command names: a built-in one, a file, or scripts of pgbench."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.engines import names_program
from dbdyno.engines.url import parse_url
from dbdyno.errors import InputError, reason
from dbdyno.experiment import Experiment, load_experiment, programs_experiment
from dbdyno.experiment.factors import QUERY_FACTOR

if TYPE_CHECKING:
    from dbdyno.experiment.queries import Column
    from dbdyno.plan.system import SystemSpec


def divide_chosen(experiments: Sequence[str], chosen: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell what is set of factors from values of parameters, which a file of statements has.

    Its one factor is which of the statements is run.
    """
    if not any(each.endswith(".sql") for each in experiments):
        return list(chosen), []
    levels = [each for each in chosen if each.partition("=")[0].strip() == QUERY_FACTOR]
    return levels, [each for each in chosen if each not in levels]


@dataclass(frozen=True)
class Named:
    """What was typed. ``scale`` and ``defines`` are of pgbench's scripts, which ``pgbench`` says they are.

    ``statements``: given by themselves, in place of an experiment. ``values``: of parameters.
    """

    experiments: list[str] = field(default_factory=list)
    pgbench: bool = False
    scale: int | None = None
    defines: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    directory: str | None = None

    def experiment(self, systems: Sequence[str]) -> Experiment:
        """Read the experiment for ``systems``, as they were typed. Raises InputError."""
        if self.statements:
            from dbdyno.experiment.statements import statements_experiment

            engine = _first(systems).engine
            return statements_experiment(self.statements, self._given(), engine, self._sampling(systems))
        if self.pgbench:
            from dbdyno.pgbench.experiment import from_options

            return from_options(self.experiments, 1 if self.scale is None else self.scale, self.defines, systems)
        if self.scale is not None or self.defines:
            raise InputError("experiment", "`--scale` and `--define` are of pgbench's scripts", "add `--pgbench`")
        if len(self.experiments) > 1:
            problem = "several experiments are named"
            raise InputError("experiment", problem, "name one; scripts of pgbench need `--pgbench`")
        if self.experiments and self.experiments[0].endswith(".sql"):
            return self._queries(self.experiments[0], systems)
        if self.experiments:
            return load_experiment(self.experiments[0])
        if systems and all(map(names_program, systems)):
            return programs_experiment()
        raise InputError("experiment", "none is named", "`dbdyno list` shows the built-in ones")

    def _queries(self, file: str, systems: Sequence[str]) -> Experiment:
        """Read a file of statements, and draw the values of columns from the first system."""
        from dbdyno.experiment.queries import queries_experiment, read_queries

        engine = _first(systems).engine
        queries = read_queries(_text(file), file, engine)
        return queries_experiment(queries, self._given(), file, self._sampling(systems))

    def _given(self) -> dict[str, str]:
        """Read the values of parameters."""
        given: dict[str, str] = {}
        for each in self.values:
            name, equals, words = each.partition("=")
            if not equals or not words.strip():
                raise InputError("--set", f"{each} gives no values", "write `--set customer=1..1000`")
            given[name.strip().removeprefix(":")] = words.strip()
        return given

    def _sampling(self, systems: Sequence[str]) -> "Callable[[Column], Sequence[int | float | str]]":
        """Give what draws values of a column from the first system."""
        from dbdyno.experiment.queries import MOST_VALUES
        from dbdyno.run.sampling import sample_column

        system = _first(systems)
        return lambda column: sample_column(system, column.table, column.column, MOST_VALUES, self.directory)


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(file, f"the file cannot be read: {reason(error)}", "name a file of statements") from error
    except UnicodeDecodeError:
        raise InputError(file, "the file is not UTF-8 text", "name a file of statements") from None


def _first(systems: Sequence[str]) -> "SystemSpec":
    """Give the system whose SQL statements are read as, and whose columns values are drawn from."""
    return parse_url(systems[0] if systems else "sqlite:")
