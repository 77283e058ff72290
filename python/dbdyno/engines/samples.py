"""Queries that sample values of a column; engines build theirs with this."""


def sample_query(values: str, table: str, column: str, most: int, at_random: str) -> str:
    """Return a query for the column's values in at most ``most`` randomly chosen rows, as one JSON array.

    ``values``: SQL that aggregates the column ``v`` into an array; ``at_random``: SQL for a random number. The caller
    checks the names of table and column (:mod:`dbdyno.run.column_samples`).
    """
    drawn = f"select {column} as v from {table} where {column} is not null order by {at_random} limit {most}"  # noqa: S608
    return f"select {values} from ({drawn}) as drawn"  # noqa: S608
