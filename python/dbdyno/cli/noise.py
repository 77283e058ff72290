"""The command that measures this machine's noise."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dbdyno.cli.running import Asked
from dbdyno.errors import InputError
from dbdyno.export import check_writable, write_json
from dbdyno.noise import Noise, noise_of
from dbdyno.report.columns import Column, table
from dbdyno.report.numbers import rough
from dbdyno.run.execute import execute, prepare
from dbdyno.stats import MARGIN
from dbdyno.store import open_store

DEFAULT_ROUNDS = 20


def measure_noise(asked: Asked, store_place: str | None, json: Path | None, command: list[str]) -> int:
    """Run one cell against itself and say what comes of it; give the exit code. Raises DbdynoError."""
    if json is not None:
        check_writable(json, "--json")
    request = asked.request(command)
    cells = len(prepare(request).cells.cells) // 2
    if cells != 1:
        problem = f"{cells} cells are asked for, and the noise is that of one"
        raise InputError("noise", problem, "narrow the factors with `--set`")
    console = Console()
    store = open_store(store_place)
    document, interrupted = execute(request, store, console)
    store.close()
    noise = noise_of(document, request.margin or MARGIN)
    if noise is None:
        console.print("fewer than 4 blocks were measured: nothing can be said of the noise", highlight=False)
        return 130 if interrupted else 1
    _show(noise, document["cells"][0]["id"], console)
    console.print(f"run {document['id']} is stored: dbdyno show {document['id']}", highlight=False)
    if json is not None:
        write_json({"schema": "dbdyno.noise/1", "run": document["id"], **asdict(noise)}, json)
    return 130 if interrupted else 0


def _show(noise: Noise, cell: str, console: Console) -> None:
    def line(text: str) -> None:
        console.print(Text(text))

    ratio = noise.ratio
    interval = "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.4g}, {ratio.high:.4g}]"
    line(f"{cell} against itself, {noise.blocks} blocks of {noise.block_s:.2g} s")
    line(f"ratio {ratio.mean:.4g}{interval}; within a block the two differ by {rough(noise.deviation * 100)} % (1 sd)")
    line(
        f"false alarms: {noise.false_alarms * 100:.2g} % of comparisons of {noise.alarm_rounds} rounds find a "
        f"difference (2 % are promised), {noise.beyond_margin * 100:.2g} % one beyond {noise.margin * 100:.3g} %"
    )
    if ratio.intervals_disagree:
        line("t interval and bootstrap disagree: a few blocks are far from the others")
    console.print()
    console.print(
        table(
            [
                Column("rounds", [Text(str(each.rounds)) for each in noise.sights]),
                Column("takes", [Text(_duration(each.seconds)) for each in noise.sights]),
                Column("sees a change of", [Text(f"{rough(each.change * 100)} %") for each in noise.sights]),
            ]
        )
    )
    line("sees: found four times in five")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
