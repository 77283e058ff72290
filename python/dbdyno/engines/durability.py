"""The same durability for all systems: the settings that each engine needs for a class."""

from collections.abc import Iterator
from dataclasses import replace

from dbdyno.base.errors import InputError
from dbdyno.engines.classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.engines.known import engine_of
from dbdyno.engines.url import with_settings
from dbdyno.model.plan.system import SystemSpec

# Power-safe: an acknowledged commit is on the device, whole pages included. Process-safe: it survives the end of the
# database's process, not that of the machine, and nothing is synced for it.
CLASSES = (POWER_SAFE, PROCESS_SAFE)


def with_durability(spec: SystemSpec, wanted: str) -> SystemSpec:
    """Give a system with the settings that its engine needs for a class of durability.

    One that sets one of them to another value, or has tables that cannot be durable, is an InputError, as is a class
    that there is not.
    """
    if wanted not in CLASSES:
        raise InputError("--same-durability", f"there is no class `{wanted}`", f"known: {', '.join(CLASSES)}")
    engine = engine_of(spec.engine)
    behind = engine.behind(spec.settings)
    if behind is not None:
        prefix, database = behind
        needed = with_durability(replace(database, name=f"{spec.name}: {database.engine}"), wanted).settings
        return with_settings(spec, {prefix + name: value for name, value in needed.items()})
    if not engine.has_data:
        raise InputError(spec.name, "it has no durability that dbdyno could set", "leave out `--same-durability`")
    settings = engine.durability.get(wanted)
    if settings is None:
        raise InputError(spec.name, f"how to make `{spec.engine}` {wanted} is not known", "leave it out")
    never = engine.never_durable(spec.settings)
    if never is not None:
        what, hint = never
        raise InputError(spec.name, f"{what} cannot be {wanted}", f"{hint}, or leave it out of the comparison")
    for name, value in settings.items():
        given = spec.settings.get(name, value).lower()
        if given != value and (wanted, name, given) not in engine.also_durable:
            problem = f"`{name}` is set to `{spec.settings[name]}`, and {wanted} needs `{value}`"
            raise InputError(spec.name, problem, "leave it out of the URL")
    return with_settings(spec, {name: value for name, value in settings.items() if name not in spec.settings})


def in_each_class(spec: SystemSpec) -> Iterator[SystemSpec]:
    """Give a system as it is, and with the settings of each class of durability that it can have."""
    yield spec
    for wanted in CLASSES:
        try:
            changed = with_durability(spec, wanted)
        except InputError:
            continue
        yield changed
