"""The load machines of a run: Ray actors, one per node, that run dbdyno's worker there."""

import hashlib
import signal
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Self

from dbdyno.base.errors import SystemFailed
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.cluster import node as sent
from dbdyno.runtime.cluster.address import ClusterAddress
from dbdyno.runtime.cluster.clocks import Offset
from dbdyno.runtime.cluster.library import load_ray, part
from dbdyno.runtime.cluster.local import LOOPBACK, LocalNodes
from dbdyno.runtime.cluster.machine import Machine, MachineLost, RemoteWorker
from dbdyno.runtime.worker import JsonObject, worker_path

# Time between announcing a phase and its start: a minimum in nanoseconds, and a number of the longest round trips.
_NOTICE_NS = 50_000_000
_NOTICE_TRIPS = 20

# Time limits in seconds: for Ray to place the load machines, and for sending the program to one.
_PLACED_S = 60.0
_SENT_S = 300.0

# Number of attempts if the cluster's head fails to start a process for this client in time.
_ATTEMPTS = 3
_STARTED_LATE = "Initialization failure"


class LoadMachines:
    """A :class:`dbdyno.run.worker_places.WorkerHost` on other machines, used as a context manager."""

    def __init__(self, address: ClusterAddress) -> None:
        """Connect to a cluster, or start one, and send the worker to each load machine. Raises DbdynoError."""
        self.address = address
        self._ray = load_ray(loopback=address.is_local)
        self._local: LocalNodes | None = None
        self._group: Any = None
        self._strategy = ""
        self._offsets: dict[int, Offset] = {}
        self._agreed_ns = 0
        self.machines: list[Machine] = []
        try:
            self._local = LocalNodes(address.machines or 1) if address.is_local else None
            self._connect(self._local.address if self._local is not None else address.address)
            self._number = address.machines or max(1, len(self._nodes()))
            self._reserve_nodes()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of load machines; it never changes."""
        return self._number

    def ready(self) -> None:
        """Check all machines before a trial and replace lost ones. Raises SystemFailed."""
        for machine in self.machines:
            with suppress(MachineLost):
                machine.call("clock_ns")
        if len(self.machines) == self._number and not any(machine.lost for machine in self.machines):
            return
        self._release()
        if self._local is not None:
            self._local.complete()
        self._reserve_nodes()

    def facts(self) -> list[JsonObject]:
        """Return name, node and hardware of each load machine."""
        return [{"name": machine.name, "node": machine.node, **machine.facts} for machine in self.machines]

    def worker(self, number: int, plan: WorkerPlan[Any], timeout_s: float | None, padding: int) -> RemoteWorker:
        """Start the worker of a machine. Raises MachineLost."""
        return RemoteWorker(self.machines[number], plan, timeout_s, padding)

    def moments(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Choose when the next phase begins. Returns the time on each machine's own clock, in nanoseconds."""
        with ThreadPoolExecutor(max_workers=len(numbers)) as asking:
            found = dict(zip(numbers, asking.map(self._offset, numbers), strict=True))
        offsets = {number: offset for number, offset in found.items() if offset is not None}
        farthest = max((2 * offset.uncertainty_ns for offset in offsets.values()), default=0)
        at = time.monotonic_ns() + max(_NOTICE_NS, _NOTICE_TRIPS * farthest)
        self._offsets, self._agreed_ns = offsets, at
        return {number: at + offset.ns for number, offset in offsets.items()}

    def client_facts(self, sizes: list[int]) -> JsonObject:
        """Return the machines of the last trial with their numbers of clients and clock offsets at its start."""
        return {
            "agreed_ns": self._agreed_ns,
            "machines": [
                {
                    "name": machine.name,
                    "host": str(machine.facts["host"]),
                    "boot": str(machine.facts["boot"]),
                    "clients": clients,
                    "offset_ns": self._offsets[number].ns,
                    "uncertainty_ns": self._offsets[number].uncertainty_ns,
                }
                for number, (machine, clients) in enumerate(zip(self.machines, sizes, strict=True))
                if number in self._offsets
            ],
        }

    def close(self) -> None:
        """Release the machines, and end nodes that dbdyno started."""
        self._release()
        with suppress(Exception):  # Ray raises many kinds, and there is no remedy
            self._ray.shutdown()
        if self._local is not None:
            self._local.close()

    def _offset(self, number: int) -> Offset | None:
        try:
            return self.machines[number].offset()
        except MachineLost:
            # Reading the worker's events raises the same error.
            return None

    def _connect(self, address: str) -> None:
        own = {} if self._local is None else {"_node_ip_address": LOOPBACK}
        for attempt in range(_ATTEMPTS):
            try:
                with _handlers_kept():
                    self._ray.init(
                        address=address, log_to_driver=False, logging_level="error", namespace="dbdyno", **own
                    )
            except Exception as error:  # Ray raises many kinds
                with suppress(Exception):  # the connection may be half open
                    self._ray.shutdown()
                # The head starts a process per client; on a busy machine it gives up too early.
                if _STARTED_LATE in str(error) and attempt < _ATTEMPTS - 1:
                    continue
                why = (str(error).strip().splitlines() or [type(error).__name__])[0]
                raise SystemFailed(f"--cluster {self.address.shown}: no connection to the cluster: {why}") from error
            return

    def _nodes(self) -> list[JsonObject]:
        """Return the Ray nodes that are alive and offer at least one CPU."""
        return [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]

    def _reserve_nodes(self) -> None:
        """Place the load machines on separate nodes, or several per node if there are too few nodes."""
        nodes = self._nodes()
        # If a cluster loses a node, the number of load machines must stay the same: it is part of the experiment.
        self._strategy = self._strategy or ("STRICT_SPREAD" if len(nodes) >= self._number else "SPREAD")
        bundles = [{"CPU": 1}] * self._number
        self._group = part("util.placement_group").placement_group(bundles, strategy=self._strategy)
        if not self._group.wait(_PLACED_S):
            problem = f"Ray could not place {self._number} load machines within {_PLACED_S:g} s"
            raise SystemFailed(f"--cluster {self.address.shown}: {problem}; the cluster has {len(nodes)} nodes")
        addresses = {node["NodeID"]: node["NodeManagerAddress"] for node in nodes}
        strategy = part("util.scheduling_strategies").PlacementGroupSchedulingStrategy
        # Pickle by value, since dbdyno isn't installed on the nodes.
        part("cloudpickle").register_pickle_by_value(sent)
        actor = self._ray.remote(sent.LoadMachine)
        self.machines = []
        for number in range(self._number):
            at = strategy(placement_group=self._group, placement_group_bundle_index=number)
            made = actor.options(num_cpus=1, max_concurrency=8, scheduling_strategy=at).remote()
            self.machines.append(Machine(self._ray, made, number, ""))
        try:
            self._equip(addresses)
        except MachineLost as error:
            raise SystemFailed(f"--cluster {self.address.shown}: {error}") from error

    def _equip(self, addresses: Mapping[str, str]) -> None:
        content = worker_path().read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        program = self._ray.put(content)
        for machine in self.machines:
            machine.facts = machine.call("facts", within_s=_SENT_S)
            machine.node = addresses.get(machine.facts.pop("node"), str(machine.facts["host"]))
            machine.name = f"{machine.name.partition(' ')[0]} ({machine.node})"
            machine.call("take_program", program, digest, within_s=_SENT_S)

    def _release(self) -> None:
        for machine in self.machines:
            with suppress(Exception):  # a lost machine can't be released
                self._ray.kill(machine.actor)
        self.machines = []
        if self._group is not None:
            with suppress(Exception):  # Ray removes it when the connection ends
                part("util.placement_group").remove_placement_group(self._group)
        self._group = None


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces when a driver connects."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
