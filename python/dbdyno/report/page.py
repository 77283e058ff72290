"""What the HTML pages have in common: one file each, which needs no network and no script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dbdyno.base.text import printable


def render_page(
    template: str,
    context: Mapping[str, Any],
    package: str = "dbdyno.report",
    filters: Mapping[str, Callable[..., Any]] | None = None,
) -> str:
    """Return a page made from a template of ``package``, without control characters.

    Templates of other packages include the style of the report.
    """
    pages = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((package, "dbdyno.report"))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    # Only charts drawn here pass unescaped: what they show of others' words was escaped when they were drawn.
    pages.filters |= {"svg": Markup, **(filters or {})}
    return printable(pages.get_template(template).render(context))
