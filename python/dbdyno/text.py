"""Texts cut to a length, so that a message or a heading stays readable."""

from collections.abc import Sequence


def shortened(text: str, longest: int) -> str:
    """Give a text with at most ``longest`` characters; one that was cut ends with ``…``."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def first_of(texts: Sequence[str], most: int) -> str:
    """List the first ``most`` texts, with commas; ``…`` stands for the others."""
    return ", ".join(texts[:most]) + (", …" if len(texts) > most else "")
