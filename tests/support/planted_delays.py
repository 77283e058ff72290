"""Delays of known size in all cells of a `dbdyno why`: the right cause is known."""

from __future__ import annotations

from functools import partial

import pytest

from dbdyno.run.why_pilot import plan_why


def plant_delays(monkeypatch: pytest.MonkeyPatch, **delays_us: int) -> None:
    """Delay each call of a kind by so many microseconds in the commands that this process runs."""
    monkeypatch.setattr("dbdyno.cli.why.plan_why", partial(plan_why, planted=delays_us))
