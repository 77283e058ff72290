"""Values of existing columns, ``{ column = "orders.customer" }``: an experiment gets them before it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.substitute import escape
from dbdyno.experiment.toml_text import write_toml
from dbdyno.model.experiment.generators import read_column

MAX_VALUES = 1000
"""Maximum number of rows that the values of a column are taken from."""

Sample = Callable[[str, Sequence[str]], Sequence[Sequence[Any]]]
"""Returns values of a table's columns in the same random rows. Columns are written as in :class:`Column` of a file."""

_HINT = 'write `{ column = "table.column" }` with the names of an existing table and its column'


def with_samples(experiment: Experiment, sample: Sample) -> Experiment:
    """Return the experiment with values of the columns that its transactions name, in its table ``samples``.

    The file is unchanged if it names no column, or has that table already. Raises InputError for a name that is not a
    column's.
    """
    if "samples" in experiment.document:
        return experiment
    levels = [level.values for factor in experiment.factors.values() for level in factor.levels]
    parts = list(_columns([experiment.document.get("transactions"), levels]))
    if not parts:
        return experiment
    # The columns of a table that are drawn together, by their names in the file.
    together: dict[str, dict[str, str]] = {}
    alone: dict[str, tuple[str, str]] = {}
    for part in parts:
        name = part["column"]
        read = None if "${" in name else read_column(name)
        if read is None:
            raise InputError(experiment.location, f"`{name}` is not a column of a table", _HINT)
        if "row" in part:
            together.setdefault(read[0], {})[name] = read[1]
        else:
            alone[name] = read
    drawn: dict[str, list[Any]] = {}
    for table, columns in together.items():
        rows = sample(table, list(columns.values()))
        drawn |= {name: list(values) for name, values in zip(columns, rows, strict=True)}
    drawn |= {name: list(sample(table, [column])[0]) for name, (table, column) in alone.items() if name not in drawn}
    made = write_toml({"samples": escape(drawn)})
    text = f"{experiment.text.rstrip()}\n\n# Values that dbdyno has drawn from the columns before the run.\n{made}"
    return make_experiment(parse(text, experiment.location, experiment.folder))


def _columns(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the generators of a document that name a column."""
    if isinstance(part, dict):
        if isinstance(part.get("column"), str) and part.keys() <= {"column", "draw", "row"}:
            yield part
        for each in part.values():
            yield from _columns(each)
    elif isinstance(part, list | tuple):
        for each in part:
            yield from _columns(each)
