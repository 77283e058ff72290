"""The library with which the worker opens a file."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """A library: the path of the shared object (``None``: the bundled one), and a string that identifies it."""

    path: str | None
    identity: str
