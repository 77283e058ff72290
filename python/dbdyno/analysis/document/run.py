"""Read stored runs as documents, with the published results that their experiments name."""

from pathlib import Path
from typing import Any

from dbdyno.analysis.document.build import build_document
from dbdyno.analysis.document.proofs import add_proofs
from dbdyno.base.errors import StoreError
from dbdyno.experiment import Experiment, load_published
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.roles import read_definition
from dbdyno.model.experiment.levels import Level
from dbdyno.model.result import Document, Published
from dbdyno.model.result.reading import objects, part, text
from dbdyno.store import RunRecord, Store


def read_run(store: Store, name: str, experiment: Experiment | None = None) -> Document:
    """Build the document of a stored run, with the published results that its experiment names."""
    run = store.run(name)
    with store.interpreting(run.id):
        # Reading an experiment is slow, and most name no published results.
        if experiment is None and "published" in read_definition(run.definition):
            experiment = stored_experiment(run, store)
        published = {} if experiment is None else published_figures(experiment, run)
        document = build_document(run, store.trials(run.id), published=published)
        if document.why is None:
            add_proofs(document, run, store)
    return document


def stored_experiment(run: RunRecord, store: Store) -> Experiment:
    """Return the experiment of a stored run. Raises InputError, and StoreError if its location was not stored."""
    location, folder = text(run.options, "place"), text(run.options, "folder")
    if location is None or folder is None:
        raise StoreError(
            f"store {store.location}: the options of run {run.id} do not contain the location of its experiment"
        )
    return make_experiment(parse(run.definition, location, Path(folder)))


def published_figures(experiment: Experiment, run: RunRecord) -> dict[str, Published]:
    """Return the published results by cell id, for cells that have one."""
    published = load_published(experiment)
    if published is None:
        return {}
    figures: dict[str, Published] = {}
    for cell in objects(run.design.get("cells")):
        levels = {name: _level(experiment, name, value) for name, value in part(cell, "factors").items()}
        figure = published.of(levels, part(cell, "system").get("engine", ""))
        if figure is not None:
            name = str(cell.get("id", ""))
            figures[name] = {
                "value": figure.value,
                "unit": published.unit,
                "source": published.source,
                "machine": published.machine,
                "year": published.year,
                "rounds": list(figure.rounds),
            }
            if figure.cpu_percent is not None:
                figures[name]["cpu_percent"] = figure.cpu_percent
            if figure.phases_ms:
                figures[name]["phases_ms"] = dict(figure.phases_ms)
            if figure.rows is not None:
                figures[name]["rows"] = figure.rows
    return figures


def _level(experiment: Experiment, factor: str, value: Any) -> Level:
    """Return the level of a factor from its stored value."""
    level = Level.of(value)
    known = experiment.factors[factor].level(level.name) if factor in experiment.factors else None
    return known or level
