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


class Draw(Strict):
    """The distribution of drawn rows: uniform unless ``zipf`` or ``gaussian`` is given."""

    zipf: Annotated[DrawZipf | None, BeforeValidator(lambda v: v if isinstance(v, dict) else {"exponent": v})] = None
    gaussian: DrawGaussian | None = None

    @model_validator(mode="after")
    def _only_one(self) -> Self:
        if self.zipf and self.gaussian:
            raise wrong("two distributions are given", "remove `zipf` or `gaussian`")
        return self


def _read_draw(value: Any) -> Any:
    if isinstance(value, str):
        if value != "uniform":
            hint = 'write `"uniform"`, `{ zipf = 1.1 }` or `{ gaussian = {} }`'
            raise wrong(f"unknown value {show(value)}", hint)
        return {}
    return value


DrawOf = Annotated[Draw, BeforeValidator(_read_draw)]
