"""What a run says of connecting anew for each transaction."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from dbdyno.analysis.findings.connections import connect_findings
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.model.plan.cell import Cell, CompiledCell
from dbdyno.model.result.cell import Cell as Measured
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.shape import Finding
from dbdyno.model.run_options import RunOptions
from dbdyno.run.execute import execute
from dbdyno.run.request import Request
from dbdyno.store import open_store
from experiment_files import experiment as made

# The clients that connect anew, and what there is of each engine: mean ms, how often, of so many seconds.
ENGINES = {"sqlite:": (0.125, 1000, 2.5), "postgresql:": (2.0, 1000, 4.0)}


def cells_of(experiment: Experiment) -> list[Cell]:
    return list(make_cells(experiment, systems=[parse_url(url) for url in ENGINES]).cells)


def found_of(compiled: list[CompiledCell]) -> list[Finding]:
    cells = []
    for each in compiled:
        mean, count, client_s = ENGINES[each.cell.system.name]
        cells.append(
            {
                "id": each.cell.id,
                "system": {"name": each.cell.system.name},
                "factors": each.cell.factors,
                "latency_ms": {"connect": {"mean": mean, "count": count}},
                "time": {"client_s": client_s},
            }
        )
    names = list(dict.fromkeys(name for cell in cells for name in cell["factors"]))
    factors = {name: list(dict.fromkeys(cell["factors"][name] for cell in cells)) for name in names}
    tasks = {each.cell.id: each.task for each in compiled}
    return connect_findings([from_json(Measured, cell) for cell in cells], factors, tasks)


def test_what_connecting_costs_is_told_of_each_engine_and_what_else_differs() -> None:
    experiment = load_experiment("promo-code-engines")
    (found,) = found_of([compile_cell(experiment, cell) for cell in cells_of(experiment)])
    assert found.text == (
        "Connecting for each transaction took 50 % (2 ms each) with postgresql:, 5.0 % (0.12 ms each) with sqlite: of "
        "the clients' time. Cells that keep their connections also differ in the number of clients "
        "(10 and 1): their ratio is not only the cost of connecting."
    )
    shares = [each["share"] for each in found.evidence["connecting"].values()]
    assert shares == [pytest.approx(0.05), pytest.approx(0.5)]


CONNECT = """
name = "connecting"
title = "Connections kept and not"

[factors]
connect = ["per-transaction", "once"]
clients = [1, 2]

[load]
clients = "${clients}"
connect = "${connect}"
stop = { transactions = 50 }

[[transactions]]
name = "t"
steps = [{ execute = "select 1" }]
"""


def test_several_systems_have_a_sentence_for_each_level() -> None:
    experiment = made(CONNECT)
    texts = [each.text for each in found_of([compile_cell(experiment, cell) for cell in cells_of(experiment)])]
    assert [text.split(" took")[0] for text in texts] == [
        "With connect=per-transaction, clients=1, connecting for each transaction",
        "With connect=per-transaction, clients=2, connecting for each transaction",
    ]
    end = "50 % (2 ms each) with postgresql:, 5.0 % (0.12 ms each) with sqlite: of the clients' time."
    assert all(text.endswith(end) for text in texts)


def test_a_lone_system_has_one_sentence_and_like_clients_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", str(tmp_path / "cache"))
    request = Request(experiment=made(CONNECT), systems=[parse_url("sqlite:")], options=RunOptions(rounds=1, seed=1))
    store = open_store(str(tmp_path / "runs.db"))
    document, _ = execute(request, store, Console(file=io.StringIO()))
    store.close()
    (text,) = [text for each in document.findings if (text := each.text).startswith("Connecting for each")]
    parts = re.findall(r"[\d.]+ % \([\d.]+ ms each\) with connect=per-transaction, clients=([12])", text)
    assert sorted(parts) == ["1", "2"]
    assert "number of clients" not in text
