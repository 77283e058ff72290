"""Read the values of options: shares, durations, numbers of rounds."""

import re
from typing import Literal, overload

from dbdyno.base.errors import InputError
from dbdyno.base.numbers import parse_duration
from dbdyno.model.limits import MAX_ROUNDS, YEAR_S
from dbdyno.model.run_options import Design, Interleaving

_DIGITS = len(str(MAX_ROUNDS))

_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@overload
def read_share(text: str, option: str) -> float: ...
@overload
def read_share(text: str | None, option: str) -> float | None: ...
def read_share(text: str | None, option: str) -> float | None:
    """Read ``3%`` or ``0.03`` as a share; None stays None. Raises InputError unless 0 < share < 1."""
    if text is None:
        return None
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        raise InputError(option, f"`{text}` is not a share", "write `3%` or `0.03`") from None
    if not 0 < share < 1:
        raise InputError(option, f"`{text}` is not between 0 and 100 %", "write `3%` or `0.03`")
    return share


@overload
def read_duration(text: str, option: str) -> float: ...
@overload
def read_duration(text: str | None, option: str) -> float | None: ...
def read_duration(text: str | None, option: str) -> float | None:
    """Read ``90``, ``90s``, ``20ms``, ``10m`` or ``1h`` as seconds; None stays None. Raises InputError unless > 0."""
    if text is None:
        return None
    number = text.strip()
    seconds = parse_duration(number if number[-1:].isalpha() else f"{number}s")
    if seconds is None or seconds <= 0:
        raise InputError(option, f"`{text}` is not a duration", "write `20ms`, `90s`, `10m` or `1h`")
    if seconds > YEAR_S:
        raise InputError(option, f"`{text}` is longer than a year", "write `20ms`, `90s`, `10m` or `1h`")
    return seconds


def read_bytes(text: str | None, option: str) -> int | None:
    """Read ``200MB``, ``64kB`` or ``1.5 GB`` as bytes, in powers of 1024; None stays None. Raises InputError."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise InputError(option, f"`{text}` is not a size", "write `64kB`, `200MB` or `1GB`")
    return round(float(match[1]) * _BYTES[match[2].lower()])


def read_rounds(text: str | None) -> int | Literal["auto"] | None:
    """Read a number of rounds, at least 1, or ``auto``. Raises InputError."""
    if text is None or text == "auto":
        return text  # type: ignore[return-value]
    # Check the length first: Python refuses to convert very long strings.
    if not text.isdecimal() or len(text) > _DIGITS or not 1 <= int(text) <= MAX_ROUNDS:
        hint = f"give a number from 1 to {MAX_ROUNDS}, or `auto`"
        raise InputError("--rounds", f"`{text}` is not a number of rounds", hint)
    return int(text)


def read_interleaving(text: str | None) -> Interleaving:
    """Read the length of a slice in seconds, or ``none``. Raises InputError."""
    return "none" if text == "none" else read_duration(text, "--interleave")


def read_design(text: str) -> Design:
    """Read ``full`` or ``screening``. Raises InputError."""
    match text:
        case "full" | "screening":
            return text
        case _:
            raise InputError("--design", f"unknown design `{text}`", "use `full` or `screening`")
