r"""Find the result columns of a statement, whose names are the variables of ``\gset``."""

from dbdyno.base.errors import InputError
from dbdyno.base.sql_tree import sql_tree
from dbdyno.experiment.pgbench.lexer import Sql, Variable

_REMEDY = r"give each column a name, such as `select count(*) as n from t \gset`"


def result_columns(statement: Sql, location: str) -> list[str]:
    """Return the names of a statement's result columns, in lower case unless quoted, as in PostgreSQL.

    Raises InputError if the names aren't known from the text (``*``).
    """
    from sqlglot import exp

    text = "".join("0" if isinstance(piece, Variable) else str(piece) for piece in statement.pieces)
    try:
        tree = sql_tree(text, "postgres")
    except RecursionError:
        tree = None
    if tree is None:
        raise InputError(location, r"could not parse the statement before `\gset`", _REMEDY)
    if isinstance(tree, exp.Query):
        columns = tree.selects
    else:
        returning = tree.args.get("returning")
        columns = returning.expressions if returning is not None else []
    if not columns:
        problem = r"the statement before `\gset` returns no columns"
        raise InputError(location, problem, "write a `select`, or add `returning …`")
    return [_name(column, location) for column in columns]


def _name(column: object, location: str) -> str:
    from sqlglot import exp

    identifier = None
    if isinstance(column, exp.Alias):
        identifier = column.args.get("alias")
    elif isinstance(column, exp.Column) and not isinstance(column.this, exp.Star):
        identifier = column.this
    if not isinstance(identifier, exp.Identifier):
        raise InputError(location, r"a column of the statement before `\gset` has no name", _REMEDY)
    return identifier.name if identifier.quoted else identifier.name.lower()
