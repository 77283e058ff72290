"""The effect of an upgrade on statements: rows, times and plans, and the changes that bring old plans back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbdyno.analysis.gate import Judgement
from dbdyno.analysis.plan_changes import PlanChange
from dbdyno.analysis.row_differences import RowVerdict
from dbdyno.base.numbers import times
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, text
from dbdyno.stats import Ratio

NOT_COMPARED = RowVerdict("unknown", "nothing was compared")

_GAP = "   "


@dataclass(frozen=True)
class Remedy:
    """A change of the new system that brings back a statement's old plan, or its old rows.

    ``change``: what to set or run; ``brings_back``: `plan` or `rows`; ``ratio``: the statement's time with the change,
    as a multiple of its time on the old system, None if it was not measured.
    """

    change: str
    brings_back: str
    ratio: Ratio | None = None

    @property
    def words(self) -> str:
        """The change and its effect in one line."""
        measured = ""
        if self.ratio is not None:
            measured = f" ({times(self.ratio.mean)}x the old time{_ends(self.ratio.ends)})"
        return f"brings the old {self.brings_back} back: {self.change}{measured}"


@dataclass(frozen=True)
class Since:
    """The first release in which a statement was harmed. ``before``: the last release in which it was not."""

    release: str
    before: str

    @property
    def words(self) -> str:
        """The release in words."""
        return f"since {self.release} (not in {self.before})"


@dataclass(frozen=True)
class StatementUpgrade:
    """A statement on the old and the new system.

    ``old``, ``new``: its cells, None if it was not measured; ``judgement``: on its time and rows; ``change``: of its
    plan; ``is_planned``: whether both plans are known; ``rejected``: why the new system rejects it; ``remedies``: what
    brings its old plan or rows back; ``tried``: how many changes were tried; ``since``: from ``--bisect``.
    """

    name: str
    judgement: Judgement
    rows: RowVerdict = NOT_COMPARED
    old: Cell | None = None
    new: Cell | None = None
    change: PlanChange | None = None
    is_planned: bool = False
    rejected: str = ""
    remedies: Sequence[Remedy] = ()
    tried: int = 0
    since: Since | None = None

    @property
    def is_slower(self) -> bool:
        """Whether it is slower beyond the margin."""
        return self.judgement.verdict == "regression"

    @property
    def is_harmed(self) -> bool:
        """Whether it is slower, returns other rows or is rejected."""
        return self.judgement.verdict in ("regression", "failed")

    @property
    def ratio(self) -> float | None:
        """Its time on the new system as a multiple of its time on the old one."""
        made = self.judgement.comparison
        if made is None or not made.ratio:
            return None
        return 1 / made.ratio if made.metric == "throughput" else made.ratio

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval of ``ratio``."""
        made = self.judgement.comparison
        if made is None or not made.ci95 or not all(made.ci95):
            return None
        low, high = made.ci95
        return (1 / high, 1 / low) if made.metric == "throughput" else (low, high)

    @property
    def time_words(self) -> str:
        """Its change in time with the interval, such as ``7.1x slower [6.8, 7.4]``."""
        ratio, ends = self.ratio, self.ends
        if ratio is None:
            return "not measured"
        if ends is None or ends[0] <= 1 <= ends[1]:
            return f"{times(ratio)}x the time{_ends(ends)}"
        if ratio > 1:
            return f"{times(ratio)}x slower{_ends(ends)}"
        return f"{times(1 / ratio)}x faster{_ends((1 / ends[1], 1 / ends[0]))}"

    @property
    def row_words(self) -> str:
        """Whether its rows are equal."""
        if self.rows.verdict == "equal":
            return "rows equal"
        return f"other rows: {self.rows.words}" if self.rows.verdict == "differ" else "rows not compared"

    @property
    def plan_words(self) -> str:
        """Its change of plan."""
        if self.change is not None:
            return f"was {self.change.was}; is {self.change.now}"
        return "same plan" if self.is_planned else "plan unknown"

    @property
    def further(self) -> list[str]:
        """Lines about what brings its plan or rows back, and since when it is harmed."""
        lines = (
            [f"rows not compared: {self.rows.words}"] if self.rows.verdict == "unknown" and not self.rejected else []
        )
        lines += [remedy.words for remedy in self.remedies]
        if self.tried and not self.remedies:
            lines.append(f"nothing brings it back: {self.tried} change{'s' * (self.tried != 1)} tried")
        return [*lines, *([self.since.words] if self.since is not None else [])]

    @property
    def document(self) -> dict[str, Any]:
        """Its fields for JSON."""
        return {
            "statement": self.name,
            "verdict": self.judgement.verdict,
            "time_ratio": self.ratio,
            "ci95": None if self.ends is None else list(self.ends),
            "rows": self.rows.verdict,
            "rows_differ": self.rows.words,
            "rejected": self.rejected or None,
            "plan_was": None if self.change is None else self.change.was,
            "plan_is": None if self.change is None else self.change.now,
            "remedies": [
                {
                    "change": remedy.change,
                    "brings_back": remedy.brings_back,
                    "time_ratio": None if remedy.ratio is None else remedy.ratio.mean,
                    "ci95": None if remedy.ratio is None or remedy.ratio.ends is None else list(remedy.ratio.ends),
                }
                for remedy in self.remedies
            ],
            "tried": self.tried,
            "since": None if self.since is None else {"release": self.since.release, "before": self.since.before},
        }


def _ends(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f" [{times(ends[0])}, {times(ends[1])}]"


def row_verdicts(observations: Iterable[JsonObject]) -> dict[tuple[str, str], RowVerdict]:
    """Return what a run observed about the rows of pairs of cells, by their ids."""
    found = {}
    for seen in observations:
        match seen:
            case {
                "kind": "rows compared",
                "cells": [str(a), str(b)],
                "verdict": "equal" | "differ" | "unknown" as known,
            }:
                found[a, b] = RowVerdict(known, text(seen, "words") or "")
    return found


def judge_rows(judgement: Judgement, rows: RowVerdict) -> Judgement:
    """Return a judgement that fails if other rows are returned."""
    if rows.verdict != "differ":
        return judgement
    return replace(judgement, verdict="failed", reason=f"returns other rows: {rows.words}")


def by_harm(statements: Iterable[StatementUpgrade]) -> list[StatementUpgrade]:
    """Sort statements: first the rejected statements, then statements with other rows, then by lost time."""

    def harm(statement: StatementUpgrade) -> tuple[bool, bool, bool, float]:
        least = statement.ends[0] if statement.ends is not None else statement.ratio or 0.0
        return (not statement.rejected, statement.rows.verdict != "differ", not statement.is_harmed, -least)

    return sorted(statements, key=harm)


@dataclass(frozen=True)
class Upgrade:
    """The statements of a file on an old and a new system, sorted by harm.

    ``old``, ``new``: the systems as shown; ``notes``: what was left out.
    """

    file: str
    old: str
    new: str
    statements: Sequence[StatementUpgrade]
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def counts(self) -> str:
        """How many statements are harmed, and how."""
        of = self.statements
        parts = [
            (sum(bool(statement.rejected) for statement in of), "rejected"),
            (sum(statement.rows.verdict == "differ" for statement in of), "with other rows"),
            (sum(statement.is_slower for statement in of), "slower"),
            (sum(statement.judgement.verdict == "not settled" for statement in of), "not settled"),
        ]
        harmed = [f"{count} {words}" for count, words in parts if count] or ["none slower"]
        open_ones = sum(statement.rows.verdict == "unknown" and not statement.rejected for statement in of)
        if open_ones:
            harmed.append(f"{open_ones} with rows not compared")
        elif not any(statement.rows.verdict == "differ" for statement in of):
            harmed.append("all rows equal")
        return f"{len(of)} statement{'s' * (len(of) != 1)}: {', '.join(harmed)}"

    def lines(self, width: int) -> list[tuple[str | None, str]]:
        """Return the lines of the table: of each statement, about it, and then the notes.

        Each line comes with the name of the statement if it is its first one. A plan has a separate line if it doesn't
        fit into ``width`` columns.
        """
        rows = [_columns(statement) for statement in self.statements]
        plain = [row for row, statement in zip(rows, self.statements, strict=True) if not statement.rejected]
        widths = [max((len(row[at]) for row in plain), default=0) for at in range(3)]
        widths[0] = max((len(row[0]) for row in rows), default=0)
        beside = [_GAP.join(cell.ljust(size) for cell, size in zip(row[:3], widths, strict=True)) for row in rows]
        fits = all(len(f"  {left}{_GAP}{row[3]}") <= width for left, row in zip(beside, rows, strict=True))
        lines: list[tuple[str | None, str]] = []
        for statement, left, row in zip(self.statements, beside, rows, strict=True):
            apart = not fits and statement.change is not None
            lines.append((statement.name, f"  {left if apart else _GAP.join([left, row[3]])}".rstrip()))
            below = [row[3], *statement.further] if apart else statement.further
            lines += [(None, f"  {'':{widths[0]}}{_GAP}{words}") for words in below]
        return [*lines, *((None, note) for note in self.notes)]


def _columns(statement: StatementUpgrade) -> list[str]:
    if statement.rejected:
        return [statement.name, f"rejected: {statement.rejected}", "", ""]
    return [statement.name, statement.time_words, statement.row_words, statement.plan_words]


def differing_settings(was: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that both systems report with other values, with the old values."""
    return {name: value for name, value in was.items() if name in now and now[name] != value}
