"""The command that shows a metric over the stored runs."""

from contextlib import closing
from pathlib import Path

from dbdyno.base.console import Console


def print_history(
    experiment: str,
    metric: str | None = None,
    cells: list[str] | None = None,
    *,
    limit: int = 100,
    store_location: str | None = None,
    json: Path | None = None,
    report: Path | None = None,
) -> None:
    """Show the history of an experiment over its newest ``limit`` runs, and write files.

    ``metric``: by default the metric of a run's table, which is throughput, or p99 for open loops that keep up.
    ``experiment``: its stored name, or its file. Raises InputError for an unknown metric, cell or experiment and for a
    file that cannot be written, and StoreError for an unreadable store.
    """
    # Check the options before the store is read.
    from dbdyno.analysis.history.build import build_history, ids_of
    from dbdyno.analysis.history.metrics import metric as metric_of
    from dbdyno.analysis.history.stored_runs import read_history
    from dbdyno.report.export import check_writable, write_json
    from dbdyno.report.history.show import show

    drawn = None if metric is None else metric_of(metric)
    for option, path in (("--json", json), ("--report", report)):
        if path is not None:
            check_writable(path, option)
    name = _name(experiment)
    wanted = [each for cell in cells or [] for each in ids_of(cell)]
    console = Console()
    stored = read_history(store_location, name, limit, wanted or None, Console(stderr=True).print)
    with closing(stored.store):
        history = build_history(name, stored, drawn, cells or [])
    if json is not None:
        write_json(history, json)
    if report is not None:
        from dbdyno.report.history.html import write_html

        write_html(history, report)
    show(history, console)
    if report is not None:
        console.print(f"\nreport: {report.resolve()}", soft_wrap=True)


def _name(experiment: str) -> str:
    """Return the name of an experiment. If its file is gone, the stored runs still have the name."""
    if "/" not in experiment and not experiment.endswith(".toml"):
        return experiment
    from dbdyno.experiment import load_experiment

    return load_experiment(experiment).name
