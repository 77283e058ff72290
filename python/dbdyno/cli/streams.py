"""Standard output and standard error that tolerate closed readers."""

from __future__ import annotations

import os
import select
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _Output(FileIO):
    """A standard stream that discards all output after an error.

    A measurement must not depend on the reader of its output. ``error``: the error of the stream, unless the reader
    just ended.
    """

    error: OSError | None = None

    def write(self, content: Buffer) -> int:
        """Write, or discard."""
        try:
            while (written := super().write(content)) is None:
                # The descriptor does not block, for example because another program shares it.
                select.select([], [self], [])
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.error = error
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return memoryview(content).nbytes
        return written


def prepare_streams() -> None:
    """Make standard output and standard error safe to print to, even if they are closed.

    A closed stream discards all output. Characters that the encoding doesn't support are replaced.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Otherwise the next opened file would get this descriptor, and dbdyno would print to the file.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _safe(sys.stdout, 1)
    sys.stderr = _safe(sys.stderr, 2)


def write_error(stream: TextIO) -> OSError | None:
    """Flush a stream of :func:`prepare_streams`, and return the error that stopped the writing to it."""
    try:
        stream.flush()
    except ValueError:
        # It was closed.
        return None
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw.error if isinstance(raw, _Output) else None


def _safe(stream: TextIO | None, descriptor: int) -> TextIO:
    output = BufferedWriter(_Output(descriptor, "w", closefd=False))
    if not isinstance(stream, TextIOWrapper):
        return TextIOWrapper(output, encoding="utf-8", errors="replace", line_buffering=True)
    # Keep an error handler that the user chose, such as in PYTHONIOENCODING. "replace" preserves columns.
    errors = "replace" if stream.errors in ("strict", "surrogateescape") else stream.errors
    return TextIOWrapper(
        output,
        encoding=stream.encoding,
        errors=errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
