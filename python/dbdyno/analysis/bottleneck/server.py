"""The bottleneck of a trial on a server: the limiting resource, the evidence, and a change to try.

The evidence is the clients' time for computing and for waiting, the CPU of the client and of the server's processes,
and the sampled waits of the server's sessions (``waits``). The first rule that matches wins;
docs/explanation/bottlenecks.md explains the bounds:

1. More than half of the started transactions failed: failures.
2. A window of less than 10 ms: unclear.
3. Idle half of the time (open loop, think time): the offered load; if an open loop skipped arrivals nevertheless, the
   number of clients.
4. A thread of the clients used 90 % or more of a CPU: the client.
5. A tier of a multi-tier system kept 85 % or more of its CPUs busy: that tier (``tiers``). Clients that are pinned to
   their own CPUs count as a tier. Also a tier whose few threads each used 85 % or more of a CPU and did nearly all of
   its work.
6. A CPU quota stopped clients or server for a quarter of the time or more, and longer than any wait: the quota.
7. With a single tier: connecting took a third of the clients' time or more: connection set-up. Or waits of one kind
   took a quarter or more of all clients' time (lower end of the interval), and more than any other kind and than
   working: that wait. Needs ten samples, and ten samples in that wait. Mentions the use by other programs.
8. Other programs kept the CPUs busy, or clients and server were ready without a CPU for a quarter of the time: a
   disturbed machine.
9. All CPUs were busy, and the system has several tiers: the tier that used the most; with fewer clients than CPUs, the
   tier that computed half of the time.
10. Connecting took a third of the clients' time or more: connection set-up. The remaining rules are for a single tier.
11. Client and server used 85 % or more of the CPUs: the CPU of the one that used more.
12. Fewer clients than CPUs, so that clients wait for each answer: the server's CPU if it computed half of the time; the
   round trip if no session was at work for a quarter or more of the time beyond the clients' computing.
13. Anything else is unclear; the evidence lists the shares.
"""

from collections.abc import Collection, Mapping, Sequence

from dbdyno.analysis.bottleneck.common import (
    CLIENT,
    FULL,
    MORE_ROUNDS,
    WAITING,
    Bottleneck,
    add_disturbance,
    bottleneck,
    cheaper,
    cpu_quota,
    disturbed_machine,
    failing,
    offered_load,
    shares_of,
    too_short,
    unclear,
)
from dbdyno.analysis.bottleneck.tiers import busiest_tier, full_threads, full_tier, perhaps_one_thread, tier_cpu_words
from dbdyno.analysis.bottleneck.waits import MIN_SAMPLES, Share, WaitSamples
from dbdyno.analysis.bottleneck.waits.advice import advice, named, without_flush
from dbdyno.base.numbers import percent
from dbdyno.engines import engine_of_product
from dbdyno.engines.server.facts import Server
from dbdyno.model.events.latency import Times
from dbdyno.model.events.trial import TrialResult

_CLIENT = 90.0
_CONNECTING = 1 / 3
_COMPUTING = 0.5

# Advise a separate load machine only if the clients use at least this share of the CPUs.
_CLIENT_TAKES = 0.1

# Below this share of the clients' time, removing a wait gains less than a factor of 2: report the maximum gain.
_SMALL_GAIN = 0.5

# Mention other waits from this share of the clients' time, or of the samples.
_BESIDE = 0.1

# Lock holders are flushing if at least this share of the sessions that don't wait for the lock is.
_HOLDERS = 0.5


def diagnose_server(  # noqa: PLR0911 - the first rule that applies
    result: TrialResult,
    clients: int,
    begins: Collection[str] | None = None,
    statements: Mapping[str, str] | None = None,
    *,
    processors: Mapping[str, Sequence[int]] | None = None,
    load: Sequence[int] | None = None,
) -> Bottleneck | None:
    """Return the bottleneck of a trial on a server, or ``None`` if the clients spent no time.

    ``result``: the worker's result event; ``clients``: their number; ``begins``: the BEGIN modes of the transactions,
    ``None`` if unknown; ``statements``: SQL by name; ``processors``: the CPUs that each part of a multi-tier system is
    pinned to, by name; ``load``: the CPUs that the clients are pinned to, ``None`` if they can use all.
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
        text = f"a thread of the clients used {hottest:.0f} % of one CPU"
        return bottleneck(CLIENT, text, "a separate load machine, or fewer clients")
    if result.tiers:
        full = full_tier(result, processors or {}, load) or full_threads(result, clients, processors or {})
        if full is not None:
            return full
    sampled, facts = (
        WaitSamples.of(result, clients),
        engine_of_product(result.engine.engine).server(result, clients),
    )
    wait = None if result.tiers else _wait(sampled, facts)
    quota = cpu_quota(result, clients, 0.0 if wait is None else wait[0])
    if quota is not None:
        return quota
    disturbed = None
    if server is not None:
        disturbed = disturbed_machine(cpu, client + server, elapsed, _delayed(result, total), crowded=True)
    connecting = _connecting(result, total)
    if not result.tiers:
        if connecting is not None:
            return add_disturbance(connecting, disturbed)
        if wait is not None:
            return add_disturbance(wait[1], disturbed)
    if disturbed is not None:
        return disturbed
    if result.tiers:
        tiered = busiest_tier(result, clients, processors or {}) or connecting
        return tiered or unclear(
            f"CPU: {tier_cpu_words(result, processors or {})}", perhaps_one_thread(result) or _BEHIND
        )
    return _cpu(
        client, server, cores=cores, clients=clients, sampled=sampled, cheaper_words=cheaper(result, statements)
    ) or unclear(_shares(client, server, cores, sampled, facts), facts.unread if server is None else MORE_ROUNDS)


def _delayed(result: TrialResult, total: float) -> float:
    """Return the share of the clients' time in which they or their server were ready but had no CPU."""
    server = 0.0 if result.server is None else result.server.run_queue_wait_s or 0.0
    return (result.time.segments.run_queue + server) / total


# dbdyno doesn't sample the waits of a database behind a web tier.
_BEHIND = "no tier is saturated: measure the database without the web tier to see whether it waits for its disk"


def _connecting(result: TrialResult, total: float) -> Bottleneck | None:
    """Name the set-up of connections if it takes a third of the clients' time or more."""
    latency = result.latency_ms.get("connect")
    share = latency.count * latency.mean / 1000 / total if isinstance(latency, Times) else 0.0
    if share < _CONNECTING:
        return None
    text = f"{percent(share)} of the clients' time went into connecting"
    return bottleneck("connection set-up", text, 'keep connections (connect = "once"), or use a connection pool')


def _wait(sampled: WaitSamples | None, server: Server) -> tuple[float, Bottleneck] | None:
    """Return the largest wait of the clients with its share of their time, if there are enough samples."""
    if sampled is None or sampled.samples < MIN_SAMPLES:
        return None
    bottlenecks = _by_bottleneck(sampled, server)
    if not bottlenecks:
        return None
    largest, *others = bottlenecks
    waits = bottlenecks[largest]
    share = sampled.share(waits)
    rivals = [sampled.count(sampled.working()), *(sampled.seen[name] for name in sampled.unknown())]
    if sampled.count(waits) < MIN_SAMPLES or share.low < WAITING or sampled.count(waits) < max(rivals):
        return None
    meaning = sampled.meanings[max(waits, key=lambda name: sampled.seen[name])]
    text = f"{share.text} of all clients' time went into waiting: {sampled.largest(waits)}"
    text += f" ({meaning.words}; {sampled.samples:,} samples)"
    other_waits = [(name, sampled.share(bottlenecks[name]).mean) for name in others]
    text += "".join(f"; {name} {percent(mean)}" for name, mean in other_waits if mean >= _BESIDE)
    if share.mean < _SMALL_GAIN:
        text += f"; without it at most {1 / (1 - share.mean):.2g} times as fast"
    hint = advice(meaning.bottleneck, meaning.about, server)
    if largest == "lock":
        held, more = _held_for(sampled, waits, server)
        text, hint = text + held, "; ".join(each for each in (hint, more) if each)
    return share.mean, bottleneck(largest, text, hint)


def _by_bottleneck(sampled: WaitSamples, server: Server) -> dict[str, list[str]]:
    """Group the waits by their bottleneck, given the settings; most frequent first."""
    found: dict[str, list[str]] = {}
    for name, waits in sampled.bottlenecks().items():
        found.setdefault(named(name, server), []).extend(waits)
    return dict(sorted(found.items(), key=lambda pair: -sampled.count(pair[1])))


def _held_for(sampled: WaitSamples, waits: list[str], server: Server) -> tuple[str, str]:
    """Return a clause about the sessions that didn't wait for a lock, one of which holds it, and advice about that.

    The samples don't include sessions outside a transaction, which hold no locks.
    """
    others = [name for name in sampled.seen if name not in waits]
    total = sampled.count(others)
    if total < MIN_SAMPLES:
        return "", ""
    shares = {name: sampled.seen[name] / total for name in others}
    sessions = ", ".join(
        f"{name.partition(':')[2]} {percent(share)}"
        for name, share in sorted(shares.items(), key=lambda pair: -pair[1])[:3]
        if share >= _BESIDE
    )
    flushing = sum(
        share for name, share in shares.items() if named(sampled.meanings[name].bottleneck, server) == "disk flush"
    )
    saves = without_flush(server) if flushing >= _HOLDERS else ""
    return (
        f"; sessions that did not wait for a lock: {sessions}",
        saves and f"the lock is held during the flush: {saves}",
    )


def _cpu(
    client: float, server: float | None, *, cores: int, clients: int, sampled: WaitSamples | None, cheaper_words: str
) -> Bottleneck | None:
    if server is None:
        return None
    used = client + server
    shares = f"server {server * 100:.0f} %, client {client * 100:.0f} % of {cores * 100} %"
    if used >= FULL * cores:
        if server >= client:
            apart = "a separate load machine" if client >= _CLIENT_TAKES * cores else ""
            return bottleneck("server CPU", shares, "; ".join(each for each in (cheaper_words, apart) if each))
        return bottleneck(CLIENT, shares, "a separate load machine")
    if clients < cores or clients == 1:
        share = server / clients
        text = f"{clients} client{'s' if clients > 1 else ''} waited for each answer: the server computed for "
        text += f"{percent(share)} of the time, the client for {percent(client / clients)}"
        if share >= _COMPUTING:
            more = "more clients can use the remaining CPUs" if clients < cores else ""
            return bottleneck("server CPU", text, "; ".join(each for each in (cheaper_words, more) if each))
        return _round_trip(text, client / clients, share, sampled)
    return None


def _round_trip(text: str, client: float, server: float, sampled: WaitSamples | None) -> Bottleneck | None:
    """Name the round trip if the samples show that no session was at work for the remaining time.

    Otherwise the server may have waited for a resource that dbdyno doesn't sample.
    """
    if sampled is None or sampled.samples < MIN_SAMPLES:
        return None
    away, rest = sampled.away(), max(1 - client - server, 0.0)
    # A server does some work before its session reports it: that time is not spent on messages.
    messages = Share(*(min(max(each - client, 0.0), rest) for each in (away.mean, away.low, away.high)))
    if messages.low < WAITING or messages.mean < server:
        return None
    text += f"; messages took {percent(messages.mean)}, in which no session was at work ({sampled.samples:,} samples)"
    return bottleneck("round trip", text, "more clients, or more work in each statement")


def _shares(client: float, server: float | None, cores: int, sampled: WaitSamples | None, facts: Server) -> str:
    parts = [f"client {client * 100:.0f} %"]
    if server is not None:
        parts.insert(0, f"server {server * 100:.0f} %")
    text = f"CPU {', '.join(parts)} of {cores * 100} %"
    if sampled is None:
        return f"{text}; the waits of the sessions are unknown"
    text += f"; for {percent(sampled.away().mean)} of all clients' time no session was at work"
    at_work = sampled.at_work()
    if at_work:
        text += f", {sampled.largest(at_work)}"
    bottlenecks = _by_bottleneck(sampled, facts)
    if bottlenecks:
        largest = next(iter(bottlenecks))
        gain = 1 / max(1 - sampled.share(bottlenecks[largest]).mean, 0.01)
        text += f"; at most {gain:.3g} times as fast without {largest}"
    few = ", too few for a conclusion" if sampled.samples < MIN_SAMPLES else ""
    return f"{text} ({sampled.samples:,} samples{few})"
