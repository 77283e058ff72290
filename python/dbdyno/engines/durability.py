"""Apply the settings that give all systems the same durability class."""

from collections.abc import Iterator
from dataclasses import replace

from dbdyno.base.errors import InputError
from dbdyno.engines.durability_classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.url import with_settings
from dbdyno.model.plan.system import SystemSpec

# Power-safe: an acknowledged commit is on the device, protected against torn pages. Process-safe: a commit survives a
# crash of the database's process but not of the machine, and isn't synced.
CLASSES = (POWER_SAFE, PROCESS_SAFE)


def with_durability(spec: SystemSpec, wanted: str) -> SystemSpec:
    """Return a system with the settings that its engine requires for a durability class.

    Raises InputError if the class doesn't exist, if the system sets one of the settings to another value, or if its
    tables can't be durable.
    """
    if wanted not in CLASSES:
        raise InputError("--same-durability", f"unknown class `{wanted}`", f"known: {', '.join(CLASSES)}")
    engine = engine_of(spec.engine)
    behind = engine.behind(spec.settings)
    if behind is not None:
        prefix, database = behind
        needed = with_durability(replace(database, name=f"{spec.name}: {database.engine}"), wanted).settings
        return with_settings(spec, {prefix + name: value for name, value in needed.items()})
    if not engine.has_data:
        raise InputError(spec.name, "dbdyno can't set its durability", "leave out `--same-durability`")
    settings = engine.durability.get(wanted)
    if settings is None:
        raise InputError(spec.name, f"dbdyno doesn't know how to make `{spec.engine}` {wanted}", "leave it out")
    never = engine.never_durable(spec.settings)
    if never is not None:
        what, hint = never
        raise InputError(spec.name, f"{what} cannot be {wanted}", f"{hint}, or leave the system out of the comparison")
    for name, value in settings.items():
        given = spec.settings.get(name, value).lower()
        if given != value and (wanted, name, given) not in engine.also_durable:
            problem = f"`{name}` is set to `{spec.settings[name]}`, but {wanted} requires `{value}`"
            raise InputError(spec.name, problem, "leave it out of the URL")
    return with_settings(spec, {name: value for name, value in settings.items() if name not in spec.settings})


def in_each_class(spec: SystemSpec) -> Iterator[SystemSpec]:
    """Yield a system unchanged, then with the settings of each durability class that it supports."""
    yield spec
    for wanted in CLASSES:
        try:
            changed = with_durability(spec, wanted)
        except InputError:
            continue
        yield changed
