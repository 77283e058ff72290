"""Console output with rich."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from dbdyno.base.text import printable


class Console(RichConsole):
    """A console for untrusted strings from files, servers and users.

    It replaces control characters (see :func:`dbdyno.base.text.printable`) and doesn't interpret rich's markup.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        """Print to standard output, or to standard error."""
        super().__init__(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, without control characters in the text."""
        if isinstance(renderable, Text):
            # Replace before rich wraps the lines: control characters have no width, but their replacements do.
            renderable = _printable(renderable)
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield segment._replace(text=printable(segment.text))

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text without control characters."""
        return super().render_str(printable(text), **options)


def _printable(text: Text) -> Text:
    shown = printable(text.plain)
    if shown == text.plain:
        return text
    # rich has removed carriage returns from `text`. Each character is therefore replaced by one character, and the
    # offsets of the styles remain valid.
    replaced = text.copy()
    replaced.plain = shown
    return replaced
