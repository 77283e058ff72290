"""A run with its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from dbdyno.model.result.convert import JsonObject, to_json
from dbdyno.model.result.shape import Document
from dbdyno.report.frames.cells import cells_frame, intervals_frame, rounds_frame
from dbdyno.report.frames.comparisons import comparisons_frame, effects_frame
from dbdyno.report.frames.libraries import data_frame

if TYPE_CHECKING:
    import pandas
    import polars

Library = Literal["pandas", "polars"]


class Run:
    """A run with its results, as :func:`dbdyno.load` gives it.

    ``frame``, ``cells``, ``intervals``, ``effects`` and ``comparisons`` each give a new data frame: of pandas, or of
    Polars with ``library="polars"``. They raise ExtraMissing where the library is not installed, and InputError for
    another one. Every frame has the columns ``run``, and those of rounds, cells and intervals ``cell``, one for each
    factor (``factor_NAME`` where another column is called so), ``system``, ``engine``, ``version`` and ``durability``.
    Units are in the names: ``_ms`` milliseconds, ``_s`` seconds, ``_percent`` percent of one processor, ``_bytes``,
    ``_per_s``. A value that is not known is missing, never 0.
    """

    def __init__(self, document: Document, source: JsonObject | None = None) -> None:
        """Take a result, and the document it was read from, if it was."""
        self._document = document
        self._source = source

    @property
    def document(self) -> JsonObject:
        """The whole result, as ``--json`` writes it; docs/reference/result-document.md describes the fields."""
        if self._source is None:
            self._source = to_json(self._document)
        return self._source

    @property
    def id(self) -> str:
        """The run's id in its store."""
        return self._document.id

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return self._document.experiment

    @property
    def answer(self) -> str:
        """Return the answer, one sentence per line, then one line per choice; empty if the run answers nothing."""
        from dbdyno.report.lines import advice_words

        found = self._document.answer
        return "\n".join([*found.text, *map(advice_words, found.advice)])

    @overload
    def frame(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def frame(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def frame(self, library: Library = "pandas") -> Any:
        """Give a row for each round of each cell, failed ones included.

        ``throughput`` is in ``unit``, per second, and missing where the round gave no result. ``failed`` counts
        transactions; ``service_*_ms`` and ``response_*_ms`` are percentiles, maximum and mean of their times.
        ``cpu_percent`` is of the client, which an embedded engine is part of, ``server_cpu_percent`` of the server.
        ``block`` and ``position`` are from 0.
        """
        return data_frame(rounds_frame(self._document), library)

    @overload
    def cells(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def cells(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def cells(self, library: Library = "pandas") -> Any:
        """Give a row for each cell.

        ``throughput`` is the mean of the rounds, in ``unit``, and ``throughput_low`` to ``throughput_high`` its 95 %
        interval. Latencies are of all rounds together; ``service_at_least`` and ``response_at_least`` name those that
        are lower bounds. ``rounds`` counts those that gave a result.
        """
        return data_frame(cells_frame(self._document), library)

    @overload
    def intervals(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def intervals(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def intervals(self, library: Library = "pandas") -> Any:
        """Give a row for each interval of each round: the timeline.

        ``start_s`` and ``end_s`` are seconds of the round's window. ``ok``, ``failed``, ``statements``, ``rows`` and
        the disk's reads, writes and flushes are counts within the interval.
        """
        return data_frame(intervals_frame(self._document), library)

    @overload
    def effects(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def effects(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def effects(self, library: Library = "pandas") -> Any:
        """Give a row for each effect of a level against the first one of its factor, all else equal.

        ``ratio`` with its 95 % interval, ``ratio_low`` to ``ratio_high``, is of ``metric``. ``at`` names the levels
        where it holds; missing: it is pooled over all of them.
        """
        return data_frame(effects_frame(self._document), library)

    @overload
    def comparisons(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def comparisons(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def comparisons(self, library: Library = "pandas") -> Any:
        """Give a row for each comparison: cell ``b`` against cell ``a``, paired within blocks.

        ``ratio`` is b / a with its 95 % interval, ``verdict`` on b: missing where the two are not comparable.
        """
        return data_frame(comparisons_frame(self._document), library)

    def __repr__(self) -> str:
        """Say in a line what it is."""
        cells = len(self._document.cells)
        status = self._document.status or "of unknown status"
        return f"<run {self.id} of {self.experiment}, {status}, {cells} cell{'' if cells == 1 else 's'}>"

    def _repr_html_(self) -> str:
        """Show the answer and its cells in a notebook."""
        from dbdyno.report.notebook.display import run_html

        return run_html(self._document, self.answer)
