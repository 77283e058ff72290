"""Ray nodes on this machine that live as long as the run, to try out `--cluster`."""

import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed

# A Ray cluster executes code for anyone who can connect, so it must not be reachable from other machines.
LOOPBACK = "127.0.0.1"
_HERE = {"node_ip_address": LOOPBACK, "include_dashboard": False}

# Ray's files are in /tmp/dbdyno-ray-PID-…
_PLACE = "/tmp"  # noqa: S108
_PREFIX = "dbdyno-ray-"
# The environment variable for the parent of Ray's directory `ray`.
_RAYS_PLACE = "RAY_TMPDIR"

# Seconds to wait for the nodes to start, enough for a busy machine.
_STARTED_S = 180.0


class LocalNodes:
    """A head node without load, and ``number`` nodes. They end when this process ends, even if it is killed."""

    def __init__(self, number: int) -> None:
        """Start the nodes. Raises SystemFailed."""
        self._number = number
        _remove_abandoned()
        # It contains Ray's sockets, and a socket's path is limited to about a hundred characters.
        self._directory = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_PLACE)
        self._cluster: Any = None
        self._nodes: list[Any] = []
        try:
            cluster_utils = importlib.import_module("ray.cluster_utils")
            # Neither the log monitor nor the autoscaler is needed.
            without = {"include_log_monitor": False, "no_monitor": True}
            head = {**_HERE, **without, "num_cpus": 0, "temp_dir": self._directory}
            with self._own_address_file():
                self._cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
            self.complete()
        except SystemFailed:
            self.close()
            raise
        except Exception as error:  # Ray raises many kinds
            self.close()
            raise SystemFailed(f"could not start Ray nodes on this machine: {error}") from error

    @property
    def address(self) -> str:
        """The address that a driver connects to."""
        return str(self._cluster.address)

    def complete(self) -> None:
        """Replace nodes that have ended. Raises SystemFailed."""
        for node in [each for each in self._nodes if not each.any_processes_alive() or _without_raylet(each)]:
            self._nodes.remove(node)
            with suppress(Exception):  # some of its processes may have ended
                self._cluster.remove_node(node, allow_graceful=False)
        try:
            while len(self._nodes) < self._number:
                self._nodes.append(self._cluster.add_node(wait=False, num_cpus=1, **_HERE))
            self._cluster.wait_for_nodes(timeout=_STARTED_S)
        except Exception as error:  # Ray raises many kinds
            raise SystemFailed(f"could not start Ray nodes on this machine: {error}") from error

    def close(self) -> None:
        """End all nodes."""
        if self._cluster is not None:
            with suppress(Exception), self._own_address_file():  # they end with this process anyway
                self._cluster.shutdown()
        shutil.rmtree(self._directory, ignore_errors=True)

    @contextmanager
    def _own_address_file(self) -> Iterator[None]:
        """Make Ray write the cluster's address to this cluster's directory.

        By default Ray uses a single file per machine, and other programs would connect to this cluster.
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
    """Remove the directories of processes that were killed."""
    import psutil

    for path in Path(_PLACE).glob(f"{_PREFIX}*"):
        process = path.name.removeprefix(_PREFIX).partition("-")[0]
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _without_raylet(node: Any) -> bool:
    return any(kind == "raylet" for kind, _ in node.dead_processes())
