"""The command that runs an experiment."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from dbdyno.errors import InputError
from dbdyno.experiment import load_experiment
from dbdyno.results import Document
from dbdyno.run.execute import Request, execute, resume
from dbdyno.store import open_store

_INTERRUPTED = 130


@dataclass(frozen=True)
class Exports:
    """Files to write, where they are asked for."""

    json: Path | None
    csv: Path | None
    markdown: Path | None
    report: Path | None

    def check(self) -> None:
        """Raise InputError where one cannot be written, before anything is measured."""
        from dbdyno.export import check_writable

        for option, path in (
            ("json", self.json),
            ("csv", self.csv),
            ("markdown", self.markdown),
            ("report", self.report),
        ):
            if path is not None:
                check_writable(path, f"--{option}")

    def write(self, document: Document) -> None:
        """Write them."""
        from dbdyno.export import write_csv, write_json, write_markdown

        if self.json is not None:
            write_json(document, self.json)
        if self.csv is not None:
            write_csv(document, self.csv)
        if self.markdown is not None:
            write_markdown(document, self.markdown)
        if self.report is not None:
            from dbdyno.report.html import write_html

            write_html(document, self.report)


def run_experiment(
    name: str | None,
    chosen: list[str],
    systems: list[str],
    rounds: int | None,
    seed: int | None,
    directory: str | None,
    resumed: str | None,
    store_place: str | None,
    exports: Exports,
    command: list[str],
) -> int:
    """Run or resume, show the result, write the exports; give the exit code. Raises DbdynoError."""
    from dbdyno.report.table import show

    console = Console()
    exports.check()
    if resumed is not None:
        if name or chosen or systems or rounds or seed is not None:
            problem = "a run that is resumed keeps its experiment, levels, systems, rounds and seed"
            raise InputError("--resume", problem, "give only the run, and files to write")
        store = open_store(store_place)
        document, interrupted = resume(resumed, store, console)
    else:
        if name is None:
            raise InputError("run", "no experiment is named", "`dbdyno list` shows the built-in ones")
        experiment = load_experiment(name)
        request = Request(experiment, chosen, systems, rounds, seed, directory, _command(command))
        store = open_store(store_place)
        document, interrupted = execute(request, store, console)
    store.close()
    exports.write(document)
    show(document, console)
    _last_lines(console, document, exports, interrupted)
    if interrupted:
        return _INTERRUPTED
    return 1 if document["status"] == "failed" else 0


def _last_lines(console: Console, document: Document, exports: Exports, interrupted: bool) -> None:
    console.print()
    if interrupted:
        console.print(f"interrupted; go on with: dbdyno run --resume {document['id']}", highlight=False)
    console.print(f"run {document['id']} is stored: dbdyno show {document['id']}", highlight=False)
    if exports.report is not None:
        console.print(f"report: {exports.report.resolve()}", highlight=False, soft_wrap=True)


def _command(arguments: list[str]) -> list[str]:
    """Give the command as typed, the program by its name and not by its path on this machine."""
    return [Path(arguments[0]).name, *arguments[1:]]
