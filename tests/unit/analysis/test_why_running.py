"""What a `dbdyno why` has around its trials: a program that competes, processors, and systems that are kept."""

from __future__ import annotations

import os
import time

import psutil

from dbdyno.analysis.why.round_trip import round_trip_us
from dbdyno.engines.url import parse_url
from dbdyno.runtime.workspace.cpu_competitor import compete_for_cpus
from waiting import eventually


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children(recursive=True)}


def test_a_program_takes_its_share_of_a_processor_and_goes() -> None:
    before = children()
    processors = sorted(os.sched_getaffinity(0))[:1]
    with compete_for_cpus(0.3, processors) as told:
        # Processes of other tests may still be ending.
        assert eventually(lambda: len(children() - before) == 1 + len(processors))
        mine = children() - before
        # Each process binds itself, once it runs.
        assert eventually(lambda: processors in [psutil.Process(each).cpu_affinity() for each in mine])
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
        assert told.used_share is None
    assert told.used_share is not None
    assert 0 < told.used_share < 0.7
    assert children() <= before


def test_without_a_share_nothing_competes() -> None:
    before = children()
    with compete_for_cpus(0.0, [0]) as told:
        assert children() <= before
    assert told.used_share is None


def test_the_way_to_an_embedded_engine_is_none() -> None:
    assert round_trip_us(parse_url("sqlite:")) is None
    between = round_trip_us(parse_url("postgresql:"))
    assert between is not None
    assert between > 0
