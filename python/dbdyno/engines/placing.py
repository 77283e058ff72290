"""Processors of their own for the tiers of systems, as ``--processors web=0,db=1`` asks for them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.base.errors import InputError
from dbdyno.engines.known import engine_of
from dbdyno.engines.url import with_settings
from dbdyno.model.plan.system import SystemSpec

_OPTION = "--processors"

# What stands before a tier in the name of the setting.
_SETTING = "processors."

# One processor, or the first and the last of several.
_NUMBER = re.compile(r"\d+(-\d+)?")


def read_processors(text: str) -> dict[str, str]:
    """Read tiers and numbers of processors: ``web=0,2,db=1`` is 0 and 2 for the one and 1 for the other.

    Raises InputError.
    """
    found: dict[str, str] = {}
    tier = ""
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        if equals:
            tier = name.strip()
            if tier in found:
                raise InputError(_OPTION, f"`{tier}` is given twice", "write all its numbers together, as in `web=0,2`")
        if not tier or not _NUMBER.fullmatch(number.strip()):
            raise InputError(_OPTION, f"`{text}` names no tier and processors", "as in `web=0,db=1` or `web=0-3,db=4`")
        found[tier] = f"{found[tier]},{number}" if tier in found else number
    return found


def with_processors(systems: Sequence[SystemSpec], asked: Mapping[str, str]) -> list[SystemSpec]:
    """Give systems whose tiers keep to the processors that are asked for, each as far as it has the tier.

    Raises InputError for a tier that none of them has.
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
    """Give a system whose tiers may use all processors, and which is the same in all else."""
    placed = {_SETTING + tier for tier in engine_of(spec.engine).tiers(spec.settings)}
    return replace(spec, settings={name: value for name, value in spec.settings.items() if name not in placed})
