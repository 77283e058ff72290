"""Pin the tiers of systems to CPUs, as requested by ``--processors web=0,db=1``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.base.errors import InputError
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.url import with_settings
from dbdyno.model.plan.system import SystemSpec

_OPTION = "--processors"

# Prefix of a tier's name in the setting.
_SETTING = "processors."

# One CPU, or the first and the last of a range.
_NUMBER = re.compile(r"\d+(-\d+)?")


def read_processors(text: str) -> dict[str, str]:
    """Parse CPU numbers by tier: ``web=0,2,db=1`` is CPUs 0 and 2 for ``web`` and CPU 1 for ``db``.

    Raises InputError.
    """
    found: dict[str, str] = {}
    tier = ""
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        if equals:
            tier = name.strip()
            if tier in found:
                raise InputError(_OPTION, f"`{tier}` is given twice", "list all its CPUs together, e.g. `web=0,2`")
        if not tier or not _NUMBER.fullmatch(number.strip()):
            raise InputError(_OPTION, f"`{text}` is not a list of tiers and CPUs", "write e.g. `web=0,db=1-3`")
        found[tier] = f"{found[tier]},{number}" if tier in found else number
    return found


def with_processors(systems: Sequence[SystemSpec], asked: Mapping[str, str]) -> list[SystemSpec]:
    """Return the systems with their tiers pinned to the requested CPUs. A system ignores tiers that it doesn't have.

    Raises InputError for a tier that none of the systems has.
    """
    tiers = {spec.name: engine_of(spec.engine).tiers(spec.settings) for spec in systems}
    known = tuple(dict.fromkeys(tier for each in tiers.values() for tier in each))
    for tier in asked:
        if tier not in known:
            hint = f"known: {', '.join(f'`{each}`' for each in known)}" if known else "only `web:` has tiers"
            raise InputError(_OPTION, f"no system here has a tier `{tier}`", hint)
    return [
        with_settings(spec, {_SETTING + tier: asked[tier] for tier in tiers[spec.name] if tier in asked})
        for spec in systems
    ]


def without_processors(spec: SystemSpec) -> SystemSpec:
    """Return a system without CPU pinning; its other settings don't change."""
    placed = {_SETTING + tier for tier in engine_of(spec.engine).tiers(spec.settings)}
    return replace(spec, settings={name: value for name, value in spec.settings.items() if name not in placed})
