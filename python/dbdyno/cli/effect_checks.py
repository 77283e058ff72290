"""Options that would have no effect on an experiment or its systems are errors."""

from collections.abc import Sequence
from string import Formatter

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.experiment import Experiment
from dbdyno.experiment.design import parse_set, systems_of
from dbdyno.experiment.factors import SYSTEM
from dbdyno.experiment.substitute import references
from dbdyno.model.plan.system import SystemSpec


def check_levels(experiment: Experiment, levels: Sequence[str], systems: Sequence[SystemSpec]) -> list[SystemSpec]:
    """Raise InputError for a level that has no effect on any system; return the systems.

    ``levels``: ``--set`` options; ``systems``: named by ``--system``, replace the experiment's systems.
    """
    chosen = parse_set(levels, experiment)
    if SYSTEM in chosen and systems:
        raise InputError(f"--set {SYSTEM}=…", "`--system` names the systems", "leave out `--system` or this")
    specs = list(systems) or list(systems_of(experiment, chosen).values())
    named: dict[str, SystemSpec] = {}
    for spec in specs:
        # A number only distinguishes otherwise identical systems.
        is_name = bool(spec.label) and not spec.label.isdecimal()
        if is_name and named.setdefault(spec.label, spec) != spec:
            problem = f"`{spec.label}` also names {named[spec.label].name}"
            raise InputError(spec.name, problem, "give each system a name of its own")
    program = next(filter(_is_program, specs), None)
    if program is not None and all(map(_is_program, specs)) and experiment.document.get("transactions"):
        problem = f"a program runs none of the statements of `{experiment.name}`"
        raise InputError(program.name, problem, "name a system that runs them, or leave the experiment out")
    for name in chosen:
        if name != SYSTEM and not any(matters(experiment, name, spec) for spec in specs):
            engines = " and ".join(dict.fromkeys(spec.engine for spec in specs))
            hint = "leave it out" if program is None else f"write `{{{name}}}` in the command"
            raise InputError(f"--set {name}=…", f"`{name}` changes nothing on {engines}", hint)
    return specs


def _is_program(system: SystemSpec) -> bool:
    return engine_of(system.engine).runs_programs


def matters(experiment: Experiment, factor: str, system: SystemSpec) -> bool:
    """Whether a factor changes what is measured on a system."""
    growth = experiment.head.growth
    if growth is not None and growth.factor == factor:
        return True
    locations = [at for at, name in references(experiment.document) if name.partition(".")[0] == factor]
    if _is_program(system):
        # Programs use factors in their command, and only the load of the experiment.
        in_command = {name for _, name, _, _ in Formatter().parse(system.command)}
        return factor in in_command or any(at[0] == "load" for at in locations)
    return any(at[0] != "system" or at[1] == system.engine for at in locations)


def check_write_options(systems: Sequence[SystemSpec], directory: str | None, *, allow_writes: bool) -> None:
    """Raise InputError for `--dir` or `--allow-writes` if it concerns none of the systems."""
    made = [system for system in systems if engine_of(system.engine).has_data and not system.host]
    if directory is not None and not made:
        raise InputError("--dir", "dbdyno does not create databases for these systems", "leave it out")
    if allow_writes and not made and not any(system.host for system in systems):
        raise InputError("--allow-writes", "dbdyno does not restrict writes on these systems", "leave it out")
