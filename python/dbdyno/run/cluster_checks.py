"""Checks before several machines generate the load: they must reach the system and have enough clients."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.engines.url import is_loopback
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.run_options import RunOptions
from dbdyno.runtime.cluster.address import ClusterAddress
from dbdyno.runtime.cluster.machines import LoadMachines


def check_cluster(
    compiled: Sequence[CompiledCell],
    address: ClusterAddress,
    options: RunOptions | None = None,
    *,
    grows: bool = False,
) -> None:
    """Raise InputError if several machines cannot generate the load of the cells.

    ``options``: of the run; ``grows``: a table grows from trial to trial.
    """
    options = options or RunOptions()
    excluded = {
        "--interleave": (
            "the cells of a cluster's run are measured one after another",
            options.interleaving not in (None, "none"),
        ),
        "--instructions": ("instructions are counted in one process on this machine", options.instructions),
        "--wait-idle": ("it checks this machine, not the load machines", options.wait_idle),
        "growth": ("a table that grows is measured from this machine", grows),
    }
    for option, (problem, is_given) in excluded.items():
        if is_given:
            raise InputError(f"--cluster {address.shown}: {option}", problem, "leave one of the two out")
    for cell in compiled:
        found = _problem(cell, address)
        if found is not None:
            raise InputError(f"--cluster {address.shown}: {cell.cell.id}", *found)
    if address.machines is not None:
        check_clients(compiled, address, address.machines)


def check_clients(compiled: Sequence[CompiledCell], address: ClusterAddress, machines: int) -> None:
    """Raise InputError if a cell has fewer clients than load machines."""
    for cell in compiled:
        clients = cell.definition.load.clients
        if clients < machines:
            problem = f"{clients} client{'s are' if clients > 1 else ' is'} fewer than the {machines} load machines"
            hint = "each machine has one client at least: give more clients, or fewer machines (`?machines=N`)"
            raise InputError(f"--cluster {address.shown}: {cell.cell.id}", problem, hint)


def _problem(compiled: CompiledCell, address: ClusterAddress) -> tuple[str, str] | None:
    """Return why other machines cannot generate a cell's load, and a hint; None if they can."""
    system, load = compiled.cell.system, compiled.definition.load
    engine = engine_of(system.engine)
    reached = f"name a server by its host, as `{address.shown}` reaches it"
    if engine.runs_programs:
        return "a program runs where dbdyno does", reached
    if engine.location == "file":
        return f"`{system.name}` is a file, which clients on other machines do not reach", reached
    if load.clients_as == "processes":
        return "the clients are processes of their own, of which a load machine has one", "leave out `clients_as`"
    if load.memory_limit_mb is not None:
        return "the memory of what runs elsewhere is not limited from here", "leave out `memory_limit_mb`"
    return None if address.is_local else _unreachable(compiled, reached)


def _unreachable(compiled: CompiledCell, reached: str) -> tuple[str, str] | None:
    """Return why other machines cannot reach a cell's system or read its processes, and a hint."""
    system, engine = compiled.cell.system, engine_of(compiled.cell.system.engine)
    if compiled.definition.measure.processes:
        problem = "`measure.processes` names processes of this machine, whose CPU the load machines cannot read"
        return problem, "leave it out, and look at the processors of the system (top)"
    if not engine.is_server:
        return None
    if system.host is None:
        return f"the server of `{system.name}` is started by dbdyno and listens on this machine only", reached
    if is_loopback(system.host):
        return f"`{system.host}` means another machine on each load machine", reached
    return None


@contextmanager
def load_machines(address: ClusterAddress | None, compiled: Sequence[CompiledCell]) -> Iterator[LoadMachines | None]:
    """Connect to the load machines and yield them; yield None without an address. Raises DbdynoError."""
    if address is None:
        yield None
        return
    with LoadMachines(address) as machines:
        check_clients(compiled, address, len(machines))
        yield machines


def load_machine_facts(machines: LoadMachines | None) -> dict[str, Any]:
    """Return the load machines as a run's stored options name them; empty without load machines."""
    return {} if machines is None else {"load_machines": machines.facts()}
