"""Add to a run's inferred bottlenecks whether the latest `dbdyno why` of the same cell confirmed them."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from dbdyno.analysis.document.build import build_document
from dbdyno.analysis.why.inference import resource_of
from dbdyno.base.errors import StoreError
from dbdyno.model.result import Document
from dbdyno.model.result.cell import Cell, Proof
from dbdyno.model.result.reading import objects, part, text
from dbdyno.model.result.why import Why
from dbdyno.store import RunRecord, Store
from dbdyno.store.same_machine import same_machine

# Maximum number of `why` runs to search; older ones are outdated.
_MAX_WHY_RUNS = 20


def add_proofs(document: Document, run: RunRecord, store: Store) -> None:
    """Set ``proven`` of each cell's bottleneck from the latest matching `why`, if there is one.

    If the store fails in the meantime, bottlenecks stay inferred.
    """
    left = {cell.id: cell for cell in document.cells if cell.bottleneck is not None}
    others = store.reader
    if not left or others is None:
        return
    with suppress(StoreError):
        _add(left, run, others)


def _add(left: dict[str, Cell], run: RunRecord, store: Store) -> None:
    for run_record in islice(store.why_runs(run.experiment), _MAX_WHY_RUNS):
        cell = left.get(text(run_record.options, "cell") or "")
        if cell is None or run_record.status not in ("done", "interrupted") or not _is_same(run_record, run, cell):
            continue
        why = build_document(run_record, store.trials(run_record.id)).why
        if why is not None and cell.bottleneck is not None:
            cell.bottleneck.proven = _proof(run_record.id, why, cell.bottleneck.resource)
            del left[cell.id]


def _is_same(why: RunRecord, run: RunRecord, cell: Cell) -> bool:
    """Whether a `why` measured the same cell: same experiment text, system, levels and machine."""
    first = next(iter(objects(why.design.get("cells"))), {})
    levels = {name: level for name, level in part(first, "factors").items() if name != "change"}
    return (
        why.definition == run.definition
        and levels == cell.factors
        and text(part(first, "system"), "name") == cell.system.name
        and same_machine(why.host, run.host)
    )


def _proof(run: str, why: Why, inferred: str) -> Proof:
    named = resource_of(inferred, why.metric)
    agrees = None if why.bottleneck is None or named is None else why.bottleneck == named
    return Proof(run=run, resource=why.bottleneck, agrees=agrees, text=why.text[0])
