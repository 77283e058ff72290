"""C as HTML with its comments, strings, keywords, numbers and directives told apart."""

from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from itertools import groupby

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Number, String, _TokenType, is_token_subtype

# The first that holds a token is its class. Pygments' own formatter gives every name and bracket an element too, which
# makes the page of a count some times as long.
_CLASSES = ((Comment.Preproc, "p"), (Comment, "c"), (String, "s"), (Keyword, "k"), (Number, "n"))


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """Give lines of C as HTML. The classes: c comment, s string, k keyword, n number, p directive."""
    lines = list(lines)
    if not lines:
        return
    text = "\n".join(lines)
    tokens = ((_class(kind), token) for _, kind, token in get_lexer_by_name("c").get_tokens_unprocessed(text))
    html = ""
    for name, group in groupby(tokens, key=lambda token: token[0]):
        first, *rest = "".join(token for _, token in group).split("\n")
        html += _element(name, first)
        for line in rest:
            yield html
            html = _element(name, line)
    yield html


# There are some twenty kinds, and a hundred thousand tokens.
@cache
def _class(kind: _TokenType) -> str | None:
    return next((name for of, name in _CLASSES if is_token_subtype(kind, of)), None)


def _element(name: str | None, text: str) -> str:
    html = escape(text, quote=False)
    return f'<i class="{name}">{html}</i>' if name and text else html
