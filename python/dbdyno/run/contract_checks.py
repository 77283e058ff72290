"""Check that a system fulfills the contract of engines, in a database created for the checks."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.engines.url import parse_url, with_settings
from dbdyno.engines.writes import ALLOW
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.resolve import resolve
from dbdyno.model.events.answers import Check, Outcome
from dbdyno.model.plan.cell import Cell, CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import CheckTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import Worker, WorkerFailed

# The experiment that a system is prepared for; the checks create their own tables.
_EXPERIMENT = """
name = "check"
title = "The contract's checks"
[load]
stop = { transactions = 1 }
[[transactions]]
name = "nothing"
steps = [{ set = "nothing", value = 0 }]
"""

# With a table, dbdyno creates its own database on a named server.
_WITH_TABLE = """
[tables.nothing]
rows = 1
[tables.nothing.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
"""

# Timeout in seconds for all checks; they usually take about ten.
_TIMEOUT_S = 900.0

_OWN_DATABASE = "a database of its own is made"


@dataclass(frozen=True)
class Checked:
    """The result of one check: its name, its outcome, and the reason if it failed."""

    name: str
    answer: Outcome
    why: str | None = None


def check_system(url: str, allow_writes: bool = False) -> Iterator[Checked]:
    """Run the checks on a system, and yield each result. Raises DbdynoError if none can run.

    ``allow_writes``: if the checks cannot create a database, they may create tables in the one that the URL names.
    """
    spec = parse_url(url)
    engine = engine_of(spec.engine)
    if not (engine.has_data if engine.has_checks is None else engine.has_checks):
        hint = "give the URL of a database: `sqlite:`, `postgresql:`, `mysql:`, or a URL with a host"
        raise InputError(spec.name, "`dbdyno check` does not support it", hint)
    # Leave the user's file alone, because the checks are about the library and its settings.
    spec = replace(spec, database=None) if engine.location == "file" else spec
    if spec.host is None:
        defaults = engine.check_settings
        spec = with_settings(spec, {name: value for name, value in defaults.items() if name not in spec.settings})
    with _ready(spec, allow_writes) as (target, own):
        if own is not None:
            yield own
        yield from _ask(target)


@contextmanager
def _ready(spec: SystemSpec, allow_writes: bool) -> Iterator[tuple[dict[str, Any], Checked | None]]:
    """Prepare the system, and yield how creating a database for the checks ended."""
    if spec.host is None or not engine_of(spec.engine).has_data:
        with _hosted(_compiled(spec, _EXPERIMENT)) as target:
            yield target, None
        return
    compiled = _compiled(spec, _EXPERIMENT + _WITH_TABLE)
    with ExitStack() as stack:
        provisioner = stack.enter_context(Provisioners()).of(compiled)
        provisioner.check(compiled)
        try:
            ready = stack.enter_context(provisioner.ready(compiled, 0))
        except SystemFailed as error:
            # Users without the right to create databases usually cannot drop one, either.
            with suppress(SystemFailed):
                stack.close()
            if not allow_writes:
                hint = f"with `{ALLOW}` the checks make their tables in the database of the URL, and remove them"
                raise InputError(spec.name, f"no database can be made for the checks: {error}", hint) from error
            why = f"{error}; the checks make their tables in the database that the URL names"
        else:
            yield ready.target, Checked(_OWN_DATABASE, "ok")
            return
    with _hosted(_compiled(spec, _EXPERIMENT)) as target:
        yield target, Checked(_OWN_DATABASE, "not applicable", why)


@contextmanager
def _hosted(compiled: CompiledCell) -> Iterator[dict[str, Any]]:
    with Provisioners(allow_writes=True) as provisioners:
        provisioner = provisioners.of(compiled)
        provisioner.check(compiled)
        with provisioner.ready(compiled, 0) as ready:
            yield ready.target


def _compiled(spec: SystemSpec, text: str) -> CompiledCell:
    experiment = make_experiment(parse(text, "check", Path()))
    return compile_cell(experiment, resolve(experiment, Cell("check", {}, spec)))


def _ask(target: dict[str, Any]) -> Iterator[Checked]:
    try:
        for received in Worker(WorkerPlan(task=CheckTask(target=target)), _TIMEOUT_S):
            if isinstance(received.event, Check):
                yield Checked(received.event.name, received.event.outcome, received.event.why)
    except WorkerFailed as error:
        raise SystemFailed(str(error)) from error
