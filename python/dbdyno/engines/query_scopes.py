"""The queries within a statement: the tables that each one reads, and the table that a column belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sqlglot import exp

# How many derived tables a column is followed through.
_DEEPEST = 20


@dataclass(eq=False)
class QuerySource:
    """A table, view, derived table or common table expression that a query reads.

    ``name``: its alias or name; ``table``: its node, ``None`` for a query; ``columns``: the table's columns in
    lower case, ``None`` if unknown; ``derived``: the query of a derived table or common table expression.
    """

    name: str
    table: exp.Table | None = None
    columns: frozenset[str] | None = None
    derived: Derived | None = None

    def has(self, column: str) -> bool | None:
        """Whether it has a column; ``None`` if its columns are unknown."""
        if self.derived is not None:
            return self.derived.has(column)
        return None if self.columns is None else column.lower() in self.columns

    def tables(self) -> Iterator[QuerySource]:
        """Yield the tables that it consists of: itself, or those of its query."""
        if self.table is not None:
            yield self
        elif self.derived is not None and not self.derived.recursive:
            for arm in self.derived.arms:
                for source in arm.sources:
                    yield from source.tables()


@dataclass(eq=False)
class Derived:
    """The query of a derived table or common table expression.

    ``arms``: its scopes, several for a union; ``names``: the names of its columns, if the alias lists them.
    """

    arms: list[Scope] = field(default_factory=list)
    names: Sequence[str] = ()
    recursive: bool = False
    building: bool = False

    def has(self, column: str) -> bool | None:
        """Whether it returns a column; ``None`` if that is unknown."""
        if self.names:
            return column.lower() in self.names
        if not self.arms:
            return None
        return self.arms[0].output(column) is not None or (None if self.arms[0].has_unknown_star() else False)

    def outputs(self, column: str) -> Iterator[tuple[Scope, Output]]:
        """Yield what each arm returns as a column."""
        if self.recursive or not self.arms:
            return
        if self.names:
            position = self.names.index(column.lower()) if column.lower() in self.names else None
        else:
            position = self.arms[0].position(column)
        for arm in self.arms:
            found = arm.output_at(position) if position is not None else arm.output(column)
            if found is not None:
                yield arm, found


Output: TypeAlias = "exp.Expr | tuple[QuerySource, str]"
"""A selected expression, or a source and its column that a star returns."""


@dataclass(eq=False)
class Join:
    """A join of a query: the sources on both sides, and the condition. ``side``: LEFT, RIGHT, FULL or empty."""

    side: str
    left: list[QuerySource]
    right: list[QuerySource]
    on: exp.Expr | None
    using: Sequence[str] = ()


@dataclass(eq=False)
class Scope:
    """A query, or an update, delete or merge statement. ``parent``: the scope whose columns it may also name.

    ``semi``: it is the query of an ``exists`` or ``in`` that restricts the rows of its parent.
    """

    node: exp.Expr
    parent: Scope | None = None
    sources: list[QuerySource] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    semi: bool = False

    def find(self, column: exp.Column) -> QuerySource | None:
        """Return the source of a column; ``None`` if it isn't one of this scope's."""
        if column.table:
            return next((source for source in self.sources if source.name.lower() == column.table.lower()), None)
        known = [source for source in self.sources if source.has(column.name)]
        unknown = [source for source in self.sources if source.has(column.name) is None]
        if known:
            return known[0]
        return unknown[0] if len(unknown) == 1 else None

    @property
    def items(self) -> list[exp.Expr]:
        """The selected expressions."""
        from sqlglot import exp

        return list(self.node.expressions) if isinstance(self.node, exp.Select) else []

    @property
    def is_grouped(self) -> bool:
        """Whether it returns a row per group."""
        from sqlglot import exp

        return bool(argument(self.node, "group")) or any(
            aggregate.find_ancestor(exp.Window, exp.Select) is self.node
            for item in self.items
            for aggregate in item.find_all(exp.AggFunc)
        )

    @property
    def is_barrier(self) -> bool:
        """Whether a condition on its result can't be applied to its tables."""
        from sqlglot import exp

        keys = ("limit", "offset", "fetch", "qualify")
        if any(argument(self.node, key) for key in keys):
            return True
        union = self.node.parent
        while isinstance(union, exp.SetOperation):
            if any(argument(union, key) for key in keys):
                return True
            union = union.parent
        return any(item.find(exp.Window) is not None for item in self.items)

    def position(self, column: str) -> int | None:
        """Return the number of the selected expression with a name; ``None`` if none has it."""
        names = (item.alias_or_name.lower() for item in self.items)
        return next((position for position, name in enumerate(names) if name == column.lower()), None)

    def output_at(self, position: int) -> Output | None:
        """Return a selected expression by its number."""
        items = self.items
        if position >= len(items) or any(_is_star(item) for item in items):
            return None
        return items[position].unalias()

    def output(self, column: str) -> Output | None:
        """Return what it selects under a name."""
        position = self.position(column)
        if position is not None:
            return self.items[position].unalias()
        for item in self.items:
            for source in self.starred(item):
                if source.has(column) or (source.has(column) is None and len(self.sources) == 1):
                    return source, column
        return None

    def starred(self, item: exp.Expr) -> list[QuerySource]:
        """Return the sources whose columns a star selects; empty if the expression isn't a star."""
        from sqlglot import exp

        if isinstance(item, exp.Star):
            return self.sources
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            return [source for source in self.sources if source.name.lower() == item.table.lower()]
        return []

    def has_unknown_star(self) -> bool:
        """Whether a star selects columns of a source whose columns are unknown."""
        return any(
            source.columns is None and (source.derived is None or not source.derived.arms)
            for item in self.items
            for source in self.starred(item)
        )


def argument(node: exp.Expr, name: str) -> exp.Expr | None:
    """Return a part of a node; sqlglot renamed the parts that are Python keywords."""
    found = node.args.get(f"{name}_") or node.args.get(name)
    return found if not isinstance(found, list) else None


def _is_star(item: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


class Scopes:
    """The scopes of a statement, outer ones first.

    ``columns_of``: returns a table's columns in lower case; ``None`` if they are unknown. ``lowers``: the engine reads
    names without quotes in lower case.
    """

    def __init__(
        self, tree: exp.Expr, columns_of: Callable[[exp.Table], frozenset[str] | None], *, lowers: bool = False
    ) -> None:
        self.all: list[Scope] = []
        self._columns_of, self._lowers = columns_of, lowers
        self._by_node: dict[int, Scope] = {}
        self._built: dict[int, list[Scope]] = {}
        self._build(tree, None, {})

    def name(self, column: exp.Column | exp.Identifier) -> str:
        """Return a column's name as the engine reads it."""
        from sqlglot import exp

        identifier = column.this if isinstance(column, exp.Column) else column
        return column.name.lower() if self._lowers and not identifier.args.get("quoted") else column.name

    def of(self, node: exp.Expr) -> Scope | None:
        """Return the innermost scope that a node belongs to."""
        up: exp.Expr | None = node
        while up is not None and id(up) not in self._by_node:
            up = up.parent
        return None if up is None else self._by_node[id(up)]

    def arms(self, query: exp.Expr) -> list[Scope]:
        """Return the scopes of a nested query, several for a union."""
        from sqlglot import exp

        query = query.unnest()
        while isinstance(query, exp.Subquery):
            query = query.this.unnest()
        return self._built.get(id(query), [])

    def source_of(self, column: exp.Column) -> tuple[Scope, QuerySource] | None:
        """Return the source that a column belongs to, and the scope that reads it."""
        scope = self.of(column)
        while scope is not None:
            source = scope.find(column)
            if source is not None:
                return scope, source
            scope = scope.parent
        return None

    def _build(self, node: exp.Expr, parent: Scope | None, known: dict[str, Derived]) -> list[Scope]:
        from sqlglot import exp

        known = self._with(node, parent, known)
        arms: list[Scope] = []
        if isinstance(node, exp.Subquery):
            return self._build(node.this, parent, known)
        if isinstance(node, exp.SetOperation):
            arms = [*self._build(node.left, parent, known), *self._build(node.right, parent, known)]
        elif isinstance(node, exp.Insert | exp.Create):
            if isinstance(node.expression, exp.Query):
                arms = self._build(node.expression, parent, known)
        elif isinstance(node, exp.Select | exp.Update | exp.Delete | exp.Merge):
            scope = Scope(node, parent)
            self.all.append(scope)
            self._by_node[id(node)] = scope
            self._read(scope, known)
            arms = [scope]
        self._built[id(node)] = arms
        return arms

    def _with(self, node: exp.Expr, parent: Scope | None, known: dict[str, Derived]) -> dict[str, Derived]:
        clause = argument(node, "with")
        if clause is None:
            return known
        known = dict(known)
        for expression in clause.expressions:
            made = Derived(names=[column.name.lower() for column in expression.args["alias"].columns], building=True)
            known[expression.alias.lower()] = made
            made.arms = self._build(expression.this, parent, known)
            made.building = False
        return known

    def _read(self, scope: Scope, known: dict[str, Derived]) -> None:
        from sqlglot import exp

        node = scope.node
        begin = argument(node, "from")
        if isinstance(node, exp.Select):
            roots = [begin.this] if begin is not None else []
        else:
            using = node.args.get("using")
            others = using if isinstance(using, list) else [using] if isinstance(using, exp.Expr) else []
            roots = [node.this, *others, *([begin.this] if begin is not None else [])]
        for root in roots:
            self._add(scope, root, known)
        for join in node.args.get("joins") or []:
            self._join(scope, join, known)
        for lateral in node.args.get("laterals") or []:
            self._add(scope, lateral, known)
        if isinstance(node, exp.Merge) and len(scope.sources) > 1:
            scope.joins.append(Join("", scope.sources[:1], scope.sources[1:], node.args.get("on")))

        def is_nested(expression: exp.Expr) -> bool:
            return expression is not node and isinstance(expression, exp.Select | exp.SetOperation)

        for nested in node.walk(prune=is_nested):
            if is_nested(nested) and id(nested) not in self._built:
                self._build(nested, scope, known)

    def _join(self, scope: Scope, node: exp.Join, known: dict[str, Derived]) -> None:

        left = list(scope.sources)
        self._add(scope, node.this, known)
        right = [source for source in scope.sources if source not in left]
        using: Sequence[str] = [self.name(each) for each in node.args.get("using") or []]
        if node.method == "NATURAL":
            using = sorted(_columns(left) & _columns(right))
        scope.joins.append(Join(node.side.upper(), left, right, node.args.get("on"), using))

    def _add(self, scope: Scope, node: exp.Expr, known: dict[str, Derived]) -> None:
        from sqlglot import exp

        inner = node.this if isinstance(node, exp.Subquery | exp.Lateral) else None
        name = node.alias_or_name
        names = [each.name.lower() for each in getattr(node.args.get("alias"), "columns", [])]
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            made = known.get(node.name.lower()) if not node.db else None
            if made is not None:
                made.recursive = made.recursive or made.building
                scope.sources.append(QuerySource(name, derived=made))
            else:
                scope.sources.append(QuerySource(name, node, self._columns_of(node)))
        elif isinstance(node, exp.Subquery) and isinstance(inner, exp.Table):
            # Joins in parentheses.
            self._add(scope, inner, known)
        elif inner is not None and isinstance(inner, exp.Query):
            outer = scope if isinstance(node, exp.Lateral) else scope.parent
            scope.sources.append(QuerySource(name, derived=Derived(self._build(inner, outer, known), names)))
        else:
            scope.sources.append(QuerySource(name))
        for join in node.args.get("joins") or []:
            self._join(scope, join, known)


def _columns(sources: Sequence[QuerySource]) -> set[str]:
    return {name for source in sources for name in source.columns or ()}


def origins(
    scopes: Scopes, source: QuerySource, column: str, depth: int = 0
) -> Iterator[tuple[QuerySource, str] | exp.Expr]:
    """Yield the table's column, or the expressions, that a source's column comes from.

    It yields nothing if a condition on the column can't be applied to the table.
    """
    from sqlglot import exp

    if source.table is not None:
        yield source, column
        return
    if source.derived is None or depth > _DEEPEST:
        return
    for arm, expression in source.derived.outputs(column):
        if arm.is_barrier:
            continue
        if isinstance(expression, tuple):
            if not arm.is_grouped:
                yield from origins(scopes, expression[0], expression[1], depth + 1)
            continue
        if arm.is_grouped and not is_group(arm, expression):
            continue
        inner = expression.unnest()
        if isinstance(inner, exp.Column):
            at = scopes.source_of(inner)
            if at is not None and at[0] is arm:
                yield from origins(scopes, at[1], scopes.name(inner), depth + 1)
        else:
            yield inner


def is_group(arm: Scope, item: exp.Expr) -> bool:
    """Whether a selected expression is one of those that the query groups by."""
    from sqlglot import exp

    group = argument(arm.node, "group")
    names = [selected.alias_or_name for selected in arm.items if selected.unalias() == item]
    for expression in group.expressions if group is not None else ():
        is_number = isinstance(expression, exp.Literal) and not expression.is_string
        if expression.unnest() == item.unnest() or (
            is_number and arm.items[int(expression.name) - 1].unalias() == item
        ):
            return True
        if isinstance(expression, exp.Column) and not expression.table and expression.name in names:
            return True
    return False
