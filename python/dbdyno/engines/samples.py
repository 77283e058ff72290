"""Queries that draw values of a column: what engines' folders make theirs of."""


def json_of(values: str, table: str, column: str, most: int, at_random: str) -> str:
    """Write a query that gives values of a column as one array of JSON, drawn from rows at random.

    ``values``: what makes an array of the column ``v``; ``at_random``: what gives a random number. The names of table
    and column are checked by who asks (:mod:`dbdyno.run.column_samples`).
    """
    drawn = f"select {column} as v from {table} where {column} is not null order by {at_random} limit {most}"  # noqa: S608
    return f"select {values} from ({drawn}) as drawn"  # noqa: S608
