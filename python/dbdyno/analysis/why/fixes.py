"""The fixes that no engine owns: what clients keep, how work is put into transactions, and indexes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.why.indexes import covering_fixes, index_fixes
from dbdyno.analysis.why.rewrite import can_batch, can_insert_rows, can_join_reads
from dbdyno.engines import engine_of
from dbdyno.engines.entries import Entry
from dbdyno.engines.fixes import PLACEHOLDER_SOURCE, Situation
from dbdyno.model.plan.change import Resource
from dbdyno.model.plan.fix import Fix, Price, Source

# Transactions in one, and rows in one insert.
_BATCH = 10

# Clients for each processor from which a pool may be of use.
_CROWD = 2

# So many fixes are measured at most.
MOST = 10

_OWN = "docs/how-to/fixes.md"


def _own(section: str) -> Source:
    return Source("dbdyno documentation, Fixes", section, _OWN)


def _prepared(of: Situation) -> Iterator[Fix]:
    if of.load.prepare != "once":
        kept = {"prepare": "once", "connect": "once"}
        load = kept if of.load.connect != "once" else {"prepare": "once"}
        use = Price("use", "a plan and some kilobytes kept in each connection; a pooler must hold sessions for them")
        snippet = ("prepare each statement once in a connection, keep it, and bind values to it",)
        yield Fix(
            "prepared once", "statements are parsed and planned once", (use,), PLACEHOLDER_SOURCE, snippet, load=load
        )


def _kept(of: Situation) -> Iterator[Fix]:
    if of.load.connect != "once":
        use = Price("memory", f"{of.clients} connections stay open")
        snippet = ("keep connections in a pool, and take one for each transaction",)
        does = "connections are opened once, and kept"
        yield Fix("connections kept", does, (use,), PLACEHOLDER_SOURCE, snippet, load={"connect": "once"})


def _pool(of: Situation) -> Iterator[Fix]:
    count = of.processors
    if of.clients > _CROWD * count and of.load.arrival is None:
        does = f"{of.clients} clients share {count} connections, one for each processor"
        longer = Price("latency", "a client may wait until a connection is free")
        snippet = (f"a pool of {count} connections",)
        yield Fix(f"pool of {count}", does, (longer,), PLACEHOLDER_SOURCE, snippet, load={"clients": count})


def _batched(of: Situation) -> Iterator[Fix]:
    if can_batch(of.transactions, _texts(of)) and of.writes:
        does = f"{_BATCH} transactions are done in one"
        prices = (
            Price("latency", f"nothing of the {_BATCH} is durable before the last one"),
            Price("use", f"what fails takes all {_BATCH} back"),
        )
        snippet = (f"BEGIN; … {_BATCH} times what one transaction does now …; COMMIT;",)
        yield Fix(f"{_BATCH} in a transaction", does, prices, PLACEHOLDER_SOURCE, snippet, batch=_BATCH)


def _rows(of: Situation) -> Iterator[Fix]:
    if can_insert_rows(of.transactions, _texts(of)):
        does = f"one statement inserts {_BATCH} rows"
        prices = (
            Price("latency", f"no row is there before all {_BATCH} are"),
            Price("use", f"what fails takes all {_BATCH} back"),
        )
        snippet = (f"{_BATCH} rows in a statement: values (…), (…), …",)
        yield Fix(f"{_BATCH} rows in an insert", does, prices, PLACEHOLDER_SOURCE, snippet, rows=_BATCH)


def _one_read(of: Situation) -> Iterator[Fix]:
    writes = [each.writes for each in of.statements]
    # On a server each statement has a message of its own, and beginning and committing are two more.
    if engine_of(of.engine).is_server:
        return
    if can_join_reads(of.transactions, _texts(of), writes):
        old = Price("staleness", "all of its reads see the data as of its first one")
        snippet = ("BEGIN; … the reads …; COMMIT;",)
        does = "the reads of a transaction are done in one"
        yield Fix("one read transaction", does, (old,), PLACEHOLDER_SOURCE, snippet, reads=True)
    elif not of.writes and can_batch(of.transactions, _texts(of)):
        old = Price("staleness", f"{_BATCH} of them see the data as of the first one")
        does = f"{_BATCH} reads are done in one transaction"
        snippet = (f"BEGIN; … {_BATCH} reads …; COMMIT;",)
        yield Fix(f"{_BATCH} reads in a transaction", does, (old,), PLACEHOLDER_SOURCE, snippet, batch=_BATCH)


def _texts(of: Situation) -> list[str]:
    return [each.sql for each in of.statements]


_BY_READING: tuple[Resource, ...] = ("processors", "read", "cache", "locks")

ENTRIES = (
    Entry("index", _BY_READING, "a plan that reads a table whole, or sorts", _own("Indexes"), index_fixes),
    Entry("covering index", _BY_READING, "a select of few columns of one table", _own("Indexes"), covering_fixes),
    Entry(
        "prepared once",
        ("parsing", "processors", "message", "client"),
        "statements not kept",
        _own("Statements"),
        _prepared,
    ),
    Entry(
        "connections kept",
        ("connect", "processors", "message"),
        "a connection for each transaction",
        _own("Connections"),
        _kept,
    ),
    Entry("pool", ("locks", "processors"), "more than two clients for each processor", _own("Connections"), _pool),
    Entry(
        "batches", ("flush", "write", "locks", "processors"), "transactions that write", _own("Transactions"), _batched
    ),
    Entry(
        "rows in an insert",
        ("flush", "message", "parsing", "processors", "client"),
        "transactions that insert one row",
        _own("Transactions"),
        _rows,
    ),
    Entry(
        "one read transaction",
        ("locks", "processors", "read"),
        "reads of an embedded engine",
        _own("Transactions"),
        _one_read,
    ),
)
"""What can be tried on every engine."""


@dataclass(frozen=True)
class Chosen:
    """The fixes to measure, and what is left out, each a clause with its reason."""

    fixes: Sequence[Fix]
    left_out: Sequence[str]


def choose(of: Situation, most: int = MOST) -> Chosen:
    """Give the fixes that apply to a cell: those against what limits it most first.

    On a server that runs already nothing is set: what is in force there is its owner's.
    """
    own = [fix for entry in engine_of(of.engine).fixes() for fix in entry.fixes(of)]
    left_out = [f"{fix.name} (a setting of a server that is not dbdyno's)" for fix in own if of.named and fix.settings]
    found = [fix for entry in ENTRIES for fix in entry.fixes(of)]
    found += [fix for fix in own if not (of.named and (fix.settings or fix.statements))]
    if of.load.arrival is not None:
        # With several in one, the same arrivals would bring more work, and each would have to wait for others.
        several = [fix.name for fix in found if fix.work != 1 or fix.rows != 1]
        left_out += [f"{name} (transactions arrive one at a time)" for name in several]
        found = [fix for fix in found if fix.name not in several]
    by_name = {fix.name: fix for fix in found}
    ranked = sorted(by_name.values(), key=lambda fix: min(_rank(each, of) for each in fix.against))
    left_out += [f"{fix.name} (more than {most})" for fix in ranked[most:]]
    return Chosen([_only(fix, of) for fix in ranked[:most]], left_out)


def _rank(resource: str, of: Situation) -> int:
    known: Sequence[str] = of.resources
    return known.index(resource) if resource in known else len(known)


def _only(fix: Fix, of: Situation) -> Fix:
    """Give a fix with those of its resources that limit the cell."""
    return replace(fix, against=tuple(each for each in of.resources if each in fix.against))
