"""What findings read from the timeline of a round."""

from __future__ import annotations

from dbdyno.analysis.measured.rounds import Measure
from dbdyno.model.result.cell import Round
from dbdyno.model.result.reading import JsonObject

# What is due in a time, for it to be strange that nothing is done; and the shortest that is worth a word (seconds).
_MUCH = 20

_STILL_S = 0.9


def rate_of_interval(interval: JsonObject, measure: Measure) -> float | None:
    """Give what was done in an interval, a second, in the unit of the experiment; None where it has no length."""
    seconds = float(interval["end_s"] - interval["start_s"])
    key = {"transaction": "ok", "statement": "statements", "row": "rows"}[measure.unit]
    return interval[key] / seconds if seconds > 0 else None


def stall(one: Round, measure: Measure) -> float:
    """Give the longest time, in seconds, in which nothing ended though by the round's own pace much should have."""
    done, time, still, longest = 0.0, 0.0, 0.0, 0.0
    for interval in one["intervals"]:
        seconds = interval["end_s"] - interval["start_s"]
        rate = rate_of_interval(interval, measure)
        if rate is None:
            continue
        still = 0.0 if rate > 0 else still + seconds
        longest = max(longest, still)
        done, time = done + rate * seconds, time + seconds
    return longest if longest >= _STILL_S and done / time * longest >= _MUCH else 0.0
