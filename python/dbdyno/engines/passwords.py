"""Where the password of a system comes from."""

import os
from collections.abc import Mapping

from dbdyno.engines.known import engine_of
from dbdyno.model.plan.system import SystemSpec


def password_of(system: SystemSpec, environment: Mapping[str, str] = os.environ) -> str | None:
    """Give the password of a system: its URL's, or that in its engine's variable."""
    return system.password or environment.get(engine_of(system.engine).password_variable or "")
