"""The options of the command `predict`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli.completion import complete_experiments, complete_runs, complete_systems
from dbdyno.cli.options import DirOption, SeedOption, SetOption, StoreOption


def predict(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="An experiment whose table grows, to calibrate with: key-order", autocompletion=complete_experiments
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Calibrate with a stored run instead of a new one",
            autocompletion=complete_runs,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            metavar="URL",
            help="What to calibrate with, as postgresql:",
            autocompletion=complete_systems,
        ),
    ] = None,
    chosen: SetOption = None,
    seed: SeedOption = None,
    directory: DirOption = None,
    rows: Annotated[str | None, typer.Option(metavar="N,…", help="Sizes to predict, as 1e6,1e9 (1e6 to 1e12)")] = None,
    clients: Annotated[int | None, typer.Option(min=1, help="Clients that insert at the same time")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of the system and the page cache, as 32GB")
    ] = None,
    cache: Annotated[str | None, typer.Option(metavar="SIZE", help="The engine's own cache, as 8GB")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Processors")] = None,
    read: Annotated[str | None, typer.Option(metavar="TIME", help="A random read of the device, as 5ms")] = None,
    reads_per_s: Annotated[
        float | None, typer.Option("--reads-per-s", metavar="N", help="Random reads that the device does a second")
    ] = None,
    writes_per_s: Annotated[
        float | None, typer.Option("--writes-per-s", metavar="N", help="Random writes that the device does a second")
    ] = None,
    up_to: Annotated[
        str | None, typer.Option("--up-to", metavar="N", help="Calibrate only with sizes up to N rows")
    ] = None,
    store: StoreOption = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the prediction")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="Write the prediction as a page, with a chart")
    ] = None,
) -> None:
    """Predict insert rates for sizes, caches, devices and client counts that were not measured."""
    from dbdyno.base.errors import InputError
    from dbdyno.cli.experiment_source import ExperimentSource
    from dbdyno.cli.predict import PredictionOptions, print_prediction
    from dbdyno.cli.run import RunCommand
    from dbdyno.model.run_options import RunOptions

    calibrated = RunOptions(set=chosen or [], systems=system or [], seed=seed, directory=directory)
    calibration = RunCommand(source=ExperimentSource([experiment] if experiment else []), options=calibrated)
    if (experiment is None) == (run is None):
        problem = "either an experiment to calibrate with is given, or a run"
        raise InputError("predict", problem, "`dbdyno predict key-order`, or `dbdyno predict --from RUN`")
    if run is not None and calibration != RunCommand():
        problem = "`--system`, `--set`, `--seed` and `--dir` are of a new calibration"
        raise InputError("--from", problem, "leave them out, or `--from`")
    options = PredictionOptions(
        run, rows, clients, memory, cache, cores, read, reads_per_s, writes_per_s, up_to, json, report, calibration
    )
    code = print_prediction(options, sys.argv, store)
    if code:
        raise typer.Exit(code)
