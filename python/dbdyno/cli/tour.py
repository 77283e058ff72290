"""The command that runs a tour."""

from pathlib import Path

from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.cli.option_values import read_duration
from dbdyno.cli.run import writing_store
from dbdyno.model.experiment.validation import nearest
from dbdyno.report.export import check_writable
from dbdyno.report.tour import tour_lines, write_tour
from dbdyno.run.tour.stops import LeftOut, Stop, all_stops, within
from dbdyno.run.tour.visits import Visit, visit


def make_tour(
    budget: str,
    only: list[str],
    report: Path | None,
    directory: str | None,
    store_location: str | None,
) -> int:
    """Run a tour, print it and write its page; return the exit code. Raises DbdynoError."""
    if report is not None:
        check_writable(report, "--report")
    console = Console()
    stops, left_out = within(_chosen(only), read_duration(budget, "--budget"))
    made: list[Visit | LeftOut] = []
    with writing_store(store_location) as store:
        made += visit(stops, store, Console(stderr=True), directory)
        made += left_out
        for line in tour_lines(made, max(console.width, 40)):
            console.print(line, soft_wrap=True)
        if report is not None:
            write_tour(made, report)
            console.print(f"report: {report}", soft_wrap=True)
    return 0 if any(isinstance(each, Visit) for each in made) else 1


def _chosen(only: list[str]) -> list[Stop]:
    stops = all_stops()
    names = [stop.experiment for stop in stops]
    for name in only:
        if name not in names:
            raise InputError("--only", f"unknown stop of the tour: {name}", nearest(name, names))
    return [stop for stop in stops if not only or stop.experiment in only]
