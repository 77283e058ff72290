"""Import Ray on first use."""

import importlib
import os
from typing import Any

from dbdyno.base.errors import ExtraMissing


def load_ray(*, loopback: bool) -> Any:
    """Import Ray with usage statistics disabled. Raises ExtraMissing.

    ``loopback``: keep nodes on the loopback interface.
    """
    if loopback:
        # With this variable, Ray keeps a loopback address of a node (its default on macOS). Otherwise it replaces the
        # address by one that other machines can reach.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    # Otherwise Ray reports each started cluster to its vendor.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Suppresses a warning about accelerators, which dbdyno doesn't use.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        ray = importlib.import_module("ray")
        # `ray://` needs it. Ray imports it on connecting, and then gives a misleading error.
        importlib.import_module("grpc")
    except ImportError:
        raise ExtraMissing("ray", "cluster") from None
    return ray


def part(name: str) -> Any:
    """Import a Ray submodule."""
    return importlib.import_module(f"ray.{name}")
