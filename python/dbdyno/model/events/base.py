"""What all parts of events have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
"""A whole number that is not negative."""


class Part(BaseModel):
    """A part of an event. It cannot be changed, has no other fields than its own, and takes nothing for another type.

    A number is finite: JSON has no other.
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
