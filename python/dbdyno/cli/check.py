"""The command that checks whether a system behaves as dbdyno requires of every engine."""

from collections import Counter

from rich.text import Text

from dbdyno.base.console import Console
from dbdyno.run.contract_checks import check_system

_STYLES = {"ok": "green", "failed": "bold red", "not applicable": "yellow"}
_WIDEST = 14


def print_checks(url: str, allow_writes: bool = False) -> int:
    """Run the checks on a system and print each; return the exit code, 1 if one failed. Raises DbdynoError."""
    console = Console()
    counts: Counter[str] = Counter()
    for check in check_system(url, allow_writes):
        counts[check.answer] += 1
        line = Text(check.answer.ljust(_WIDEST + 2), style=_STYLES[check.answer]) + Text(check.name, style="default")
        console.print(line, soft_wrap=True)
        if check.why:
            console.print(Text(" " * (_WIDEST + 2) + check.why), soft_wrap=True)
    summary = ", ".join(f"{counts[answer]} {answer}" for answer in _STYLES if counts[answer])
    console.print(Text(f"{counts.total()} checks: {summary}"))
    return 1 if counts["failed"] else 0
