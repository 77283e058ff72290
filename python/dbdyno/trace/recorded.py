"""An execution as it is handed over to what writes the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Recorded(NamedTuple):
    """An execution, as it was observed.

    ``text``: ``None`` if it is too long to be read. ``size``: bytes sent to the client. ``open``: whether a transaction
    was open afterwards; ``None``: unknown. ``once``: true if it was parsed once for several executions, false if for
    this execution; ``None``: it was sent as text, with its parameters as literals. ``types``: the server's numbers of
    the parameters' types that the application declared; 0 if it didn't.
    """

    session: int
    text: str | None
    parameters: Sequence[Any] | Mapping[str, Any] | None
    start_ns: int
    duration_ns: int | None
    rows: int | None = None
    error: str | None = None
    size: int | None = None
    open: bool | None = None
    once: bool | None = None
    types: Sequence[int] = ()


def error_of(error: BaseException) -> str:
    """Return the code of a driver's error, or its class; never its message."""
    for name in ("sqlstate", "pgcode", "sqlite_errorname"):
        code = getattr(error, name, None)
        if isinstance(code, str):
            return code
    first = error.args[0] if error.args else None
    return str(first) if isinstance(first, int) else type(error).__name__
