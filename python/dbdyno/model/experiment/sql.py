"""SQL as an experiment writes it: one text for all engines, or one for each.

An engine can have something else in its place, such as commands in JSON.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator, ValidationInfo

from dbdyno.model.experiment.engines import engines_of
from dbdyno.model.experiment.validation import nearest, show, wrong

ANY = "any"

DIALECTS = ("sqlite",)
"""The SQL in which statements for all engines can be written, so that they are translated."""


@dataclass(frozen=True)
class Sql:
    """A statement's text by engine; under ``any`` the one for engines not named."""

    texts: tuple[tuple[str, str], ...]

    def text_for(self, engine: str) -> str | None:
        """Give the text for an engine, or ``None`` where there is none for it."""
        texts = dict(self.texts)
        return texts.get(engine, texts.get(ANY))


def _read_sql(value: Any, info: ValidationInfo) -> Sql:
    engines = engines_of(info)
    if isinstance(value, str):
        value = {ANY: value}
    if not isinstance(value, dict):
        raise wrong(f"{show(value)} is not a statement", 'give its text, or texts by engine, as in `{ any = "…" }`')
    for engine, text in value.items():
        if engines is not None and engine not in (*engines.names, ANY):
            raise wrong("unknown engine", nearest(engine, (*engines.names, ANY)), key=engine)
        if not isinstance(text, str) or not text.strip():
            raise wrong(f"{show(text)} is not a statement", "give its text", key=engine)
        refused = engines.check_statement(text, engine) if engines is not None else None
        if refused is not None:
            raise wrong(f"{show(text)} {refused[0]}", refused[1], key=engine)
    if not value:
        raise wrong("there is no text", 'give one, as in `{ any = "…" }`')
    if engines is None:
        return Sql(tuple(value.items()))
    return Sql(tuple((engine, engines.without_end(text, engine)) for engine, text in value.items()))


def _check_dialect(name: str) -> str:
    if name not in DIALECTS:
        raise wrong(f"statements are not translated from {show(name)}", nearest(name, DIALECTS))
    return name


DialectName = Annotated[str, AfterValidator(_check_dialect)]

SqlText = Annotated[Sql, PlainValidator(_read_sql)]
