"""Derive from a statement the indexes that could help it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbdyno.base.sql_tree import VALUE, sql_tree
from dbdyno.engines.catalog_table import CatalogTable, find_table
from dbdyno.engines.existing_indexes import Wanted, existing_index, is_unique, stored_columns
from dbdyno.engines.index import Index, IndexKey
from dbdyno.engines.index_conditions import Grammar, Order, TableUse, table_uses
from dbdyno.engines.index_sql import IndexWriter
from dbdyno.engines.lookup import engine_named, known_engine
from dbdyno.engines.plans import PlanRead, whole_reads
from dbdyno.engines.query_scopes import QuerySource, Scopes
from dbdyno.engines.statements import numbered
from dbdyno.engines.views import expand_views
from dbdyno.model.result.reading import JsonObject, objects, text, texts

if TYPE_CHECKING:
    from sqlglot import exp

# How many columns more than its keys a covering index may have.
_MORE = 3
# Types without an order, which no ordinary index can have.
_UNORDERED = ("json", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle", "geometry", "tsvector")


@dataclass(frozen=True)
class _Candidate:
    """A possible index.

    ``rank``: smaller is more promising; ``equal``: the number of the first keys that equal values, in any order;
    ``fixed``: the order of the other keys matters; ``is_joined``: it needs values from another table; ``more``: further
    columns, so that the index has all that the statement reads; ``together``: as for :class:`Index`.
    """

    use: TableUse
    keys: tuple[IndexKey, ...]
    rank: int
    equal: int = 0
    fixed: bool = False
    is_joined: bool = False
    more: tuple[str, ...] = ()
    where: str = ""
    method: str = ""
    together: bool = False


def index_candidates(
    sql: str,
    engine: str,
    catalog: JsonObject,
    *,
    plan: PlanRead | None = None,
    limit: int = 8,
    known: Sequence[Index] = (),
) -> list[Index]:
    """Return the indexes that could help a statement, the most promising ones first.

    ``engine``: the name of the engine or of its product; ``catalog``: the catalog as read back; ``plan``: the
    statement's plan without them; ``known``: candidates of other statements, which are returned instead of equal ones,
    and whose names are taken. Indexes whose conditions an existing one serves are left out. The list is empty if
    the statement can't be parsed.
    """
    advice = _advice(sql, engine, catalog)
    if advice is None:
        return []
    made: list[Index] = []
    used = {node.index for node in plan.reads if node.kind == "search" and node.index} if plan is not None else set()
    for candidate in sorted(advice.candidates(), key=lambda each: (_rank_of_use(each.use, plan), each.rank)):
        if len(made) == limit:
            break
        if advice.existing(candidate, used) is None:
            index = advice.index(candidate, {other.name for other in (*known, *made)})
            index = next((other for other in known if other.is_like(index)), index)
            if not any(other.is_like(index) for other in made):
                made.append(index)
    return made


def index_for(sql: str, engine: str, table: str, catalog: JsonObject, *, inner: bool = False) -> Index | None:
    """Return the most promising index with which a statement finds its rows of a table.

    ``table``: its name or alias in the statement; ``catalog``: the catalog as read back; ``inner``: the table is read
    once for each row of another table. Join columns count only then, or if a condition selects few rows of the other
    table. ``None``: no condition can use an index, or the statement can't be parsed.
    """
    advice = _advice(sql, engine, catalog)
    if advice is None:
        return None
    wanted = table.lower()
    aliased = [table_use for table_use in advice.uses if table_use.source.name.lower() == wanted]
    named = aliased or [table_use for table_use in advice.uses if table_use.table.written.lower() == wanted]
    for candidate in sorted(advice.candidates(), key=lambda each: each.rank):
        # A covering index comes first if it would be read wholly.
        is_plain = not (candidate.where or candidate.together or (candidate.more and candidate.rank >= 0))
        if (
            candidate.use in named
            and is_plain
            and (inner or not candidate.is_joined or advice.is_driven(candidate.use))
        ):
            return replace(advice.index(candidate, set()), existing=advice.existing(candidate, set()))
    return None


def _rank_of_use(use: TableUse, plan: PlanRead | None) -> int:
    """Return 0 for tables that the plan scans or sorts, 2 for those that it finds by an index, otherwise 1."""
    if plan is None:
        return 0
    own = {use.source.name.lower(), use.table.written.lower(), use.table.name.lower()}
    scanned, read = (
        {name.lower() for node in nodes for name in (node.alias, node.table) if name}
        for nodes in (whole_reads(plan), plan.reads)
    )
    if own & scanned or (plan.sorts and use.orders):
        return 0
    return 2 if own & read else 1


def _advice(sql: str, engine: str, catalog: JsonObject) -> _Advice | None:
    """Parse a statement; ``None`` if that fails."""
    name = engine_named(engine) or engine
    known = known_engine(name)
    if known.grammar is None:
        return None
    statement = expand_views(numbered(sql, VALUE, name), known.grammar, catalog)
    tree = sql_tree(statement, known.grammar)
    grammar = Grammar(name, known.grammar, known.index_support(engine))
    return None if tree is None else _Advice(statement, tree, grammar, catalog)


class _Advice:
    """The candidates of one statement."""

    def __init__(self, sql: str, tree: exp.Expr, grammar: Grammar, catalog: JsonObject) -> None:
        from sqlglot import exp

        self._grammar, self._support = grammar, grammar.support
        tables = {id(table): find_table(catalog, table, grammar.name) for table in tree.find_all(exp.Table)}
        known = {node: table for node, table in tables.items() if table is not None}

        def columns_of(node: exp.Table) -> frozenset[str] | None:
            return known[id(node)].column_names if id(node) in known else None

        self.uses = table_uses(sql, Scopes(tree, columns_of, lowers=grammar.name == "postgres"), known, grammar)
        self._writer = IndexWriter(catalog, grammar)
        self._children = list(_referencing(tree, catalog))

    def is_driven(self, use: TableUse) -> bool:
        """Whether a condition restricts the rows of another table to which this one is joined."""
        others = {table for source in use.joined for table in source.tables()}
        return any(
            table_use is not use and table_use.is_driving and table_use.source in others for table_use in self.uses
        )

    def existing(self, candidate: _Candidate, used: Set[str]) -> str | None:
        """Return the name of an index that serves a candidate's conditions as well, or ``None``.

        ``used``: the indexes by which the plan finds rows.
        """
        wanted = Wanted(candidate.keys, candidate.equal, candidate.fixed, candidate.more, candidate.method)
        return existing_index(candidate.use.table, wanted, self._grammar, used)

    def index(self, candidate: _Candidate, taken: Set[str]) -> Index:
        """Return a candidate with its name and SQL. ``taken``: names that other candidates have."""
        table = candidate.use.table
        plain = Index(table.name, candidate.keys, table.schema, where=candidate.where, method=candidate.method)
        return self._writer.written(table, replace(plain, together=candidate.together), candidate.more, taken)

    def candidates(self) -> Iterator[_Candidate]:
        """Yield the candidates of all tables, and of those whose foreign keys are checked."""
        for child, columns in self._children:
            use = TableUse(QuerySource(child.name), child)
            yield _Candidate(use, tuple(map(IndexKey, columns)), 0, len(columns))
        for use in self.uses:
            for candidate in self._of_table(use):
                keys = tuple(dict.fromkeys(candidate.keys))
                if keys and (candidate.method or all(_has_order(use.table, key) for key in keys)):
                    yield replace(candidate, keys=keys)

    def _of_table(self, use: TableUse) -> Iterator[_Candidate]:
        if self._support.only_one_equality:
            if len(use.equal) == 1 and not (use.ranges or use.correlated or use.alternatives):
                yield _Candidate(use, (use.equal[0].key,), 0, 1)
            return
        for key, method in use.special:
            yield _Candidate(use, (key,), 0, method=method)
        single = [*use.correlated, *(equality.key for equality in use.equal if not equality.several)]
        several = [equality.key for equality in use.equal if equality.several]
        equal = [*single, *several]
        joins = list(self._joins(use, equal))
        variants = [] if is_unique(use.table, equal) else list(_variants(use, single, several))
        if use.is_optional and joins:
            # An outer join looks up its rows for each row of the left table. The conditions only reduce them.
            variants = [replace(variant, rank=variant.rank + 2) for variant in variants]
        # With no value for the table itself, the rows of another table come first.
        yield from () if equal else joins
        yield from variants
        for variant in variants[:1]:
            yield from self._covering(variant, is_first=True)
        is_served = any(self.existing(variant, set()) is not None for variant in variants[:1])
        if not is_served and not is_unique(use.table, equal):
            yield from self._partial(use)
        yield from joins if equal else ()
        for arms in use.alternatives:
            yield from self._arms(use, equal, arms)

    def _arms(self, use: TableUse, equal: Sequence[IndexKey], arms: Sequence[TableUse]) -> Iterator[_Candidate]:
        """Yield a candidate for each arm of an ``or``."""
        for arm in arms:
            keys = [*equal, *arm.correlated, *(equality.key for equality in arm.equal)]
            keys += [key for found in arm.joined.values() for key in found]
            keys = list(dict.fromkeys(keys))
            if not is_unique(use.table, keys):
                ranged = arm.ranges[0] if arm.ranges else ()
                yield _Candidate(use, (*keys, *ranged), 1 if equal else 0, len(keys), fixed=True, together=True)
            for key, method in arm.special:
                yield _Candidate(use, (key,), 0, method=method, together=True)

    def _joins(self, use: TableUse, equal: Sequence[IndexKey]) -> Iterator[_Candidate]:
        """Yield candidates that find the rows that belong to a row of another table."""
        is_free = not any(table_use.is_driving for table_use in self.uses)
        is_likely = use.is_optional or (not equal and (self.is_driven(use) or (is_free and use.is_inner)))
        for joined in use.joined.values():
            keys = list(dict.fromkeys([*equal, *joined]))
            if not is_unique(use.table, keys):
                ranged = use.ranges[0] if use.ranges else ()
                rank = 0 if is_likely else 1
                candidate = _Candidate(use, (*keys, *ranged), rank, len(keys), fixed=True, is_joined=not equal)
                yield candidate
                yield from self._covering(candidate, is_first=False)
            if equal and not is_unique(use.table, joined):
                yield _Candidate(use, tuple(joined), 2, len(joined), is_joined=True)
        for key in (*use.driving, *use.joined_ranges):
            if not is_unique(use.table, [key]):
                yield _Candidate(use, (key,), 2, fixed=True, is_joined=True)

    def _covering(self, of: _Candidate, *, is_first: bool) -> Iterator[_Candidate]:
        """Yield a candidate with all columns that the statement reads from the table."""
        table, columns = of.use.table, of.use.columns
        if columns is None or of.method:
            return
        more = columns.keys() - {key.name.lower() for key in of.keys} - set(stored_columns(table, self._support))
        if not 0 < len(more) <= _MORE or not all(_has_order(table, IndexKey(each)) for each in more):
            return
        # Without conditions, the whole index is read: only one with all columns is smaller than the table.
        is_wholly_read = (
            not of.use.is_restricted and not of.use.joined and not any(order.limited for order in of.use.orders)
        )
        rank = of.rank - 1 if is_wholly_read and is_first else of.rank + 2
        places = list(table.types)
        ordered = sorted(more, key=lambda each: (places.index(each) if each in places else 0, each))
        yield replace(of, rank=rank, more=tuple(table.column(columns[each]) for each in ordered))

    def _partial(self, use: TableUse) -> Iterator[_Candidate]:
        """Yield candidates for the rows that satisfy a constant condition of the statement."""
        if not self._support.partial:
            return
        for equality in [*(one for one in use.equal if one.where), *use.filters][:2]:
            others = [other for other in use.equal if other is not equality]
            single = [*use.correlated, *(other.key for other in others if not other.several)]
            several = [other.key for other in others if other.several]
            candidate = next(_variants(use, single, several), None)
            if candidate is not None:
                yield replace(candidate, rank=3, where=equality.where)
            elif equality in use.filters:
                yield _Candidate(use, (equality.key,), 2, where=equality.where)


def _referencing(tree: exp.Expr, catalog: JsonObject) -> Iterator[tuple[CatalogTable, list[str]]]:
    """Yield the tables and columns of foreign keys without an index that deleting or updating rows has to check."""
    from sqlglot import exp

    keys = objects(catalog.get("foreign_keys"))
    primary = {
        str(table.get("name")).lower(): texts(table.get("primary_key")) for table in objects(catalog.get("tables"))
    }
    for statement in tree.find_all(exp.Delete, exp.Update):
        changed = None
        if isinstance(statement, exp.Update):
            changed = {
                expression.this.name.lower() for expression in statement.expressions if isinstance(expression, exp.EQ)
            }
        action = "on_delete" if changed is None else "on_update"
        parents = [statement.this.name.lower()]
        # Cascades change the rows of further tables.
        for parent in parents:
            for key in keys:
                columns = {
                    parent_column.lower()
                    for parent_column in texts(key.get("parent_columns")) or primary.get(parent, [])
                }
                if str(key.get("parent")).lower() != parent or (
                    changed is not None and columns and not columns & changed
                ):
                    continue
                child = str(key.get("table"))
                if not key.get("indexed"):
                    yield CatalogTable(child, text(key, "schema") or ""), texts(key.get("columns"))
                if key.get(action) == "cascade" and child.lower() not in parents:
                    parents.append(child.lower())


def _variants(use: TableUse, single: Sequence[IndexKey], several: Sequence[IndexKey]) -> Iterator[_Candidate]:
    """Yield the forms of an index for conditions with values: with a sort order, with a range, or with neither.

    ``single``: keys that equal one value; ``several``: keys that equal one of several values, which ends any order.
    """
    equal = (*single, *several)
    names = {key.bare for key in single}
    rest = [(order, tuple(key for key in order.keys if key.bare not in names)) for order in use.orders]
    orders = [(order, _ascending(keys)) for order, keys in rest if keys]
    # With a limit, only the first rows in the right order are read; without one, all rows of the range.
    is_order_first = bool(orders) and (orders[0][0].limited or not use.ranges)
    for position, (order, keys) in enumerate(orders):
        # Joined rows seldom come in the order of one table.
        rank = (0 if is_order_first else 1) + min(position, 1) + bool(use.joined and not order.limited)
        yield from _in_order(use, (tuple(single), tuple(several)), order, keys, rank)
    for position, found in enumerate(use.ranges[:2]):
        keys = tuple(key for key in found if key not in equal)
        if keys:
            yield _Candidate(use, (*equal, *keys), (1 if is_order_first else 0) + position, len(equal), fixed=True)
    if equal:
        yield _Candidate(use, equal, 2 if orders or use.ranges else 0, len(equal))


def _in_order(
    use: TableUse,
    equal: tuple[tuple[IndexKey, ...], tuple[IndexKey, ...]],
    order: Order,
    keys: tuple[IndexKey, ...],
    rank: int,
) -> Iterator[_Candidate]:
    """Yield candidates that return rows in a sort order. ``equal``: as for :func:`_variants`."""
    single, several = equal
    count = len(single) + len(several)
    if several and order.limited:
        yield _Candidate(use, (*single, *keys, *several), rank, len(single), fixed=True)
        yield _Candidate(use, (*single, *several, *keys), rank + 1, count, fixed=True)
        return
    inside = {key.bare for key in (*single, *several, *keys)}
    ranged = [key for found in use.ranges for key in found if key.bare not in inside][:1]
    # A range of the first sort key is read in order.
    if ranged and use.ranges[0][0].bare != keys[0].bare:
        yield _Candidate(use, (*single, *several, *keys, *ranged), rank, count, fixed=True)
        rank += 1
    yield _Candidate(use, (*single, *several, *keys), rank, count, fixed=not order.is_free)


def _ascending(keys: tuple[IndexKey, ...]) -> tuple[IndexKey, ...]:
    """Return keys in ascending order if all are descending: an index can be read in both directions."""
    if not all(key.descending for key in keys):
        return keys
    turned = {"first": "last", "last": "first", "": ""}
    return tuple(replace(key, descending=False, nulls=turned[key.nulls]) for key in keys)


def _has_order(table: CatalogTable, key: IndexKey) -> bool:
    """Whether the values of a key have an order, as far as known."""
    kind = table.types.get(key.name.lower(), "") if key.name else ""
    return not kind.startswith(_UNORDERED) or kind == "jsonb"
