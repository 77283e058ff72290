"""The functions of engines that validating a definition requires."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import ValidationInfo

from dbdyno.model.experiment.validation import show, wrong

# The key of the engines in pydantic's validation context.
CONTEXT = "engines"


class Engines(Protocol):
    """All engines: the functions that validate an experiment's names and statements."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the engines."""

    def nearest(self, name: str, others: Sequence[str] = ()) -> str:
        """Return the hint for an unknown engine. ``others``: further words that are allowed instead."""

    def places(self, text: str, engine: str) -> Sequence[int]:
        """Return the number of ``?`` placeholders of a statement; for ``any``, each number that an engine may count."""

    def without_end(self, text: str, engine: str) -> str:
        """Return a statement without surrounding white space and final semicolons."""

    def check_statement(self, text: str, engine: str) -> tuple[str, str] | None:
        """Return why an engine can't run a statement (a predicate) and a hint, or None if it can."""


def engines_of(info: ValidationInfo) -> Engines | None:
    """Return the engines of a validation, or None if it runs without checks that depend on engines."""
    engines: Engines | None = info.context.get(CONTEXT) if isinstance(info.context, dict) else None
    return engines


def read_engine(value: Any, info: ValidationInfo) -> Any:
    """Check that a value is the name of an engine."""
    engines = engines_of(info)
    if engines is not None and value not in engines.names:
        raise wrong(f"unknown engine {show(value)}", engines.nearest(str(value)))
    return value
