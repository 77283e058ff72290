"""Convert frames to pandas, Polars and Arrow. These are optional; an error explains how to install a missing one."""

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
    """Convert a frame to a data frame of ``pandas`` or ``polars``.

    Raises ExtraMissing if the library isn't installed, InputError for another library.
    """
    match library:
        case "pandas":
            return to_pandas(frame)
        case "polars":
            return to_polars(frame)
        case _:
            raise InputError("library", f"`{library}` is not supported", "give `pandas` or `polars`")


def to_pandas(frame: Frame) -> pandas.DataFrame:
    """Convert a frame to pandas, with the nullable types ``Int64``, ``boolean`` and ``string``, and floats."""
    library = _library("pandas", "pandas", 'or ask for Polars: `library="polars"`')
    columns = {}
    for column in frame.columns:
        values = library.to_datetime(column.values, utc=True) if column.kind == "time" else column.values
        columns[column.name] = library.Series(values, dtype=_PANDAS[column.kind])
    return library.DataFrame(columns)


def to_polars(frame: Frame) -> polars.DataFrame:
    """Convert a frame to Polars."""
    library = _library("polars", "polars")
    kinds = {
        "text": library.String,
        "whole": library.Int64,
        "number": library.Float64,
        "truth": library.Boolean,
        "time": library.Datetime("ms", "UTC"),
    }
    made: polars.DataFrame = library.DataFrame(
        [library.Series(column.name, column.values, dtype=kinds[column.kind]) for column in frame.columns]
    )
    return made


def to_arrow(frame: Frame) -> pyarrow.Table:
    """Convert a frame to an Arrow table."""
    library = _library("pyarrow", "parquet")
    kinds = {
        "text": library.string(),
        "whole": library.int64(),
        "number": library.float64(),
        "truth": library.bool_(),
        "time": library.timestamp("ms", "UTC"),
    }
    return library.table(
        {column.name: library.array(column.values, type=kinds[column.kind]) for column in frame.columns},
    )


def check_arrow() -> None:
    """Raise ExtraMissing if Arrow isn't installed."""
    _library("pyarrow", "parquet")


def _library(name: str, extra: str, otherwise: str = "") -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # The library is installed, but one of its own dependencies is missing.
        if error.name != name:
            raise
        raise ExtraMissing(name, extra, otherwise) from None
