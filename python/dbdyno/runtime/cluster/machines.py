"""The load machines of a run: actors of Ray, one on each node, that run dbdyno's worker there."""

import hashlib
import signal
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Self

from dbdyno.base.errors import SystemFailed
from dbdyno.runtime.cluster import node as sent
from dbdyno.runtime.cluster.address import ClusterAddress
from dbdyno.runtime.cluster.clocks import Offset
from dbdyno.runtime.cluster.library import load_ray, part
from dbdyno.runtime.cluster.local import LOOPBACK, LocalNodes
from dbdyno.runtime.cluster.machine import Machine, MachineLost, RemoteWorker
from dbdyno.runtime.worker import JsonObject, worker_path

# Between saying when a phase starts and its start, nanoseconds: at least, and in round trips to the farthest machine.
_NOTICE_NS = 50_000_000
_NOTICE_TRIPS = 20

# Seconds: until Ray has room for the load machines, and until the program has come to one.
_PLACED_S = 60.0
_SENT_S = 300.0

# How often a connection is tried, for which the head of a cluster, in its own words, began too late.
_ATTEMPTS = 3
_STARTED_LATE = "Initialization failure"


class LoadMachines:
    """Where workers run that are on other machines (:class:`dbdyno.run.worker_places.Place`). Use it as a context."""

    def __init__(self, address: ClusterAddress) -> None:
        """Connect to a cluster, or start one, and have the worker on each load machine. Raises DbdynoError."""
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
            self._place()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """How many there are; the same all the time."""
        return self._number

    def ready(self) -> None:
        """See that all are there, before a trial: one that was lost is replaced. Raises SystemFailed."""
        for each in self.machines:
            with suppress(MachineLost):
                each.call("clock_ns")
        if len(self.machines) == self._number and not any(each.lost for each in self.machines):
            return
        self._give_back()
        if self._local is not None:
            self._local.complete()
        self._place()

    def facts(self) -> list[JsonObject]:
        """Say what the load machines are."""
        return [{"name": each.name, "node": each.node, **each.facts} for each in self.machines]

    def worker(self, number: int, plan: JsonObject, timeout_s: float | None, padding: int) -> RemoteWorker:
        """Start the worker of a machine. Raises MachineLost."""
        return RemoteWorker(self.machines[number], plan, timeout_s, padding)

    def moments(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Agree on the moment at which a phase begins; the last one told of is the window's."""
        with ThreadPoolExecutor(max_workers=len(numbers)) as asking:
            found = dict(zip(numbers, asking.map(self._offset, numbers), strict=True))
        offsets = {number: offset for number, offset in found.items() if offset is not None}
        farthest = max((2 * each.uncertainty_ns for each in offsets.values()), default=0)
        at = time.monotonic_ns() + max(_NOTICE_NS, _NOTICE_TRIPS * farthest)
        self._offsets, self._agreed_ns = offsets, at
        return {number: at + offset.ns for number, offset in offsets.items()}

    def told(self, sizes: list[int]) -> JsonObject:
        """Say who took part in the last trial, with how many clients, and what the clocks showed when it began."""
        return {
            "agreed_ns": self._agreed_ns,
            "machines": [
                {
                    "name": each.name,
                    "host": str(each.facts["host"]),
                    "boot": str(each.facts["boot"]),
                    "clients": clients,
                    "offset_ns": self._offsets[number].ns,
                    "uncertainty_ns": self._offsets[number].uncertainty_ns,
                }
                for number, (each, clients) in enumerate(zip(self.machines, sizes, strict=True))
                if number in self._offsets
            ],
        }

    def close(self) -> None:
        """Give the machines back, and end what was started here."""
        self._give_back()
        with suppress(Exception):  # whatever it is, nothing more can be done about it
            self._ray.shutdown()
        if self._local is not None:
            self._local.close()

    def _offset(self, number: int) -> Offset | None:
        try:
            return self.machines[number].offset()
        except MachineLost:
            # Who listens to its worker finds the same, and says so.
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
                with suppress(Exception):  # what is half connected is left
                    self._ray.shutdown()
                # The head starts a process for each client, and on a busy machine gives it up too early.
                if _STARTED_LATE in str(error) and attempt < _ATTEMPTS - 1:
                    continue
                why = (str(error).strip().splitlines() or [type(error).__name__])[0]
                raise SystemFailed(f"--cluster {self.address.shown}: no connection to the cluster: {why}") from error
            return

    def _nodes(self) -> list[JsonObject]:
        """Give the nodes of Ray that are alive and have a processor to give."""
        return [each for each in self._ray.nodes() if each["Alive"] and each["Resources"].get("CPU", 0) >= 1]

    def _place(self) -> None:
        """Have a load machine on each of so many nodes; several on one where the nodes do not suffice."""
        nodes = self._nodes()
        # A cluster that has lost a node has not fewer load machines: their number is part of what is measured.
        self._strategy = self._strategy or ("STRICT_SPREAD" if len(nodes) >= self._number else "SPREAD")
        bundles = [{"CPU": 1}] * self._number
        self._group = part("util.placement_group").placement_group(bundles, strategy=self._strategy)
        if not self._group.wait(_PLACED_S):
            problem = f"Ray had no room for {self._number} load machines within {_PLACED_S:g} s"
            raise SystemFailed(f"--cluster {self.address.shown}: {problem}: {len(nodes)} nodes are there")
        addresses = {each["NodeID"]: each["NodeManagerAddress"] for each in nodes}
        strategy = part("util.scheduling_strategies").PlacementGroupSchedulingStrategy
        # By value: a node needs Ray, and nothing of dbdyno.
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
        for each in self.machines:
            each.facts = each.call("facts", within_s=_SENT_S)
            each.node = addresses.get(each.facts.pop("node"), str(each.facts["host"]))
            each.name = f"{each.name.partition(' ')[0]} ({each.node})"
            each.call("take_program", program, digest, within_s=_SENT_S)

    def _give_back(self) -> None:
        for each in self.machines:
            with suppress(Exception):  # one that is lost cannot be given back
                self._ray.kill(each.actor)
        self.machines = []
        if self._group is not None:
            with suppress(Exception):  # it goes with the connection
                part("util.placement_group").remove_placement_group(self._group)
        self._group = None


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray takes SIGTERM for itself when a driver connects: it stays with who had it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
