"""What is printed while a run goes on, where there is no terminal."""

import io
from typing import Any

from rich.console import Console as RichConsole

from conftest import SMALL, Cli
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.run.progress import Display
from dbdyno.store import TrialRecord


class _Cell:
    def __init__(self, name: str) -> None:
        self.id = name


def test_a_cell_is_named_once() -> None:
    console: Any = RichConsole(file=io.StringIO(), width=200)
    cells: list[Any] = [_Cell("clients=1"), _Cell("clients=2")]
    with Display(console, trials=6, rounds=3, measure=Measure("transaction", "transactions")) as display:
        for block in range(3):
            for position, cell in enumerate(cells):
                display.trials(block, [cell])
                failed = (block, position) == (2, 1)
                status: Any = "failed" if failed else "done"
                error = "it broke" if failed else None
                record = TrialRecord(cell=cell.id, block=block, position=position, status=status, error=error)
                display.trial_ended(record, None if failed else 1000.0)
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "round 1/3 · clients=1 · 1,000 transactions/s"
    assert [line for line in lines if "clients=1" in line] == lines[:1]
    # A failure always has a line, with its cell.
    assert [line for line in lines if "clients=2" in line and "failed: it broke" in line] == lines[-1:]
    assert sum("clients=2" in line for line in lines) == 2


def test_progress_goes_to_standard_error_and_results_to_standard_output(cli: Cli) -> None:
    process = cli.start("run", cli.write("small.toml", SMALL), "--store", "runs.db")
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "round 1/2 · clients=1" in errors and "2 cells, 2 rounds" in errors
    assert "round 1/" not in out and "is stored: dbdyno show" in out


def test_show_prints_sixty_lines_unless_asked_for_more(cli: Cli) -> None:
    text = SMALL.replace("clients = [1, 2]", f"clients = {list(range(1, 31))}").replace("= 500 }", "= 1 }")
    cli.run(cli.write("small.toml", text), "--rounds", "1")
    lines = cli("show", "--store", "runs.db").splitlines()
    whole = cli("show", "--store", "runs.db", "--verbose").splitlines()
    assert len(lines) == 60 < len(whole)
    # Where the rest of the first table is, is not the same.
    assert [each for each in lines[:-1] if " more " not in each] == [
        each for each in whole[:59] if " more " not in each
    ]
    assert lines[-1] == "more lines with --verbose"


def test_statements_without_a_system_are_measured_on_a_new_database(cli: Cli) -> None:
    process = cli.start("try", "select 1", "--store", "runs.db", "--json", "out.json")
    _, errors = process.communicate(timeout=300)
    assert "no --system is given: this measures a new, empty SQLite database" in errors
    assert "or 3 s have passed" in errors
