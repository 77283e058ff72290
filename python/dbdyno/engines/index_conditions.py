"""The conditions and sort orders of a statement that an index on a table can serve."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from dbdyno.engines.catalog_table import CatalogTable
from dbdyno.engines.index import IndexKey, IndexSupport
from dbdyno.engines.index_expressions import can_be_key, is_value, key_text, text_of
from dbdyno.engines.query_scopes import Join, QuerySource, Scope, Scopes, argument, is_group, origins

if TYPE_CHECKING:
    from sqlglot import exp

_Item = TypeVar("_Item")

_STRINGS = ("char", "text", "clob", "string", "enum")


@dataclass(frozen=True)
class Equality:
    """A key that must equal a value. ``several``: one of several values; ``where``: the condition if it is constant."""

    key: IndexKey
    several: bool = False
    where: str = ""


@dataclass(frozen=True)
class Order:
    """Keys in whose order the rows are wanted.

    ``limited``: only the first rows are wanted; ``is_free``: any order of the keys will do, as for ``group by``.
    """

    keys: tuple[IndexKey, ...]
    limited: bool = False
    is_free: bool = False


@dataclass(eq=False)
class TableUse:
    """The conditions and orders for one mention of a table in a statement.

    ``correlated``: keys that equal values of an outer query; ``joined``: keys that equal columns of another source, by
    that source; ``driving``: keys with which ``exists`` could find the rows of this table; ``ranges``: keys of each
    range condition; ``joined_ranges``: keys compared with a range of another source; ``filters``: conditions that only
    a partial index serves; ``special``: keys that need another kind of index, with that kind; ``alternatives``: the
    arms of each ``or``; ``columns``: the names of the columns that are read, by these in lower case, ``None`` if all
    are; ``is_inner``: the table is on the right side of a join or in ``exists``; ``is_optional``: an outer join may
    return nulls instead of its rows.
    """

    source: QuerySource
    table: CatalogTable
    equal: list[Equality] = field(default_factory=list)
    correlated: list[IndexKey] = field(default_factory=list)
    joined: dict[QuerySource, list[IndexKey]] = field(default_factory=dict)
    driving: list[IndexKey] = field(default_factory=list)
    ranges: list[tuple[IndexKey, ...]] = field(default_factory=list)
    joined_ranges: list[IndexKey] = field(default_factory=list)
    filters: list[Equality] = field(default_factory=list)
    special: list[tuple[IndexKey, str]] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    alternatives: list[list[TableUse]] = field(default_factory=list)
    columns: dict[str, str] | None = field(default_factory=dict)
    is_inner: bool = False
    is_optional: bool = False

    @property
    def is_restricted(self) -> bool:
        """Whether a condition other than a join restricts its rows."""
        return bool(self.equal or self.correlated or self.ranges or self.special or self.alternatives)

    @property
    def is_driving(self) -> bool:
        """Whether few of its rows, found first, may lead to those of other tables."""
        return self.is_restricted and not self.is_optional


@dataclass(frozen=True)
class Grammar:
    """The engine of a statement: its name, the name of its grammar in sqlglot, and the indexes that it supports."""

    engine: str
    name: str
    support: IndexSupport


@dataclass(frozen=True)
class _QueryPart:
    """The query of a condition, and the sources that the condition restricts; ``None``: all of the query's."""

    scope: Scope
    restricted: Sequence[QuerySource] | None = None

    def restricts(self, source: QuerySource) -> bool:
        return self.restricted is None or source in self.restricted


def table_uses(sql: str, scopes: Scopes, tables: dict[int, CatalogTable], grammar: Grammar) -> list[TableUse]:
    """Return the uses of tables, in the order of the statement.

    ``tables``: the known tables by the ``id`` of their nodes.
    """
    return list(_Reader(sql, scopes, tables, grammar).uses.values())


class _Reader:
    def __init__(self, sql: str, scopes: Scopes, tables: dict[int, CatalogTable], grammar: Grammar) -> None:
        self._sql, self._scopes, self._grammar = sql, scopes, grammar
        self._is_optional = False
        self.uses: dict[QuerySource, TableUse] = {}
        for scope in scopes.all:
            for source in scope.sources:
                if source.table is not None and id(source.table) in tables:
                    self.uses[source] = TableUse(source, tables[id(source.table)])
        for scope in scopes.all:
            self._read_conditions(scope)
            self._read_columns(scope)
        for scope in scopes.all:
            self._read_orders(scope)

    # Which conditions restrict which sources.

    def _read_conditions(self, scope: Scope) -> None:
        where = argument(scope.node, "where")
        wheres = list(_conjuncts(where.this)) if where is not None else []
        sides = self._sides(scope, wheres)
        nulled = [each for join, side in zip(scope.joins, sides, strict=True) for each in _nulled(join, side)]
        required = _QueryPart(scope, [each for each in scope.sources if each not in nulled] if nulled else None)
        for source in nulled:
            for use in self._below(source):
                use.is_optional = True
        for join, side in zip(scope.joins, sides, strict=True):
            # An outer join keeps all rows of one side, or of both, whatever its condition is.
            places = {"": required, "LEFT": _QueryPart(scope, join.right), "RIGHT": _QueryPart(scope, join.left)}
            within = places.get(side, _QueryPart(scope, []))
            for conjunct in _conjuncts(join.on) if join.on is not None else ():
                self._condition(conjunct, within)
            for column in join.using:
                self._using(join, column, within)
            for source in join.right:
                for use in self._below(source):
                    use.is_inner = True
        for expression in wheres:
            self._condition(expression, required)

    def _sides(self, scope: Scope, wheres: Sequence[exp.Expr]) -> list[str]:
        """Return the side of each join all of whose rows are kept, unless a condition rejects additional rows."""
        sides = [each.side for each in scope.joins]
        while True:
            conditions = [*wheres]
            for join, side in zip(scope.joins, sides, strict=True):
                conditions += _conjuncts(join.on) if join.on is not None and not side else []
            rejected = [source for condition in conditions for source in self._rejected(condition)]
            reduced = []
            for join, side in zip(scope.joins, sides, strict=True):
                keeps_left = side in ("LEFT", "FULL") and not any(source in rejected for source in join.right)
                keeps_right = side in ("RIGHT", "FULL") and not any(source in rejected for source in join.left)
                reduced.append(
                    "FULL" if keeps_left and keeps_right else "LEFT" if keeps_left else "RIGHT" if keeps_right else ""
                )
            if reduced == sides:
                return sides
            sides = reduced

    def _rejected(self, condition: exp.Expr) -> Iterator[QuerySource]:
        """Yield the sources of which a condition accepts no row of nulls."""
        from sqlglot import exp

        condition = condition.unnest()
        node = condition.this.unnest() if isinstance(condition, exp.Not) else condition
        is_negated = node is not condition or bool(node.args.get("negate"))
        kinds = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like)
        if not isinstance(node, kinds) and not (is_negated and _is_null(node)):
            return
        for name in ("this", "expression", "low", "high"):
            side = node.args.get(name)
            # Functions such as coalesce() may turn a null into a value.
            if isinstance(side, exp.Expr) and side.find(exp.Func, exp.Case, exp.Query) is None:
                found = (self._scopes.source_of(column) for column in side.find_all(exp.Column))
                yield from (at[1] for at in found if at is not None)

    def _below(self, source: QuerySource) -> Iterator[TableUse]:
        """Yield the uses of the tables that a source consists of."""
        yield from (self.uses[each] for each in source.tables() if each in self.uses)

    # Conditions.

    def _condition(self, node: exp.Expr, within: _QueryPart) -> None:
        """Record a condition that all rows must satisfy."""
        from sqlglot import exp

        node = node.unnest()
        match node:
            case exp.Or():
                self._alternatives(node, within)
            case exp.Not():
                self._negated(node.this.unnest(), node, within)
            # PostgreSQL's grammar has `is not null` as one node.
            case _ if node.args.get("negate"):
                self._negated(node, node, within)
            case exp.Exists():
                self._exists(node.this)
            case exp.In() if isinstance(node.args.get("query"), exp.Expr):
                self._in_query(node.this, node.args["query"], within)
            case exp.Column():
                self._flag(node, node, exp.true(), within)
            case _:
                self._comparison(node, within)

    def _comparison(self, node: exp.Expr, within: _QueryPart) -> None:
        from sqlglot import exp

        match node:
            case exp.In() if node.expressions:
                self._equal(node.this, node.expressions, within, node)
            case exp.EQ() | exp.NullSafeEQ() | exp.Is():
                self._equality(node, within)
            case exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                self._range(node.left, [node.right], within)
                self._range(node.right, [node.left], within)
            case exp.Between():
                self._range(node.this, [node.args["low"], node.args["high"]], within)
            case exp.Like() | exp.Glob() | exp.Escape():
                self._pattern(node, within)
            case exp.NEQ() if _is_state(node.right):
                self._filter(node.left, node, within)
            case exp.RegexpLike() | exp.StartsWith() if self._grammar.engine == "postgresql":
                self._beginning(node, within)
            case _ if self._grammar.engine == "postgresql":
                self._contained(node, within)
            case _:
                pass

    def _flag(self, column: exp.Expr, node: exp.Expr, value: exp.Expr, within: _QueryPart) -> None:
        """Record a column that is a condition by itself: PostgreSQL compares it, other engines only filter by it."""
        if self._grammar.engine == "postgresql":
            self._equal(column, [value], within, node)
        else:
            self._filter(column, node, within)

    def _negated(self, inner: exp.Expr, node: exp.Expr, within: _QueryPart) -> None:
        """Record the opposite of a condition. ``node``: all of it."""
        from sqlglot import exp

        if _is_null(inner):
            self._filter(inner.this, node, within)
        elif isinstance(inner, exp.Exists):
            self._exists(inner.this, is_negated=True)
        elif isinstance(inner, exp.In) and isinstance(inner.args.get("query"), exp.Expr):
            self._in_query(inner.this, inner.args["query"], within, is_negated=True)
        elif isinstance(inner, exp.Column):
            self._flag(inner, node, exp.false(), within)
        elif isinstance(inner, exp.EQ | exp.In) and all(
            map(_is_state, inner.expressions or [inner.args["expression"]])
        ):
            self._filter(inner.this, node, within)

    def _equality(self, node: exp.Binary, within: _QueryPart) -> None:
        from sqlglot import exp

        left, right = node.left.unnest(), node.right.unnest()
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            for one, other in zip(left.expressions, right.expressions, strict=False):
                self._equal(one, [other], within)
                self._equal(other, [one], within)
            return
        is_postgresql = self._grammar.engine == "postgresql"
        if isinstance(node, exp.Is) and not isinstance(right, exp.Null) and not is_postgresql:
            self._filter(left, node, within)
            return
        if isinstance(node, exp.NullSafeEQ) and is_postgresql:
            return
        for side, other in ((left, right), (right, left)):
            if isinstance(other, exp.Any):
                query = other.this.unnest()
                if isinstance(query, exp.Query):
                    self._in_query(side, query, within)
                else:
                    self._equal(side, [query, query], within)
            else:
                self._equal(side, [other], within, node)

    def _equal(
        self, side: exp.Expr, values: Sequence[exp.Expr], within: _QueryPart, node: exp.Expr | None = None
    ) -> None:
        """Record that an operand equals one of some values. ``node``: the condition."""
        for use, key in self._keys(side, within, values):
            others = self._others(values, within.scope, use)
            if others is None or not self._is_comparable(use, key, values):
                continue
            sources, is_correlated = others
            if sources:
                for source in sources:
                    _add(use.joined.setdefault(source, []), key)
            elif is_correlated:
                _add(use.correlated, key)
                if within.scope.semi and within.scope.parent is not None and len(values) == 1:
                    for outer, driving in self._keys(values[0], _QueryPart(within.scope.parent), [side]):
                        _add(outer.driving, driving)
            else:
                is_constant = all(_is_state(value) for value in values) and use.source in within.scope.sources
                where = self._text(node) if node is not None and is_constant else ""
                is_several = len(values) > 1 and not all(value == values[0] for value in values[1:])
                is_several = is_several or (node is None and len(values) > 1)
                found = Equality(key, is_several, where)
                if not any(equality.key == key for equality in use.equal):
                    use.equal.append(found)

    def _is_comparable(self, use: TableUse, key: IndexKey, values: Sequence[exp.Expr]) -> bool:
        """Whether no conversion of the column's strings to numbers rules the index out, as in MySQL."""
        from sqlglot import exp

        if self._grammar.name != "mysql" or not key.name:
            return True
        kind = use.table.types.get(key.name.lower(), "")
        numbers = any(isinstance(value.unnest(), exp.Literal) and not value.unnest().is_string for value in values)
        return not (numbers and any(each in kind for each in _STRINGS))

    def _filter(self, side: exp.Expr, node: exp.Expr, within: _QueryPart) -> None:
        """Record a condition that only a partial index serves."""
        for use, key in self._keys(side, within, []):
            if use.source in within.scope.sources and self._grammar.support.partial:
                use.filters.append(Equality(key, where=self._text(node)))

    def _range(self, side: exp.Expr, bounds: Sequence[exp.Expr], within: _QueryPart) -> None:
        from sqlglot import exp

        side = side.unnest()
        if isinstance(side, exp.Tuple):
            # A row comparison begins with its first column and goes on in the order of the others.
            found = [list(self._keys(expression, within, bounds)) for expression in side.expressions]
            uses = {id(keys[0][0]) for keys in found if len(keys) == 1}
            if len(uses) == 1 and all(len(keys) == 1 for keys in found):
                _add(found[0][0][0].ranges, tuple(keys[0][1] for keys in found))
            return
        for use, key in self._keys(side, within, bounds):
            others = self._others(bounds, within.scope, use)
            if others is None or not self._is_comparable(use, key, bounds):
                continue
            if others[0]:
                _add(use.joined_ranges, key)
            else:
                _add(use.ranges, (key,))

    def _pattern(self, node: exp.Expr, within: _QueryPart) -> None:
        from sqlglot import exp

        escape = node.expression.name if isinstance(node, exp.Escape) else "\\"
        node = node.this if isinstance(node, exp.Escape) else node
        if not isinstance(node, exp.Like | exp.Glob) or node.args.get("negate"):
            return
        pattern = node.expression.unnest()
        is_glob = isinstance(node, exp.Glob)
        wild = "*?[" if is_glob else f"%_{escape}"
        is_prefix = isinstance(pattern, exp.Literal) and pattern.is_string and pattern.name[:1] not in ("", *wild)
        for use, key in self._keys(node.this, within, []) if is_prefix else ():
            kind = use.table.types.get(key.name.lower(), "") if key.name else ""
            own = use.table.collation(key.name).lower() if key.name else ""
            found = self._by_pattern(use, key)
            if self._grammar.engine == "sqlite":
                if kind and not any(each in kind for each in _STRINGS):
                    continue
                wanted = "binary" if is_glob else "nocase"
                found = replace(key, collation="" if wanted == (own or "binary") else wanted)
            _add(use.ranges, (found,))

    def _beginning(self, node: exp.Expr, within: _QueryPart) -> None:
        """Record a regular expression with a fixed beginning, or another test for the beginning of a string."""
        from sqlglot import exp

        value = node.expression.unnest()
        text = value.name if isinstance(value, exp.Literal) and value.is_string else ""
        is_fixed = text[:1].isalnum() if isinstance(node, exp.StartsWith) else text[:1] == "^" and text[1:2].isalnum()
        for use, key in self._keys(node.this, within, []) if is_fixed else ():
            _add(use.ranges, (self._by_pattern(use, key),))

    def _by_pattern(self, use: TableUse, key: IndexKey) -> IndexKey:
        """Return a key with the operator class that PostgreSQL needs for the beginnings of strings."""
        if self._grammar.engine != "postgresql" or key.collation or use.table.is_by_bytes(key.name):
            return key
        kind = use.table.types.get(key.name.lower(), "") if key.name else ""
        families = {"character varying": "varchar", "character": "bpchar"}
        family = next((families[each] for each in families if kind.startswith(each)), "text")
        return replace(key, operator_class=f"{family}_pattern_ops")

    def _contained(self, node: exp.Expr, within: _QueryPart) -> None:
        """Record a condition on an array, a document or a text that PostgreSQL's GIN or GiST indexes serve."""
        from sqlglot import exp

        pairs: list[tuple[exp.Expr, exp.Expr | None]] = []
        match node:
            case exp.ArrayContainsAll():
                pairs = [(node.this, node.expression)]
            case exp.ArrayContainedBy():
                pairs = [(node.expression, node.this)]
            case exp.ArrayOverlaps():
                pairs = [(node.this, node.expression), (node.expression, node.this)]
            case exp.MatchAgainst():
                pairs = [(expression, None) for expression in [*node.expressions, node.this]]
            case exp.JSONBContains() | exp.JSONBContainsTopKey() | exp.JSONBPathExists():
                pairs = [(node.this, None)]
            case exp.JSONBContainsAnyTopKeys() | exp.JSONBContainsAllTopKeys():
                pairs = [(node.this, None)]
            case _:
                pass
        for side, other in pairs:
            for use, key in self._keys(side, within, []):
                kind = use.table.types.get(key.name.lower(), "") if key.name else ""
                found = _special(node, kind, side, other)
                if found is not None:
                    _add(use.special, (replace(key, operator_class=found[1]), found[0]))

    def _using(self, join: Join, column: str, within: _QueryPart) -> None:
        """Record that a column of both sides is equal."""
        pairs = [(left, right) for left in join.left for right in join.right]
        for left, right in pairs:
            if left.has(column) is False or right.has(column) is False:
                continue
            for source, other in ((left, right), (right, left)):
                if within.restricts(source):
                    for found in origins(self._scopes, source, column):
                        use = self.uses.get(found[0]) if isinstance(found, tuple) else None
                        if use is not None and isinstance(found, tuple):
                            _add(use.joined.setdefault(other, []), IndexKey(use.table.column(found[1])))

    def _exists(self, query: exp.Expr, *, is_negated: bool = False) -> None:
        for arm in self._scopes.arms(query):
            arm.semi = not (is_negated or self._is_optional)
            for source in arm.sources:
                for use in self._below(source):
                    use.is_inner = True

    def _in_query(self, side: exp.Expr, query: exp.Expr, within: _QueryPart, *, is_negated: bool = False) -> None:
        """Record the comparison with the rows of a query as a join."""
        from sqlglot import exp

        side = side.unnest()
        sides = side.expressions if isinstance(side, exp.Tuple) else [side]
        self._exists(query, is_negated=True)
        for arm in self._scopes.arms(query):
            for one, item in zip(sides, arm.items, strict=False):
                inner = item.unalias()
                outer = self._source(one)
                if not arm.is_barrier and (not arm.is_grouped or is_group(arm, inner)) and outer is not None:
                    for use, key in self._keys(inner, _QueryPart(arm), [one]):
                        _add(use.joined.setdefault(outer, []), key)
                if not is_negated:
                    for use, key in self._keys(one, within, [inner]):
                        for source in arm.sources:
                            _add(use.joined.setdefault(source, []), key)

    def _alternatives(self, node: exp.Expr, within: _QueryPart) -> None:
        """Record the conditions of an ``or``, if each of its arms restricts the table."""
        below = {table_use.source: table_use for source in within.scope.sources for table_use in self._below(source)}
        outside, was_optional = self.uses, self._is_optional
        self._is_optional = True
        arms: list[dict[QuerySource, TableUse]] = []
        for arm in _disjuncts(node):
            arms.append({source: TableUse(source, use.table) for source, use in below.items()})
            self.uses = {**outside, **arms[-1]}
            for expression in _conjuncts(arm):
                self._condition(expression, within)
        self.uses, self._is_optional = outside, was_optional
        for source, use in below.items():
            found = [arm[source] for arm in arms]
            if not all(table_use.is_restricted or table_use.joined for table_use in found):
                continue
            keys = {table_use.equal[0].key for table_use in found if len(table_use.equal) == 1 and not table_use.ranges}
            if len(keys) == 1 and all(len(table_use.equal) == 1 and not table_use.joined for table_use in found):
                use.equal.append(Equality(keys.pop(), several=True))
            else:
                use.alternatives.append(found)

    # Operands.

    def _keys(
        self, node: exp.Expr, within: _QueryPart, others: Sequence[exp.Expr] = ()
    ) -> Iterator[tuple[TableUse, IndexKey]]:
        """Yield the tables' keys that an operand consists of; several if it comes from a union.

        ``others``: the operands with which it is compared; they may name the collation.
        """
        from sqlglot import exp

        node, collation = _collated(node)
        source = self._source(node)
        if source is None or not within.restricts(source) or source not in within.scope.sources:
            return
        for expression in others:
            collation = collation or _collated(expression)[1]
        if not isinstance(node, exp.Column):
            yield from self._expressions(node, source, collation)
            return
        for found in origins(self._scopes, source, self._scopes.name(node)):
            if isinstance(found, tuple):
                use = self.uses.get(found[0])
                if use is not None:
                    yield from self._column(use, found[1], collation)
            else:
                inner = self._source(found)
                if inner is not None:
                    yield from self._expressions(found, inner, collation)

    def _source(self, node: exp.Expr) -> QuerySource | None:
        """Return the source of an operand's first column."""
        from sqlglot import exp

        column = next((each for each in node.find_all(exp.Column) if not is_value(each)), None)
        at = self._scopes.source_of(column) if column is not None else None
        return None if at is None else at[1]

    def _column(self, use: TableUse, name: str, collation: str) -> Iterator[tuple[TableUse, IndexKey]]:
        if use.table.column_names is not None and name.lower() not in use.table.column_names:
            return
        name = use.table.column(name)
        own = use.table.collation(name) or ("binary" if self._grammar.engine == "sqlite" else "")
        if collation.lower() == own.lower():
            collation = ""
        if not collation or self._grammar.support.collations:
            yield use, IndexKey(name, collation=collation)

    def _expressions(self, node: exp.Expr, source: QuerySource, collation: str) -> Iterator[tuple[TableUse, IndexKey]]:
        from sqlglot import exp

        use = self.uses.get(source)
        if use is None or not self._grammar.support.expressions:
            return
        at = (self._scopes.source_of(column) for column in node.find_all(exp.Column))
        is_own = all(each is not None and each[1] is source for each in at)
        if is_own and can_be_key(node, self._grammar.engine, use.table.types):
            yield use, IndexKey(expression=key_text(node, self._sql, self._grammar.name), collation=collation)

    def _others(self, nodes: Sequence[exp.Expr], scope: Scope, use: TableUse) -> tuple[list[QuerySource], bool] | None:
        """Return the sources of the same query in other operands, and whether these have columns of an outer query.

        ``None``: the operands depend on the row of the table itself, or on something unknown.
        """
        from sqlglot import exp

        others: list[QuerySource] = []
        is_correlated = False
        for column in (each for node in nodes for each in node.find_all(exp.Column)):
            if is_value(column):
                continue
            at = self._scopes.source_of(column)
            if at is None:
                # SQLite takes an unknown name in double quotes as a string.
                if self._grammar.engine == "sqlite" and column.this.quoted and not column.table:
                    continue
                return None
            if use in self._below(at[1]):
                return None
            if at[0] is scope:
                _add(others, at[1])
            else:
                is_correlated = is_correlated or at[0] in _outer(scope)
        return others, is_correlated

    def _text(self, node: exp.Expr) -> str:
        return text_of(node, self._sql, self._grammar.name)

    # Orders.

    def _read_orders(self, scope: Scope) -> None:
        from sqlglot import exp

        node = scope.node
        is_limited = argument(node, "limit") is not None or argument(node, "fetch") is not None
        order = argument(node, "order")
        above = node.parent
        while order is None and isinstance(above, exp.SetOperation):
            order = argument(above, "order")
            is_limited = argument(above, "limit") is not None
            above = above.parent
        group = argument(node, "group")
        ordered = self._ordered(order, scope) if order is not None else {}
        if group is not None:
            for use, keys in self._same(
                [self._selected(expression, scope, is_group=True) for expression in group.expressions]
            ):
                first = ordered.get(use, ())
                plain = [replace(each, descending=False, nulls="") for each in first]
                is_sorted = bool(first) and all(each in keys for each in plain)
                rest = tuple(each for each in keys if each not in plain)
                use.orders.append(Order((*first, *rest), is_limited, False) if is_sorted else Order(keys, is_free=True))
            return
        if scope.is_grouped:
            for item in scope.items:
                inner = item.unalias()
                if isinstance(inner, exp.Min | exp.Max) and not inner.expressions:
                    for use, key in self._keys(inner.this, _QueryPart(scope)):
                        use.orders.append(Order((key,), limited=True))
            return
        for use, found in ordered.items():
            use.orders.append(Order(found, is_limited))
        self._read_windows(scope)
        distinct = argument(node, "distinct")
        if distinct is not None and order is None and not any(scope.starred(expression) for expression in scope.items):
            on = distinct.args.get("on")
            wanted = on.unnest() if isinstance(on, exp.Expr) else None
            items = scope.items if wanted is None else getattr(wanted, "expressions", None) or [wanted]
            for use, keys in self._same([each.unalias() for each in items if each is not None]):
                # Repeated rows of a joined table are not next to one another in its index.
                if len(scope.sources) == 1:
                    use.orders.append(Order(keys, is_limited, is_free=True))

    def _read_windows(self, scope: Scope) -> None:
        from sqlglot import exp

        for item in scope.items:
            for window in item.find_all(exp.Window):
                order = window.args.get("order")
                parts = self._same(window.args.get("partition_by") or []) if window.args.get("partition_by") else []
                ordered = self._ordered(order, scope) if isinstance(order, exp.Order) else {}
                if parts:
                    for use, keys in parts:
                        if use in ordered or not ordered:
                            use.orders.append(Order((*keys, *ordered.get(use, ()))))
                else:
                    for use, keys in ordered.items():
                        use.orders.append(Order(keys))

    def _ordered(self, order: exp.Expr, scope: Scope) -> dict[TableUse, tuple[IndexKey, ...]]:
        """Return the keys of ``order by`` by table; empty if no index gives this order."""
        is_large = self._grammar.engine == "postgresql"
        items: list[exp.Expr] = []
        marks: list[tuple[bool, str]] = []
        for expression in order.expressions:
            is_descending, is_first = bool(expression.args.get("desc")), bool(expression.args.get("nulls_first"))
            is_default = is_first == (is_descending if is_large else not is_descending)
            if not is_default and not self._grammar.support.nulls:
                return {}
            marks.append((is_descending, "" if is_default else "first" if is_first else "last"))
            items.append(self._selected(expression.this, scope))
        return {
            use: tuple(replace(key, descending=mark[0], nulls=mark[1]) for key, mark in zip(keys, marks, strict=True))
            for use, keys in self._same(items, scope)
        }

    def _selected(self, node: exp.Expr, scope: Scope, *, is_group: bool = False) -> exp.Expr:
        """Return the selected expression that a number or an alias refers to, otherwise the expression itself."""
        from sqlglot import exp

        bare = node.unnest()
        if isinstance(bare, exp.Literal) and not bare.is_string:
            position = int(bare.name) - 1 if bare.name.isdigit() else -1
            return scope.items[position].unalias() if 0 <= position < len(scope.items) else node
        if isinstance(bare, exp.Column) and not bare.table:
            named = [
                item for item in scope.items if isinstance(item, exp.Alias) and item.alias.lower() == bare.name.lower()
            ]
            # `group by` prefers a table's column to an alias.
            if named and not (is_group and self._scopes.source_of(bare) is not None):
                return named[0].unalias()
        return node

    def _same(
        self, items: Sequence[exp.Expr], scope: Scope | None = None
    ) -> list[tuple[TableUse, tuple[IndexKey, ...]]]:
        """Return the tables of which all expressions are keys, with these keys."""
        found: list[dict[TableUse, IndexKey]] = []
        for item in items:
            of = scope or self._scopes.of(item)
            found.append(dict(self._keys(item, _QueryPart(of))) if of is not None else {})
        if not found:
            return []
        tables = [use for use in found[0] if all(use in each for each in found)]
        return [(use, tuple(dict.fromkeys(each[use] for each in found))) for use in tables]

    # Columns.

    def _read_columns(self, scope: Scope) -> None:
        """Record the columns that a query reads."""
        from sqlglot import exp

        for column in scope.node.find_all(exp.Column):
            at = self._scopes.source_of(column) if not is_value(column) else None
            use = self.uses.get(at[1]) if at is not None else None
            if use is not None and use.columns is not None and column.name:
                use.columns[column.name.lower()] = self._scopes.name(column)
        for join in scope.joins:
            for source in (*join.left, *join.right):
                use = self.uses.get(source)
                if use is not None and use.columns is not None:
                    use.columns |= {each.lower(): each for each in join.using if source.has(each) is not False}
        if not isinstance(scope.node, exp.Select):
            written = scope.sources[:1]
        elif isinstance(scope.node.parent, exp.Exists):
            written = []
        else:
            written = [source for item in scope.items for source in scope.starred(item)]
        for source in written:
            if source in self.uses:
                self.uses[source].columns = None


def _special(node: exp.Expr, kind: str, side: exp.Expr, other: exp.Expr | None) -> tuple[str, str] | None:
    """Return the kind and operator class of the index for an operand of a PostgreSQL operator."""
    from sqlglot import exp

    if isinstance(node, exp.MatchAgainst):
        is_text = isinstance(side.unnest(), exp.Anonymous) and side.unnest().name.lower() == "to_tsvector"
        return ("gin", "") if is_text or kind in ("tsvector", "") else None
    if other is None:
        return ("gin", "") if kind in ("jsonb", "") else None
    if kind.endswith("range"):
        return "gist", ""
    value = other.unnest()
    if kind.endswith("[]") or (not kind and isinstance(value, exp.Array)):
        return "gin", ""
    is_document = kind == "jsonb" or (not kind and isinstance(node, exp.ArrayContainsAll) and _is_document(value))
    return ("gin", "jsonb_path_ops") if is_document and not isinstance(node, exp.ArrayOverlaps) else None


def _is_document(node: exp.Expr) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Cast):
        return node.to.is_type("jsonb")
    if not isinstance(node, exp.Literal) or not node.is_string:
        return False
    try:
        json.loads(node.name)
    except ValueError:
        return False
    return True


def _is_state(node: exp.Expr) -> bool:
    """Whether a constant may be one of a few states, and so divide a table usefully; others are samples of values."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Literal):
        return node.name.replace("_", "").isalpha() if node.is_string else node.name in ("0", "1")
    return isinstance(node, exp.Boolean | exp.Null)


def _is_null(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)


def _collated(node: exp.Expr) -> tuple[exp.Expr, str]:
    """Return an operand without ``collate``, and the collation's name."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Collate):
        return node.this.unnest(), node.expression.name
    return node, ""


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    return _operands(node, exp.And)


def _disjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    return _operands(node, exp.Or)


def _operands(node: exp.Expr, connector: type[exp.Connector]) -> Iterator[exp.Expr]:
    """Yield the operands of nested connectors of one kind, such as the three of ``a and (b and c)``."""
    node = node.unnest()
    if isinstance(node, connector):
        yield from _operands(node.left, connector)
        yield from _operands(node.right, connector)
    else:
        yield node


def _nulled(join: Join, side: str) -> list[QuerySource]:
    """Return the sources of which a join may return nulls; ``side``: the one all of whose rows it keeps."""
    return {"LEFT": join.right, "RIGHT": join.left, "FULL": [*join.left, *join.right]}.get(side, [])


def _outer(scope: Scope) -> list[Scope]:
    scopes = []
    while scope.parent is not None:
        scope = scope.parent
        scopes.append(scope)
    return scopes


def _add(to: list[_Item], item: _Item) -> None:
    if item not in to:
        to.append(item)
