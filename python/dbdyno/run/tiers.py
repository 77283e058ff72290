"""Find the processes of a system's parts, to measure CPU time per part."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import psutil

from dbdyno.base.errors import SystemFailed
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import Tier
from dbdyno.model.plan.worker_plan import TrialPlan


def with_tiers(request: TrialPlan, compiled: CompiledCell) -> TrialPlan:
    """Add the current processes of the parts that the experiment names to a trial's plan.

    Raises SystemFailed for a part without processes.
    """
    named = compiled.definition.measure.processes
    if not named:
        return request
    tiers = [Tier(name=name, pids=find_processes(name, wanted)) for name, wanted in named.items()]
    return request.with_task(replace(request.task, tiers=tiers))


def find_processes(name: str, wanted: Sequence[int | str]) -> list[int]:
    """Return the processes with the wanted ids or commands, without descendants of others.

    A command is a program's name (`nginx`), or, if it has a space or a slash, a part of the command line. dbdyno and
    its parent processes never match, because the load generator is below them. Raises SystemFailed if one of them
    matches no process. ``name``: the name of the part.
    """
    parents: dict[int, int] = {}
    commands: dict[int, tuple[set[str], str]] = {}
    for process in psutil.process_iter(["pid", "ppid", "name", "cmdline", "status"]):
        known: Mapping[str, Any] = process.info
        if known["status"] == psutil.STATUS_ZOMBIE:
            continue
        line = known["cmdline"] or []
        parents[known["pid"]] = known["ppid"] or 0
        # Some programs write their title over their command line, as `nginx: master process …`.
        names = {known["name"] or ""} | ({PurePath(line[0]).name} if line else set())
        commands[known["pid"]] = (names, " ".join(line))
    own = psutil.Process().pid
    ours = {own, *_ancestors(own, parents)}
    found: set[int] = set()
    for each in wanted:
        if isinstance(each, int):
            matching = {each} & parents.keys()
        elif " " in each or "/" in each:
            matching = {pid for pid, (_, line) in commands.items() if each in line} - ours
        else:
            matching = {pid for pid, (names, _) in commands.items() if each in names} - ours
        if matching & ours:
            problem = f"the process {each} is dbdyno or a parent of it: its CPU time includes the load's"
            raise SystemFailed(f"measure.processes.{name}: {problem}")
        if not matching:
            what = f"the id {each}" if isinstance(each, int) else f"the command `{each}`"
            raise SystemFailed(f"measure.processes.{name}: no process on this machine has {what}")
        found |= matching
    return sorted(pid for pid in found if not found.intersection(_ancestors(pid, parents)))


def _ancestors(pid: int, parents: Mapping[int, int]) -> Iterable[int]:
    seen = {pid}
    while (pid := parents.get(pid, 0)) and pid not in seen:
        seen.add(pid)
        yield pid
