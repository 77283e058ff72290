"""The base class of all parts of events."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
"""A non-negative integer."""


class Part(BaseModel):
    """A part of an event: immutable, without additional fields, and without conversion between types.

    Numbers must be finite, because JSON has no infinity and no NaN.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
    )
