"""A statement written once, in the SQL that SQLite reads, as other engines write it."""

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from dbdyno.base.errors import InputError
from dbdyno.base.sql_tree import TOO_DEEP, VALUE, parsed, sql_tree
from dbdyno.base.text import shortened
from dbdyno.engines.sql_lexer import significant, tokenize
from dbdyno.engines.statements import numbered
from dbdyno.engines.transpile.sql_target import SqlTarget
from dbdyno.engines.transpile.unsupported import Names, unsupported_by
from dbdyno.model.experiment.sql import ANY

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

# A savepoint is SQLite's words, PostgreSQL's and MariaDB's, but for those that may be left out.
_SAVEPOINT = re.compile(
    r"""\s* (?P<verb>savepoint | release (?:\s+savepoint)? | rollback (?:\s+transaction)? \s+ to (?:\s+savepoint)?)
    \s+ (?: (?P<name>[^\W\d]\w*) | "(?P<quoted>[^"]+)" | `(?P<ticked>[^`]+)` | \[(?P<bracketed>[^\]]+)\] ) \s*""",
    re.IGNORECASE | re.VERBOSE,
)
_NULLS_LAST = re.compile(r"CASE WHEN .* IS NULL THEN [01] ELSE [01] END")
# By the name of sqlglot's class, or of a function that it has none for.
_JSON_FUNCTIONS = {
    "JSONExtract": "JSON_EXTRACT",
    "JSONExtractScalar": "JSON_EXTRACT_TEXT",
    "JSONArrayAgg": "JSON_GROUP_ARRAY",
    "JSON_ARRAYAGG": "JSON_GROUP_ARRAY",
    "JSONObjectAgg": "JSON_GROUP_OBJECT",
    "JSON_OBJECTAGG": "JSON_GROUP_OBJECT",
}
_PATH_OR_WORD = re.compile(r"'(?:\$.*|\w+)'", re.DOTALL)

_SAVEPOINT_VERBS = {
    "savepoint": "SAVEPOINT",
    "release": "RELEASE SAVEPOINT",
    "rollback": "ROLLBACK TO SAVEPOINT",
}


def columns_of(text: str) -> int | None:
    """Count the columns that a statement returns; ``None`` where its text does not say, as with ``*``."""
    from sqlglot import exp

    tree = sql_tree(text, "sqlite")
    if not isinstance(tree, exp.Query) or any(column.is_star for column in tree.selects):
        return None
    return len(tree.selects) or None


def transpile(text: str, target: SqlTarget, names: Names, place: str) -> str:
    """Write a statement as another engine has it; see :func:`_transpile`."""
    try:
        return _transpile(text, target, names, place)
    except RecursionError:
        raise _unsupported(place, text, target, TOO_DEEP) from None


def _transpile(text: str, target: SqlTarget, names: Names, place: str) -> str:
    """Write a statement as another engine has it.

    Names that the experiment defines are quoted, so that none of them is taken for a keyword. Places for values stay
    ``?``, in their order. Where nulls come in an order is left to the engine unless that says it: an index serves an
    order only as it is. A division by zero fails or gives null as on the engine.

    Raises InputError that begins with ``place`` for what the other dialect has no words for.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.dialects.sqlite import SQLite
    from sqlglot.errors import SqlglotError

    savepoint = _SAVEPOINT.fullmatch(text)
    if savepoint is not None and not target.savepoints:
        raise _unsupported(place, text, target, "savepoints have other words there, and none are released")
    if savepoint is not None:
        return _savepoint(savepoint, target)
    # Where nulls come by another rule: a tree does not keep which order says it, but those that do are read alike.
    elsewhere = SQLite()
    elsewhere.NULL_ORDERING = "nulls_are_large"
    try:
        trees = parsed(text, elsewhere)
    except SqlglotError as error:
        raise _unsupported(place, text, target, f"it cannot be read as SQLite's SQL: {_where(error)}") from None
    label = _label_of_several_keys(text)
    if label is not None:
        raise _unsupported(place, text, target, f"{label} is one key to SQLite, and a path elsewhere")
    checked = trees[0]
    if checked is None or len(trees) != 1:
        raise _unsupported(place, text, target, "it is not one statement")
    if isinstance(checked, exp.Condition | exp.Alias):
        raise _unsupported(place, text, target, "it is no statement that others know")
    unsupported = next(unsupported_by(checked, target, names), None)
    if unsupported is not None:
        raise _unsupported(place, text, target, unsupported)
    # Read again with a name for each value: what the other dialect makes of them is seen by that.
    marked = numbered(text, f":{VALUE}", ANY)
    (tree,) = parsed(marked, "sqlite")
    if tree is None:
        raise _unsupported(place, text, target, "it is not one statement")
    _leave_nulls(tree, checked, target)
    _rewrite(tree, text, target, names, place)
    try:
        translated = tree.sql(dialect=target.grammar, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except SqlglotError as error:
        why = str(error).splitlines()[0].rstrip(".").lower()
        raise _unsupported(place, text, target, why) from None
    order = [int(each) for each in re.findall(rf"{VALUE}(\d+)", translated)]
    if order != sorted(set(order)) or len(order) != marked.count(f":{VALUE}"):
        why = "what is written `?` stands there more than once, or in another order, and so would the values"
        raise _unsupported(place, text, target, why)
    if not _keeps_meaning(marked, translated, target):
        raise _unsupported(place, text, target, "its translation is not known to keep the meaning")
    return re.sub(rf"{VALUE}\d+", "?", translated)


def _label_of_several_keys(text: str) -> str | None:
    """Return the string behind `->` or `->>` that is neither a path nor a word."""
    tokens = significant(tokenize(text))
    labels = (after.text for before, after in pairwise(tokens) if before.text in ("->", "->>"))
    return next((each for each in labels if each[0] == "'" and not _PATH_OR_WORD.fullmatch(each)), None)


def _keeps_meaning(text: str, translated: str, target: SqlTarget) -> bool:
    """Whether a translation, read in the other dialect, is the same tree.

    Functions of JSON have other names there. Orders with nulls are written differently on purpose.
    """
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    def canonical(tree: exp.Expr) -> str:
        _name_json_functions(tree)
        for node in list(tree.walk()):
            node.comments = None
            if isinstance(node, exp.Ordered):
                node.set("nulls_first", None)
                # So dialects without `nulls last` write it.
                if _NULLS_LAST.fullmatch(node.this.sql()):
                    node.pop()
            elif isinstance(node, exp.DPipe) and target.plus_concatenates:
                node.replace(exp.Add(this=node.this, expression=node.expression))
            elif isinstance(node, exp.Div):
                # Arithmetic is the engine's own.
                node.set("typed", True)
                node.set("safe", True)
            elif isinstance(node, exp.Placeholder) or (isinstance(node, exp.Column) and node.name.startswith(VALUE)):
                node.replace(exp.Var(this=node.name))
        return tree.sql(dialect="sqlite", normalize=True, identify=True)

    try:
        (original,), (reread,) = parsed(text, "sqlite"), parsed(translated, target.grammar)
    except (SqlglotError, ValueError):
        return False
    if original is None or reread is None:
        return False
    return canonical(original) == canonical(reread)


def _name_json_functions(tree: "exp.Expr") -> None:
    """Replace each dialect's functions of JSON, in place, by functions whose names are the same for all dialects."""
    from sqlglot import exp

    # `_rewrite` writes JSON_UNQUOTE(JSON_EXTRACT(…)), and sqlglot ISNULL(JSON_QUERY(…), JSON_VALUE(…)) for SQL Server.
    for call in list(tree.find_all(exp.Anonymous, exp.Coalesce)):
        (inner,) = call.expressions[:1] or (exp.Null(),)
        is_unquoted = call.name.upper() == "JSON_UNQUOTE" and isinstance(inner, exp.JSONExtract)
        is_either = isinstance(call.this, exp.JSONExtract) and isinstance(inner, exp.JSONExtractScalar)
        if is_unquoted or (is_either and _document_and_path(call.this) == _document_and_path(inner)):
            call.replace(exp.JSONExtractScalar(**inner.args))
    kinds = (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.Anonymous)
    for node in list(tree.find_all(*kinds)):
        is_function = isinstance(node, exp.Anonymous)
        name = _JSON_FUNCTIONS.get(node.name.upper() if is_function else type(node).__name__)
        if name is None:
            continue
        pairs = (
            [each.this, each.expression] if isinstance(each, exp.JSONKeyValue) else [each] for each in node.expressions
        )
        first = [] if is_function else _document_and_path(node)
        made = exp.Anonymous(this=name, expressions=[*first, *chain.from_iterable(pairs)])
        # An operator may be in parentheses.
        (node.parent if isinstance(node.parent, exp.Paren) else node).replace(made)


def _document_and_path(node: "exp.Expr") -> "list[exp.Expr]":
    return [each for each in (node.args.get("this"), node.args.get("expression")) if each is not None]


def _savepoint(found: re.Match[str], target: SqlTarget) -> str:
    """Write a statement about a savepoint. Its name is one in small letters: SQLite takes no notice of their case."""
    from sqlglot import exp

    verb, *names = found.groups()
    name = next(each for each in names if each is not None).lower()
    verb = _SAVEPOINT_VERBS[verb.split()[0].lower()]
    return f"{verb} {exp.to_identifier(name, quoted=True).sql(dialect=target.grammar)}"


def _leave_nulls(tree: "exp.Expr", elsewhere: "exp.Expr", target: SqlTarget) -> None:
    """Leave it to the engine where nulls come in the orders that do not say it.

    ``elsewhere``: the same statement, read where nulls come at the other end of such an order.
    """
    from sqlglot import exp

    for order, other in zip(tree.find_all(exp.Ordered), elsewhere.find_all(exp.Ordered), strict=True):
        if bool(order.args.get("nulls_first")) != bool(other.args.get("nulls_first")):
            descending = bool(order.args.get("desc"))
            order.set("nulls_first", {"small": not descending, "large": descending, "last": False}[target.nulls])


def _rewrite(tree: "exp.Expr", text: str, target: SqlTarget, names: Names, place: str) -> None:
    """Make of a statement, in place, what sqlglot writes as it is meant. Raises InputError."""
    from sqlglot import exp

    for node in list(tree.walk()):
        if isinstance(node, exp.Placeholder):
            # As a mere word it is written as it is.
            node.replace(exp.Var(this=node.name))
        elif isinstance(node, exp.Limit) and not target.limit_behind and isinstance(node.expression, exp.Placeholder):
            # It would come first, and the values with it in another order.
            raise _unsupported(place, text, target, "`limit ?` stands elsewhere there, and so would its value")
        elif isinstance(node, exp.Div):
            node.set("safe", False)
        elif isinstance(node, exp.JSONExtractScalar) and not target.json_arrow:
            # MariaDB has no `->>`. Written out, MySQL knows it too.
            looked = exp.Anonymous(this="JSON_EXTRACT", expressions=[node.this, node.expression])
            node.replace(exp.Anonymous(this="JSON_UNQUOTE", expressions=[looked]))
        elif isinstance(node, exp.Identifier):
            known = names.find(node.name)
            if known is not None:
                node.replace(exp.to_identifier(known, quoted=True))


def _where(error: "SqlglotError") -> str:
    """Return where and why a statement cannot be read. sqlglot's own messages name its classes."""
    from sqlglot.errors import ParseError

    if not isinstance(error, ParseError):
        return "it has a quote or a comment that is not closed, or a character that is not SQL"
    found = error.errors[0] if error.errors else {}
    near, line, end = found.get("highlight"), found.get("line"), found.get("col")
    if not near or line is None or end is None:
        return str(error)
    # What it names is the last character of the word.
    return f"something is wrong at or before `{near}`, line {line}, column {max(end - len(near) + 1, 1)}"


def _unsupported(place: str, text: str, target: SqlTarget, why: str) -> InputError:
    engine = target.engine
    short = shortened(text, 60)
    hint = f"give it as `{{ any = …, {engine} = … }}` with a text for each"
    return InputError(place, f"`{short}` cannot be written for {engine}: {why}", hint)
