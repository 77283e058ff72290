"""The limit of a trial on a server: the resource that stopped it from going faster, the evidence, and what to try.

The evidence is how the clients' time was divided between computing and waiting for answers, the CPU of the client and
of the server's processes, and what the server's sessions were seen waiting for. The rules, first match wins;
docs/architecture.md gives the reasons for the bounds:

1. More than half of the transactions begun failed: the failures.
2. A window of less than 10 ms: nothing can be said.
3. Idle half of the time (open loop, thinking): the load, not the system, is the limit; where arrivals of an open loop
   were never begun all the same, the number of clients.
4. A thread of the clients used 90 % or more of a processor: the client.
5. Other programs kept the processors busy: the machine was disturbed.
6. Connecting took a third of the clients' time or more: connection set-up.
7. A quarter or more of the sessions at work were seen in waits of one kind, more than in any other: it.
8. Client and server used 85 % or more of the processors: the CPU, and whose.
9. Fewer clients than processors, one answer after the other: the server's CPU where it computed half of the time, else
   the round trip.
10. Anything else is unclear, and says so with the shares.
"""

from collections.abc import Collection

from dbdyno.limit import (
    FULL,
    WAITING,
    Json,
    Limit,
    disturbed_machine,
    failing,
    limit,
    offered_load,
    percent,
    shares_of,
    too_short,
    unclear,
)

_CLIENT = 90.0
_CONNECTING = 1 / 3
_COMPUTING = 0.5

_FLUSH = "more work in a transaction, or more clients, whose commits share a flush"
_SAME_PAGES = "fewer clients at a time (a pool of connections), or work that meets on other pages"

# What saves flushes where the last commits may be lost in a crash, by the server's name for itself.
_WITHOUT_FLUSH = {
    "PostgreSQL": "synchronous_commit=off",
    "MariaDB": "innodb_flush_log_at_trx_commit=2",
    "MySQL": "innodb_flush_log_at_trx_commit=2",
}

# The kinds of waits, by the class and the event a server names, the first that fits: kind, and what would help.
_KINDS: tuple[tuple[str, str, str], ...] = (
    ("IO:WAL", "disk flush", _FLUSH),
    ("LWLock:WAL", "disk flush", _FLUSH),
    ("Commit:", "disk flush", _FLUSH),
    ("IO:DataFileRead", "disk read", "a larger shared_buffers, more memory, or a faster device"),
    ("IO:", "disk", "a faster device, or more memory"),
    ("Lock:Waiting for table", "lock", "a storage engine that locks rows (engine=innodb), or fewer writers at a time"),
    ("Lock:", "lock", "shorter transactions, or work that meets less often on the same rows"),
    ("LWLock:", "latch", _SAME_PAGES),
    ("BufferPin:", "latch", _SAME_PAGES),
    ("IPC:", "waiting for other server processes", "fewer parallel workers"),
)


def diagnose_server(result: Json, clients: int, begins: Collection[str] | None = None) -> Limit | None:
    """Name the limit of a trial on a server: ``resource``, ``evidence``, ``advice``; ``None`` where nothing was done.

    ``result``: the worker's result event; ``clients``: how many there were; ``begins``: the modes in which their
    transactions begin, none where none does, ``None`` where that is not known.
    """
    time = result.get("time") or {}
    total = float(time.get("client_s") or 0)
    elapsed = float(result.get("elapsed_s") or 0)
    if total <= 0 or elapsed <= 0:
        return None
    shares = shares_of(time.get("segments"), total)
    cpu = result.get("cpu") or {}
    cores = int(cpu.get("cores") or 1)
    client = float(cpu.get("process_percent") or 0) / 100
    known = ((result.get("server") or {}).get("cpu") or {}).get("process_percent")
    server = None if known is None else float(known) / 100
    first = failing(result, begins) or too_short(elapsed) or offered_load(shares, result)
    if first is not None:
        return first
    hottest = float(cpu.get("hottest_thread_percent") or 0)
    if hottest >= _CLIENT:
        text = f"a thread of the clients used {hottest:.0f} % of a processor"
        return limit("client", text, "a machine of its own for the load, or fewer clients")
    if server is not None:
        disturbed = disturbed_machine(cpu, client + server, elapsed)
        if disturbed is not None:
            return disturbed
    connecting = _connecting(result, total)
    if connecting >= _CONNECTING:
        text = f"{percent(connecting)} of the clients' time went into connecting"
        return limit("connection set-up", text, 'keep connections (connect = "once"), or put a pool before the server')
    return _wait(result) or _cpu(client, server, cores, clients) or unclear(_shares(client, server, cores, result))


def _connecting(result: Json, total: float) -> float:
    latency = (result.get("latency_ms") or {}).get("connect") or {}
    return float(latency.get("count") or 0) * float(latency.get("mean") or 0) / 1000 / total


def at_work(result: Json) -> dict[str, int]:
    """Give what the server's sessions were seen doing when they were not waiting for their client, by wait."""
    seen = (result.get("waits") or {}).get("seen") or {}
    return {name: int(count) for name, count in seen.items() if not name.startswith(("Client:", "Activity:"))}


def _wait(result: Json) -> Limit | None:
    seen = at_work(result)
    total = sum(seen.values())
    kinds: dict[str, int] = {}
    advice: dict[str, str] = {}
    events: dict[str, dict[str, int]] = {}
    for name, count in seen.items():
        kind, remedy = next(((kind, remedy) for begin, kind, remedy in _KINDS if name.startswith(begin)), ("", ""))
        kinds[kind] = kinds.get(kind, 0) + count
        advice.setdefault(kind, remedy)
        events.setdefault(kind, {})[name] = count
    largest = max(kinds, key=lambda kind: kinds[kind], default="")
    if not largest or kinds[largest] < WAITING * total:
        return None
    most = sorted(events[largest].items(), key=lambda item: -item[1])[:3]
    # Some events of different classes have one name, as IO:WALWrite and LWLock:WALWrite.
    shown = [name.partition(":")[2] for name, _ in most]
    parts = ", ".join(
        f"{name if shown.count(event) > 1 else event} {percent(count / total)}"
        for event, (name, count) in zip(shown, most, strict=True)
    )
    samples = int((result.get("waits") or {}).get("samples") or 0)
    text = f"{percent(kinds[largest] / total)} of the sessions at work were seen waiting: {parts} ({samples:,} looks)"
    product = str((result.get("engine") or {}).get("engine"))
    remedy = advice[largest]
    if remedy == _FLUSH and product in _WITHOUT_FLUSH:
        remedy += f"; {_WITHOUT_FLUSH[product]} saves it, and loses the last commits in a crash"
    return limit(largest, text, remedy)


def _cpu(client: float, server: float | None, cores: int, clients: int) -> Limit | None:
    if server is None:
        return None
    used = client + server
    shares = f"server {server * 100:.0f} %, client {client * 100:.0f} % of {cores * 100} %"
    if used >= FULL * cores:
        if server >= client:
            return limit("server CPU", shares, "cheaper statements or an index; a machine of its own for the load")
        return limit("client", shares, "a machine of its own for the load")
    if clients < cores or clients == 1:
        share = server / clients
        text = f"{clients} client{'s' if clients > 1 else ''} waited for each answer: the server computed for "
        text += f"{percent(share)} of the time, the client for {percent(client / clients)}"
        if share >= _COMPUTING:
            return limit("server CPU", text, "cheaper statements; more clients would use the other processors")
        rest = max(1 - share - client / clients, 0.0)
        text += f", and messages took {percent(rest)}"
        return limit("round trip", text, "more clients, or more work in each statement")
    return None


def _shares(client: float, server: float | None, cores: int, result: Json) -> str:
    parts = [f"client {client * 100:.0f} %"]
    if server is not None:
        parts.insert(0, f"server {server * 100:.0f} %")
    text = f"CPU {', '.join(parts)} of {cores * 100} %"
    seen = at_work(result)
    if seen:
        total = sum(seen.values())
        largest = sorted(seen.items(), key=lambda item: -item[1])[:3]
        text += "; sessions at work: " + ", ".join(f"{name} {percent(count / total)}" for name, count in largest)
    return text
