"""Values of existing columns, ``{ column = "orders.customer" }``: an experiment gets them before it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.substitute import escape
from dbdyno.experiment.toml_text import write_toml
from dbdyno.model.experiment.generators import read_column, sample_name

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
    drawn: dict[str, list[Any]] = {}
    for part in parts:
        names = sorted([part["column"], *part.get("with", [])])
        columns = [_read(name, experiment.location) for name in names]
        if len({table for table, _ in columns}) > 1:
            problem = f"{', '.join(names)} are columns of different tables"
            raise InputError(experiment.location, problem, "only columns of one table have values in the same rows")
        if sample_name(part["column"], part.get("with", [])) not in drawn:
            rows = sample(columns[0][0], [column for _, column in columns])
            for name, values in zip(names, rows, strict=True):
                drawn[sample_name(name, [other for other in names if other != name])] = list(values)
    made = write_toml({"samples": escape(drawn)})
    text = f"{experiment.text.rstrip()}\n\n# Values that dbdyno has drawn from the columns before the run.\n{made}"
    sampled = make_experiment(parse(text, experiment.location, experiment.folder))
    return replace(sampled, places=experiment.places)


def _read(name: str, location: str) -> tuple[str, str]:
    """Return the table and the column that a name consists of. Raises InputError."""
    read = None if "${" in name else read_column(name)
    if read is None:
        raise InputError(location, f"`{name}` is not a column of a table", _HINT)
    return read


def _columns(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the generators of a document that name a column."""
    if isinstance(part, dict):
        if isinstance(part.get("column"), str) and part.keys() <= {"column", "draw", "row", "with"}:
            yield part
        for each in part.values():
            yield from _columns(each)
    elif isinstance(part, list | tuple):
        for each in part:
            yield from _columns(each)
