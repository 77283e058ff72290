"""The stored record of a run: made when it starts, and read back by `--resume`."""

from dataclasses import replace
from typing import Any

from dbdyno.analysis.document.run import stored_experiment
from dbdyno.analysis.why.cells import Why
from dbdyno.base.errors import InputError
from dbdyno.base.version import own_version
from dbdyno.engines.url import parse_url
from dbdyno.experiment.design import file_systems
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.result.reading import part
from dbdyno.model.run_options import RunOptions
from dbdyno.run.cell_designs import describe_cells
from dbdyno.run.cluster_checks import load_machine_facts
from dbdyno.run.machine import host_facts
from dbdyno.run.passwords import check_stored, named_with_password, with_passwords
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.request import Prepared, Request
from dbdyno.runtime.cluster.machines import LoadMachines
from dbdyno.store import RunRecord, Store
from dbdyno.store.process import this_process


def new_record(
    request: Request, prepared: Prepared, provisioners: Provisioners, machines: LoadMachines | None, seed: int
) -> RunRecord:
    """Return the record of a run that is about to start."""
    systems = [cell.system for cell in prepared.cells.cells]
    options = replace(
        request.options,
        seed=seed,
        # The names contain the settings of each system, but no passwords.
        systems=list(dict.fromkeys(system.name for system in systems)) if request.systems else [],
    )
    return RunRecord(
        experiment=request.experiment.name,
        seed=seed,
        design=_design(request, prepared),
        definition=request.experiment.text,
        command=request.command,
        options=options.stored()
        | {
            "place": request.experiment.location,
            "folder": str(request.experiment.folder),
            "with_password": named_with_password(systems),
            "process": this_process(),
        }
        | load_machine_facts(machines)
        | ({} if _leaves_interleaving_open(request, prepared) else {"slice_s": request.slice_s}),
        host=host_facts(provisioners.workspace.path),
        version=own_version(),
    )


def _leaves_interleaving_open(request: Request, prepared: Prepared) -> bool:
    """Whether dbdyno decides before the first trial if the cells are interleaved."""
    # A change of `dbdyno why` that delays something would delay it in the slices of all other cells.
    if (
        request.experiment.head.growth is not None
        or request.options.cluster is not None
        or request.why is not None
        or request.options.slo
    ):
        return False
    return request.options.interleaving is None and (prepared.stopping is not None or request.against is not None)


def stored_request(run: RunRecord, store: Store, given: list[SystemSpec]) -> Request:
    """Return the request of a stored run. Raises DbdynoError, and LookupError for damaged options.

    ``given``: systems with passwords, which are never stored.
    """
    if "systems" not in run.options:
        raise LookupError("`systems` is missing")
    experiment = stored_experiment(run, store)
    options = RunOptions.from_stored(run.options)
    systems = [parse_url(url) for url in options.systems]
    if not systems:
        check_stored(file_systems(experiment).values())
    # If it is missing, the run was interrupted before dbdyno decided whether to interleave.
    if "slice_s" in run.options:
        options = replace(options, interleaving=run.options["slice_s"] or "none")
    return Request(
        experiment=experiment,
        systems=list(with_passwords(systems, run.options.get("with_password", []), given)),
        options=options,
        command=run.command,
        why=Why.read(run.design["why"]) if part(run.design, "why") else None,
    )


def check_prepared(run: RunRecord, prepared: Prepared) -> None:
    """Raise InputError if the stored options of a run, made by another version, don't give its number of rounds.

    Raises LookupError or TypeError if the stored design is damaged.
    """
    rounds = run.design["rounds"]
    if not isinstance(rounds, int):
        raise TypeError("`rounds` is not a number")
    if (rounds, "stopping" in run.design) != (prepared.rounds, prepared.stopping is not None):
        problem = f"dbdyno {run.version}, which began it, did not store all of its options"
        raise InputError(f"run {run.id}", problem, "start it again")


def _design(request: Request, prepared: Prepared) -> dict[str, Any]:
    experiment = request.experiment
    cells = prepared.cells.cells
    factors: dict[str, list[Any]] = {}
    for cell in cells:
        for name, value in cell.factors.items():
            levels = factors.setdefault(name, [])
            if value not in levels:
                levels.append(value)
    design: dict[str, Any] = {
        "title": experiment.title,
        "question": experiment.question,
        "factors": factors,
        "rounds": prepared.rounds,
        "cells": describe_cells(prepared.compiled),
        "excluded": [{"id": excluded.cell.id, "reason": excluded.reason} for excluded in prepared.cells.excluded],
        "measure": prepared.compiled[0].definition.measure.model_dump(),
        "report": experiment.head.report.model_dump(),
        "growth": None if experiment.head.growth is None else experiment.head.growth.model_dump(),
        "recommendations": [
            tried.recommendation.model_dump(include={"name", "answers", "engine", "does"})
            | {"cells": dict(tried.cells)}
            for tried in prepared.tried
        ],
    }
    if request.options.margin is not None:
        design["margin"] = request.options.margin
    if prepared.stopping is not None:
        design["stopping"] = prepared.stopping.stored()
    if request.against is not None:
        own = request.against
        design["against"] = {"name": own.name, "what": own.what, "definition": own.experiment.text}
    if request.why is not None:
        design["why"] = request.why.stored()
    if request.slo is not None:
        design["slo"] = {
            "objective": str(request.slo.objective),
            "budget_s": request.slo.seconds(len(prepared.searched)),
            "window_s": None,
            "approach": {},
            "searches": [{"cells": [closed.cell.id]} for closed in prepared.compiled],
        }
    if request.options.design == "screening":
        design["screening"] = {"cells": len(prepared.cells.cells), "of": prepared.all_cells}
    return design
