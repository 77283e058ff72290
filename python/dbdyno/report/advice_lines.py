"""The rows of advice for the terminal: take, maybe, skip and open."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from dbdyno.model.result.effects import Advice

# Maximum number of choices with a price.
_PRICED = 2
# Width of the action with the spaces around it, in characters.
_ACTION = 9
_ACTIONS = {"take": "bold green", "maybe": "yellow", "skip": "dim", "open": "cyan"}


def advice_lines(rows: Sequence[Advice], width: int, priced: int = _PRICED) -> Iterator[Text]:
    """Yield one line per choice: action, change, effect and price. ``priced``: the number of choices with a price."""
    kept = [advice for advice in rows if advice.action == "maybe"][:priced]
    shown = [advice for advice in rows if advice.action != "maybe" or advice in kept]
    change = min(max((len(advice.change) for advice in shown), default=0), width // 2)
    effect = max((len(advice.effect) for advice in shown if len(advice.change) <= change), default=0)
    for advice in shown:
        start = f"{advice.change:<{change}}  {advice.effect:<{effect}}"
        line = f"{start}  {advice.price}".rstrip()
        lines = [line] if len(line) + _ACTION <= width else list(_folded(start, advice.price, width - _ACTION))
        for position, text in enumerate(lines):
            action = f"  {advice.action:<5}  " if position == 0 else " " * _ACTION
            yield Text.assemble((action, _ACTIONS[advice.action]), text)


def _folded(start: str, rest: str, width: int) -> Iterator[str]:
    """Yield a long line as two parts, each wrapped."""
    for part in (start.rstrip(), rest):
        fits = len(part) <= width
        yield from [part] if fits else textwrap.wrap(" ".join(part.split()), width, break_long_words=False)
