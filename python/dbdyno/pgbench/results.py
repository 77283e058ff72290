r"""The names of the columns that a statement returns, which ``\gset`` makes variables of."""

from dbdyno.errors import InputError
from dbdyno.pgbench.lexer import Sql

_REMEDY = r"name each column, as in `select count(*) as n from t \gset`"


def result_columns(statement: Sql, place: str) -> list[str]:
    """Name the columns of a statement's result, small letters unless quoted, as PostgreSQL does.

    Raises InputError where the names cannot be known from the text: without one, or for ``*``.
    """
    import sqlglot
    from sqlglot import exp

    text = "".join(piece if isinstance(piece, str) else "0" for piece in statement.pieces)
    try:
        parsed = sqlglot.parse_one(text, read="postgres")
    except sqlglot.errors.SqlglotError:
        raise InputError(place, r"the statement before `\gset` cannot be read", _REMEDY) from None
    if isinstance(parsed, exp.Query):
        columns = parsed.selects
    else:
        returning = parsed.args.get("returning")
        columns = returning.expressions if returning is not None else []
    if not columns:
        problem = r"the statement before `\gset` returns no columns"
        raise InputError(place, problem, "write a `select`, or add `returning …`")
    return [_name(column, place) for column in columns]


def _name(column: object, place: str) -> str:
    from sqlglot import exp

    identifier = None
    if isinstance(column, exp.Alias):
        identifier = column.args.get("alias")
    elif isinstance(column, exp.Column) and not isinstance(column.this, exp.Star):
        identifier = column.this
    if not isinstance(identifier, exp.Identifier):
        raise InputError(place, r"a column of the statement before `\gset` has no name", _REMEDY)
    return identifier.name if identifier.quoted else identifier.name.lower()
