"""The steps of query plans, parsed from each engine's plan format."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.base.sql_tree import sql_tree
from dbdyno.model.result.cell import PlanNode, PlanNodeKind


@dataclass(frozen=True)
class PlanRead:
    """A parsed plan."""

    nodes: list[PlanNode] = field(default_factory=list)
    """The steps, in the order of the plan."""
    no_index_reason: str = ""
    """Why no index can avoid the full scans; a clause. Empty: an index can."""
    indexes_are_ordered: bool = True
    """Whether an index can return rows in order and avoid a sort."""

    @property
    def reads(self) -> list[PlanNode]:
        """The steps that read a table."""
        return [node for node in self.nodes if node.kind in ("scan", "search")]

    @property
    def sorts(self) -> list[str]:
        """The lines of the steps that sort or group rows, if an index could avoid that."""
        return [node.line for node in self.nodes if node.kind == "sort" and self.indexes_are_ordered]


def called(node: PlanNode) -> str:
    """Return the name by which the statement refers to a step's table: its alias, or its name."""
    return node.alias or node.table or ""


# Parts of a line that may vary between equal plans: DuckDB's estimates, and literals such as the time of day.
_NO_STEP = re.compile(r" \(Estimated Cardinality: [^)]*\)|'(?:[^']|'')*'")


def steps_of(plan: Sequence[str]) -> tuple[str, ...]:
    """Return a plan's lines without estimates and literals, to compare the steps of plans."""
    return tuple(_NO_STEP.sub("", line) for line in plan)


# SQLite: `SCAN t`, `SCAN t USING COVERING INDEX i`, before 3.36 `SCAN TABLE t AS a`; `SEARCH t USING INDEX i (c=?)`.
# Names aren't quoted and may contain spaces.
_SQLITE = re.compile(
    r"(?P<how>SCAN|SEARCH) (?:TABLE )?(?P<table>.+?)(?: AS (?P<alias>.+?))?(?: USING (?P<using>.+?))?"
    r"(?: \((?P<condition>.*)\)(?: .*)?)?(?: (?:LEFT-JOIN|RIGHT-JOIN|EXISTS))?"
)
_SQLITE_INDEX = re.compile(r"(?:AUTOMATIC )?(?:PARTIAL )?(?P<covering>COVERING )?INDEX(?: (?P<index>.+))?")
# Scans of something other than the user's tables.
_NO_TABLE = re.compile(r"SCAN (?:\d+ )?(?:CONSTANT|SUBQUERY|\()|VIRTUAL TABLE", re.IGNORECASE)
_SQLITE_SORT = "USE TEMP B-TREE FOR "


def of_sqlite(plan: Sequence[str]) -> PlanRead:
    """Parse SQLite's ``EXPLAIN QUERY PLAN``: https://www.sqlite.org/eqp.html."""
    plan_read = PlanRead()
    for line in plan:
        step = line.strip()
        made = _SQLITE.fullmatch(step)
        if step.startswith(_SQLITE_SORT):
            what = step.removeprefix(_SQLITE_SORT)
            plan_read.nodes.append(PlanNode(kind="sort", line=step, depth=0, condition=what, temp=True))
        elif step.startswith("MATERIALIZE "):
            plan_read.nodes.append(PlanNode(kind="temp", line=step, depth=0, temp=True))
        elif made is None or _NO_TABLE.search(step):
            plan_read.nodes.append(PlanNode(kind="other", line=step, depth=0))
        else:
            by = _SQLITE_INDEX.fullmatch(made["using"] or "")
            automatic = (made["using"] or "").startswith("AUTOMATIC")
            plan_read.nodes.append(
                PlanNode(
                    kind="scan" if made["how"] == "SCAN" or automatic else "search",
                    line=step,
                    depth=0,
                    table=made["table"],
                    alias=made["alias"],
                    index=None if by is None or automatic else by["index"],
                    condition=made["condition"],
                    index_only=by is not None and by["covering"] is not None and not automatic,
                    inner=automatic or bool(plan_read.reads),
                    temp=automatic,
                )
            )
    return plan_read


_NAME = r'(?:"(?:[^"]|"")+"|\S+)'
_POSTGRESQL = re.compile(
    r"(?P<how>Seq Scan|Index Only Scan|Index Scan|Bitmap Heap Scan|Tid Scan|Tid Range Scan)(?: Backward)?"
    rf"(?: using (?P<index>{_NAME}))? on (?P<table>{_NAME})(?: (?P<alias>{_NAME}))?"
)
_BITMAP = re.compile(rf"Bitmap Index Scan on (?P<index>{_NAME})")
_INDEX_CONDITION = "Index Cond: "
_JOIN = re.compile(r"(Hash|Merge|Nested Loop)(?: .*)? Join")
_POSTGRESQL_KINDS: dict[str, PlanNodeKind] = {
    "Sort": "sort",
    "Incremental Sort": "sort",
    "Materialize": "temp",
    "Nested Loop": "nested loop",
    "Hash": "hash join",
    "Merge": "merge join",
}


def of_postgresql(plan: Sequence[str]) -> PlanRead:
    """Parse PostgreSQL's ``EXPLAIN (COSTS OFF)``; see "Using EXPLAIN" in its documentation."""
    plan_read = PlanRead()
    above: list[int] = []
    for position, line in enumerate(plan):
        if position and not line.lstrip().startswith("->"):
            continue
        indent = len(line) - len(line.lstrip())
        while above and above[-1] >= indent:
            above.pop()
        step = line.strip().removeprefix("->").strip().removeprefix("Parallel ")
        plan_read.nodes.append(_postgresql_node(step, len(above), plan, position))
        above.append(indent)
    return plan_read


def _postgresql_node(step: str, depth: int, plan: Sequence[str], position: int) -> PlanNode:
    below = list(_below(plan, position))
    made = _POSTGRESQL.fullmatch(step)
    if made is None:
        join = _JOIN.fullmatch(step)
        # `Hash` alone is the step that fills the hash table.
        kind = "other" if step == "Hash" else _POSTGRESQL_KINDS.get(join[1] if join else step, "other")
        if kind == "sort":
            step = "; ".join([step, *(key for key in below if key.startswith("Sort Key:"))])
        return PlanNode(kind=kind, line=step, depth=depth, temp=kind == "temp")
    bitmaps = list(_bitmaps(plan, position)) if made["how"] == "Bitmap Heap Scan" else []
    conditions = [each.removeprefix(_INDEX_CONDITION) for each in below if each.startswith(_INDEX_CONDITION)]
    by_index = made["how"] in ("Index Scan", "Index Only Scan")
    indexes = [made["index"]] if made["index"] else bitmaps
    return PlanNode(
        kind="scan" if made["how"] == "Seq Scan" or (by_index and not conditions) else "search",
        line=step,
        depth=depth,
        table=_unquoted(made["table"].rpartition(".")[2]),
        alias=_unquoted(made["alias"]) if made["alias"] else None,
        index=", ".join(map(_unquoted, indexes)) or None,
        condition=conditions[0] if conditions else None,
        index_only=made["how"] == "Index Only Scan",
    )


def _bitmaps(plan: Sequence[str], position: int) -> Iterator[str]:
    """Yield the indexes of the bitmap that a bitmap heap scan reads, from the steps below it."""
    indent = len(plan[position]) - len(plan[position].lstrip())
    for line in plan[position + 1 :]:
        if "->" in line and len(line) - len(line.lstrip()) <= indent:
            return
        made = _BITMAP.fullmatch(line.strip().removeprefix("->").strip())
        if made:
            yield made["index"]


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name


def _below(plan: Sequence[str], position: int) -> Iterator[str]:
    """Yield the detail lines of a step, up to the next step."""
    for line in plan[position + 1 :]:
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
    plan_read = PlanRead()
    for line in plan:
        parts = line.split(", ")
        how = parts[2] if parts[2:] else ""
        # The type of an inserted row is ALL too.
        if parts[0] in ("insert", "replace") or (how not in _BY_AN_INDEX and how not in ("ALL", "index")):
            plan_read.nodes.append(PlanNode(kind="other", line=line, depth=0))
            continue
        extra = parts[-1]
        keys = [part.removeprefix("key ") for part in parts[3:] if part.startswith("key ")]
        node = PlanNode(
            kind="scan" if how in ("ALL", "index") else "search",
            line=line,
            depth=0,
            table=parts[1],
            index=keys[0] if keys else None,
            index_only="Using index" in re.split("; ?", extra),
            inner=bool(plan_read.reads),
        )
        plan_read.nodes.append(node)
        if "hash join" in extra or "Using join buffer" in extra:
            plan_read.nodes.append(
                PlanNode(kind="hash join" if "hash" in extra else "nested loop", line=extra, depth=0)
            )
        if "Using filesort" in extra or "Using temporary" in extra:
            plan_read.nodes.append(PlanNode(kind="sort", line=extra, depth=0, temp="Using temporary" in extra))
    return plan_read


# DuckDB: `  SEQ_SCAN (Table: memory.main.t) (Type: Sequential Scan) (Filters: a=1)`.
_DUCKDB = re.compile(r"(?:SEQ_SCAN|TABLE_SCAN)\b.*?\(Table: (?P<table>[^)]+)\)")
_CARDINALITY = re.compile(r"\(Estimated Cardinality: ~?(\d+)[^)]*\)")
_DUCKDB_KINDS: dict[str, PlanNodeKind] = {
    "HASH_JOIN": "hash join",
    "PIECEWISE_MERGE_JOIN": "merge join",
    "IE_JOIN": "merge join",
    "NESTED_LOOP_JOIN": "nested loop",
    "BLOCKWISE_NL_JOIN": "nested loop",
    "CROSS_PRODUCT": "nested loop",
    "ORDER_BY": "sort",
    "TOP_N": "sort",
}


def of_duckdb(plan: Sequence[str]) -> PlanRead:
    """Parse the outline that dbdyno creates from DuckDB's ``EXPLAIN (FORMAT JSON)``."""
    plan_read = PlanRead(indexes_are_ordered=False)
    for line in plan:
        step = line.strip()
        made = _DUCKDB.match(step)
        rows = _CARDINALITY.search(step)
        node = PlanNode(
            kind=_DUCKDB_KINDS.get(step.partition(" ")[0], "other"),
            line=step,
            depth=(len(line) - len(line.lstrip(" "))) // 2,
            expected=float(rows[1]) if rows else None,
        )
        if made:
            node.kind = "search" if "Index Scan" in step else "scan"
            node.table = made["table"].rpartition(".")[2].strip('"')
        plan_read.nodes.append(node)
    return plan_read


# MongoDB's stages, such as `SORT`, `COLLSCAN orders`, `FETCH`, `IXSCAN by_customer`.
_MONGODB = re.compile(r"(?P<how>COLLSCAN|IXSCAN|IDHACK|EXPRESS\w*|CLUSTERED_IXSCAN)(?: (?P<name>\S+))?$")
# FerretDB on SQLite: the plan of its SQLite query, and the operations that it performs itself.
_FERRETDB = re.compile(r"SCAN (?P<table>\S+?)_[0-9a-f]{8}$")
_FILTERS_ITSELF = "filter: applied by FerretDB"


def of_mongodb(plan: Sequence[str]) -> PlanRead:
    """Parse the stages of MongoDB's ``explain``, or the SQLite query plan that FerretDB reports."""
    own = any(line.startswith(_FILTERS_ITSELF) for line in plan)
    why = "FerretDB applies the filter itself to every document, regardless of indexes" if own else ""
    plan_read = PlanRead(no_index_reason=why)
    for depth, line in enumerate(plan):
        step = line.strip()
        made = _MONGODB.match(step)
        scanned = _FERRETDB.match(step) if own else None
        node = PlanNode(kind="sort" if step == "SORT" else "other", line=step, depth=0 if own else depth)
        if scanned:
            node.kind, node.table = "scan", scanned["table"]
        elif made and made["how"] == "COLLSCAN":
            node.kind, node.table = "scan", made["name"]
        elif made:
            node.kind, node.index = "search", made["name"]
        plan_read.nodes.append(node)
    return plan_read


def with_table_names(
    nodes: Sequence[PlanNode], sql: str, grammar: str | None, known: Collection[str]
) -> list[PlanNode]:
    """Return the steps of a statement's plan with the names of their tables instead of aliases.

    Scans of CTEs and subqueries become steps without a table. ``grammar``: the engine's dialect in sqlglot; ``known``:
    the names of the catalog's tables. A name stays as in the plan if the statement can't be parsed.
    """
    lower = {each.lower() for each in known}
    unknown = [node for node in nodes if node.table is not None and node.table.lower() not in lower]
    if not unknown or grammar is None:
        return list(nodes)
    names, derived = _sources(sql, grammar)
    return [_with_table_name(node, names, derived) if node in unknown else node for node in nodes]


def _with_table_name(node: PlanNode, names: Mapping[str, str], derived: Collection[str]) -> PlanNode:
    name = names.get(str(node.table).lower(), str(node.table))
    if name.lower() in derived or name[:1] in ("<", "("):
        return replace(node, kind="other", table=None)
    if name.lower() == str(node.table).lower():
        return node
    return replace(node, table=name, alias=node.table)


def _sources(sql: str, grammar: str) -> tuple[dict[str, str], set[str]]:
    """Return the tables of a statement by their names or aliases in lowercase, and the names of CTEs and subqueries."""
    from sqlglot import exp

    tree = sql_tree(sql, grammar)
    if tree is None:
        return {}, set()
    tables = {table.alias_or_name.lower(): table.name for table in tree.find_all(exp.Table)}
    return tables, {
        derived_table.alias_or_name.lower()
        for derived_table in tree.find_all(exp.CTE, exp.Subquery)
        if derived_table.alias_or_name
    }


# Other steps only pass rows on.
COMPARED = ("scan", "search", "sort", "hash join", "merge join", "nested loop")


def kinds(nodes: Sequence[PlanNode], *, is_server: bool) -> tuple[tuple[object, ...], ...]:
    """Return the properties of each step that determine the kind of a plan."""
    return tuple(
        (
            node.kind,
            (node.table or "").lower(),
            # Which index is scanned matters only for the order of rows, and a sort shows that.
            node.index if node.kind == "search" else node.index is not None,
            # The servers' conditions contain values.
            None if is_server else node.condition,
            node.temp,
            node.index_only and not is_server,
        )
        for node in nodes
        if node.kind in COMPARED
    )


def whole_reads(read: PlanRead) -> Iterable[PlanNode]:
    """Return the full scans, one per table."""
    return {called(node): node for node in read.reads if node.kind == "scan"}.values()
