"""Values of existing columns, ``{ column = "orders.customer" }``: an experiment gets them before it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.parameter_values import Column
from dbdyno.experiment.substitute import escape
from dbdyno.experiment.toml_text import write_toml
from dbdyno.model.experiment.generators import read_column

MAX_VALUES = 1000
"""Maximum number of rows that the values of a column are taken from."""

_HINT = 'write `{ column = "table.column" }` with the names of an existing table and its column'


def with_samples(experiment: Experiment, sample: Callable[[Column], Sequence[Any]]) -> Experiment:
    """Return the experiment with values of the columns that its transactions name, in its table ``samples``.

    The file is unchanged if it names no column, or has that table already. ``sample``: returns values of a column.
    Raises InputError for a name that is not a column's.
    """
    if "samples" in experiment.document:
        return experiment
    levels = [level.values for factor in experiment.factors.values() for level in factor.levels]
    names = dict.fromkeys(_columns([experiment.document.get("transactions"), levels]))
    if not names:
        return experiment
    drawn: dict[str, list[Any]] = {}
    for name in names:
        read = None if "${" in name else read_column(name)
        if read is None:
            raise InputError(experiment.location, f"`{name}` is not a column of a table", _HINT)
        drawn[name] = list(sample(Column(*read)))
    table = write_toml({"samples": escape(drawn)})
    text = f"{experiment.text.rstrip()}\n\n# Values that dbdyno has drawn from the columns before the run.\n{table}"
    return make_experiment(parse(text, experiment.location, experiment.folder))


def _columns(part: Any) -> Iterator[str]:
    """Yield the columns that generators of a document name."""
    if isinstance(part, dict):
        name = part.get("column")
        if isinstance(name, str) and part.keys() <= {"column", "draw"}:
            yield name
        for each in part.values():
            yield from _columns(each)
    elif isinstance(part, list | tuple):
        for each in part:
            yield from _columns(each)
