"""Passwords of systems."""

import os
from collections.abc import Mapping

from dbdyno.engines.lookup import engine_of
from dbdyno.model.plan.system import SystemSpec


def password_of(system: SystemSpec, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return a system's password: from its URL, or from its engine's environment variable."""
    return system.password or environment.get(engine_of(system.engine).password_variable or "")
