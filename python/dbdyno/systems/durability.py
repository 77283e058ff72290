"""The same durability for all systems: the settings that each engine needs for a class."""

from collections.abc import Iterator, Mapping

from dbdyno.engines import EXEC
from dbdyno.errors import InputError
from dbdyno.systems.url import SystemSpec, with_settings

POWER_SAFE = "power-safe"
PROCESS_SAFE = "process-safe"
CLASSES = (POWER_SAFE, PROCESS_SAFE)

# By class and engine. Power-safe: an acknowledged commit is on the device, whole pages included. Process-safe: it
# survives the end of the database's process, not that of the machine, and nothing is synced for it.
_SETTINGS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    POWER_SAFE: {
        "sqlite": {"synchronous": "extra"},
        "postgresql": {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"},
        "mysql": {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "innodb_doublewrite": "on"},
    },
    PROCESS_SAFE: {
        "sqlite": {"synchronous": "off"},
        "postgresql": {"fsync": "off", "synchronous_commit": "on"},
        "mysql": {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
    },
}

# Where a user has set it: what can be undone is at most the last commit, and in a log's mode it is the same.
_AS_WELL = {("sqlite", POWER_SAFE, "synchronous", "full")}

# Tables that no commit makes durable.
_VOLATILE = ("myisam", "aria", "memory")


def with_durability(spec: SystemSpec, wanted: str) -> SystemSpec:
    """Give a system with the settings that its engine needs for a class of durability.

    One that sets one of them to another value, or has tables that cannot be durable, is an InputError, as is a class
    that there is not.
    """
    if wanted not in CLASSES:
        raise InputError("--same-durability", f"there is no class `{wanted}`", f"known: {', '.join(CLASSES)}")
    if spec.engine in ("null", EXEC):
        raise InputError(spec.name, "it has no durability that dbdyno could set", "leave out `--same-durability`")
    settings = _SETTINGS[wanted].get(spec.engine)
    if settings is None:
        raise InputError(spec.name, f"how to make `{spec.engine}` {wanted} is not known", "leave it out")
    if spec.settings.get("engine", "").lower() in _VOLATILE:
        problem = f"tables of {spec.settings['engine']} cannot be {wanted}"
        raise InputError(spec.name, problem, "use engine=innodb, or leave it out of the comparison")
    for name, value in settings.items():
        given = spec.settings.get(name, value).lower()
        if given != value and (spec.engine, wanted, name, given) not in _AS_WELL:
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
