"""Frames as those of pandas, Polars and Arrow, which are optional: what is not installed is one error that says how."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dbdyno.base.errors import ExtraMissing, InputError
from dbdyno.report.frames.frame import Frame

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_PANDAS = {
    "text": "string",
    "whole": "Int64",
    "number": "float64",
    "truth": "boolean",
    "time": "datetime64[ms, UTC]",
}


def data_frame(frame: Frame, library: str) -> Any:
    """Return a frame as one of ``pandas`` or ``polars``.

    Raises ExtraMissing where that is not installed, InputError for another library.
    """
    match library:
        case "pandas":
            return to_pandas(frame)
        case "polars":
            return to_polars(frame)
        case _:
            raise InputError("library", f"`{library}` makes no data frames here", "give `pandas` or `polars`")


def to_pandas(frame: Frame) -> pandas.DataFrame:
    """Return a frame as one of pandas: ``Int64``, ``boolean`` and ``string``, which know missing values, and floats."""
    library = _library("pandas", "pandas", 'or ask for Polars: `library="polars"`')
    columns = {}
    for each in frame.columns:
        values = library.to_datetime(each.values, utc=True) if each.kind == "time" else each.values
        columns[each.name] = library.Series(values, dtype=_PANDAS[each.kind])
    return library.DataFrame(columns)


def to_polars(frame: Frame) -> polars.DataFrame:
    """Return a frame as one of Polars."""
    library = _library("polars", "polars")
    kinds = {
        "text": library.String,
        "whole": library.Int64,
        "number": library.Float64,
        "truth": library.Boolean,
        "time": library.Datetime("ms", "UTC"),
    }
    made: polars.DataFrame = library.DataFrame(
        [library.Series(each.name, each.values, dtype=kinds[each.kind]) for each in frame.columns]
    )
    return made


def to_arrow(frame: Frame) -> pyarrow.Table:
    """Return a frame as a table of Arrow."""
    library = _library("pyarrow", "parquet")
    kinds = {
        "text": library.string(),
        "whole": library.int64(),
        "number": library.float64(),
        "truth": library.bool_(),
        "time": library.timestamp("ms", "UTC"),
    }
    return library.table(
        {each.name: library.array(each.values, type=kinds[each.kind]) for each in frame.columns},
    )


def check_arrow() -> None:
    """Raise ExtraMissing where Arrow is not installed."""
    _library("pyarrow", "parquet")


def _library(name: str, extra: str, otherwise: str = "") -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # What it lacks itself is another trouble.
        if error.name != name:
            raise
        raise ExtraMissing(name, extra, otherwise) from None
