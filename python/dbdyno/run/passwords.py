"""Passwords of a resumed run's systems. They are never stored, so users give them again."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.engines.passwords import password_of
from dbdyno.model.plan.system import SystemSpec
from dbdyno.store.masking import MASK


def named_with_password(systems: Iterable[SystemSpec]) -> list[str]:
    """Return the names of the systems whose URL contains a password."""
    return list(dict.fromkeys(system.name for system in systems if system.password))


def with_passwords(
    systems: Sequence[SystemSpec], had: Iterable[str], given: Sequence[SystemSpec]
) -> tuple[SystemSpec, ...]:
    """Return a run's stored systems with the given passwords.

    ``had``: names of the systems that need a password. Raises InputError for a given system that the run doesn't have,
    and for a missing password.
    """
    again = {_address(system): system.password for system in given}
    strange = next((system for system in given if _address(system) not in map(_address, systems)), None)
    if strange is not None:
        problem = "the run that goes on is not of this system"
        raise InputError(f"--system {strange.name}", problem, "its systems: " + ", ".join(_names(systems)))
    found = tuple(replace(system, password=again.get(_address(system))) for system in systems)
    without = next((system for system in found if system.name in had and password_of(system) is None), None)
    if without is not None:
        raise InputError("--resume", f"the password of {without.name} is not stored", _hint(without))
    return found


def check_stored(systems: Iterable[SystemSpec]) -> None:
    """See that no system of a stored experiment was written with a password. Raises InputError."""
    masked = next((system for system in systems if MASK in (system.user, system.password)), None)
    if masked is not None:
        problem = f"the experiment names {masked.name} with a password, which is not stored, so the run cannot go on"
        raise InputError("--resume", problem, "give it by `--system`, or in the engine's variable, and start a new run")


def _address(system: SystemSpec) -> tuple[str | int | None, ...]:
    return system.engine, system.user, system.host, system.port, system.database


def _names(systems: Iterable[SystemSpec]) -> list[str]:
    return list(dict.fromkeys(system.name for system in systems)) or ["those of its experiment"]


def _hint(system: SystemSpec) -> str:
    variable = engine_of(system.engine).password_variable
    otherwise = f", or set {variable}" if variable else ""
    return f"give the system again, with it (`--system {system.engine}://user:password@host/...`){otherwise}"
