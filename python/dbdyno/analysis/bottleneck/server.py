"""The bottleneck of a trial on a server: the resource that stopped it from going faster, the evidence, and what to try.

The evidence is how the clients' time was divided between computing and waiting for answers, the CPU of the client and
of the server's processes, and what the server's sessions were seen waiting for (``waits``). The rules, first
match wins; docs/explanation/bottlenecks.md gives the reasons for the bounds:

1. More than half of the transactions begun failed: the failures.
2. A window of less than 10 ms: nothing can be said.
3. Idle half of the time (open loop, thinking): the load, not the system, is the bottleneck; where arrivals of an open
   loop were skipped all the same, the number of clients.
4. A thread of the clients used 90 % or more of a processor: the client.
5. A tier of a system of several kept 85 % or more of its processors busy: it (``tiers``). The
   clients are one more where they are kept to processors of their own. So did a tier of few threads each of which kept
   85 % or more of a processor busy, and did nearly all that the tier did.
6. A CPU quota stopped clients or server for a quarter of the time or more, and longer than any wait: the quota.
7. Of systems of one tier: connecting took a third of the clients' time or more: connection set-up. Or a quarter or
   more of all clients' time, by the lower end of its interval, went into waits of one kind, more than into any other
   and into working: it. Of fewer than ten looks, or ten sightings, nothing is said. What other programs used is said
   beside either.
8. Other programs kept the processors busy, or clients and server were ready without a CPU for a quarter of the time:
   the machine was disturbed.
9. All processors of the machine were busy, and the system has several tiers: the one that used the most; of fewer
   clients than processors, the one that computed half of the time.
10. Connecting took a third of the clients' time or more: the same. What follows is of systems of one tier.
11. Client and server used 85 % or more of the processors: the CPU, and whose.
12. Fewer clients than processors, one answer after the other: the server's CPU where it computed half of the time; the
   round trip where the sessions were away from the server for more than their clients computed, a quarter or more of
   the time.
13. Anything else is unclear, and says so with the shares.
"""

from collections.abc import Collection, Mapping, Sequence

from dbdyno.analysis.bottleneck.common import (
    CLIENT,
    FULL,
    MORE_ROUNDS,
    WAITING,
    Bottleneck,
    beside,
    bottleneck,
    cheaper,
    cpu_quota,
    disturbed_machine,
    failing,
    offered_load,
    percent,
    shares_of,
    too_short,
    unclear,
)
from dbdyno.analysis.bottleneck.tiers import busiest_tier, full_threads, full_tier, perhaps_one_thread, told_tiers
from dbdyno.analysis.bottleneck.waits import FEWEST, Share, Sightings
from dbdyno.analysis.bottleneck.waits.advice import advice, named, without_flush
from dbdyno.engines import engine_of_product
from dbdyno.engines.server.facts import Server
from dbdyno.model.events.latency import Times
from dbdyno.model.events.trial import TrialResult

_CLIENT = 90.0
_CONNECTING = 1 / 3
_COMPUTING = 0.5

# Of the processors: what the clients must use for a machine of their own to be worth advising.
_CLIENT_TAKES = 0.1

# Freeing a resource of which the clients spend less than this can gain less than a factor of 2, which is worth saying.
_SMALL_GAIN = 0.5

# What is told beside the largest: of the clients' time, or of the sightings.
_BESIDE = 0.1

# Of those who did not wait for a lock: seen in one thing, for it to be said what the lock is held for.
_HOLDERS = 0.5


def diagnose_server(
    result: TrialResult,
    clients: int,
    begins: Collection[str] | None = None,
    statements: Mapping[str, str] | None = None,
    processors: Mapping[str, Sequence[int]] | None = None,
    load: Sequence[int] | None = None,
) -> Bottleneck | None:
    """Name what limits a trial on a server: ``resource``, ``evidence``, ``advice``; ``None`` where nothing was done.

    ``result``: the worker's result event; ``clients``: how many there were; ``begins``: the modes in which their
    transactions begin, none where none does, ``None`` where that is not known; ``statements``: their texts, by name;
    ``processors``: those that the parts of a system of several tiers may use, by name;
    ``load``: those that the clients are kept to, ``None``: they may use all.
    """
    total, elapsed = result.time.client_s, result.elapsed_s
    if total <= 0 or elapsed <= 0:
        return None
    shares = shares_of(result.time.segments, total)
    cpu, cores = result.cpu, result.cpu.cores
    client = cpu.process_percent / 100
    server = None if result.server is None else result.server.cpu.process_percent / 100
    first = failing(result, begins) or too_short(elapsed) or offered_load(shares, result)
    if first is not None:
        return first
    hottest = cpu.hottest_thread_percent
    if hottest >= _CLIENT:
        text = f"a thread of the clients used {hottest:.0f} % of a processor"
        return bottleneck(CLIENT, text, "a machine of its own for the load, or fewer clients")
    if result.tiers:
        full = full_tier(result, processors or {}, load) or full_threads(result, clients, processors or {})
        if full is not None:
            return full
    sightings, facts = (
        Sightings.of(result, clients),
        engine_of_product(result.engine.engine).server(result, clients),
    )
    wait = None if result.tiers else _wait(sightings, facts)
    quota = cpu_quota(result, clients, 0.0 if wait is None else wait[0])
    if quota is not None:
        return quota
    disturbed = None
    if server is not None:
        disturbed = disturbed_machine(cpu, client + server, elapsed, _delayed(result, total), crowded=True)
    connecting = _connecting(result, total)
    if not result.tiers:
        if connecting is not None:
            return beside(connecting, disturbed)
        if wait is not None:
            return beside(wait[1], disturbed)
    if disturbed is not None:
        return disturbed
    if result.tiers:
        tiered = busiest_tier(result, clients, processors or {}) or connecting
        return tiered or unclear(f"CPU: {told_tiers(result, processors or {})}", perhaps_one_thread(result) or _BEHIND)
    return _cpu(client, server, cores, clients, sightings, cheaper(result, statements)) or unclear(
        _shares(client, server, cores, sightings, facts), facts.unread if server is None else MORE_ROUNDS
    )


def _delayed(result: TrialResult, total: float) -> float:
    """Return the share of the clients' time in which they or their server were ready but had no CPU."""
    server = 0.0 if result.server is None else result.server.run_queue_wait_s or 0.0
    return (result.time.segments.run_queue + server) / total


# What the sessions of a database behind a web tier wait for nobody looks at.
_BEHIND = "no tier is full: see whether the database waits for its disk, by measuring it without the web tier before it"


def _connecting(result: TrialResult, total: float) -> Bottleneck | None:
    """Name the set-up of connections if it takes a third of the clients' time or more."""
    latency = result.latency_ms.get("connect")
    share = latency.count * latency.mean / 1000 / total if isinstance(latency, Times) else 0.0
    if share < _CONNECTING:
        return None
    text = f"{percent(share)} of the clients' time went into connecting"
    return bottleneck("connection set-up", text, 'keep connections (connect = "once"), or put a pool before the server')


def _wait(sightings: Sightings | None, server: Server) -> tuple[float, Bottleneck] | None:
    """Name the wait that takes most of the clients' time, with its share, if the samples are enough to say so."""
    if sightings is None or sightings.looks < FEWEST:
        return None
    bottlenecks = _by_bottleneck(sightings, server)
    if not bottlenecks:
        return None
    largest, *others = bottlenecks
    waits = bottlenecks[largest]
    share = sightings.share(waits)
    rivals = [sightings.count(sightings.working()), *(sightings.seen[name] for name in sightings.unknown())]
    if sightings.count(waits) < FEWEST or share.low < WAITING or sightings.count(waits) < max(rivals):
        return None
    meaning = sightings.meanings[max(waits, key=lambda name: sightings.seen[name])]
    text = f"{share.text} of all clients' time went into waiting: {sightings.largest(waits)}"
    text += f" ({meaning.words}; {sightings.looks:,} looks)"
    beside = [(name, sightings.share(bottlenecks[name]).mean) for name in others]
    text += "".join(f"; {name} {percent(mean)}" for name, mean in beside if mean >= _BESIDE)
    if share.mean < _SMALL_GAIN:
        text += f"; without it at most {1 / (1 - share.mean):.2g} times as fast"
    hint = advice(meaning.bottleneck, meaning.about, server)
    if largest == "lock":
        held, more = _held_for(sightings, waits, server)
        text, hint = text + held, "; ".join(each for each in (hint, more) if each)
    return share.mean, bottleneck(largest, text, hint)


def _by_bottleneck(sightings: Sightings, server: Server) -> dict[str, list[str]]:
    """Group the waits by the bottleneck that they and the settings name, the most frequent first."""
    found: dict[str, list[str]] = {}
    for name, waits in sightings.bottlenecks().items():
        found.setdefault(named(name, server), []).extend(waits)
    return dict(sorted(found.items(), key=lambda each: -sightings.count(each[1])))


def _held_for(sightings: Sightings, waits: list[str], server: Server) -> tuple[str, str]:
    """Say what those did who were not waiting for a lock, one of whom holds it; and what would shorten that.

    Sessions outside a transaction hold none, and are not among those seen.
    """
    others = [name for name in sightings.seen if name not in waits]
    total = sightings.count(others)
    if total < FEWEST:
        return "", ""
    shares = {name: sightings.seen[name] / total for name in others}
    told = ", ".join(
        f"{name.partition(':')[2]} {percent(share)}"
        for name, share in sorted(shares.items(), key=lambda each: -each[1])[:3]
        if share >= _BESIDE
    )
    flushing = sum(
        share for name, share in shares.items() if named(sightings.meanings[name].bottleneck, server) == "disk flush"
    )
    saves = without_flush(server) if flushing >= _HOLDERS else ""
    return f"; who did not wait for a lock was seen in: {told}", saves and f"the lock is held during the flush: {saves}"


def _cpu(
    client: float, server: float | None, cores: int, clients: int, sightings: Sightings | None, cheaper_words: str
) -> Bottleneck | None:
    if server is None:
        return None
    used = client + server
    shares = f"server {server * 100:.0f} %, client {client * 100:.0f} % of {cores * 100} %"
    if used >= FULL * cores:
        if server >= client:
            apart = "a machine of its own for the load" if client >= _CLIENT_TAKES * cores else ""
            return bottleneck("server CPU", shares, "; ".join(each for each in (cheaper_words, apart) if each))
        return bottleneck(CLIENT, shares, "a machine of its own for the load")
    if clients < cores or clients == 1:
        share = server / clients
        text = f"{clients} client{'s' if clients > 1 else ''} waited for each answer: the server computed for "
        text += f"{percent(share)} of the time, the client for {percent(client / clients)}"
        if share >= _COMPUTING:
            more = "more clients would use the other processors" if clients < cores else ""
            return bottleneck("server CPU", text, "; ".join(each for each in (cheaper_words, more) if each))
        return _round_trip(text, client / clients, share, sightings)
    return None


def _round_trip(text: str, client: float, server: float, sightings: Sightings | None) -> Bottleneck | None:
    """Say that messages took the rest, where the looks show that no session was at work meanwhile.

    Else the server may have waited for something that nobody looked at.
    """
    if sightings is None or sightings.looks < FEWEST:
        return None
    away, rest = sightings.away(), max(1 - client - server, 0.0)
    # Some of a server's work is done before its session says that it is at work: it is no message.
    messages = Share(*(min(max(each - client, 0.0), rest) for each in (away.mean, away.low, away.high)))
    if messages.low < WAITING or messages.mean < server:
        return None
    text += f"; messages took {percent(messages.mean)}, in which no session was at work ({sightings.looks:,} looks)"
    return bottleneck("round trip", text, "more clients, or more work in each statement")


def _shares(client: float, server: float | None, cores: int, sightings: Sightings | None, facts: Server) -> str:
    parts = [f"client {client * 100:.0f} %"]
    if server is not None:
        parts.insert(0, f"server {server * 100:.0f} %")
    text = f"CPU {', '.join(parts)} of {cores * 100} %"
    if sightings is None:
        return f"{text}; what the sessions waited for is not known"
    text += f"; for {percent(sightings.away().mean)} of all clients' time no session was at work"
    at_work = sightings.at_work()
    if at_work:
        text += f", {sightings.largest(at_work)}"
    bottlenecks = _by_bottleneck(sightings, facts)
    if bottlenecks:
        largest = next(iter(bottlenecks))
        gain = 1 / max(1 - sightings.share(bottlenecks[largest]).mean, 0.01)
        text += f"; at most {gain:.3g} times as fast without {largest}"
    few = ", too few to say more" if sightings.looks < FEWEST else ""
    return f"{text} ({sightings.looks:,} looks{few})"
