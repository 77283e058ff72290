"""C as HTML with its comments, strings, keywords, numbers and directives told apart."""

import re
from collections.abc import Iterable, Iterator
from html import escape

_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "u8 u16 u32 u64 i8 i16 i64"
)
_TOKEN = re.compile(
    r"(?P<c>/\*.*?(?:\*/|$)|//.*)"
    r'|(?P<s>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')'
    rf"|(?P<k>\b(?:{'|'.join(_KEYWORDS.split())})\b)"
    r"|(?P<n>\b\d\w*\b)"
    r"|(?P<p>^\s*#.*)"
)


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """Give lines of C as HTML. The classes: c comment, s string, k keyword, n number, p directive."""
    within = False
    for line in lines:
        start, html = 0, ""
        if within:
            end = line.find("*/")
            start = len(line) if end < 0 else end + 2
            html = f'<i class="c">{escape(line[:start], quote=False)}</i>'
            within = end < 0
        at = start
        for token in _TOKEN.finditer(line, start):
            html += escape(line[at : token.start()], quote=False)
            html += f'<i class="{token.lastgroup}">{escape(token[0], quote=False)}</i>'
            at = token.end()
            if token.lastgroup == "c" and token[0].startswith("/*") and not token[0].endswith("*/"):
                within = True
        yield html + escape(line[at:], quote=False)
