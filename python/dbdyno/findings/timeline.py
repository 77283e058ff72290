"""What findings read from the timeline of a round."""

from __future__ import annotations

from dbdyno.document.cell import Round
from dbdyno.document.reading import number
from dbdyno.results.rounds import Measure

# What is due in a time, for it to be strange that nothing is done; and the shortest that is worth a word (seconds).
_MUCH = 20

_STILL_S = 0.9


def rate_of_interval(interval: dict[str, object], measure: Measure) -> float | None:
    """Give what was done in an interval, a second, in the unit of the experiment; None where that is not known."""
    start, end = number(interval, "start_s"), number(interval, "end_s")
    key = {"transaction": "ok", "statement": "statements", "row": "rows"}[measure.unit]
    done = number(interval, key)
    return None if start is None or end is None or done is None or end <= start else done / (end - start)


def stall(one: Round, measure: Measure) -> float:
    """Give the longest time, in seconds, in which nothing ended though by the round's own pace much should have."""
    done, time, still, longest = 0.0, 0.0, 0.0, 0.0
    for interval in one["intervals"]:
        seconds = (number(interval, "end_s") or 0.0) - (number(interval, "start_s") or 0.0)
        rate = rate_of_interval(interval, measure)
        if rate is None or seconds <= 0:
            continue
        still = 0.0 if rate > 0 else still + seconds
        longest = max(longest, still)
        done, time = done + rate * seconds, time + seconds
    return longest if longest >= _STILL_S and done / time * longest >= _MUCH else 0.0
