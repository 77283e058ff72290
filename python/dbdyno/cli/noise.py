"""The command that measures this machine's noise."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.text import Text

from dbdyno.analysis.noise import Noise, RunsNoise, noise_of, noise_of_runs
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.base.numbers import rough
from dbdyno.cli.run import INTERRUPTED, RunCommand, writing_store
from dbdyno.report.columns import TableColumn, table
from dbdyno.report.export import check_writable, write_json
from dbdyno.run.execute import execute
from dbdyno.run.request import prepare
from dbdyno.stats import MARGIN, Ratio, detectable

DEFAULT_ROUNDS = 20
ROUNDS_OF_A_RUN = 5
MIN_ROUNDS = 4


def measure_noise(run: RunCommand, store_location: str | None, json: Path | None, command: list[str]) -> int:
    """Measure one cell against itself and print the noise; return the exit code. Raises DbdynoError."""
    if json is not None:
        check_writable(json, "--json")
    request = run.request(command)
    cells = len(prepare(request).cells.cells) // 2
    if cells != 1:
        problem = f"{cells} cells are selected, but noise is measured for one"
        raise InputError("noise", problem, "narrow the factors with `--set`")
    console = Console()
    with writing_store(store_location) as store:
        document, interrupted = execute(request, store, Console(stderr=True))
        noise = noise_of(document, request.options.margin or MARGIN)
        if noise is None:
            console.print("fewer than 4 rounds were measured: the noise is unknown")
            return 130 if interrupted else 1
        _show(noise, document.cells[0].id, console)
        console.print(f"run {document.id} is stored: dbdyno show {document.id}")
        if json is not None:
            write_json({"schema": "dbdyno.noise/1", "run": document.id, **asdict(noise)}, json)
    return 130 if interrupted else 0


def measure_noise_of_runs(
    run: RunCommand, runs: int, store_location: str | None, json: Path | None, command: list[str]
) -> int:
    """Measure one cell in several runs, and store their deviation; return the exit code. Raises DbdynoError."""
    if json is not None:
        check_writable(json, "--json")
    request = run.request(command)
    if len(prepare(request).cells.cells) != 1:
        problem = f"{len(prepare(request).cells.cells)} cells are selected, but noise is measured for one"
        raise InputError("noise", problem, "narrow the factors with `--set`")
    console = Console()
    documents = []
    with writing_store(store_location) as store:
        for number in range(runs):
            Console(stderr=True).print(f"run {number + 1} of {runs}")
            document, interrupted = execute(request, store, Console(stderr=True))
            if interrupted:
                console.print("interrupted: the noise was not stored")
                return INTERRUPTED
            documents.append(document)
        noise = noise_of_runs(documents)
        if noise is None:
            console.print("fewer than 3 runs gave a result: their noise is unknown")
            return 1
        measured: dict[str, Any] = {
            "schema": "dbdyno.analysis.noise-of-runs/1",
            "runs_measured": [each.id for each in documents],
        }
        measured |= {"experiment": documents[0].experiment, "cell": documents[0].cells[0].id}
        measured |= {"host": documents[-1].host, **asdict(noise)}
        _show_runs(noise, documents[0].cells[0].id, console)
        if json is not None:
            write_json(measured, json)
        # Last, so that the result is printed even if the store fails.
        store.set_noise(documents[0].experiment, measured)
    return 0


def _show_runs(noise: RunsNoise, cell: str, console: Console) -> None:
    # The difference of two runs, with the deviation estimated from all runs.
    seen = detectable(Ratio(1.0, math.sqrt(2) * noise.deviation, noise.runs - 1, noise.runs))
    for text in (
        f"{cell}, {noise.runs} runs of {noise.rounds:.3g} rounds: their throughput differs by "
        f"{rough(noise.deviation * 100)} % (1 sd); by their own rounds it would be {rough(noise.within * 100)} %",
        f"their rounds alone would tell {noise.false_alarms * 100:.2g} % of the pairs apart, and none is different",
        f"`compare` and `gate --baseline` allow for that now, and see a change of {rough((seen or 0) * 100)} %",
    ):
        console.print(Text(text))


def _show(noise: Noise, cell: str, console: Console) -> None:
    def line(text: str) -> None:
        console.print(Text(text))

    ratio = noise.ratio
    interval = "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.4g}, {ratio.high:.4g}]"
    line(f"{cell} against itself, {noise.blocks} blocks of {noise.block_s:.2g} s")
    line(f"ratio {ratio.mean:.4g}{interval}; within a block the two differ by {rough(noise.deviation * 100)} % (1 sd)")
    line(
        f"false alarms: {noise.false_alarms * 100:.2g} % of comparisons of {noise.alarm_rounds} rounds find a "
        f"difference (5 % are promised), {noise.beyond_margin * 100:.2g} % one beyond {noise.margin * 100:.3g} %"
    )
    console.print()
    console.print(
        table(
            [
                TableColumn("rounds", [Text(str(sight.rounds)) for sight in noise.sights]),
                TableColumn("takes", [Text(_duration(sight.seconds)) for sight in noise.sights]),
                TableColumn("sees a change of", [Text(f"{rough(sight.change * 100)} %") for sight in noise.sights]),
            ],
            console.width,
        )
    )
    line("sees: found four times in five")


_IN_MINUTES_FROM_S = 120


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _IN_MINUTES_FROM_S else f"{seconds / 60:.1f} min"
