"""How a plan reads each table, parsed from each engine's plan format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Read:
    """How a plan reads a table. ``table``: its name or alias, as in the plan; ``line``: the plan's line.

    ``whole``: a full scan of the table or of ``index``, rather than a lookup by an index. ``inner``: the table is read
    once for each row of another table, as far as the plan shows it.
    """

    table: str
    whole: bool
    line: str
    index: str | None = None
    inner: bool = False


@dataclass(frozen=True)
class PlanRead:
    """The tables that a plan reads. ``sorts``: the lines of the plan that sort or group rows."""

    reads: list[Read] = field(default_factory=list)
    sorts: list[str] = field(default_factory=list)
    no_index_reason: str = ""
    """Why no index can avoid the full scans; a clause. Empty: an index can."""


# Parts of a line that may vary between equal plans: DuckDB's estimates, and literals such as the time of day.
_NO_STEP = re.compile(r" \(Estimated Cardinality: [^)]*\)|'(?:[^']|'')*'")


def steps_of(plan: Sequence[str]) -> tuple[str, ...]:
    """Return a plan's lines without estimates and literals, to compare the steps of plans."""
    return tuple(_NO_STEP.sub("", line) for line in plan)


# SQLite: `SCAN t`, `SCAN t USING COVERING INDEX i`, before 3.36 `SCAN TABLE t AS a`; `SEARCH t USING INDEX i (c=?)`.
_SQLITE = re.compile(
    r"(?P<how>SCAN|SEARCH) (?:TABLE )?(?P<table>[^\s(]+)(?: AS (?P<alias>\S+))?"
    r"(?: USING (?:AUTOMATIC )?(?:PARTIAL )?(?:COVERING )?INDEX (?P<index>\S+))?"
)
# Scans of something other than the user's tables.
_NO_TABLE = re.compile(r"SCAN (?:\d+ )?(?:CONSTANT|SUBQUERY|\()|VIRTUAL TABLE", re.IGNORECASE)


def of_sqlite(plan: Sequence[str]) -> PlanRead:
    """Parse SQLite's ``EXPLAIN QUERY PLAN``: https://www.sqlite.org/eqp.html."""
    found = PlanRead()
    for line in plan:
        step = line.strip()
        if step.startswith("USE TEMP B-TREE FOR"):
            found.sorts.append(step)
        made = _SQLITE.match(step)
        if made and not _NO_TABLE.search(step):
            automatic = "AUTOMATIC" in step
            whole = made["how"] == "SCAN" or automatic
            index = None if automatic else made["index"]
            inner = automatic or bool(found.reads)
            found.reads.append(Read(made["alias"] or made["table"], whole, step, index, inner))
    return found


_POSTGRESQL = re.compile(
    r"(?P<how>Seq Scan|Index Only Scan|Index Scan|Bitmap Heap Scan|Tid Scan|Tid Range Scan)(?: Backward)?"
    r"(?: using (?P<index>\S+))? on (?P<table>\S+)(?: (?P<alias>\S+))?$"
)


def of_postgresql(plan: Sequence[str]) -> PlanRead:
    """Parse PostgreSQL's ``EXPLAIN (COSTS OFF)``; see "Using EXPLAIN" in its documentation."""
    found = PlanRead()
    for place, line in enumerate(plan):
        step = line.strip().removeprefix("->").strip().removeprefix("Parallel ")
        if step in ("Sort", "Incremental Sort"):
            found.sorts.append("; ".join([step, *(key for key in _below(plan, place) if key.startswith("Sort Key:"))]))
        made = _POSTGRESQL.match(step)
        if made is None:
            continue
        by_index = made["how"] in ("Index Scan", "Index Only Scan")
        conditions = any(each.startswith("Index Cond:") for each in _below(plan, place))
        whole = made["how"] == "Seq Scan" or (by_index and not conditions)
        table = (made["alias"] or made["table"]).rpartition(".")[2].strip('"')
        found.reads.append(Read(table, whole, step, made["index"]))
    return found


def _below(plan: Sequence[str], place: int) -> Iterator[str]:
    """Yield the detail lines of a step, up to the next step."""
    for line in plan[place + 1 :]:
        if "->" in line:
            return
        yield line.strip()


_BY_AN_INDEX = frozenset(
    {
        "system",
        "const",
        "eq_ref",
        "ref",
        "fulltext",
        "ref_or_null",
        "index_merge",
        "range",
        "unique_subquery",
        "index_subquery",
    }
)


def of_mysql(plan: Sequence[str]) -> PlanRead:
    """Parse ``EXPLAIN`` of MySQL and MariaDB, one row per line: `simple, t, ALL, Using where; Using filesort`."""
    found = PlanRead()
    for line in plan:
        parts = line.split(", ")
        if not parts[2:]:
            continue
        extra = parts[-1]
        if "Using filesort" in extra or "Using temporary" in extra:
            found.sorts.append(extra)
        if parts[2] in _BY_AN_INDEX or parts[2] in ("ALL", "index"):
            keys = [each.removeprefix("key ") for each in parts[3:] if each.startswith("key ")]
            whole, inner = parts[2] in ("ALL", "index"), bool(found.reads)
            found.reads.append(Read(parts[1], whole, line, keys[0] if keys else None, inner))
    return found


# DuckDB: `  SEQ_SCAN (Table: memory.main.t) (Type: Sequential Scan) (Filters: a=1)`.
_DUCKDB = re.compile(r"(?:SEQ_SCAN|TABLE_SCAN)\b.*?\(Table: (?P<table>[^)]+)\)")


def of_duckdb(plan: Sequence[str]) -> PlanRead:
    """Parse the outline that dbdyno creates from DuckDB's ``EXPLAIN (FORMAT JSON)``.

    Sorts are ignored, because DuckDB's indexes don't return rows in order.
    """
    found = PlanRead()
    for line in plan:
        step = line.strip()
        made = _DUCKDB.match(step)
        if made:
            table = made["table"].rpartition(".")[2].strip('"')
            found.reads.append(Read(table, "Index Scan" not in step, step))
    return found


# MongoDB's stages, such as `SORT`, `COLLSCAN orders`, `FETCH`, `IXSCAN by_customer`.
_MONGODB = re.compile(r"(?P<how>COLLSCAN|IXSCAN|IDHACK|EXPRESS\w*|CLUSTERED_IXSCAN)(?: (?P<name>\S+))?$")
# FerretDB on SQLite: the plan of its SQLite query, and the operations that it performs itself.
_FERRETDB = re.compile(r"SCAN (?P<table>\S+?)_[0-9a-f]{8}$")
_FILTERS_ITSELF = "filter: applied by FerretDB"


def of_mongodb(plan: Sequence[str]) -> PlanRead:
    """Parse the stages of MongoDB's ``explain``, or the SQLite query plan that FerretDB reports."""
    own = any(line.startswith(_FILTERS_ITSELF) for line in plan)
    why = "FerretDB applies the filter itself to every document, regardless of indexes" if own else ""
    found = PlanRead(no_index_reason=why)
    for line in plan:
        step = line.strip()
        made = _MONGODB.match(step)
        scanned = _FERRETDB.match(step) if own else None
        if scanned:
            found.reads.append(Read(scanned["table"], True, step))
        elif made:
            whole = made["how"] == "COLLSCAN"
            found.reads.append(
                Read((made["name"] or "") if whole else "", whole, step, None if whole else made["name"])
            )
        elif step == "SORT":
            found.sorts.append(step)
    return found


def whole_reads(read: PlanRead) -> Iterable[Read]:
    """Return the full scans, one per table."""
    return {each.table: each for each in read.reads if each.whole}.values()
