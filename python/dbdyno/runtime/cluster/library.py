"""Ray, which is imported where it is used."""

import importlib
import os
from typing import Any

from dbdyno.base.errors import ExtraMissing


def load_ray(*, loopback: bool) -> Any:
    """Import Ray, without its statistics of use. Raises ExtraMissing.

    ``loopback``: for nodes that nobody reaches from elsewhere.
    """
    if loopback:
        # The variable by which Ray takes the loopback for a node's address, as it does on macOS by itself. It would
        # replace it by an address that others reach, wherever it is given one.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    # Ray tells its makers of each cluster that is started, unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Its warning of a future default concerns accelerators, which nothing here uses.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        ray = importlib.import_module("ray")
        # What `ray://` speaks; Ray imports it when a connection is made, and then says something else.
        importlib.import_module("grpc")
    except ImportError:
        raise ExtraMissing("ray", "cluster") from None
    return ray


def part(name: str) -> Any:
    """Import a module of Ray's."""
    return importlib.import_module(f"ray.{name}")
