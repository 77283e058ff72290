"""The statements that begin and end transactions, in PostgreSQL's syntax and with SQLite's modes."""

import re

_MODE = (
    "(?:isolation level (?:serializable|repeatable read|read committed|read uncommitted)"
    "|read write|read only|(?:not )?deferrable)"
)
_CHAIN = "(?: and (?P<no>no )?chain)?"

CONTROLS = {
    verb: re.compile(pattern, re.IGNORECASE)
    for verb, pattern in (
        (
            "begin",
            "(?:begin(?: (?P<lock>deferred|immediate|exclusive))?(?: work| transaction)?|start transaction)"
            rf"(?P<further>(?: {_MODE})(?: ?,? ?{_MODE})*)?",
        ),
        ("commit", f"(?:commit|end)(?: work| transaction)?(?P<further>{_CHAIN})"),
        ("rollback", f"(?:rollback|abort)(?: work| transaction)?(?P<further>{_CHAIN})"),
    )
}
"""By the step of an experiment, its statements with single spaces between words; ``further``: modes without a step."""
