"""`dbdyno replay`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from dbdyno.analysis.plan_changes import PlanChange, plan_change
from dbdyno.analysis.replay import Comparison, Lag, StatementChange, compare_executions, lag_of
from dbdyno.analysis.system_cost import cost_per_transaction
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.base.numbers import bracketed, duration, figure, milliseconds, percent, time_words, whole
from dbdyno.cli.statement_table import statement_table
from dbdyno.engines import engine_of
from dbdyno.engines.url import parse_url
from dbdyno.report.export import check_writable, is_output, new_file, write_text
from dbdyno.run.replay import CAUSES, Replayed, ReplayOptions, Replays, replay
from dbdyno.run.replay_plans import StatementPlan, example_statements, read_plans
from dbdyno.run.replayed_trace import write_replayed
from dbdyno.trace.recording import Recording, read_recording

_INTERRUPTED = 130
_MOST_SYSTEMS = 2
_SHOWN_REASONS = 3
# Times of logs that are coarser change the order within a session's pauses.
_COARSE_US = 1000
_MOST_FAILED = 0.5

_REASONS = {
    "system": "the system needed longer than in the recording",
    "machine": "all CPUs of this machine were busy",
    "tool": "dbdyno was too slow",
}


@dataclass(frozen=True)
class ReplayOutput:
    """What to show. ``top``: the number of statements; ``json_file``: for all; ``trace_file``: for a trace."""

    top: int
    json_file: Path | None
    trace_file: str | None = None


@dataclass(frozen=True)
class _Compared:
    """Two sides of a comparison, by name, and how their executions and plans differ."""

    base: str
    new: str
    comparison: Comparison
    plans: Sequence[PlanChange] = ()


def read_speed(text: str) -> float | None:
    """Read ``2``, ``0.5`` or ``max``; ``None``: as fast as possible. Raises InputError."""
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise InputError(f"--speed {text}", "not a positive number", "write `1`, `2` or `max`")
    return speed


def replay_trace(file: str, systems: Sequence[str], options: ReplayOptions, output: ReplayOutput) -> int:
    """Replay a trace on one or two systems, print the differences, and return the exit code. Raises DbdynoError."""
    if not 1 <= len(systems) <= _MOST_SYSTEMS:
        raise InputError("--system", f"{len(systems)} systems are named", "name one system, or two to compare them")
    if output.json_file is not None:
        check_writable(output.json_file, "--json")
    if output.trace_file is not None:
        if len(systems) > 1:
            raise InputError("--output", "two systems are replayed", "name one system to write its replay as a trace")
        new_file(output.trace_file)
    recording = read_recording(Path(file))
    with _progress(len(recording) * len(systems)) as advance:
        replays = replay(recording, [parse_url(each) for each in systems], options, advance)
    lags = [_lag(each) for each in replays.replayed] if options.speed is not None else []
    plans = _plans(replays, options) if len(systems) > 1 or output.trace_file is not None else []
    compared = list(_comparisons(replays, plans))
    console = Console(stderr=is_output(output.json_file))
    _print(console, replays, options, lags, compared, output.top)
    if output.json_file is not None:
        write_text(output.json_file, json.dumps(_document(file, replays, options, lags, compared), indent=2) + "\n")
    if output.trace_file is not None and plans:
        lines = {text: plan.lines for text, plan in plans[0].items()}
        write_replayed(replays, lines, Path(output.trace_file))
    return 0 if replays.is_complete else _INTERRUPTED


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    console = Console(stderr=True)
    columns = (BarColumn(24), TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        yield lambda ended: progress.advance(task, ended)


def _lag(replayed: Replayed) -> Lag:
    causes = dict(zip(CAUSES, replayed.causes_s.tolist(), strict=True))
    return lag_of(replayed.late_s[replayed.done], causes)


def _plans(replays: Replays, options: ReplayOptions) -> list[dict[str, StatementPlan]]:
    """Return the plans of statements on each system; empty without replayed statements."""
    if not all(each.done.any() for each in replays.replayed):
        return []
    examples = example_statements(replays.recording, replays.replayed[-1])
    return [read_plans(examples, each.system, options) for each in replays.replayed]


def _plan_changes(plans: Sequence[dict[str, StatementPlan]], engine: str) -> list[PlanChange]:
    if len(plans) != _MOST_SYSTEMS:
        return []
    old, new = plans
    is_server = engine_of(engine).is_server
    changes = [plan_change(text, old[text].nodes, new[text].nodes, is_server=is_server) for text in old if text in new]
    return [change for change in changes if change is not None]


def _comparisons(replays: Replays, plans: Sequence[dict[str, StatementPlan]]) -> Iterator[_Compared]:
    """Compare each system with the recording, and the second system with the first one."""
    recording, segments = replays.recording, replays.segments
    names = _names(replays)
    for name, each in zip(names, replays.replayed, strict=True):
        comparison = compare_executions(recording, segments, recording.recorded, each.executions, each.done)
        yield _Compared("recorded", name, comparison)
    if len(names) > 1:
        a, b = replays.replayed
        comparison = compare_executions(recording, segments, a.executions, b.executions, a.done & b.done)
        yield _Compared(names[0], names[1], comparison, _plan_changes(plans, recording.header.engine))


def _names(replays: Replays) -> list[str]:
    names = [each.system.name for each in replays.replayed]
    # A system may be compared with itself, or with a copy of its database.
    return names if len(set(names)) == len(names) else [f"{name} #{number}" for number, name in enumerate(names, 1)]


def _print(
    console: Console,
    replays: Replays,
    options: ReplayOptions,
    lags: Sequence[Lag],
    compared: Sequence[_Compared],
    top: int,
) -> None:
    recording = replays.recording
    sessions, most = recording.sessions, recording.most_sessions
    console.print(
        Text.assemble(
            (str(recording.path), "bold"),
            f"   {whole(len(recording))} statements of {whole(sessions)} {'session' if sessions == 1 else 'sessions'}"
            f"{'' if most == sessions else f', at most {whole(most)} at a time'},"
            f" recorded in {_seconds(recording.seconds)}",
        ),
        soft_wrap=True,
    )
    for number, (name, each) in enumerate(zip(_names(replays), replays.replayed, strict=True)):
        console.print(_pace(name, each, options, lags[number] if lags else None), soft_wrap=True)
    if not replays.is_complete:
        console.print("! Interrupted: only a part of the recording was replayed.", soft_wrap=True)
    for line in _costs(replays):
        console.print(line, soft_wrap=True)
    for note in (*_notes(replays), *_notes_on_both(replays)):
        console.print(f"! {note}", soft_wrap=True)
    # Two systems are compared with each other; --json has the comparisons with the recording.
    _print_comparison(compared[-1], console, top, _messages(replays))


def _seconds(seconds: float) -> str:
    return duration(seconds) if seconds >= 60 else f"{figure(seconds)} s"  # noqa: PLR2004


def _pace(name: str, replayed: Replayed, options: ReplayOptions, lag: Lag | None) -> str:
    """Return how long a replay took, and whether it kept up."""
    ended = int(replayed.done.sum())
    took = f"{name}: replayed in {_seconds(replayed.seconds)}"
    if lag is None:
        rate = ended / replayed.seconds if replayed.seconds else 0.0
        return f"{took}, as fast as possible: {figure(rate)} statements/s."
    if lag.kept_up:
        return f"{took}. It kept up: 99 % of the statements began at most {time_words(lag.p99_s * 1e3)} late."
    shares = ", ".join(f"{cause} {percent(share)}" for cause, share in lag.causes.items())
    reason = _REASONS[lag.main_cause]
    late = f"up to {time_words(lag.max_s * 1e3)} late (99 %: {time_words(lag.p99_s * 1e3)})"
    factor = "" if options.speed == 1 else f" at {options.speed:g} times the speed"
    return f"{took}. It fell behind{factor}, {late}: {reason} ({shares})."


def _costs(replays: Replays) -> Iterator[str]:
    """Yield what a transaction costs each system. Two databases of a server share its costs, so these are left out."""
    places = [(each.system.host, each.system.port) for each in replays.replayed]
    is_shared = len(places) == _MOST_SYSTEMS and places[0][0] is not None and places[0] == places[1]
    for name, each in zip(_names(replays), replays.replayed, strict=True):
        words = [] if is_shared else cost_per_transaction(each.cpu_s, each.counters, replays.transactions(each)).words
        if words:
            yield f"{name}: {', '.join(words)} per transaction."


def _notes(replays: Replays) -> Iterator[str]:
    recording = replays.recording
    left_out = recording.left_out
    if left_out:
        named = ", ".join(f"{text} ({whole(count)})" for text, count in left_out.most_common(_SHOWN_REASONS))
        yield f"{whole(left_out.total())} statements were not replayed, because the trace doesn't have them: {named}"
    if recording.header.dropped:
        yield f"{whole(recording.header.dropped)} statements were not recorded, so later ones may differ."
    if recording.header.resolution_us > _COARSE_US:
        yield f"The trace's times have a resolution of {figure(recording.header.resolution_us / 1e6)} s."
    for name, each in zip(_names(replays), replays.replayed, strict=True):
        if each.blocked:
            yield f"{name}: {whole(each.blocked)} statements waited for locks at the end of a segment."
        failed = each.done & (each.executions.error != 0) & (recording.recorded.error == 0)
        if failed.sum() > _MOST_FAILED * max(each.done.sum(), 1):
            yield f"{name}: most statements failed. Is its data as it was when the recording began?"


def _notes_on_both(replays: Replays) -> Iterator[str]:
    """Yield what differs from the recording on both systems: their comparison doesn't show it."""
    if len(replays.replayed) != _MOST_SYSTEMS:
        return
    recorded = replays.recording.recorded
    both = np.logical_and.reduce([each.done for each in replays.replayed]) & (recorded.error == 0)
    errors = [each.executions.error for each in replays.replayed]
    failed = both & np.logical_and.reduce([each != 0 for each in errors])
    codes = Counter(replays.recording.codes.codes[number] for number in errors[0][failed].tolist())
    for code, count in codes.most_common(_SHOWN_REASONS):
        message = _messages(replays).get(code or "", "")
        yield f"Error {code} on both systems, {whole(count)} times, but not in the recording: {message}"
    succeeded = both & np.logical_and.reduce([each == 0 for each in errors]) & (recorded.rows >= 0)
    other = succeeded & np.logical_and.reduce([each.executions.rows != recorded.rows for each in replays.replayed])
    if other.any():
        yield f"{whole(int(other.sum()))} executions have other rows on both systems than in the recording."


def _messages(replays: Replays) -> dict[str, str]:
    return {code: message for each in reversed(replays.replayed) for code, message in each.messages.items()}


def _print_comparison(compared: _Compared, console: Console, top: int, messages: dict[str, str]) -> None:
    comparison = compared.comparison
    differing = comparison.differing
    same = "Rows and errors are equal" if not differing else f"{whole(differing)} executions have other rows or errors"
    speed = comparison.speed
    words = "" if speed is None else f", speed {bracketed(speed.mean, speed.ends)}"
    console.print(f"{compared.new} compared with {compared.base}: {same}{words}.", soft_wrap=True)
    shown = comparison.statements[:top]
    texts = [change.statement for change in shown]
    console.print(statement_table(texts, [_cells(change) for change in shown], console.width, ("p99 ms",)))
    if len(comparison.statements) > top:
        console.print(f"{whole(len(comparison.statements) - top)} more statements; `--top` shows more.")
    for change in compared.plans:
        console.print(f"Another plan: {change.words}", soft_wrap=True)
    for line in _error_lines(comparison, messages):
        console.print(line, soft_wrap=True)


def _cells(change: StatementChange) -> dict[str, str]:
    ratio = change.speed.ratio
    return {
        "count": whole(change.count),
        "rows": whole(change.rows) if change.rows else "",
        "errors": whole(_errors(change)) if _errors(change) else "",
        "p50 ms": _arrow(change.base_p50_ms, change.new_p50_ms),
        "p99 ms": _arrow(change.base_p99_ms, change.new_p99_ms),
        "speed": "" if ratio is None else bracketed(ratio.mean, ratio.ends),
    }


def _errors(change: StatementChange) -> int:
    return change.failed.total() + change.succeeded.total() + change.other_errors


def _arrow(base: float | None, new: float | None) -> str:
    return "" if new is None else f"{milliseconds(base)} → {milliseconds(new)}"


def _error_lines(comparison: Comparison, messages: dict[str, str]) -> Iterator[str]:
    """Yield the errors that only one side has, with the first message of each code."""
    failed: Counter[str] = Counter()
    succeeded: Counter[str] = Counter()
    for each in comparison.statements:
        failed += each.failed
        succeeded += each.succeeded
    for code, count in failed.most_common(_SHOWN_REASONS):
        yield f"New error {code}, {whole(count)} times: {messages.get(code, '')}"
    for code, count in succeeded.most_common(_SHOWN_REASONS):
        yield f"No longer an error: {code}, {whole(count)} times"


def _document(
    file: str, replays: Replays, options: ReplayOptions, lags: Sequence[Lag], compared: Sequence[_Compared]
) -> dict[str, Any]:
    recording: Recording = replays.recording
    systems = [
        {
            "system": name,
            "seconds": each.seconds,
            "statements": int(each.done.sum()),
            "blocked": each.blocked,
            "transactions": replays.transactions(each),
            "cpu_s": each.cpu_s,
            "counters": each.counters,
            "lag": asdict(lags[number]) | {"kept_up": lags[number].kept_up} if lags else None,
        }
        for number, (name, each) in enumerate(zip(_names(replays), replays.replayed, strict=True))
    ]
    return {
        "trace": file,
        "speed": options.speed,
        "is_complete": replays.is_complete,
        "statements": len(recording),
        "recorded_seconds": recording.seconds,
        "left_out": dict(recording.left_out),
        "segments": len(replays.segments),
        "systems": systems,
        "comparisons": [
            {
                "base": each.base,
                "new": each.new,
                "differing": each.comparison.differing,
                "speed": None if each.comparison.speed is None else each.comparison.speed.mean,
                "speed_ci95": None if each.comparison.speed is None else each.comparison.speed.ends,
                "plans": [asdict(change) for change in each.plans],
                "statements": [_statement(change) for change in each.comparison.statements],
            }
            for each in compared
        ],
    }


def _statement(change: StatementChange) -> dict[str, Any]:
    ratio = change.speed.ratio
    names = ("statement", "count", "rows", "other_errors", "base_p50_ms", "base_p99_ms", "new_p50_ms", "new_p99_ms")
    return {name: getattr(change, name) for name in names} | {
        "failed": dict(change.failed),
        "succeeded": dict(change.succeeded),
        "speed": None if ratio is None else ratio.mean,
        "speed_interval": None if ratio is None else ratio.ends,
        "confidence": None if ratio is None else ratio.confidence,
        "verdict": change.speed.verdict,
    }
