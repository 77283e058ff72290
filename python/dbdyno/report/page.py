"""Render HTML pages from templates. Each page is one file that works without network and scripts."""

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
    """Return the page of a template of ``package``, without control characters.

    Templates of other packages include the style of the report.
    """
    pages = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((package, "dbdyno.report"))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    # Only the report's own charts are inserted unescaped; drawing them has escaped all text from outside.
    pages.filters |= {"svg": Markup, **(filters or {})}
    return printable(pages.get_template(template).render(context))
