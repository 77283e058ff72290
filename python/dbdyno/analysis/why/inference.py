"""What a report infers from where time went, and which resource that is."""

from collections.abc import Mapping

from dbdyno.model.plan.change import Resource

#: By what a bottleneck is called (``embedded``, ``server``, the lists of waits).
_RESOURCES: Mapping[str, Resource] = {
    "device sync": "flush",
    "disk flush": "flush",
    "commit": "flush",
    "mutex": "locks",
    "file lock": "locks",
    "lock": "locks",
    "latch": "locks",
    "buffer pin": "locks",
    "CPU": "processors",
    "server CPU": "processors",
    "device reads": "read",
    "disk read": "read",
    "page cache": "read",
    "offered load": "thinking",
    "device writes": "write",
    "disk write": "write",
    "log write": "write",
    "client": "client",
    "connection set-up": "connect",
    "round trip": "message",
    "round trips": "message",
    "network": "message",
}


def resource_of(inferred: str | None, metric: str = "throughput") -> Resource | None:
    """Give the resource that a bottleneck is; None where changes know no such thing.

    ``metric``: by which changes are judged. That an open loop is offered little is no cause of its response times.
    """
    if inferred is None or (metric == "p99" and inferred == "offered load"):
        return None
    return _RESOURCES.get(inferred)
