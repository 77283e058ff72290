"""The results of several worker processes as one: of processes that carried out parts of one trial side by side."""

from collections.abc import Sequence
from typing import Any

from dbdyno.results.histograms import Histogram, merge

Json = dict[str, Any]

# What counts things, or time of clients: the sum is that of the trial.
_SUMMED = (
    "accounting",
    "completed",
    "cycles",
    "transactions",
    "statements",
    "work",
    "scheduling",
    "process_io",
    "time",
    "io",
    "memory",
)

# What ended a window, as the worker orders it: of several, the last of these that occurs.
_ENDINGS = ("transactions", "statements", "seconds", "interrupted")


def merge_results(results: Sequence[Json]) -> Json:
    """Return the result of a trial from those of its processes, whose windows began at the same moment.

    Counts, seconds and histograms are added. What each process saw of the same machine, server and engine is taken
    from the one whose window was longest. CPU in percent is that of all processes, over the longest window. What the
    server's sessions waited for was looked at by one of them; what the server counted rose by the most that one saw.
    Raises HistogramError and ValueError (without results).
    """
    witness = max(results, key=lambda result: float(result["elapsed_s"]))
    merged = dict(witness)
    for name in _SUMMED:
        merged[name] = _sum([result[name] for result in results])
    merged["rate"] = _rate(results, witness)
    merged["failures"] = {kind: message for each in reversed(results) for kind, message in each["failures"].items()}
    merged["ended_by"] = max((result["ended_by"] for result in results), key=_ENDINGS.index)
    merged["warmup"] = {"seconds": max(float(result["warmup"]["seconds"]) for result in results)}
    merged["histograms"], merged["latency_ms"] = {}, {}
    at_least = _merged(results, "at_least")
    answers = "response" if any("response" in result["histograms"] for result in results) else "service"
    for name in sorted({name for result in results for name in result["histograms"]}):
        total = _merged(results, name)
        if total is not None:
            merged["histograms"][name] = total.encode()
            merged["latency_ms"][name] = total.latency_ms(at_least if name == answers else None)
    merged["cpu"] = _cpu(results, witness)
    merged["observed"] = _observed([each for result in results if (each := result.get("observed"))])
    merged["waits"] = next((result["waits"] for result in results if result.get("waits") is not None), None)
    return merged


def _merged(results: Sequence[Json], name: str) -> Histogram | None:
    return merge(result["histograms"][name] for result in results if name in result["histograms"])


def _rate(results: Sequence[Json], witness: Json) -> Json:
    """Add the parts of the rate. Processes that ended by number waited for those that did not, or did so later."""
    rates = [result["rate"] for result in results]
    rate: Json = _sum(rates)
    if len({result["ended_by"] in ("transactions", "statements") for result in results}) > 1:
        ok = sum(result["accounting"]["ok"] for result in results)
        none = {"clients": 0, "completed": 0, "seconds": 0.0, "within": 0.0, "window_s": 0.0}
        whole = {"completed": ok, "seconds": witness["elapsed_s"]}
        return rate | {"many_per_s": 0.0, "few": none, "whole": whole}
    longest = max(each["whole"]["seconds"] for each in rates)
    return rate | {"whole": rate["whole"] | {"seconds": longest}}


def merge_intervals(intervals: Sequence[Json]) -> Json:
    """Return one interval of a trial's timeline from that of each of its processes.

    Percentiles of latencies cannot be put together: ``service_ms`` is then not known.
    """
    first = intervals[0]
    return first | {
        "start_s": min(each["start_s"] for each in intervals),
        "end_s": max(each["end_s"] for each in intervals),
        **{name: sum(each[name] for each in intervals) for name in ("ok", "failed", "statements", "rows")},
        "service_ms": first["service_ms"] if len(intervals) == 1 else None,
        "cpu_percent": sum(each["cpu_percent"] for each in intervals),
        "hottest_thread_percent": max(each["hottest_thread_percent"] for each in intervals),
    }


def _observed(seen: Sequence[Json]) -> Json | None:
    """Take the greatest of each figure: all looked at one server, the one that was there longest saw all of it."""
    if not seen:
        return None
    merged: Json = {"acknowledged": sum(each["acknowledged"] for each in seen)}
    for kind in ("counters", "backlog", "backlog_before"):
        names = sorted({name for each in seen for name in each.get(kind, {})})
        merged[kind] = {name: max(each[kind][name] for each in seen if name in each.get(kind, {})) for name in names}
    errors = [each["error"] for each in seen if each.get("error")]
    return merged | ({"error": errors[0]} if errors else {})


def _cpu(results: Sequence[Json], witness: Json) -> Json:
    longest = float(witness["elapsed_s"])
    # A process that was done sooner used nothing in the rest of the longest window.
    share = {id(each): float(each["elapsed_s"]) / longest if longest > 0 else 1.0 for each in results}
    summed = ("process_percent", "user_percent", "system_percent")
    cpu: Json = witness["cpu"]
    return cpu | {
        **{name: sum(each["cpu"][name] * share[id(each)] for each in results) for name in summed},
        "hottest_thread_percent": max(each["cpu"]["hottest_thread_percent"] for each in results),
    }


def _sum(values: Sequence[Any]) -> Any:
    """Add numbers, and tables of numbers key by key; what is none of these is taken from the first that has it."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, dict) for value in known):
        names = dict.fromkeys(name for value in known for name in value)
        return {name: _sum([value.get(name) for value in known]) for name in names}
    if known and all(isinstance(value, int | float) for value in known):
        return sum(known)
    return known[0] if known else None
