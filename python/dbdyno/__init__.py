"""The laboratory of dbdyno: what to ask of a database, how sure the answer is, why it is so, and how to show it.

For notebooks and scripts::

    import dbdyno

    run = dbdyno.load("last")
    run.answer      # sentences
    run.frame()     # a data frame with a row for each round

All that takes time to import is imported when it is used.
"""

from __future__ import annotations

from dbdyno.base.errors import DbdynoError, ExtraMissing, InputError, StoreError

# Type checkers take it for typing's, which takes longer to import than all else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from dbdyno.report.notebook.run import Run
    from dbdyno.report.notebook.run_list import StoredRuns

__all__ = ["DbdynoError", "ExtraMissing", "InputError", "StoreError", "load", "runs"]


def load(run: str | PathLike[str] = "last", *, store: str | PathLike[str] | None = None) -> Run:
    """Load a run with all its results.

    ``run``: ``last``, a run's id, the beginning or the end of one, or the path of a result that ``--json`` wrote: a
    ``Path``, or a text with a slash or the suffix ``.json``. ``store``: where runs are kept, a path or an SQLAlchemy
    URL; by default the user's own.

    Raises InputError where there is no such run, store or file, where several runs answer to the name, and where a file
    holds no result; StoreError where a store cannot be read.
    """
    from dbdyno.report.notebook.load import load_run

    return load_run(run, store)


def runs(
    experiment: str | None = None, *, limit: int | None = None, store: str | PathLike[str] | None = None
) -> StoredRuns:
    """List the stored runs, newest first: what ``dbdyno runs`` shows, as a sequence with ``frame()``.

    ``experiment``: only runs of this one; ``limit``: the newest so many; ``store``: as in :func:`load`. Raises
    InputError where there is no such store, StoreError where it cannot be read.
    """
    from dbdyno.report.notebook.run_list import stored_runs

    return stored_runs(experiment, limit, store)
