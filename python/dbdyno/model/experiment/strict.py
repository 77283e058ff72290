"""The base class of all tables of an experiment file. It rejects unknown keys and values of other types."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from dbdyno.base.numbers import parse_duration
from dbdyno.model.experiment.engines import CONTEXT, Engines, read_engine
from dbdyno.model.experiment.validation import Invalid, from_pydantic, show, without_tags, wrong
from dbdyno.model.limits import MAX_ROWS, YEAR_S

Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Rows = Annotated[int, Field(ge=0, le=MAX_ROWS)]
Positive = Annotated[int, Field(ge=1, le=2**63 - 1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=YEAR_S, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]


EngineName = Annotated[str, BeforeValidator(read_engine)]


class Strict(BaseModel):
    """A table of an experiment file."""

    # Build validators on first use, because most commands use only a few.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _note_known_keys(cls, data: Any, info: ValidationInfo) -> Any:
        # pydantic's error about an unknown key doesn't list the known keys, so store them in the context.
        if isinstance(data, dict) and isinstance(info.context, dict):
            info.context[id(data)] = [field.alias or name for name, field in cls.model_fields.items()]
        return data


def models_in(part: Any) -> Iterator[BaseModel]:
    """Yield the tables in a part of an experiment, including nested ones and the part itself."""
    if isinstance(part, BaseModel):
        yield part
        part = [getattr(part, name) for name in type(part).model_fields]
    elif isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list | tuple):
        for value in part:
            yield from models_in(value)


Model = TypeVar("Model", bound=Strict)


def validate(model: type[Model], data: Mapping[str, Any], engines: Engines) -> tuple[Model | None, list[Invalid]]:
    """Validate a table. Returns the model and no errors, or None and all errors.

    ``engines``: for checks that depend on an engine.
    """
    known: dict[Any, Any] = {CONTEXT: engines}
    try:
        return model.model_validate(data, context=known), []
    except ValidationError as error:
        errors = []
        for details in error.errors(include_url=False):
            table = _reach(data, without_tags(details["loc"])[:-1])
            errors.append(from_pydantic(details, known.get(id(table), [])))
        return None, errors


def _reach(data: Any, location: tuple[int | str, ...]) -> Any:
    for part in location:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


# The difference of two real numbers must be finite, too.
_MAX_REAL = 1e300


def _read_duration(value: Any) -> float:
    seconds = parse_duration(value) if isinstance(value, str) else None
    if seconds is None:
        raise wrong(f"{show(value)} is not a duration", 'write a number with its unit, such as `"500ms"` or `"2s"`')
    return seconds


Duration = Annotated[float, Field(le=YEAR_S), BeforeValidator(_read_duration)]
"""A duration in seconds, written with its unit: `"500ms"`, `"2s"`, `"1m"`."""


def check_fits(number: float) -> None:
    """Raise a validation error for an integer that doesn't fit into 64 bits, a real number above 1e300, and NaN."""
    if isinstance(number, int):
        if not -(2**63) <= number < 2**63:
            raise wrong(f"{show(number)} is out of range", "give an integer that fits into 64 bits")
    elif not abs(number) <= _MAX_REAL:
        raise wrong(f"{show(number)} is out of range", "give a number from -1e300 to 1e300")


def read_range(value: Any) -> tuple[int, int] | tuple[float, float]:
    """Read ``[low, high]``: two integers, or two numbers of which at least one isn't an integer."""
    numbers = isinstance(value, list) and all(isinstance(n, int | float) and not isinstance(n, bool) for n in value)
    match value if numbers else None:
        case [low, high]:
            pass
        case _:
            raise wrong("it must be a list of two numbers", "give the minimum and the maximum, such as `[1, 100]`")
    check_fits(low)
    check_fits(high)
    if low > high:
        raise wrong(f"the minimum {low} is above the maximum {high}", f"write `[{high}, {low}]`")
    return low, high


def read_whole_range(value: Any) -> tuple[int, int]:
    """Read ``[low, high]``, two integers."""
    low, high = read_range(value)
    if not isinstance(low, int) or not isinstance(high, int):
        raise wrong("both numbers must be integers", "such as `[1, 100]`")
    return low, high


def read_length(value: Any, most: int) -> tuple[int, int]:
    """Read a fixed length, or ``[low, high]``. Both must be integers from 0 to ``most``."""
    fixed = isinstance(value, int) and not isinstance(value, bool)
    low, high = (value, value) if fixed else read_whole_range(value)
    if low < 0 or high > most:
        raise wrong(f"{show(value)} is out of range", f"give a number from 0 to {most}")
    return low, high
