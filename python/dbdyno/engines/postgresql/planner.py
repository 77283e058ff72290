"""Settings that let PostgreSQL's planner choose other plans."""

# https://www.postgresql.org/docs/current/runtime-config-query.html
_METHODS = (
    *("bitmapscan", "gathermerge", "hashagg", "hashjoin", "incremental_sort", "indexonlyscan", "indexscan"),
    *("material", "memoize", "mergejoin", "nestloop", "parallel_append", "parallel_hash"),
    *("presorted_aggregate", "seqscan", "sort"),
)

SWITCHES: tuple[tuple[str, str], ...] = (
    ("jit", "off"),
    ("random_page_cost", "1.1"),
    ("plan_cache_mode", "force_custom_plan"),
    ("plan_cache_mode", "force_generic_plan"),
    ("max_parallel_workers_per_gather", "0"),
    *((f"enable_{each}", "off") for each in _METHODS),
)
"""Names and values, the ones that help most often first."""
