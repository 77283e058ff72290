"""Nodes of Ray on this machine, which last as long as the run: to try what a cluster does."""

import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed

# Whoever can reach a cluster of Ray can have it run programs: nobody else can reach this one.
LOOPBACK = "127.0.0.1"
_HERE = {"node_ip_address": LOOPBACK, "include_dashboard": False}

# Where Ray's files are, and how the name begins that the process id of whose they are stands in.
_PLACE = "/tmp"  # noqa: S108
_PREFIX = "dbdyno-ray-"
# The variable that says where Ray's directory is, `ray`.
_RAYS_PLACE = "RAY_TMPDIR"

# Seconds that they have to come up, on a busy machine.
_STARTED_S = 180.0


class LocalNodes:
    """A head without load, and some nodes. They end with this process, whatever ends it."""

    def __init__(self, number: int) -> None:
        """Start them. Raises SystemFailed."""
        self._number = number
        _remove_abandoned()
        # Ray's sockets lie in it, whose paths are limited to some hundred characters.
        self._directory = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_PLACE)
        self._cluster: Any = None
        self._nodes: list[Any] = []
        try:
            cluster_utils = importlib.import_module("ray.cluster_utils")
            # Nobody reads what its workers print, and the number of nodes is the user's.
            spared = {"include_log_monitor": False, "no_monitor": True}
            head = {**_HERE, **spared, "num_cpus": 0, "temp_dir": self._directory}
            with self._noting_its_address():
                self._cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
            self.complete()
        except SystemFailed:
            self.close()
            raise
        except Exception as error:  # Ray raises many kinds
            self.close()
            raise SystemFailed(f"Ray's nodes could not be started on this machine: {error}") from error

    @property
    def address(self) -> str:
        """Where a driver connects."""
        return str(self._cluster.address)

    def complete(self) -> None:
        """Start nodes in the place of those that have ended. Raises SystemFailed."""
        for node in [each for each in self._nodes if not each.any_processes_alive() or _without_raylet(each)]:
            self._nodes.remove(node)
            with suppress(Exception):  # what is left of it
                self._cluster.remove_node(node, allow_graceful=False)
        try:
            while len(self._nodes) < self._number:
                self._nodes.append(self._cluster.add_node(wait=False, num_cpus=1, **_HERE))
            self._cluster.wait_for_nodes(timeout=_STARTED_S)
        except Exception as error:  # Ray raises many kinds
            raise SystemFailed(f"Ray's nodes could not be started on this machine: {error}") from error

    def close(self) -> None:
        """End them all."""
        if self._cluster is not None:
            with suppress(Exception), self._noting_its_address():  # they end with this process in any case
                self._cluster.shutdown()
        shutil.rmtree(self._directory, ignore_errors=True)

    @contextmanager
    def _noting_its_address(self) -> Iterator[None]:
        """Have Ray note the address of the cluster in its own directory.

        The place of old is one for the machine, need not be there, and would lead others' programs here.
        """
        before = os.environ.get(_RAYS_PLACE)
        (Path(self._directory) / "ray").mkdir(exist_ok=True)
        os.environ[_RAYS_PLACE] = self._directory
        try:
            yield
        finally:
            if before is None:
                del os.environ[_RAYS_PLACE]
            else:
                os.environ[_RAYS_PLACE] = before


def _remove_abandoned() -> None:
    """Remove the directories of those that were killed and could not."""
    import psutil

    for path in Path(_PLACE).glob(f"{_PREFIX}*"):
        process = path.name.removeprefix(_PREFIX).partition("-")[0]
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _without_raylet(node: Any) -> bool:
    """Whether the process of a node is gone that makes it one."""
    return any(kind == "raylet" for kind, _ in node.dead_processes())
