"""Caches and memory limits."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, part
from dbdyno.model.result.shape import Finding

# A page cache with fewer misses per transaction than this holds the data.
_MISSES = 0.01


def _fits_in_cache(cell: Cell) -> tuple[str, JsonObject] | None:
    misses, hits = (cell.io_per_transaction.get(name) for name in ("cache_misses", "cache_hits"))
    if misses is None or not hits or misses >= _MISSES * max(1.0, hits / 100):
        return None
    words = (
        f"The data fit in the page cache ({hits / (hits + misses) * 100:.2f} % hits), but this experiment is meant to "
        "exceed it. Lower `cache_size` or increase the number of rows."
    )
    return words, {"hits": hits, "misses": misses}


@finding(
    "fits in cache",
    needs=("warning", "hits", "misses"),
    meaning="The data fit in the page cache, but the experiment is meant to exceed it.",
    remedy="Lower `cache_size` or increase the number of rows.",
)
def fits_in_cache(material: Material) -> Iterator[Finding]:
    """Report cells whose data fit in the page cache, if the experiment is meant to exceed it."""
    if not part(material.run.design, "measure").get("beyond_cache"):
        return
    for cell in material.cells:
        said = _fits_in_cache(cell)
        if said is not None:
            words, observed = said
            yield fits_in_cache.found(words, [cell.id], {"warning": fits_in_cache.name, **observed})


@finding(
    "memory not limited",
    needs=("bytes", "refused"),
    meaning="The requested memory limit is not in effect, so the kernel may cache more than intended.",
    remedy="Let dbdyno create cgroups, or use more data than the machine has memory.",
)
def memory_not_limited(material: Material) -> Iterator[Finding]:
    """Report memory limits that are not in effect: one finding per reason."""
    refused: dict[tuple[int, str], list[str]] = {}
    for cell in material.cells:
        limit = cell.memory_limit
        if limit is not None and limit["refused"] is not None:
            refused.setdefault((limit["bytes"], limit["refused"]), []).append(cell.id)
    for (limited, why), cells in refused.items():
        words = f"The {limited / 1e6:g} MB memory limit is not in effect: {why}. "
        words += "The kernel's page cache was not limited either."
        yield memory_not_limited.found(words, cells, {"bytes": limited, "refused": why})
