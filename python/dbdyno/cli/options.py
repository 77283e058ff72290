"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli.completion import complete_experiments, complete_runs, complete_set, complete_systems

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FACTOR=LEVEL,…", help="Narrow or widen a factor", autocompletion=complete_set),
]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="PATH|URL", help="Store of runs: a file, or postgresql://… (DBDYNO_STORE)"),
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of all random draws")]
DirOption = Annotated[str | None, typer.Option("--dir", help="Directory of the databases under test")]

_EXPERIMENTS = typer.Argument(
    help="A built-in experiment, a file: ./my.toml, or with --pgbench scripts", autocompletion=complete_experiments
)
ExperimentsArgument = Annotated[list[str], _EXPERIMENTS]
ExperimentsOrNoneArgument = Annotated[list[str] | None, _EXPERIMENTS]
PgbenchOption = Annotated[
    bool,
    typer.Option("--pgbench", help="Run pgbench scripts: script.sql@WEIGHT, tpcb-like, simple-update, select-only"),
]
ScaleOption = Annotated[int | None, typer.Option(min=1, help="--pgbench: times 100,000 accounts (1)")]
DefineOption = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="NAME=VALUE", help="--pgbench: a variable")
]
SystemOption = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        metavar="URL",
        help="What to measure, as sqlite:?journal_mode=wal",
        autocompletion=complete_systems,
    ),
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the result document; `-`: to the standard output")
]
JunitOption = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML")]
CsvOption = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a row a round")]
MarkdownOption = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Write a table in Markdown")]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Write the report, one file with all in it")
]
ParquetOption = Annotated[
    Path | None,
    typer.Option(
        "--parquet", metavar="DIR|FILE.parquet", help="Write rounds as a Parquet file, or all tables into a directory"
    ),
]
OpenmetricsOption = Annotated[
    Path | None, typer.Option("--openmetrics", metavar="FILE", help="Write gauges as OpenMetrics")
]
BudgetOption = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME", help="Time that the run may take, e.g. 10m; implies --rounds auto"),
]
InterleaveOption = Annotated[
    str | None,
    typer.Option("--interleave", metavar="TIME|none", help="Interleave the cells of a round in slices, e.g. 20ms"),
]
TranslateOption = Annotated[
    bool, typer.Option("--translate", help="The statements are in SQLite's SQL: translate them for other engines")
]
AllowWritesOption = Annotated[
    bool, typer.Option("--allow-writes", help="Allow statements that write to your own tables")
]
MarginOption = Annotated[
    str | None, typer.Option("--margin", metavar="SHARE", help="The difference that matters, as 2%")
]
InconclusiveOption = Annotated[
    str,
    typer.Option(
        "--inconclusive",
        metavar="pass|fail",
        help="Exit code for verdicts that are not settled: 0 with a notice, or 4",
    ),
]
LossOption = Annotated[str, typer.Option("--margin", metavar="SHARE", help="Largest loss allowed")]
VerdictsOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the verdicts; `-`: to the standard output")
]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, the end of it, or `last`", autocompletion=complete_runs)
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        help="throughput, instructions, or p50, p90, p99, p99.9, mean, max of the response time; "
        "by default throughput, of open loops that keep up p99"
    ),
]
AcrossOption = Annotated[bool, typer.Option("--across-machines", help="Rank runs of different machines too")]
CellOption = Annotated[
    str | None, typer.Option("--cell", metavar="ID", help="The cell, if there are several: threads=2")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show all that is known, below the answer")]
StatementBudgetOption = Annotated[
    str, typer.Option("--budget", metavar="TIME", help="Time that the run may take, e.g. 10m")
]
MixOption = Annotated[bool, typer.Option("--mix", help="Run a .sql file as one workload: its transactions by weight")]
ClientsOption = Annotated[
    str | None, typer.Option("--clients", metavar="N,…", help="Concurrent clients; the same as --set clients=N,…")
]
IndexBudgetOption = Annotated[
    str | None,
    typer.Option("--index-budget", metavar="SIZE", help="Largest size of all new indexes together, e.g. 200MB"),
]
ValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUES", help="Values of a parameter :NAME: 1..1000, 'a','b', @column of table"
    ),
]
