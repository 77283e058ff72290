"""The resources that correspond to the bottlenecks inferred by a report."""

from collections.abc import Mapping

from dbdyno.model.plan.change import Resource

#: Resources by the name of the inferred bottleneck (modules ``embedded`` and ``server``, and the lists of waits).
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
    """Return the resource of an inferred bottleneck; None if no change tests it.

    ``metric``: the metric that decides. A low offered load is not a cause of long response times.
    """
    if inferred is None or (metric == "p99" and inferred == "offered load"):
        return None
    return _RESOURCES.get(inferred)
