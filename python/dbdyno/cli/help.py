"""The help of the command line: groups of commands, two examples per command, and readable types of values."""

from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperGroup

# Groups in the order of the help, with their commands in order.
GROUPS: Mapping[str, Sequence[str]] = {
    "Measure": ("run", "try", "queries", "init", "tour"),
    "Understand": ("why", "tune", "show", "runs", "report", "list", "describe", "cpu", "predict"),
    "Compare": ("compare", "upgrade", "history", "noise"),
    "Record": ("capture", "distil", "replay", "trace"),
    "CI": ("gate", "baseline"),
    "Engines": ("systems", "check", "sqlite", "duckdb", "web"),
    "Files": ("store", "cache"),
}

EXAMPLES: Mapping[str, tuple[str, str]] = {
    "run": (
        "run pk-lookup --set threads=1,2 --budget 1m",
        "run ./my.toml --system sqlite: --system postgresql: --report my.html",
    ),
    "try": (
        "try 'select …' 'select …' --system sqlite:my.db",
        "try 'select … where id = :id' --set id=1..1000 --system postgresql://me@host/shop",
    ),
    "queries": (
        "queries queries.sql --system sqlite:my.db",
        "queries queries.sql --system postgresql://me@host/shop --budget 2m",
    ),
    "init": ("init my.toml", "init settings.toml --template settings"),
    "tour": ("tour", "tour --budget 5m --report tour.html"),
    "why": ("why last", "why ./my.toml --system sqlite: --fix --budget 2m"),
    "tune": ("tune load.sql --system sqlite:my.db --clients 8", "tune pk-update --system postgresql: --budget 5m"),
    "show": ("show last", "show last --verbose --json last.json"),
    "runs": ("runs", "runs pk-lookup --limit 5"),
    "report": ("report last", "report last --report run.html"),
    "list": ("list", "describe pk-lookup"),
    "describe": ("describe pk-lookup", "describe ./my.toml --system postgresql: --check"),
    "predict": ("predict --from last", "predict key-order --rows 100000000"),
    "compare": ("compare RUN_A RUN_B", "compare last/clients=1 last/clients=8"),
    "upgrade": (
        'upgrade q.sql --from "sqlite:my.db?source=$(dbdyno sqlite get 3.40.1)" --to sqlite:my.db --bisect',
        "upgrade q.sql --from postgresql://me@old/shop --to postgresql://me@new/shop",
    ),
    "history": ("history pk-lookup", "history pk-lookup --metric p99 --report history.html"),
    "noise": ("noise ./my.toml --rounds 10", "noise ./my.toml --runs 10"),
    "gate": (
        "gate queries.sql --system sqlite:app.db --against main --build make",
        "gate queries.sql --system sqlite:app.db --fail-on scan:orders",
    ),
    "baseline": ("baseline release last", "baseline"),
    "capture": (
        "capture -o day.trace -- python3 app.py",
        "capture --listen 127.0.0.1:6543 --to postgresql://host/ -o day.trace",
    ),
    "distil": (
        "distil day.trace -o my.sql --system postgresql://me@host/shop",
        "distil day.trace -o my.toml --system sqlite:shop.db --synthetic",
    ),
    "replay": (
        "replay day.trace --system sqlite:copy.db",
        "replay day.trace --system postgresql://me@old/shop --system postgresql://me@new/shop --allow-writes",
    ),
    "trace compare": ("trace compare day.trace", "trace compare day.trace 7f3a --json agreement.json"),
    "trace convert": ("trace convert day.trace.journal -o day.trace", "trace convert app.trace -o parquet.trace"),
    "trace show": ("trace show day.trace", "trace show day.trace --top 20"),
    "systems": ("systems", "check postgresql:"),
    "check": ("check sqlite:", "check postgresql://me@host/test --allow-writes"),
    "cache": ("cache", "cache --clear"),
    "cpu count": ("cpu count pk-lookup", "cpu count queries.sql --sqlite bundled,3.40.1 --save before"),
    "cpu annotate": ("cpu annotate before", "cpu annotate before --function sqlite3VdbeExec"),
    "cpu diff": ("cpu diff before after", "cpu diff before after --top 20"),
    "cpu chart": ("cpu chart count.json --chart cpu.svg", "cpu chart count.json --chart cpu.svg --base 3.21.0"),
    "cpu list": ("cpu list", "cpu list --counts ./counts"),
    "store copy": ("store copy runs.db team.db", "store copy runs.db postgresql://me@host/runs last"),
    "sqlite versions": ("sqlite versions", "sqlite get 3.40.1"),
    "sqlite get": ("sqlite get 3.40.1", 'run pk-lookup --system "sqlite:?source=$(dbdyno sqlite get 3.40.1)"'),
    "duckdb get": ("duckdb get", "duckdb get 1.4.1"),
    "web get": ("web get", "run web-login --budget 5m"),
}


class PlainGroup(TyperGroup):
    """A group of commands whose help shows options as :func:`show_plainly` does."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options."""
        return show_plainly(super().get_params(ctx))


def epilog(command: str) -> str:
    """Return the examples of a command as the end of its help. Raises KeyError for a command without examples."""
    # Typer takes an empty line for the end of a line.
    return "\n\n".join(["Examples:", *(f"dbdyno {each}" for each in EXAMPLES[command])])


def show_plainly(parameters: list[Any]) -> list[Any]:
    """Show values as ``N`` or ``TEXT`` in the help, instead of Python's types (``<int range> [x>=1]``)."""
    for parameter in parameters:
        name = "" if parameter.param_type_name == "argument" else parameter.metavar or _value_name(parameter)
        # Typer has settings for neither.
        parameter.display_type_rich = lambda ctx, name=name: name  # noqa: ARG005
        parameter._get_number_range_help_str = lambda: None
    return parameters


def _value_name(parameter: Any) -> str:
    if parameter.is_flag:
        return ""
    annotation = parameter.type_descriptor.annotation
    return "N" if annotation in (int, float) else "TEXT"
