"""Statements in an experiment: one for all engines, or one per engine.

They are SQL, or the engine's own commands, such as JSON for MongoDB.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator, ValidationInfo

from dbdyno.model.experiment.engines import engines_of
from dbdyno.model.experiment.validation import nearest, show, wrong

ANY = "any"

DIALECTS = ("sqlite",)
"""The SQL dialects that statements for all engines can be translated from."""


@dataclass(frozen=True)
class Sql:
    """The texts of a statement by engine. ``any``: for all other engines."""

    texts: tuple[tuple[str, str], ...]

    def text_for(self, engine: str) -> str | None:
        """Return the text for an engine, or None if it has none."""
        texts = dict(self.texts)
        return texts.get(engine, texts.get(ANY))


def _read_sql(value: Any, info: ValidationInfo) -> Sql:
    engines = engines_of(info)
    if isinstance(value, str):
        value = {ANY: value}
    if not isinstance(value, dict):
        raise wrong(f"{show(value)} is not a statement", 'give its text, or texts by engine, such as `{ any = "…" }`')
    for engine, text in value.items():
        if engines is not None and engine not in (*engines.names, ANY):
            raise wrong("unknown engine", engines.nearest(engine, [ANY]), key=engine)
        if not isinstance(text, str) or not text.strip():
            raise wrong(f"{show(text)} is not a statement", "give its text", key=engine)
        refused = engines.check_statement(text, engine) if engines is not None else None
        if refused is not None:
            raise wrong(f"{show(text)} {refused[0]}", refused[1], key=engine)
    if not value:
        raise wrong("the text of the statement is missing", 'give one, such as `{ any = "…" }`')
    if engines is None:
        return Sql(tuple(value.items()))
    return Sql(tuple((engine, engines.without_end(text, engine)) for engine, text in value.items()))


def _check_dialect(name: str) -> str:
    if name not in DIALECTS:
        raise wrong(f"unknown dialect {show(name)}", nearest(name, DIALECTS))
    return name


DialectName = Annotated[str, AfterValidator(_check_dialect)]

SqlText = Annotated[Sql, PlainValidator(_read_sql)]
