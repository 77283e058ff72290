"""The files that a command writes a run's document to. Importing this module loads no code that measures."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import DbdynoError
from dbdyno.model.result import Document


@dataclass(frozen=True)
class Exports:
    """The files to write; None for a file that isn't wanted."""

    json: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None
    report: Path | None = None
    parquet: Path | None = None
    openmetrics: Path | None = None

    def check(self) -> None:
        """Raise InputError if a file cannot be written or needs a missing package, before the run."""
        from dbdyno.report.export import check_writable

        for option, path in (
            ("json", self.json),
            ("csv", self.csv),
            ("markdown", self.markdown),
            ("report", self.report),
            ("openmetrics", self.openmetrics),
        ):
            if path is not None:
                check_writable(path, f"--{option}")
        if self.parquet is not None:
            from dbdyno.report.parquet import check_parquet

            check_parquet(self.parquet, "--parquet")

    @property
    def to_output(self) -> bool:
        """Whether a file is the standard output, which then has no other output."""
        from dbdyno.report.export import is_output

        return any(map(is_output, (self.json, self.csv, self.markdown, self.report, self.openmetrics)))

    def write(self, document: Document) -> None:
        """Write the files. If some fail, write the others first and raise the first error."""
        errors = []
        for path, write in self._writers():
            try:
                write(document, path)
            except DbdynoError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _writers(self) -> Iterator[tuple[Path, Callable[[Document, Path], None]]]:
        from dbdyno.report.export import write_csv, write_markdown, write_result

        if self.json is not None:
            yield self.json, write_result
        if self.csv is not None:
            yield self.csv, write_csv
        if self.markdown is not None:
            yield self.markdown, write_markdown
        if self.report is not None:
            from dbdyno.report.html import write_html

            yield self.report, write_html
        if self.parquet is not None:
            from dbdyno.report.parquet import write_parquet

            yield self.parquet, write_parquet
        if self.openmetrics is not None:
            from dbdyno.report.openmetrics import write_openmetrics

            yield self.openmetrics, write_openmetrics
