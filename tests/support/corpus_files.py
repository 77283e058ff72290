"""The corpus in `tests/support/corpus`: statements for each engine, with the texts that the engine must receive.

A blank line ends an entry. An entry is a statement that ends with `;`, below `--` lines: a topic, or directives:

- `-- only: mariadb`: the other product does not know this syntax.
- `-- needs: --allow-writes`: the statement reads, but dbdyno does not recognize that.
- `-- :n = 1..5`: the values of a parameter.
- `-- sent: select $1`: a line of the text in the engine's log, if it differs from the entry's. It differs if there are
  parameters, and if the server blanks the `!` of a comment that only newer versions execute.

The reader does not parse SQL, so the tests do not depend on the lexer that they test.
"""

from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parent / "corpus"

_ONLY = "-- only: "
_SENT = "-- sent: "
_NEEDS = "-- needs: --allow-writes"
_VALUES = "-- :"


@dataclass(frozen=True)
class Entry:
    """A statement, without its `;`.

    ``sent``: the text in the engine's log; ``line``: of the file; ``values``: the directives for its parameters;
    ``allow_writes``: whether dbdyno runs it with `--allow-writes` only.
    """

    text: str
    sent: str
    line: int
    values: tuple[str, ...] = ()
    allow_writes: bool = False


def read_entries(name: str, product: str | None = None) -> list[Entry]:
    """Read the entries of a file; skip statements that only another product knows."""
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
                entries.append(Entry(text, "\n".join(sent) or text, line + len(head), values, _NEEDS in head))
        line += block.count("\n") + 2
    return entries


def sql_file(entries: list[Entry]) -> str:
    """Return an SQL file with these entries. Each `;` has its own line because a statement may end with a comment."""
    lines = ("\n".join([*each.values, each.text, ";"]) for each in entries)
    return "\n\n".join(lines) + "\n"
