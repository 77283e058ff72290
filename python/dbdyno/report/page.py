"""What the HTML pages have in common: one file each, which needs no network and no script."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment() -> Environment:
    """Return the environment of their templates."""
    made = Environment(
        loader=PackageLoader("dbdyno.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    # Only charts drawn here pass unescaped: what they show of others' words was escaped when they were drawn.
    made.filters["svg"] = Markup
    return made
