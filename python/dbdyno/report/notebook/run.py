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
    """A run with its results, returned by :func:`dbdyno.load`.

    ``frame``, ``cells``, ``intervals``, ``effects`` and ``comparisons`` each return a new data frame of pandas, or of
    Polars with ``library="polars"``. They raise ExtraMissing if the library isn't installed, and InputError for an
    unknown library. Every frame has the column ``run``. The frames of rounds, cells and intervals also have ``cell``,
    one column per factor (``factor_NAME`` if another column has that name), ``system``, ``engine``, ``version`` and
    ``durability``. Names end with the unit: ``_ms`` milliseconds, ``_s`` seconds, ``_percent`` percent of one CPU,
    ``_bytes``, ``_per_s``. Unknown values are missing, never 0.
    """

    def __init__(self, document: Document, source: JsonObject | None = None) -> None:
        """Create a run from its result. ``source``: the JSON document it was read from, if any."""
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
        """Return one row per round of each cell, failed rounds included.

        ``throughput`` is in ``unit``, per second, and missing if the round has no result. ``failed`` counts
        transactions; ``service_*_ms`` and ``response_*_ms`` are percentiles, maximum and mean of their times.
        ``cpu_percent`` covers the client, which includes an embedded engine; ``server_cpu_percent`` covers the server.
        ``block`` and ``position`` start at 0.
        """
        return data_frame(rounds_frame(self._document), library)

    @overload
    def cells(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def cells(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def cells(self, library: Library = "pandas") -> Any:
        """Return one row per cell.

        ``throughput`` is the mean of the rounds, in ``unit``, and ``throughput_low`` to ``throughput_high`` is its 95%
        interval. Latencies cover all rounds together; ``service_at_least`` and ``response_at_least`` list the ones that
        are lower bounds. ``rounds`` counts the rounds with a result.
        """
        return data_frame(cells_frame(self._document), library)

    @overload
    def intervals(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def intervals(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def intervals(self, library: Library = "pandas") -> Any:
        """Return one row per interval of each round: the timeline.

        ``start_s`` and ``end_s`` are seconds since the start of the round's window. ``ok``, ``failed``, ``statements``,
        ``rows`` and the disk's reads, writes and flushes are counts within the interval.
        """
        return data_frame(intervals_frame(self._document), library)

    @overload
    def effects(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def effects(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def effects(self, library: Library = "pandas") -> Any:
        """Return one row per effect of a level, compared with the first level of its factor, all else equal.

        ``ratio`` is a ratio of ``metric``; ``ratio_low`` to ``ratio_high`` is its 95% interval. ``at`` names the other
        levels for which it holds; if missing, the effect is pooled over all of them.
        """
        return data_frame(effects_frame(self._document), library)

    @overload
    def comparisons(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def comparisons(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def comparisons(self, library: Library = "pandas") -> Any:
        """Return one row per comparison of cell ``b`` with cell ``a``, paired within blocks.

        ``ratio`` is b / a with its 95% interval; ``verdict`` is about b and missing if the two are not comparable.
        """
        return data_frame(comparisons_frame(self._document), library)

    def __repr__(self) -> str:
        """Return one line: id, experiment, status and number of cells."""
        cells = len(self._document.cells)
        status = self._document.status or "of unknown status"
        return f"<run {self.id} of {self.experiment}, {status}, {cells} cell{'' if cells == 1 else 's'}>"

    def _repr_html_(self) -> str:
        """Show the answer and its cells in a notebook."""
        from dbdyno.report.notebook.display import run_html

        return run_html(self._document, self.answer)
