"""Fixes for all engines: kept connections and statements, larger transactions, and indexes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from dbdyno.analysis.why.indexes import covering_fixes, index_fixes
from dbdyno.analysis.why.rewrite import can_batch, can_insert_rows, can_join_reads
from dbdyno.engines import engine_of
from dbdyno.engines.fix_entries import Entry
from dbdyno.engines.fixes import PLACEHOLDER_SOURCE, Situation
from dbdyno.model.plan.change import Resource
from dbdyno.model.plan.fix import Fix, Price, Source

# Number of transactions merged into one, and of rows per insert.
_BATCH = 10

# Above this number of clients per processor, a pool may help.
_CROWD = 2

# Maximum number of fixes that a run measures.
MAX_FIXES = 10

_OWN = "docs/how-to/find-the-bottleneck.md"


def _docs(section: str) -> Source:
    return Source("dbdyno documentation, Fixes", section, _OWN)


def _prepared_once(situation: Situation) -> Iterator[Fix]:
    if situation.load.prepare != "once":
        kept = {"prepare": "once", "connect": "once"}
        load = kept if situation.load.connect != "once" else {"prepare": "once"}
        use = Price("use", "each connection keeps a plan and some kilobytes; a pooler must keep sessions")
        snippet = ("prepare each statement once per connection, keep it, and bind values to it",)
        yield Fix(
            "prepared once", "statements are parsed and planned once", (use,), PLACEHOLDER_SOURCE, snippet, load=load
        )


def _kept_connections(situation: Situation) -> Iterator[Fix]:
    if situation.load.connect != "once":
        use = Price("memory", f"{situation.clients} connections stay open")
        snippet = ("keep connections in a pool, and use one for each transaction",)
        does = "connections are opened once and kept"
        yield Fix("connections kept", does, (use,), PLACEHOLDER_SOURCE, snippet, load={"connect": "once"})


def _pool(situation: Situation) -> Iterator[Fix]:
    count = situation.processors
    if situation.clients > _CROWD * count and situation.load.arrival is None:
        does = f"{situation.clients} clients share {count} connections, one for each processor"
        longer = Price("latency", "a client may wait until a connection is free")
        snippet = (f"a pool of {count} connections",)
        yield Fix(f"pool of {count}", does, (longer,), PLACEHOLDER_SOURCE, snippet, load={"clients": count})


def _merged(situation: Situation) -> Iterator[Fix]:
    if can_batch(situation.transactions, _texts(situation)) and situation.writes:
        does = f"{_BATCH} transactions are merged into one"
        prices = (
            Price("latency", f"all {_BATCH} become durable together, after the last one"),
            Price("use", f"a failure rolls back all {_BATCH}"),
        )
        snippet = (f"BEGIN; … {_BATCH} times what one transaction does now …; COMMIT;",)
        yield Fix(f"{_BATCH} in a transaction", does, prices, PLACEHOLDER_SOURCE, snippet, batch=_BATCH)


def _rows_per_insert(situation: Situation) -> Iterator[Fix]:
    if can_insert_rows(situation.transactions, _texts(situation)):
        does = f"one statement inserts {_BATCH} rows"
        prices = (
            Price("latency", f"the {_BATCH} rows become visible together"),
            Price("use", f"a failure rolls back all {_BATCH}"),
        )
        snippet = (f"{_BATCH} rows in a statement: values (…), (…), …",)
        yield Fix(f"{_BATCH} rows in an insert", does, prices, PLACEHOLDER_SOURCE, snippet, rows=_BATCH)


def _joined_reads(situation: Situation) -> Iterator[Fix]:
    writes = [statement.writes for statement in situation.statements]
    # On a server, BEGIN and COMMIT would be two more messages.
    if engine_of(situation.engine).is_server:
        return
    if can_join_reads(situation.transactions, _texts(situation), writes):
        old = Price("staleness", "all reads see the data as of the first read")
        snippet = ("BEGIN; … the reads …; COMMIT;",)
        does = "the reads of a transaction share one read transaction"
        yield Fix("one read transaction", does, (old,), PLACEHOLDER_SOURCE, snippet, reads=True)
    elif not situation.writes and can_batch(situation.transactions, _texts(situation)):
        old = Price("staleness", f"all {_BATCH} reads see the data as of the first read")
        does = f"{_BATCH} reads are done in one transaction"
        snippet = (f"BEGIN; … {_BATCH} reads …; COMMIT;",)
        yield Fix(f"{_BATCH} reads in a transaction", does, (old,), PLACEHOLDER_SOURCE, snippet, batch=_BATCH)


def _texts(situation: Situation) -> list[str]:
    return [statement.sql for statement in situation.statements]


_BY_READING: tuple[Resource, ...] = ("processors", "read", "cache", "locks")

ENTRIES = (
    Entry("index", _BY_READING, "a plan that reads a table whole, or sorts", _docs("Indexes"), index_fixes),
    Entry("covering index", _BY_READING, "a SELECT of few columns of one table", _docs("Indexes"), covering_fixes),
    Entry(
        "prepared once",
        ("parsing", "processors", "message", "client"),
        "statements not kept",
        _docs("Statements"),
        _prepared_once,
    ),
    Entry(
        "connections kept",
        ("connect", "processors", "message"),
        "a connection for each transaction",
        _docs("Connections"),
        _kept_connections,
    ),
    Entry(
        "pool",
        ("locks", "processors"),
        "more than two clients for each processor",
        _docs("Connections"),
        _pool,
    ),
    Entry(
        "batches",
        ("flush", "write", "locks", "processors"),
        "transactions that write",
        _docs("Transactions"),
        _merged,
    ),
    Entry(
        "rows in an insert",
        ("flush", "message", "parsing", "processors", "client"),
        "transactions that insert one row",
        _docs("Transactions"),
        _rows_per_insert,
    ),
    Entry(
        "one read transaction",
        ("locks", "processors", "read"),
        "reads of an embedded engine",
        _docs("Transactions"),
        _joined_reads,
    ),
)
"""The fixes to try on every engine."""


@dataclass(frozen=True)
class Chosen:
    """The fixes to measure. ``left_out``: the other fixes, each as a clause with the reason."""

    fixes: Sequence[Fix]
    left_out: Sequence[str]


def choose(situation: Situation, most: int = MAX_FIXES) -> Chosen:
    """Return the fixes that apply to a cell, ordered by the rank of the resource that they relieve.

    For one resource, fixes that mainly relieve it come first. Fixes that may prevent the cell's failed transactions
    precede all these. At most half of the fixes are indexes, unless too few other fixes apply.

    Fixes don't change the settings of a server that dbdyno didn't start.
    """
    own = _in_turns(engine_of(situation.engine).fixes(), situation)
    left_out = [
        f"{fix.name} (a setting of a server that dbdyno didn't start)"
        for fix in own
        if situation.named and fix.settings
    ]
    fixes = _in_turns(ENTRIES, situation)
    if not situation.may_index:
        tables = "a table of a server that dbdyno didn't start; `dbdyno queries` measures it on a copy"
        left_out += [f"{fix.name} ({tables})" for fix in fixes if fix.statements]
        fixes = [fix for fix in fixes if not fix.statements]
    fixes += [fix for fix in own if not (situation.named and (fix.settings or fix.statements))]
    if situation.load.arrival is not None:
        # Merged transactions would do more work per arrival, and an arrival would have to wait for others.
        several = [fix.name for fix in fixes if fix.work != 1 or fix.rows != 1]
        left_out += [f"{name} (transactions arrive one at a time)" for name in several]
        fixes = [fix for fix in fixes if fix.name not in several]
    by_name = {fix.name: fix for fix in fixes}
    ranked = sorted(
        by_name.values(),
        key=lambda fix: (
            not _may_cure(fix, situation),
            min((_rank(each, situation), place) for place, each in enumerate(fix.against)),
        ),
    )
    indexes = [fix for fix in ranked if fix.is_index]
    surplus = indexes[max(most // 2, most - (len(ranked) - len(indexes))) :]
    ranked = [*(fix for fix in ranked if fix not in surplus), *surplus]
    left_out += [f"{fix.name} (more than {most})" for fix in ranked[most:]]
    return Chosen([_only_limiting(fix, situation) for fix in ranked[:most]], left_out)


def _in_turns(entries: Sequence[Entry], situation: Situation) -> list[Fix]:
    """Return the first fix of each entry, then the second of each, and so on."""
    turns = zip_longest(*(entry.fixes(situation) for entry in entries))
    return [fix for turn in turns for fix in turn if fix is not None]


def _may_cure(fix: Fix, situation: Situation) -> bool:
    """Whether a fix may prevent failures on locks that occurred."""
    return "locked" in situation.failed and bool(fix.begins or "busy_timeout" in fix.settings)


def _rank(resource: str, situation: Situation) -> int:
    known: Sequence[str] = situation.resources
    return known.index(resource) if resource in known else len(known)


def _only_limiting(fix: Fix, situation: Situation) -> Fix:
    """Return a fix that lists only the resources that limit the cell."""
    return replace(fix, against=tuple(resource for resource in situation.resources if resource in fix.against))
