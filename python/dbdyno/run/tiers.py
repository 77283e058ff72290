"""The processes of a system's parts, so that the CPU of each is told apart."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import psutil

from dbdyno.base.errors import SystemFailed
from dbdyno.model.plan.cell import CompiledCell


def with_tiers(request: dict[str, Any], compiled: CompiledCell) -> dict[str, Any]:
    """Give a trial's plan with the processes of the parts that its experiment names, as they are now.

    Raises SystemFailed where there is none of a part.
    """
    named = compiled.definition.measure.processes
    if not named:
        return request
    tiers = [{"name": name, "pids": find_processes(name, wanted)} for name, wanted in named.items()]
    return request | {"task": request["task"] | {"tiers": tiers}}


def find_processes(name: str, wanted: Sequence[int | str]) -> list[int]:
    """Give the processes that are named by their ids or commands, without those below another of them.

    A command is a program's name (`nginx`), or with a space or a slash in it a part of the command line. It names
    neither dbdyno nor what started it, such as a shell that was told of both: what is below them is the load generator.
    Raises SystemFailed where one of them names none; ``name``: of the part that they are.
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
            problem = f"the process {each} is dbdyno, or has started it: its CPU would be that of the load, too"
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
