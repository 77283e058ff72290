"""Systems that did not do the same work."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from dbdyno.analysis.findings.other_rows import other_rows
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.judging import FAILED, ROWS, other_factors, why_not_comparable
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

NOT_COMPARABLE = Kind("not comparable", ("not_comparable", "differences"))


def not_comparable(cells: Sequence[Cell], told: Container[str] = ()) -> list[Finding]:
    """Say where systems with otherwise equal factors did not do the same work, once for each difference.

    ``told``: cells of which it has been said that they return other rows.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(str(other_factors(cell)), []).append(cell)
    covered: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for group in groups.values():
        for what, words, apart, differences in _differences(group, told):
            ids, all_of_them = covered.setdefault((what, words), ([], []))
            ids += [cell["id"] for cell in apart]
            all_of_them += differences
    return [
        NOT_COMPARABLE.found(
            words, dict.fromkeys(ids), {"not_comparable": what, "differences": list(dict.fromkeys(found))}
        )
        for (what, words), (ids, found) in covered.items()
    ]


def _differences(group: Sequence[Cell], told: Container[str]) -> Iterator[tuple[str, str, list[Cell], list[str]]]:
    """Give in what the systems of a group differ, a sentence on it, the cells it is about, and how each two differ."""
    pairs = [
        (a, b) for index, b in enumerate(group) for a in group[:index] if a["system"]["name"] != b["system"]["name"]
    ]
    found: dict[str, list[tuple[Cell, Cell, str]]] = {}
    for a, b in pairs:
        for difference in why_not_comparable(a, b):
            if not (difference.startswith(ROWS) and a["id"] in told and b["id"] in told):
                found.setdefault(difference.partition(":")[0], []).append((a, b, difference))
    for what, hits in found.items():
        apart = [cell for cell in group if any(cell is a or cell is b for a, b, _ in hits)]
        differences = [difference for _, _, difference in hits]
        if len(apart) == 2:
            a, b, difference = hits[0]
            names = f"{a['system']['name']} and {b['system']['name']}"
            text = f"{names} are not comparable ({difference}); they are not ranked.{_why_rows(what, apart)}"
            yield what, text, apart, differences
            continue
        by_value: dict[str, list[str]] = {}
        for cell in apart:
            by_value.setdefault(_value(what, cell), []).append(cell["system"]["name"])
        values = "; ".join(f"{value} on {', '.join(names)}" for value, names in by_value.items())
        text = f"The systems are not comparable ({what}: {values}); those that differ are not ranked."
        yield what, text + _why_rows(what, apart), apart, differences


def _value(what: str, cell: Cell) -> str:
    """Give what a cell has of what systems differ in."""
    if what == ROWS:
        return f"{cell['rows_per_transaction']:.4g}"
    if what == FAILED:
        rounds = [each for each in done(cell) if each["issued"]]
        return f"{sum(sum(each['failed'].values()) for each in rounds) / sum(each['issued'] for each in rounds):.1%}"
    return str(class_of(cell))


def _why_rows(what: str, apart: Sequence[Cell]) -> str:
    """Add why rows may differ although the statements are alike: transactions failed, or change rows themselves."""
    if what != ROWS:
        return ""
    rounds = [each for cell in apart for each in cell["rounds"]]
    may = "rows returned may differ because"
    why = ""
    if any(each["failed"] for each in rounds):
        why += f" Some transactions failed and do not count: {may} those left are another mix."
    if any(each["rows_changed"] for each in rounds):
        why += f" Their transactions also change rows: {may} the data changed at different speed."
    return why


def _of_run(material: Material) -> list[Finding]:
    told = {cell for each in other_rows(material.cells) for cell in each["cells"]}
    return not_comparable(material.cells, told)


RULE = Rule(_of_run, (NOT_COMPARABLE,))
