"""Write a replay as a trace, with the costs of the system and the plans of statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dbdyno.run.replay import Replays
from dbdyno.trace.header import Header, ReplayFacts
from dbdyno.trace.parquet import Batch, TraceWriter
from dbdyno.trace.reading import open_trace


def write_replayed(replays: Replays, plans: dict[str, list[str]], path: Path) -> None:
    """Write the statements that the first system replayed, with their times, rows and errors.

    ``plans``: of each statement, one step per line. Raises InputError, ExtraMissing.
    """
    recording, replayed = replays.recording, replays.replayed[0]
    done, executions = replayed.done, replayed.executions
    start_us = replayed.start_us - replayed.start_us[done].min() + replayed.begin_us
    end_us = start_us[done] + (executions.seconds[done] * 1e6).astype(np.int64)
    facts = ReplayFacts(
        system=replayed.system.name,
        transactions=replays.transactions(replayed),
        cpu_s=replayed.cpu_s,
        counters=replayed.counters,
        plans=plans,
    )
    header = Header(
        engine=recording.header.engine,
        source=f"replay of {recording.path.name} on {facts.system}",
        values=recording.header.values,
        statements=int(done.sum()),
        sessions=len(np.unique(recording.session[done])),
        begin_us=replayed.begin_us,
        end_us=int(end_us.max()),
        replay=facts,
    )
    number_of = np.full(int(recording.row.max()) + 1, -1, dtype=np.int64)
    number_of[recording.row[done]] = np.flatnonzero(done)
    trace = open_trace(recording.path)
    row = 0
    with TraceWriter(path, header) as writer:
        for batch in trace.batches:
            numbers = number_of[row : row + len(batch)]
            row += len(batch)
            chosen = np.flatnonzero(numbers >= 0).tolist()
            at = numbers[numbers >= 0]
            made = Batch(**{name: _chosen(values, chosen) for name, values in vars(batch).items()})
            rows, codes = executions.rows[at].tolist(), recording.codes.codes
            replaced = replace(
                made,
                start=start_us[at].tolist(),
                duration_ns=(executions.seconds[at].astype(np.float64) * 1e9).astype(np.int64).tolist(),
                rows=[None if number < 0 else number for number in rows],
                error=[codes[number] for number in executions.error[at].tolist()],
                # A replay doesn't count the bytes that the server sends.
                bytes=[None] * len(chosen),
            )
            writer.add_batch(replaced, trace.statements)


def _chosen(values: Sequence[Any], chosen: Sequence[int]) -> list[Any]:
    return [values[number] for number in chosen]
