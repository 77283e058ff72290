"""Indexes for the statements of a file: what was measured, which to take at what price, and the lines to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.findings.foreign_keys import unindexed_foreign_key
from dbdyno.analysis.findings.indexes import whole_table
from dbdyno.analysis.indexes import names_index
from dbdyno.base.numbers import duration, rough, time_words
from dbdyno.engines.server.facts import size
from dbdyno.model.result.indexes import Indexes, StatementSpeed, TriedIndex, WriteCost
from dbdyno.model.result.shape import Document
from dbdyno.report.rows import Row, laid_out, wrapped
from dbdyno.report.sections import CellTable, Column

_NOW, _WITH, _TIMES, _INDEX = "now", "with index", "times as fast", "index"
_SPARE = (_TIMES,)
# Ratios of writes below this are not worth a word.
_SAME = 1.05
# Names that a terminal shows of a list. Reports show all.
_MAX_NAMES = 5


def _missing(document: Document) -> dict[str, list[str]]:
    """Give each ``create index`` with its statements of a file, or with its systems where not all lack it."""
    missing: dict[str, list[str]] = {}
    systems, times = document.answer.systems, document.report.get("times") is True
    measured = {
        indexes.system for indexes in document.indexes if indexes.not_measured is None or indexes.estimated is not None
    }
    for finding in document.findings:
        evidence = finding.evidence
        is_lacking = finding.kind in (whole_table.name, unindexed_foreign_key.name) and "sql" in evidence
        if not is_lacking or evidence.get("there"):
            continue
        cells = [cell for cell in document.cells if cell.id in finding.cells and cell.system.name not in measured]
        if not cells:
            continue
        names = [str(cell.factors.get(STATEMENT, "")) if times else systems.get(cell.system.name, "") for cell in cells]
        known = missing.setdefault(str(evidence["sql"]), [])
        known += [name for name in dict.fromkeys(names) if name and name not in known]
    return {sql: names if times or len(names) < len(systems) else [] for sql, names in missing.items()}


def index_lines(document: Document) -> list[str]:
    """Give the indexes that plans lack as lines of SQL, with the names of the statements or systems behind each.

    Systems whose candidates were measured are left out.
    """
    missing = _missing(document)
    return [f"{sql};" + (f"  -- {', '.join(names)}" if names else "") for sql, names in missing.items()]


def measured_index_lines(document: Document, width: int) -> Iterator[Text]:
    """Write what was measured of candidate indexes, for a terminal of ``width`` columns."""
    for indexes in document.indexes:
        if indexes.not_measured is not None:
            if indexes.untried:
                yield from wrapped(f"Indexes not measured: {indexes.not_measured}.", width, "yellow", "  ")
            for sentence in estimate_sentences(indexes):
                yield from wrapped(sentence, width, "", "  ")
            for sentence in idle_sentences(indexes, _MAX_NAMES):
                yield from wrapped(sentence, width, "", "  ")
            continue
        for sentence in conclusions(indexes, document):
            yield from wrapped(f"{_of_system(indexes, document)}{sentence}", width, "bold", "  ")
        for line in statements_to_paste(indexes):
            yield from wrapped(f"  {line}", width, "green", "    ")
        rows = [Row(label, values) for label, values in _rows(indexes, document)]
        yield from laid_out(rows, width, _SPARE)
        for sentence in remarks(indexes, _MAX_NAMES):
            yield from wrapped(sentence, width, "", "  ")
        yield Text("")


def summary(found: Indexes) -> str:
    """Return the number of measured candidates, the size of the copy, and the duration."""
    count = len(found.tried)
    copied = "" if found.copied_bytes is None else f" of {size(found.copied_bytes)}"
    indexes = f"{count} candidate index{'es' * (count != 1)}"
    return f"{indexes} built and measured on a copy{copied}, in {duration(found.seconds)}"


def _of_system(indexes: Indexes, document: Document) -> str:
    return f"{document.answer.systems.get(indexes.system, indexes.system)}: " if len(document.indexes) > 1 else ""


def _before(indexes: Indexes, document: Document) -> dict[str, float]:
    """Return the milliseconds of each statement without new indexes."""
    times = {}
    for cell in document.cells:
        service = cell.latency_ms.get("service")
        if cell.system.name == indexes.system and service is not None and service.mean is not None:
            times[str(cell.factors.get(STATEMENT, ""))] = service.mean
    return times


def _rows(indexes: Indexes, document: Document) -> list[tuple[str, dict[str, str]]]:
    """Return a row for each statement that a candidate could serve, with its best measured index."""
    together = {statement.statement: statement for statement in indexes.statements}
    tried = {tried_index.name: tried_index for tried_index in indexes.tried}
    rows = []
    for name, ms in sorted(
        _before(indexes, document).items(), key=lambda pair: -pair[1] * indexes.weights.get(pair[0], 1)
    ):
        speed = together.get(name)
        used = (
            [keys for each in speed.uses for keys in _used_keys(tried[each], speed.plan)] if speed is not None else []
        )
        if speed is not None and used:
            values = {
                _NOW: time_words(ms),
                _WITH: time_words(ms / speed.times),
                _TIMES: speed_words(speed),
                _INDEX: ", ".join(used),
            }
        else:
            values = {_NOW: time_words(ms), _WITH: "", _TIMES: "", _INDEX: _reason(indexes, name)}
            if speed is not None and speed.ci95 is not None and speed.ci95[1] < 1:
                # A statement that also updates the new indexes.
                values |= {_WITH: time_words(ms / speed.times), _TIMES: speed_words(speed), _INDEX: "writes them"}
        rows.append((name, values))
    return rows


def _used_keys(tried: TriedIndex, plan: Sequence[str]) -> list[str]:
    """Return the indexes among several that a plan uses; all if it doesn't show them, as for foreign keys."""
    named = zip(tried.names, tried.sql, strict=True)
    return [sql.partition(" on ")[2] for name, sql in named if names_index(plan, name)] or [tried.keys]


def _reason(indexes: Indexes, statement: str) -> str:
    """Return why a statement doesn't get a new index."""
    if statement in indexes.without_candidates:
        return "no candidate"
    helped = [
        tried_index
        for tried_index in indexes.tried
        for speed in tried_index.statements
        if tried_index.verdict == "helps" and speed.statement == statement
    ]
    if helped:
        return f"faster with {helped[0].keys}, not taken"
    return "not settled: candidates are left" if indexes.untried else "no index helps"


def speed_words(speed: StatementSpeed) -> str:
    """Write how many times as fast a statement is, with the interval: `610x [540, 690]`."""
    return _factor(speed.times, speed.ci95)


def _factor(times: float, ends: Sequence[float] | None) -> str:
    return f"{rough(times)}x" + ("" if ends is None else f" [{rough(ends[0])}, {rough(ends[1])}]")


def conclusions(indexes: Indexes, document: Document) -> list[str]:
    """Return the recommended indexes, the time of all statements with them, and the price, as sentences."""
    chosen = [tried_index for tried_index in indexes.tried if tried_index.name in indexes.chosen]
    if not chosen:
        if indexes.untried:
            tried, count = len(indexes.tried), len(indexes.untried)
            left = f"{count} candidate{'s' * (count != 1)} {'were' if count != 1 else 'was'} not tried"
            return [f"Not settled: none of {tried} tried indexes helps, and {left} for lack of time (`--budget`)."]
        return ["Take none: no candidate makes a statement at least a tenth faster."]
    before = _before(indexes, document)
    faster = {statement.statement: statement.times for statement in indexes.statements if statement.uses}
    weights = {name: indexes.weights.get(name, 1.0) for name in before}
    total = sum(ms * weights[name] for name, ms in before.items())
    after = sum(ms * weights[name] / faster.get(name, 1.0) for name, ms in before.items())
    sizes = [tried_index.bytes for tried_index in chosen if tried_index.bytes is not None]
    count = len(statements_to_paste(indexes))
    taken = "this one" if count == 1 else f"these {count}"
    weighted = " weighted" if any(weight != 1 for weight in weights.values()) else ""
    words = f"Take {taken}: all statements{weighted} {time_words(total)} -> {time_words(after)}"
    words += f", {size(sum(sizes))} on disk" if len(sizes) == len(chosen) else ""
    prices = write_words(indexes.writes)
    return [words + (f"; {prices}" if prices else "") + "."]


def write_words(writes: Sequence[WriteCost]) -> str:
    """Write what writes cost with the chosen indexes: `rows of t take longer: insert 2.1x [1.9, 2.3], delete 1.3x`."""
    tables: dict[str, list[WriteCost]] = {}
    for write in writes:
        tables.setdefault(write.table, []).append(write)
    parts = []
    for table, costs in tables.items():
        operations = sorted(costs, key=lambda write_cost: ("insert", "update", "delete").index(write_cost.operation))
        figures = ", ".join(f"{cost.operation} {_factor(cost.times, cost.ci95)}" for cost in operations)
        parts.append(
            f"rows of {table} take longer: {figures}"
            if max(cost.times for cost in costs) > _SAME
            else f"writing {table} takes as long as before"
        )
    return "; ".join(parts)


def statements_to_paste(indexes: Indexes) -> list[str]:
    """Return the lines that create the chosen indexes."""
    chosen = (
        f"{sql};" for tried_index in indexes.tried if tried_index.name in indexes.chosen for sql in tried_index.sql
    )
    return list(dict.fromkeys(chosen))


def remarks(indexes: Indexes, most: int | None = None) -> list[str]:
    """Return sentences about the candidates that are not recommended, existing indexes, and the measuring.

    ``most``: names in a list.
    """
    said = []
    for tried_index in indexes.tried:
        if tried_index.verdict == "slower":
            worst = min((speed for speed in tried_index.statements if speed.uses), key=lambda speed: speed.times)
            said.append(f"Harmful: {tried_index.keys} makes {worst.statement} {rough(1 / worst.times)} times as slow.")
    vain = [tried_index for tried_index in indexes.tried if tried_index.verdict in ("no gain", "not used")]
    useful = [
        tried_index
        for tried_index in indexes.tried
        if tried_index.verdict == "helps" and tried_index.name not in indexes.chosen
    ]
    if vain:
        said.append(f"In vain: {_listed([index.keys for index in vain], most)}.")
    others = [tried_index for tried_index in useful if tried_index.name not in indexes.over_budget]
    if others:
        said.append(f"Faster, but not beside the chosen ones: {_listed([index.keys for index in others], most)}.")
    over = [tried_index for tried_index in indexes.tried if tried_index.name in indexes.over_budget]
    if over:
        said.append(f"Over the index budget: {_listed([index.keys for index in over], most)}.")
    said += [
        f"Refused: {tried_index.keys}: {tried_index.problem}."
        for tried_index in indexes.tried
        if tried_index.verdict == "refused"
    ]
    said += [f"Cost of writes to {table} not measured: {why}." for table, why in indexes.unmeasured_writes.items()]
    if indexes.untried:
        said.append(f"Not tried for lack of time (`--budget`): {_listed(indexes.untried, most)}.")
    return [*said, *idle_sentences(indexes, most), summary(indexes) + "."]


def _listed(names: Sequence[str], most: int | None) -> str:
    if most is None or len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more (`--report` lists them)"


def estimate_sentences(indexes: Indexes) -> list[str]:
    """Return what the planner expects of candidates that were not measured."""
    if indexes.estimated is None:
        return []
    if not indexes.estimated:
        return ["Not measured: planner's estimate (HypoPG): no candidate lowers the cost by a tenth."]
    lines = []
    for estimated_index in indexes.estimated:
        gain = (
            "unknown to HypoPG"
            if estimated_index.times is None
            else f"cost {rough(estimated_index.times)} times lower with"
        )
        lines.append(f"  {estimated_index.statement}: {gain}: {'; '.join(estimated_index.sql)};")
    return ["Not measured: planner's estimate (HypoPG)", *lines]


def idle_sentences(indexes: Indexes, most: int | None = None) -> list[str]:
    """Return sentences about existing indexes that the statements don't need. ``most``: names in a list."""
    covered = [
        f"{idle_index.name} (covered by {idle_index.covered_by})"
        for idle_index in indexes.idle
        if idle_index.covered_by is not None
    ]
    unused = [
        f"{idle_index.name} on {idle_index.table}" for idle_index in indexes.idle if idle_index.covered_by is None
    ]
    said = [f"Existing indexes that another one covers: {_listed(covered, most)}."] if covered else []
    return said + ([f"Existing indexes that none of these statements uses: {_listed(unused, most)}."] if unused else [])


def index_table(document: Document) -> CellTable:
    """Return the statements with their best indexes, for the report; no rows if none was measured."""
    rows = []
    for indexes in document.indexes:
        if indexes.not_measured is None:
            rows += [
                [label, *(values[head] for head in (_NOW, _WITH, _TIMES, _INDEX))]
                for label, values in _rows(indexes, document)
            ]
    heads = [Column("statement", right=False), Column(_NOW), Column(_WITH), Column(_TIMES), Column(_INDEX, right=False)]
    return CellTable(heads, rows)


def index_sentences(document: Document) -> list[str]:
    """Return the remarks on all candidates, for the report."""
    return [
        sentence
        for indexes in document.indexes
        for sentence in (
            remarks(indexes)
            if indexes.not_measured is None
            else [*estimate_sentences(indexes), *idle_sentences(indexes)]
        )
    ]


def index_conclusions(document: Document) -> list[str]:
    """Return the sentences on the indexes to take, for the report."""
    return [
        conclusion
        for indexes in document.indexes
        if indexes.not_measured is None
        for conclusion in conclusions(indexes, document)
    ]
