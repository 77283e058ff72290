"""The files that a command writes a run's document to. Who shows what is stored needs nothing of what measures."""

from dataclasses import dataclass
from pathlib import Path

from dbdyno.document import Document


@dataclass(frozen=True)
class Exports:
    """Files to write, where they are asked for."""

    json: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None
    report: Path | None = None
    parquet: Path | None = None
    openmetrics: Path | None = None

    def check(self) -> None:
        """Raise InputError where one cannot be written or needs what is not installed, before anything is measured."""
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
        """Whether one of them is the standard output, which then has nothing else."""
        from dbdyno.report.export import OUTPUT

        return OUTPUT in (self.json, self.csv, self.markdown, self.report, self.openmetrics)

    def write(self, document: Document) -> None:
        """Write them."""
        from dbdyno.report.export import write_csv, write_json, write_markdown

        if self.json is not None:
            write_json(document, self.json)
        if self.csv is not None:
            write_csv(document, self.csv)
        if self.markdown is not None:
            write_markdown(document, self.markdown)
        if self.report is not None:
            from dbdyno.report.html import write_html

            write_html(document, self.report)
        if self.parquet is not None:
            from dbdyno.report.parquet import write_parquet

            write_parquet(document, self.parquet)
        if self.openmetrics is not None:
            from dbdyno.report.openmetrics import write_openmetrics

            write_openmetrics(document, self.openmetrics)
