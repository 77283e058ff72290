"""The list of stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, overload

from dbdyno.report.frames.frame import Field, Frame, make_frame
from dbdyno.report.frames.libraries import data_frame
from dbdyno.store import RunSummary, open_store

if TYPE_CHECKING:
    import pandas
    import polars


class StoredRuns(Sequence[RunSummary]):
    """Stored runs, newest first; ``load(each.id)`` loads one."""

    def __init__(self, runs: Sequence[RunSummary]) -> None:
        """Create the list from the summaries of runs."""
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, index: int) -> RunSummary: ...
    @overload
    def __getitem__(self, index: slice) -> StoredRuns: ...
    def __getitem__(self, index: int | slice) -> RunSummary | StoredRuns:
        """Return one summary, or a part of the list."""
        return StoredRuns(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._runs)

    @overload
    def frame(self, library: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
    @overload
    def frame(self, library: Literal["polars"]) -> polars.DataFrame: ...
    def frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return one row per run: ``run``, ``experiment``, ``started``, ``ended``, ``status``, ``trials``, ``failed``.

        ``trials`` counts trials with a result, ``failed`` trials without. Raises the same errors as the frames of
        :class:`~dbdyno.report.notebook.run.Run`.
        """
        return data_frame(runs_frame(self._runs), library)

    def __repr__(self) -> str:
        """Return one line per run."""
        lines = [f"{run.id}  {run.experiment}  {run.started[:19]}  {run.status}" for run in self._runs]
        return "\n".join(lines) or "no runs"

    def _repr_html_(self) -> str:
        """Show the list in a notebook."""
        from dbdyno.report.notebook.display import runs_html

        return runs_html(self._runs)


def stored_runs(
    experiment: str | None = None, limit: int | None = None, store: str | PathLike[str] | None = None
) -> StoredRuns:
    """List the stored runs; see :func:`dbdyno.runs`."""
    with closing(open_store(None if store is None else fspath(store), make=False)) as opened:
        return StoredRuns(opened.runs(experiment, limit))


def runs_frame(runs: Sequence[RunSummary]) -> Frame:
    """Return one row per run."""
    return make_frame(runs, _FIELDS)


_FIELDS: tuple[Field[RunSummary], ...] = (
    Field("run", "text", lambda run: run.id),
    Field("experiment", "text", lambda run: run.experiment),
    Field("started", "time", lambda run: run.started),
    Field("ended", "time", lambda run: run.ended),
    Field("status", "text", lambda run: run.status),
    Field("version", "text", lambda run: run.version),
    Field("trials", "whole", lambda run: run.done),
    Field("failed", "whole", lambda run: run.failed),
)
