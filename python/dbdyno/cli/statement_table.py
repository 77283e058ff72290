"""A table of statements that fits the terminal."""

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from dbdyno.cli.shortened_statements import shortened_statements

# Characters of a statement for which columns are left out.
_MIN_STATEMENT = 36
_GAP = 2


def statement_table(
    statements: Sequence[str], rows: Sequence[Mapping[str, str]], width: int, dispensable: Sequence[str]
) -> Table:
    """Return a table with the statements in the last column, shortened. Empty columns are left out.

    ``rows``: the other cells, by column. ``dispensable``: columns to leave out on a narrow terminal, in this order.
    """
    columns = {
        head: max(map(len, (head, *cells))) + _GAP
        for head, cells in ((head, [row[head] for row in rows]) for head in (rows[0] if rows else {}))
        if any(cells)
    }
    for head in dispensable:
        if width - sum(columns.values()) < _MIN_STATEMENT:
            columns.pop(head, None)
    table = Table(box=None, padding=(0, _GAP, 0, 0))
    for head, needed in columns.items():
        table.add_column(head, justify="right", no_wrap=True, min_width=needed - _GAP)
    table.add_column("statement", no_wrap=True)
    rest = max(width - sum(columns.values()) - _GAP, _MIN_STATEMENT)
    for statement, row in zip(shortened_statements(statements, rest), rows, strict=True):
        table.add_row(*(row[head] for head in columns), Text(statement))
    return table
