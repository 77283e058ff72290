"""Experiments with tables that are generated from the statistics of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.engines import engine_of
from dbdyno.engines.catalog_table import quoted
from dbdyno.engines.url import parse_url
from dbdyno.experiment.design import DEFAULT_SYSTEM
from dbdyno.experiment.distil.experiment import experiment_document, with_tables
from dbdyno.experiment.distil.tables import SyntheticTables
from dbdyno.experiment.distil.uses import Parsed, parse_uses
from dbdyno.experiment.distil.workload import Workload
from dbdyno.experiment.queries import queries_experiment, read_queries
from dbdyno.model.events.catalog import Catalog
from dbdyno.model.experiment.sql import ANY, DIALECTS
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.plan_tries import prepare_statements, statement_cells
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.questions import questions
from dbdyno.run.table_samples import TableReader


def without_tables(workload: Workload, system: SystemSpec, directory: str | None) -> Mapping[int, str]:
    """Return the statements of a workload that use something other than tables which can be generated, and why."""
    named = {number: parse_uses(text, workload.engine).tables for number, text in workload.texts.items()}
    written = sorted({name for names in named.values() for name in names or ()})
    catalog = _catalog(system, directory, written)
    return {
        number: "its tables are unknown" if names is None else f"no table {missing} can be generated"
        for number, names in named.items()
        if names is None or (missing := next((each for each in names if _in_catalog(catalog, each) is None), None))
    }


def synthetic_document(
    workload: Workload, output: str, trace: str, system: SystemSpec, directory: str | None
) -> dict[str, Any]:
    """Return the experiment of a workload with generated tables. Raises DbdynoError."""
    engine = workload.engine
    parsed = [parse_uses(text, engine) for text in workload.texts.values()]
    written = sorted({name for each in parsed for name in each.tables or ()})
    with questions(system, directory) as answer:

        def catalog(names: Sequence[str]) -> Catalog:
            return _catalog(system, directory, [quoted(each, str(engine_of(engine).grammar)) for each in names])

        known = _catalog(system, directory, written)
        names = {each: str(_in_catalog(known, each)) for each in written}
        statistics = TableReader(answer, engine, catalog).read(sorted(set(names.values())))
    keys = {each.name: each.primary_key for each in statistics}
    generated = {names[each.table] for each in parsed if _generates_key(each, keys.get(names.get(each.table, ""), ()))}
    tables = SyntheticTables(statistics, frozenset(generated))
    own = ANY if engine in DIALECTS else engine
    document = with_tables(experiment_document(workload, output, trace, own), tables, names, engine)
    if engine_of(engine).is_server:
        added = tables.foreign_keys(lambda name: quoted(name, str(engine_of(engine).grammar)))
        document["setup"] = [{engine: each} for each in added]
    if parse_url(DEFAULT_SYSTEM).engine != engine:
        document["factors"] = {"system": [f"{engine}:"], **document["factors"]}
    return document


def _generates_key(statement: Parsed, key: Sequence[str]) -> bool:
    """Whether an insert leaves the primary key to the database."""
    is_insert = statement.verb == "insert" and bool(statement.inserted)
    return is_insert and len(key) == 1 and key[0] not in statement.inserted


def _in_catalog(catalog: Catalog, written: str) -> str | None:
    """Return the name of a table in the catalog; ``None`` if it isn't there, or needs its schema."""
    name = written.rpartition(".")[2].strip('"`')
    found = [each.name for each in catalog.tables if each.schema_name is None and each.name.lower() == name.lower()]
    return name if name in found else next(iter(found), None)


def _catalog(system: SystemSpec, directory: str | None, written: Sequence[str]) -> Catalog:
    """Read the catalog's entries of tables, which are named as in SQL."""
    text = "".join(f"select count(*) from {each};\n" for each in written) or "select 1;"  # noqa: S608
    queries = read_queries(text, "--synthetic", system.engine)
    experiment = queries_experiment(queries, {}, "--synthetic", system.engine)
    with Provisioners(directory, allow_writes=True) as provisioners:
        cells = statement_cells(experiment, system, [each.name for each in queries])
        return prepare_statements(cells, provisioners).engine.catalog
