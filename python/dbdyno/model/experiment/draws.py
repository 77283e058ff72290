"""Distributions for drawing a row of a table."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from dbdyno.model.experiment.strict import Number, Strict
from dbdyno.model.experiment.validation import show, wrong


class DrawZipf(Strict):
    """The distribution ``Zipf`` over the table's rows."""

    exponent: Annotated[Number, Field(gt=0)] = 1.0
    scattered: bool = True


class DrawGaussian(Strict):
    """The distribution ``Gaussian`` over the table's rows."""

    deviations: Annotated[Number, Field(ge=1)] = 3.0


class DrawLatest(Strict):
    """The distribution ``Zipf`` over the table's rows and those that clients have inserted, the last most often."""

    exponent: Annotated[Number, Field(gt=0)] = 0.99


class Draw(Strict):
    """The distribution of drawn rows: uniform unless ``zipf``, ``gaussian`` or ``latest`` is given."""

    zipf: Annotated[DrawZipf | None, BeforeValidator(lambda v: v if isinstance(v, dict) else {"exponent": v})] = None
    gaussian: DrawGaussian | None = None
    latest: Annotated[DrawLatest | None, BeforeValidator(lambda v: v if isinstance(v, dict) else {"exponent": v})] = (
        None
    )

    @model_validator(mode="after")
    def _only_one(self) -> Self:
        given = [name for name in ("zipf", "gaussian", "latest") if getattr(self, name) is not None]
        if len(given) > 1:
            raise wrong("several distributions are given: " + ", ".join(given), "keep one")
        return self


def _read_draw(value: Any) -> Any:
    if isinstance(value, str):
        if value not in ("uniform", "latest"):
            hint = 'write `"uniform"`, `"latest"`, `{ zipf = 1.1 }` or `{ gaussian = {} }`'
            raise wrong(f"unknown value {show(value)}", hint)
        return {"latest": {}} if value == "latest" else {}
    return value


DrawOf = Annotated[Draw, BeforeValidator(_read_draw)]
