"""Reading the values of options: shares, durations, numbers of rounds."""

import re
from typing import Literal

from dbdyno.base.errors import InputError
from dbdyno.model.limits import MOST_ROUNDS, YEAR_S

_DIGITS = len(str(MOST_ROUNDS))
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def read_share(text: str, option: str) -> float:
    """Read ``3%`` or ``0.03`` as a share. Raises InputError unless it lies above 0 and below 1."""
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        raise InputError(option, f"`{text}` is not a share", "write `3%` or `0.03`") from None
    if not 0 < share < 1:
        raise InputError(option, f"`{text}` is not between 0 and 100 %", "write `3%` or `0.03`")
    return share


def read_duration(text: str, option: str) -> float:
    """Read ``90``, ``90s``, ``20ms``, ``10m`` or ``1h`` as seconds. Raises InputError unless it is above 0."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if found is None or found[2] not in ("", *_UNITS) or float(found[1]) <= 0:
        raise InputError(option, f"`{text}` is not a duration", "write `20ms`, `90s`, `10m` or `1h`")
    seconds = float(found[1]) * _UNITS.get(found[2], 1.0)
    if seconds > YEAR_S:
        raise InputError(option, f"`{text}` is longer than a year", "write `20ms`, `90s`, `10m` or `1h`")
    return seconds


def read_rounds(text: str | None) -> int | Literal["auto"] | None:
    """Read a number of rounds from 1 on, or ``auto``. Raises InputError."""
    if text is None or text == "auto":
        return text  # type: ignore[return-value]
    # Longer texts are not converted: Python refuses very long ones.
    if not text.isdecimal() or len(text) > _DIGITS or not 1 <= int(text) <= MOST_ROUNDS:
        hint = f"give a number from 1 to {MOST_ROUNDS}, or `auto`"
        raise InputError("--rounds", f"`{text}` is not a number of rounds", hint)
    return int(text)
