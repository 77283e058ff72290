"""What a definition asks of the engines that there are, while it is read."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import ValidationInfo

from dbdyno.model.experiment.validation import nearest, show, wrong

# The key of the engines in the context of a validation.
CONTEXT = "engines"


class Engines(Protocol):
    """All engines, as far as the texts of an experiment depend on them."""

    @property
    def names(self) -> Sequence[str]:
        """The names that an experiment may use."""

    def places(self, text: str, engine: str) -> Sequence[int]:
        """Count the ``?`` of an engine's statement that stand for values; under ``any`` as each engine may read it."""

    def without_end(self, text: str, engine: str) -> str:
        """Return a statement without the semicolons and the white space around it."""

    def check_statement(self, text: str, engine: str) -> tuple[str, str] | None:
        """Say why a text can be no statement of an engine, a predicate, and what to write; else ``None``."""


def engines_of(info: ValidationInfo) -> Engines | None:
    """Give the engines that a validation was begun with; ``None``: nothing is known of any, and nothing refused."""
    found: Engines | None = info.context.get(CONTEXT) if isinstance(info.context, dict) else None
    return found


def read_engine(value: Any, info: ValidationInfo) -> Any:
    """See that a value is the name of an engine."""
    engines = engines_of(info)
    if engines is not None and value not in engines.names:
        raise wrong(f"{show(value)} is no engine", nearest(str(value), engines.names))
    return value
