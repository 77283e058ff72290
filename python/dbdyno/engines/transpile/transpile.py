"""Translate a statement from SQLite's SQL to another engine's."""

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

# Savepoint statements of SQLite. PostgreSQL and MariaDB use the same keywords, but fewer are optional.
_SAVEPOINT = re.compile(
    r"""\s* (?P<verb>savepoint | release (?:\s+savepoint)? | rollback (?:\s+transaction)? \s+ to (?:\s+savepoint)?)
    \s+ (?: (?P<name>[^\W\d]\w*) | "(?P<quoted>[^"]+)" | `(?P<ticked>[^`]+)` | \[(?P<bracketed>[^\]]+)\] ) \s*""",
    re.IGNORECASE | re.VERBOSE,
)
_NULLS_LAST = re.compile(r"CASE WHEN .* IS NULL THEN [01] ELSE [01] END")
# By the name of sqlglot's class, or of a function without a class.
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
    """Return the number of columns that a statement returns; ``None`` if unknown, e.g. because of ``*``."""
    from sqlglot import exp

    tree = sql_tree(text, "sqlite")
    if not isinstance(tree, exp.Query) or any(column.is_star for column in tree.selects):
        return None
    return len(tree.selects) or None


def transpile(text: str, target: SqlTarget, names: Names, location: str) -> str:
    """Translate a statement for another engine; see :func:`_transpile`. Raises InputError at ``location``."""
    try:
        return _transpile(text, target, names, location)
    except RecursionError:
        raise _unsupported(location, text, target, TOO_DEEP) from None


def _transpile(text: str, target: SqlTarget, names: Names, location: str) -> str:
    """Translate a statement for another engine.

    Names that the experiment defines are quoted, so that they can't be read as keywords. Placeholders remain ``?``, in
    the same order. Unless the statement specifies it, the engine decides where nulls sort, because otherwise it
    couldn't use an index for the order. The engine also decides the result of a division by zero.

    Raises InputError at ``location`` if the statement can't be expressed in the target dialect.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.dialects.sqlite import SQLite
    from sqlglot.errors import SqlglotError

    savepoint = _SAVEPOINT.fullmatch(text)
    if savepoint is not None and not target.savepoints:
        raise _unsupported(location, text, target, "the target's savepoints have another syntax and can't be released")
    if savepoint is not None:
        return _savepoint(savepoint, target)
    # Parse again with the opposite default for nulls: an order that differs between the trees doesn't specify it.
    elsewhere = SQLite()
    elsewhere.NULL_ORDERING = "nulls_are_large"
    try:
        trees = parsed(text, elsewhere)
    except SqlglotError as error:
        raise _unsupported(location, text, target, f"it can't be parsed as SQLite's SQL: {_where(error)}") from None
    label = _label_of_several_keys(text)
    if label is not None:
        raise _unsupported(location, text, target, f"{label} is a key in SQLite, but a path in other engines")
    checked = trees[0]
    if checked is None or len(trees) != 1:
        raise _unsupported(location, text, target, "it is not one statement")
    if isinstance(checked, exp.Condition | exp.Alias):
        raise _unsupported(location, text, target, "other engines don't support this statement")
    unsupported = next(unsupported_by(checked, target, names), None)
    if unsupported is not None:
        raise _unsupported(location, text, target, unsupported)
    # Parse again with a name for each placeholder, to find the placeholders in the translation.
    marked = numbered(text, f":{VALUE}", ANY)
    (tree,) = parsed(marked, "sqlite")
    if tree is None:
        raise _unsupported(location, text, target, "it is not one statement")
    _leave_nulls(tree, checked, target)
    _rewrite(tree, text, target, names, location)
    try:
        translated = tree.sql(dialect=target.grammar, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except SqlglotError as error:
        why = str(error).splitlines()[0].rstrip(".").lower()
        raise _unsupported(location, text, target, why) from None
    order = [int(each) for each in re.findall(rf"{VALUE}(\d+)", translated)]
    if order != sorted(set(order)) or len(order) != marked.count(f":{VALUE}"):
        why = "in the translation, placeholders are repeated or in another order"
        raise _unsupported(location, text, target, why)
    if not _keeps_meaning(marked, translated, target):
        raise _unsupported(location, text, target, "the translation may have another meaning")
    return re.sub(rf"{VALUE}\d+", "?", translated)


def _label_of_several_keys(text: str) -> str | None:
    """Return a string after `->` or `->>` that is neither a path nor a word."""
    tokens = significant(tokenize(text))
    labels = (after.text for before, after in pairwise(tokens) if before.text in ("->", "->>"))
    return next((label for label in labels if label[0] == "'" and not _PATH_OR_WORD.fullmatch(label)), None)


def _keeps_meaning(text: str, translated: str, target: SqlTarget) -> bool:
    """Whether a translation, parsed in the other dialect, is the same tree.

    The comparison ignores different names of JSON functions, and the different placement of nulls in orders.
    """
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    def canonical(tree: exp.Expr) -> str:
        _name_json_functions(tree)
        for node in list(tree.walk()):
            node.comments = None
            if isinstance(node, exp.Ordered):
                node.set("nulls_first", None)
                # The translation for dialects without `nulls last`.
                if _NULLS_LAST.fullmatch(node.this.sql()):
                    node.pop()
            elif isinstance(node, exp.DPipe) and target.plus_concatenates:
                node.replace(exp.Add(this=node.this, expression=node.expression))
            elif isinstance(node, exp.Div):
                # The engine decides the rules of division.
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
    """Replace each dialect's JSON functions, in place, by functions with the same names for all dialects."""
    from sqlglot import exp

    # `_rewrite` creates JSON_UNQUOTE(JSON_EXTRACT(…)). For SQL Server, sqlglot creates
    # ISNULL(JSON_QUERY(…), JSON_VALUE(…)).
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
            [expression.this, expression.expression] if isinstance(expression, exp.JSONKeyValue) else [expression]
            for expression in node.expressions
        )
        first = [] if is_function else _document_and_path(node)
        made = exp.Anonymous(this=name, expressions=[*first, *chain.from_iterable(pairs)])
        # An operator may be in parentheses.
        (node.parent if isinstance(node.parent, exp.Paren) else node).replace(made)


def _document_and_path(node: "exp.Expr") -> "list[exp.Expr]":
    return [each for each in (node.args.get("this"), node.args.get("expression")) if each is not None]


def _savepoint(match: re.Match[str], target: SqlTarget) -> str:
    """Translate a savepoint statement. The name becomes lower case, because SQLite ignores case."""
    from sqlglot import exp

    verb, *names = match.groups()
    name = next(each for each in names if each is not None).lower()
    verb = _SAVEPOINT_VERBS[verb.split()[0].lower()]
    return f"{verb} {exp.to_identifier(name, quoted=True).sql(dialect=target.grammar)}"


def _leave_nulls(tree: "exp.Expr", elsewhere: "exp.Expr", target: SqlTarget) -> None:
    """Apply the engine's default position of nulls to orders that don't specify it.

    ``elsewhere``: the same statement, parsed with the opposite default.
    """
    from sqlglot import exp

    for order, other in zip(tree.find_all(exp.Ordered), elsewhere.find_all(exp.Ordered), strict=True):
        if bool(order.args.get("nulls_first")) != bool(other.args.get("nulls_first")):
            descending = bool(order.args.get("desc"))
            order.set("nulls_first", {"small": not descending, "large": descending, "last": False}[target.nulls])


def _rewrite(tree: "exp.Expr", text: str, target: SqlTarget, names: Names, location: str) -> None:
    """Change a tree, in place, so that sqlglot generates the intended SQL. Raises InputError."""
    from sqlglot import exp

    for node in list(tree.walk()):
        if isinstance(node, exp.Placeholder):
            # sqlglot writes a plain variable name unchanged.
            node.replace(exp.Var(this=node.name))
        elif isinstance(node, exp.Limit) and not target.limit_behind and isinstance(node.expression, exp.Placeholder):
            # The limit would come first, and change the order of the placeholders.
            raise _unsupported(
                location, text, target, "the target writes `limit ?` elsewhere, which changes the order of values"
            )
        elif isinstance(node, exp.Div):
            node.set("safe", False)
        elif isinstance(node, exp.JSONExtractScalar) and not target.json_arrow:
            # MariaDB doesn't have `->>`; these functions work on both MariaDB and MySQL.
            looked = exp.Anonymous(this="JSON_EXTRACT", expressions=[node.this, node.expression])
            node.replace(exp.Anonymous(this="JSON_UNQUOTE", expressions=[looked]))
        elif isinstance(node, exp.Identifier):
            known = names.find(node.name)
            if known is not None:
                node.replace(exp.to_identifier(known, quoted=True))


def _where(error: "SqlglotError") -> str:
    """Return where and why a statement can't be parsed, because sqlglot's messages name its own classes."""
    from sqlglot.errors import ParseError

    if not isinstance(error, ParseError):
        return "it contains an unclosed quote or comment, or an invalid character"
    found = error.errors[0] if error.errors else {}
    near, line, end = found.get("highlight"), found.get("line"), found.get("col")
    if not near or line is None or end is None:
        return str(error)
    # sqlglot reports the column of the word's last character.
    return f"syntax error at or before `{near}`, line {line}, column {max(end - len(near) + 1, 1)}"


def _unsupported(location: str, text: str, target: SqlTarget, why: str) -> InputError:
    engine = target.engine
    short = shortened(text, 60)
    hint = f"write it as `{{ any = …, {engine} = … }}` with SQL for each"
    return InputError(location, f"`{short}` can't be translated for {engine}: {why}", hint)
