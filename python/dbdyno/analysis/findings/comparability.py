"""Systems that did different work, so that they are not ranked."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.searches import StatementInCell, by_case_of, case_words, rules_of, same_statements, shown
from dbdyno.analysis.findings.words import all_of, first_of
from dbdyno.analysis.measured.comparisons import FAILED, ROWS, VALUES, other_factors, why_not_comparable
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.engines import engine_name
from dbdyno.analysis.measured.metrics import done
from dbdyno.engines import known_engine
from dbdyno.engines.searches import may_return_fewer_rows, returns_one_row
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Finding


@finding(
    "other rows",
    needs=("not_comparable", "rows"),
    meaning="The same statement with the same values returned different numbers of rows on different systems.",
    remedy="Give the columns the same collation and case rules on all systems.",
)
def other_rows(material: Material) -> list[Finding]:
    """Report statements that returned different numbers of rows on different systems for the same values, and why.

    Statements with the same rows and the same reason (such as sorted and unsorted) share one finding.
    """
    told: dict[str, tuple[list[str], list[str], dict[str, float]]] = {}
    for pairs in same_statements(material.cells):
        rows = {cell.system.name: statement.rows or 0.0 for cell, statement in pairs}
        # If transactions also change rows, the systems may have changed different numbers: see not_comparable.
        changed = any(round_.rows_changed for cell, _ in pairs for round_ in cell.rounds)
        if len(set(rows.values())) <= 1 or changed:
            continue
        by_count: dict[float, list[str]] = {}
        for system, count in rows.items():
            by_count.setdefault(count, []).append(system)
        found = ", ".join(f"{_rows_of(count)} on {all_of(systems)}" for count, systems in by_count.items())
        why = _why_other_rows(pairs, rows) or "the reason is unknown; check the collations of the systems"
        texts, ids, _ = told.setdefault(f"{json.dumps(pairs[0][1].values)} {found} {why}", ([], [], rows))
        texts.append(f"`{shown(pairs[0][1])}` returned {found}: {why}")
        ids += [cell.id for cell, _ in pairs]
    return [
        other_rows.found(first_of(texts), dict.fromkeys(ids), {"not_comparable": "rows", "rows": rows})
        for texts, ids, rows in told.values()
    ]


def _why_other_rows(pairs: Sequence[StatementInCell], rows: Mapping[str, float]) -> str:
    """Return the comparison rules that explain the different numbers of rows, or an empty string.

    ``rows``: rows by system. A rule explains them if all systems with the same rule returned the same number.
    """
    word, rules = rules_of(pairs)
    by_case = by_case_of(rules)
    if None in by_case:
        return ""
    if _rows_match_groups(by_case.values(), rows):
        # A case-insensitive comparison matches at least the rows that a case-sensitive one matches.
        fewer = rows[by_case[False][0]] < rows[by_case[True][0]]
        cell, asked = pairs[0]
        unfit = fewer and not may_return_fewer_rows(asked.sql, asked.values, engine_name(cell))
        return "" if unfit else f"{word} {case_words(by_case)}"
    by_words: dict[str, list[str]] = {}
    for system, rule in rules.items():
        by_words.setdefault(rule.words if rule else "", []).append(system)
    if not _rows_match_groups(by_words.values(), rows):
        return ""
    return f"{word} " + all_of([f"{words} on {all_of(systems)}" for words, systems in by_words.items()])


def _rows_match_groups(groups: Iterable[Sequence[str]], rows: Mapping[str, float]) -> bool:
    """Whether the systems of a group returned the same number of rows, and each group a different one."""
    counts = [{rows[system] for system in group} for group in groups]
    return len(counts) > 1 and all(len(each) == 1 for each in counts) and len(set.union(*counts)) == len(counts)


def _rows_of(rows: float) -> str:
    return f"{rows:,.6g} row{'' if rows == 1 else 's'}"


@finding(
    "counts may differ",
    needs=("case", "rules"),
    meaning="A count may cover other rows on another system, because the systems compare strings differently.",
    remedy="Give the columns the same collation and case rules on all systems.",
)
def other_counts(material: Material) -> list[Finding]:
    """Report statements whose counts may differ because the systems compare strings differently.

    The results don't contain the counts themselves: each count is one row.
    """
    told: dict[str, tuple[list[str], list[str], dict[str, list[str]], dict[str, str]]] = {}
    for pairs in same_statements(material.cells):
        if not all(returns_one_row(statement.sql) and statement.rows == 1 for _, statement in pairs):
            continue
        word, rules = rules_of(pairs)
        by_case = by_case_of(rules)
        if not {True, False} <= set(by_case):
            continue
        why = f"{word} {case_words(by_case)}"
        regards = {"regards": by_case[True], "disregards": by_case[False]}
        words = {system: rule.words for system, rule in rules.items() if rule}
        texts, ids, _, _ = told.setdefault(why, ([], [], regards, words))
        text = f"`{shown(pairs[0][1])}` returns a count, which may differ between the systems"
        texts.append(f"{text}: {why}")
        ids += [cell.id for cell, _ in pairs]
    return [
        other_counts.found(first_of(texts), dict.fromkeys(ids), {"case": regards, "rules": words})
        for texts, ids, regards, words in told.values()
    ]


@finding(
    "not comparable",
    needs=("not_comparable", "differences"),
    meaning="Systems did different work: they differ in durability, in the rows they returned or in failures.",
    remedy="Make the systems do the same work, for instance with `--same-durability`.",
)
def not_comparable(material: Material) -> list[Finding]:
    """Report systems that did different work with otherwise equal factors: one finding per difference."""
    # Cells for which other_rows already reports the difference.
    told = {cell for each in other_rows.find(material) for cell in each.cells}
    groups: dict[str, list[Cell]] = {}
    for cell in material.cells:
        groups.setdefault(str(other_factors(cell)), []).append(cell)
    covered: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for group in groups.values():
        for what, words, apart, differences in _differences(group, told):
            ids, all_of_them = covered.setdefault((what, words), ([], []))
            ids += [cell.id for cell in apart]
            all_of_them += differences
    return [
        not_comparable.found(
            words, dict.fromkeys(ids), {"not_comparable": what, "differences": list(dict.fromkeys(found))}
        )
        for (what, words), (ids, found) in covered.items()
    ]


def _differences(group: Sequence[Cell], told: Container[str]) -> Iterator[tuple[str, str, list[Cell], list[str]]]:
    """Yield each difference within a group: its name, a sentence, the cells, and the difference of each pair."""
    pairs = [(a, b) for index, b in enumerate(group) for a in group[:index] if a.system.name != b.system.name]
    found: dict[str, list[tuple[Cell, Cell, str]]] = {}
    for a, b in pairs:
        for difference in why_not_comparable(a, b):
            if not (difference.startswith(ROWS) and a.id in told and b.id in told):
                found.setdefault(difference.partition(":")[0], []).append((a, b, difference))
    for what, hits in found.items():
        apart = [cell for cell in group if any(cell is a or cell is b for a, b, _ in hits)]
        differences = [difference for _, _, difference in hits]
        if len(hits) == 1 or what == VALUES:
            a, b, difference = hits[0]
            names = f"{a.system.name} and {b.system.name}"
            # Terminals cut long names, not the reason.
            text = f"Not ranked, because they are not comparable ({difference}): {names}.{_why_rows(what, apart)}"
            yield what, text, apart, differences
            continue
        by_value: dict[str, list[str]] = {}
        for cell in apart:
            by_value.setdefault(_value(what, cell), []).append(cell.system.name)
        values = "; ".join(f"{value} on {', '.join(names)}" for value, names in by_value.items())
        text = f"The systems are not comparable ({what}: {values}); systems that differ are not ranked."
        yield what, text + _why_rows(what, apart), apart, differences


def _value(what: str, cell: Cell) -> str:
    """Return a cell's value of the property in which systems differ."""
    if what == ROWS:
        return f"{cell.rows_per_transaction:.4g}"
    if what == FAILED:
        rounds = [round_ for round_ in done(cell) if round_.issued]
        return f"{sum(sum(round_.failed.values()) for round_ in rounds) / sum(round_.issued for round_ in rounds):.1%}"
    return str(class_of(cell))


def _why_rows(what: str, apart: Sequence[Cell]) -> str:
    """Explain why rows may differ for the same statements: transactions failed, or they change rows."""
    if what != ROWS:
        return ""
    rounds = [round_ for cell in apart for round_ in cell.rounds]
    may = "rows returned may differ because"
    why = ""
    if any(round_.failed for round_ in rounds):
        why += f" Some transactions failed and do not count: {may} the remaining transactions are a different mix."
    if any(round_.rows_changed for round_ in rounds):
        why += f" Their transactions also change rows: {may} the data changed at different speeds."
    return why


@finding(
    "other product",
    needs=("product",),
    meaning="The server is another product that speaks the same protocol.",
    remedy="Use the name of the product that was measured when you quote the results.",
)
def other_product(material: Material) -> list[Finding]:
    """Report servers that speak another product's protocol."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for cell in material.cells:
        system = cell.system
        engine = known_engine(system.name.partition(":")[0])
        if engine.original and system.engine not in (None, "", engine.name, engine.original):
            product = " ".join(each for each in (system.engine, system.version) if each)
            found.setdefault((system.name, product, engine.original), []).append(cell.id)
    return [
        other_product.found(f"`{name}` is {product} here, not {original}.", ids, {"product": product})
        for (name, product, original), ids in found.items()
    ]
