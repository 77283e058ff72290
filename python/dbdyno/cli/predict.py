"""The command that predicts rates beyond the measured sizes."""

import re
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.analysis.predict.predict import USUAL_ROWS, Question
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.cli.option_values import read_duration
from dbdyno.cli.run import INTERRUPTED, RunCommand, measured
from dbdyno.model.result.convert import to_json
from dbdyno.store.masking import clean_json

_POWERS = {letter: power for power, letter in enumerate(("", "k", "M", "G", "T"))}
_MIN_ROWS, _MAX_ROWS = 1_000, 10**12


@dataclass(frozen=True)
class PredictionOptions:
    """The options of ``predict`` as typed."""

    run: str | None = None
    rows: str | None = None
    clients: int | None = None
    memory: str | None = None
    cache: str | None = None
    cores: int | None = None
    read: str | None = None
    reads_per_s: float | None = None
    writes_per_s: float | None = None
    up_to: str | None = None
    json: Path | None = None
    report: Path | None = None
    calibration: RunCommand = field(default_factory=RunCommand)

    def question(self) -> Question:
        """Return the options as conditions of a prediction. Raises InputError."""
        device = {"reads_per_s": self.reads_per_s, "writes_per_s": self.writes_per_s}
        device["read_s"] = None if self.read is None else read_duration(self.read, "--read")
        for name, value in device.items():
            if value is not None and not value > 0:
                raise InputError(f"--{name.replace('_', '-')}", f"`{value:g}` is not above 0", "give a number above 0")
        return Question(
            rows=USUAL_ROWS if self.rows is None else tuple(_rows(each, "--rows") for each in self.rows.split(",")),
            clients=self.clients,
            memory_bytes=None if self.memory is None else _bytes(self.memory, "--memory"),
            cache_bytes=None if self.cache is None else _bytes(self.cache, "--cache"),
            cores=self.cores,
            device={name: value for name, value in device.items() if value is not None},
            up_to=None if self.up_to is None else _rows(self.up_to, "--up-to"),
        )


def print_prediction(options: PredictionOptions, command: list[str], store_location: str | None) -> int:
    """Predict from a stored run, or from a new one, and print the prediction. Raises DbdynoError."""
    from dbdyno.analysis.predict.predict import predict
    from dbdyno.analysis.predict.stored import read_calibration
    from dbdyno.report.export import check_writable, write_json, write_text
    from dbdyno.report.prediction import prediction_html, show_prediction
    from dbdyno.store import open_store

    question, console = options.question(), Console()
    for option, path in (("--json", options.json), ("--report", options.report)):
        if path is not None:
            check_writable(path, option)
    with ExitStack() as stack:
        name = options.run
        if name is None:
            experiment = options.calibration.source.experiment(options.calibration.options.systems)
            if experiment.head.growth is None:
                problem = "none of its tables grows, so a prediction is impossible"
                raise InputError(experiment.name, problem, "`dbdyno predict key-order`, or an experiment with `growth`")
            calibrated = measured(options.calibration, store_location, command)
            document, interrupted, store_location = stack.enter_context(calibrated)
            name = document.id
            if interrupted:
                console.print(
                    f"interrupted; go on with: dbdyno run --resume {name}, then: dbdyno predict --from {name}"
                )
                return INTERRUPTED
        with closing(open_store(store_location, make=False)) as store, store.interpreting(name):
            calibration = read_calibration(store, name)
        prediction = predict(calibration, question)
        show_prediction(prediction, console)
        if options.json is not None:
            write_json(clean_json(to_json(prediction)), options.json)
        if options.report is not None:
            write_text(options.report, prediction_html(prediction))
            console.print(f"report: {options.report.resolve()}", soft_wrap=True)
    return 0


def _rows(text: str, option: str) -> int:
    try:
        value = float(text.strip().replace("_", ""))
    except ValueError:
        value = 0.0
    if not _MIN_ROWS <= value <= _MAX_ROWS or value != int(value):
        raise InputError(option, f"`{text}` is not a number of rows from 1,000 to 1e12", "write numbers as 1e6,1e9")
    return int(value)


def _bytes(text: str, option: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kMGT]?)(i?)B)?", text.strip())
    if match is None or float(match[1]) <= 0:
        raise InputError(option, f"`{text}` is not a size", "write sizes as 64MB, 32GB or 16GiB")
    base = 1024.0 if match[3] else 1000.0
    return float(float(match[1]) * base ** _POWERS[match[2] or ""])
