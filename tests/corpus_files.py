"""The corpus: reading statements of each engine, and their expected texts, from `tests/corpus`.

A blank line ends an entry. An entry is a statement with `;` at its end, below `--` lines of two kinds: a topic, or a
directive. `-- only: mariadb` names the one product that runs the statement. `-- :n = 1..5` gives a parameter's values.
`-- sent: select $1` is a line of the text in the server's log, if it differs from the entry's: it has parameters, or
the server blanks the `!` of a comment that only newer versions execute.

This reader knows no SQL, so that the tests do not depend on the lexer that they test.
"""

from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parent / "corpus"

_ONLY = "-- only: "
_SENT = "-- sent: "
_VALUES = "-- :"


@dataclass(frozen=True)
class Entry:
    """A statement. ``text``: without the `;`; ``sent``: the text in the server's log; ``line``: where it begins.

    ``only``: the one product that runs it, in lower case; ``values``: lines that give parameters their values.
    """

    text: str
    sent: str
    line: int
    only: str | None = None
    values: tuple[str, ...] = ()


def read_entries(name: str, product: str | None = None) -> list[Entry]:
    """Read the entries of a file, without those that are for another product only."""
    entries = []
    line = 1
    for block in (DIRECTORY / name).read_text(encoding="utf-8").split("\n\n"):
        lines = block.strip("\n").split("\n")
        head = [each for index, each in enumerate(lines) if all(one.startswith("-- ") for one in lines[: index + 1])]
        body = "\n".join(lines[len(head) :]).strip()
        if body:
            assert body.endswith(";"), f"{name}, line {line}: `;` is missing"
            text = body[:-1].strip()
            sent = [each.removeprefix(_SENT) for each in head if each.startswith(_SENT)]
            only = next((each.removeprefix(_ONLY).strip() for each in head if each.startswith(_ONLY)), None)
            values = tuple(each for each in head if each.startswith(_VALUES))
            if only is None or product is None or only == product:
                entries.append(Entry(text, "\n".join(sent) or text, line + len(head), only, values))
        line += block.count("\n") + 2
    return entries


def sql_file(entries: list[Entry]) -> str:
    """Write entries as a file of statements.

    `;` is on a line of its own, because a statement may end with a comment.
    """
    lines = ("\n".join([*each.values, each.text, ";"]) for each in entries)
    return "\n\n".join(lines) + "\n"
