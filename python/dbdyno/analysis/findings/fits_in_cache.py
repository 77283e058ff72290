"""Data that were meant not to fit in cache, and did."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, part
from dbdyno.model.result.shape import Finding

FITS_IN_CACHE = Kind("fits in cache", ("warning", "hits", "misses"))


# A page cache that misses less often than this per transaction holds the data.
_MISSES = 0.01


def _fits_in_cache(cell: Cell) -> tuple[str, JsonObject] | None:
    misses, hits = (cell["io_per_transaction"].get(name) for name in ("cache_misses", "cache_hits"))
    if misses is None or not hits or misses >= _MISSES * max(1.0, hits / 100):
        return None
    words = (
        f"The data fitted into the page cache ({hits / (hits + misses) * 100:.2f} % hits), which this experiment means "
        "it not to: lower `cache_size`, or raise the number of rows."
    )
    return words, {"hits": hits, "misses": misses}


def fits_in_cache(material: Material) -> Iterator[Finding]:
    """Say of which cells the page cache held the data, where the experiment means it not to."""
    if not part(material.run.design, "measure").get("beyond_cache"):
        return
    for cell in material.cells:
        said = _fits_in_cache(cell)
        if said is not None:
            words, observed = said
            yield FITS_IN_CACHE.found(words, [cell["id"]], {"warning": FITS_IN_CACHE.name, **observed})


RULE = Rule(fits_in_cache, (FITS_IN_CACHE,))
