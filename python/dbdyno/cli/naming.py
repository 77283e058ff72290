"""The experiment that a command names: a built-in one, a file, or scripts of pgbench."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.engines import names_program
from dbdyno.errors import InputError
from dbdyno.experiment import Experiment, load_experiment, programs_experiment


@dataclass(frozen=True)
class Named:
    """What was typed. ``scale`` and ``defines`` are of pgbench's scripts, which ``pgbench`` says they are.

    ``statements``: given by themselves, in place of an experiment.
    """

    experiments: list[str] = field(default_factory=list)
    pgbench: bool = False
    scale: int | None = None
    defines: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    def experiment(self, systems: Sequence[str]) -> Experiment:
        """Read the experiment for ``systems``, as they were typed. Raises InputError."""
        if self.statements:
            from dbdyno.experiment.statements import statements_experiment

            return statements_experiment(self.statements)
        if self.pgbench:
            from dbdyno.pgbench.experiment import from_options

            return from_options(self.experiments, 1 if self.scale is None else self.scale, self.defines, systems)
        if self.scale is not None or self.defines:
            raise InputError("experiment", "`--scale` and `--define` are of pgbench's scripts", "add `--pgbench`")
        if len(self.experiments) > 1:
            problem = "several experiments are named"
            raise InputError("experiment", problem, "name one; scripts of pgbench need `--pgbench`")
        if self.experiments:
            return load_experiment(self.experiments[0])
        if systems and all(map(names_program, systems)):
            return programs_experiment()
        raise InputError("experiment", "none is named", "`dbdyno list` shows the built-in ones")
