"""The highest rate that holds an objective: objectives, decisions, the search on queues that are known, and runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conftest import Cli
from dbdyno.analysis.bottleneck.common import CLIENT
from dbdyno.analysis.slo.conclude import conclude
from dbdyno.analysis.slo.decide import Window, decide, metric_value
from dbdyno.analysis.slo.search import Bounds, Search
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.cli.compare import _refuse_search
from dbdyno.cli.experiment_source import ExperimentSource
from dbdyno.cli.run import RunCommand, _last_lines
from dbdyno.engines.server.installations import find_installations
from dbdyno.model.experiment.objective import read_objective
from dbdyno.model.result.cell import Bottleneck
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.shape import Document
from dbdyno.model.result.slo import SloProbe, SloSearch
from dbdyno.model.run_options import RunOptions
from dbdyno.report.charts.slo import _rows
from http_service import service
from simulated_queue import Neighbor, Queue, highest_rate, search
from synthetic import histogram, lookup_document, run_record
from synthetic_cells import cell, some

Small = Callable[..., str]

needs_postgresql = pytest.mark.skipif(
    not find_installations("postgresql"), reason="there is no PostgreSQL server on this machine to start"
)

HTTP = """
name = "service"
title = "A small service"
[load]
clients = 2
stop = { seconds = 1 }
[[transactions]]
name = "get"
steps = [{ request = "GET /items/3" }]
"""


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("p99<50ms", [("p99", 50.0)]),
        ("P99.9 <= 1.5 s", [("p99.9", 1500.0)]),
        ("p99_9 < 800us", [("p99.9", 0.8)]),
        ("mean < 2 ms and failed < 1 %", [("mean", 2.0), ("failed", 0.01)]),
        ("p50<1ms,p95 < 5ms, max<1s", [("p50", 1.0), ("p95", 5.0), ("max", 1000.0)]),
    ],
)
def test_objectives_are_read(text: str, clauses: list[tuple[str, float]]) -> None:
    found = read_objective(text, "--slo")
    assert [(each.metric, pytest.approx(each.limit)) for each in found.clauses] == clauses
    assert read_objective(str(found), "--slo") == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write `p99 < 50 ms`"),
        ("p99", "write `p99 < 50 ms`"),
        ("p99 > 50 ms", "write `p99 < 50 ms`"),
        ("p99 < 50 ms or p50 < 1 ms", "write `p99 < 50 ms`"),
        ("p99 < -5 ms", "write `p99 < 50 ms`"),
        ("p99 < 50 ms and", "write `p99 < 50 ms`"),
        ("p98 < 50 ms", "use one of p50, p90, p95, p99, p99.9, mean, max, failed"),
        ("p99 < 50", "needs a limit in ms, s or us"),
        ("p99 < 50 %", "needs a limit in ms, s or us"),
        ("p99 < 0 ms", "not between 0 and 1 h"),
        ("failed < 1", "write `failed < 1 %`"),
        ("failed < 100 %", "not between 0 and 100 %"),
        ("p99 < 1 ms and p99 < 2 ms", "limits p99 twice"),
    ],
)
def test_wrong_objectives_are_refused_with_the_right_form(text: str, words: str) -> None:
    with pytest.raises(InputError, match="--slo") as caught:
        read_objective(text, "--slo")
    assert words in str(caught.value)


def window(times_ms: list[float], failed: int = 0, skipped: int = 0) -> Window:
    return Window(np.sort(np.array(times_ms)), np.ones(len(times_ms), np.int64), failed, skipped)


def test_failed_and_skipped_requests_are_slower_than_any_limit() -> None:
    (p99,) = read_objective("p99 < 50 ms", "x").clauses
    assert metric_value(p99, [window([1.0] * 100)]) == 1.0
    assert metric_value(p99, [window([1.0] * 98, failed=1, skipped=1)]) == math.inf
    (failed,) = read_objective("failed < 1 %", "x").clauses
    assert metric_value(failed, [window([1.0] * 96, failed=3, skipped=1)]) == pytest.approx(0.04)
    for text in ("p99 < 50 ms", "p50 < 50 ms", "mean < 50 ms", "max < 50 ms", "failed < 1 %"):
        late = [window([1.0] * 300, skipped=90 + place) for place in range(5)]
        assert decide(read_objective(text, "x"), late).verdict == "violated", text
        fine = [window([1.0 + place / 50] * 300) for place in range(5)]
        assert decide(read_objective(text, "x"), fine).verdict == "holds", text


def test_few_windows_or_few_requests_decide_nothing() -> None:
    objective = read_objective("p99 < 50 ms", "x")
    assert decide(objective, [window([1.0] * 1000)] * 2).verdict == "undecided"
    assert decide(objective, [window([1.0] * 20)] * 5).verdict == "undecided"
    assert decide(objective, [window([1.0] * 200)] * 5).verdict == "holds"
    # Nothing ended well: that is enough.
    assert decide(objective, [window([], failed=9)]).verdict == "violated"
    # One window of five that stood still may have been chance, or not.
    mixed = [window([1.0] * 200)] * 4 + [window([80.0] * 200)]
    assert decide(objective, mixed).verdict == "undecided"


def test_all_clauses_must_hold() -> None:
    windows = [window([float(place)] * 300 + [40.0] * 10) for place in range(1, 6)]
    assert decide(read_objective("p50 < 20 ms", "x"), windows).verdict == "holds"
    assert decide(read_objective("p50 < 20 ms and p99 < 5 ms", "x"), windows).verdict == "violated"


# By queue: kind, mean milliseconds of a request, limit of p99, and what else uses the machine.
QUEUES = {
    "M/M/1, p99 of 10 requests": ("exponential", 0.5, 5, None),
    "M/M/1, p99 of 50 requests": ("exponential", 1.0, 50, None),
    "M/D/1, one at a time": ("constant", 4.8, 50, None),
    "M/G/1, one in ten is long": ("two", 1.0, 30, None),
    "a neighbor for 0.3 of 1.3 s": ("exponential", 1.0, 20, Neighbor(300, 1000, 1.3)),
    "a neighbor for 2 of 7 s": ("exponential", 1.0, 20, Neighbor(2000, 5000, 1.3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUEUES)
def test_the_interval_holds_the_highest_rate_of_a_queue(name: str) -> None:
    kind, service_ms, limit, neighbor = QUEUES[name]
    objective = read_objective(f"p99 < {limit} ms", "x")
    truth = highest_rate(objective, Queue(kind, service_ms, np.random.default_rng(1), neighbor), 0.01)
    found: list[Bounds] = []
    for seed in range(2, 42):
        queue = Queue(kind, service_ms, np.random.default_rng(seed), neighbor)
        found.append(search(objective, queue, 60.0, 1.5, 0.5).bounds())
    outside = [each for each in found if (each.low or 0.0) > truth or (each.high or math.inf) < truth]
    # Of 40, 94 % is 37.6; the seeds are fixed.
    assert len(outside) <= 3, (truth, outside)
    closed = [each.high / each.low for each in found if each.low is not None and each.high is not None]
    assert len(closed) >= 20
    assert float(np.median(closed)) < 2.6


def test_a_rate_far_from_the_first_guess_is_found() -> None:
    objective = read_objective("p99 < 60 ms", "x")
    random = np.random.default_rng(5)
    # The closed loop carried ten times less than the open loop can.
    found = Search(objective, 100.0, 1e7, 1.0)
    left = 60
    while (probe := found.next(left)) is not None:
        left -= 1
        slow = 10.0 if probe.rate < 1000 else 500.0
        found.add(probe, window(list(random.lognormal(math.log(slow), 0.3, 2000))))
    bounds = found.bounds()
    assert bounds.low is not None
    assert bounds.high is not None
    assert bounds.low < 1000 <= bounds.high
    assert bounds.high / bounds.low < 1.2


def test_an_objective_that_no_rate_meets_ends_the_search() -> None:
    objective = read_objective("p99 < 1 ms", "x")
    found = Search(objective, 1000.0, 1e7, 1.0)
    rates = []
    while (probe := found.next(100 - len(rates))) is not None:
        rates.append(probe.rate)
        found.add(probe, window([5.0] * 300))
    assert len(rates) < 30
    bounds = found.bounds()
    assert bounds.low is None
    assert bounds.high == min(rates) < 1000 / 16


def test_an_objective_that_every_rate_meets_ends_the_search() -> None:
    objective = read_objective("p99 < 1 s", "x")
    found = Search(objective, 1000.0, 5000.0, 1.0)
    count = 0
    while (probe := found.next(100 - count)) is not None:
        count += 1
        assert probe.rate <= 5000
        found.add(probe, window([5.0] * 600))
    assert count < 40
    assert found.bounds() == Bounds(5000.0, None)


def check(document: Document, metric: str) -> None:
    """Check what holds of a search, whatever was measured."""
    slo = document.slo
    assert slo is not None
    (found,) = slo.searches
    assert found.carries > 0
    assert found.status in ("found", "none", "client", "open")
    assert found.probes
    rates = [each.rate for each in found.probes]
    assert rates == sorted(rates)
    assert all(metric in each.values for each in found.probes)
    verdicts = {each.rate: each.verdict for each in found.probes}
    assert found.low is None or verdicts[found.low] == "holds"
    assert found.high is None or verdicts[found.high] == "violated"
    assert document.answer.text == found.text
    # Every window is a stored round of an open loop at its rate, but for the closed loop before.
    cells = {each.id: each for each in document.cells}
    for each in found.probes:
        assert len(cells[each.cell].rounds) == each.windows + each.approach
        assert cells[each.cell].factors["offered"] == each.rate
    (closed,) = [each for each in cells.values() if each.factors["offered"] == "closed"]
    assert closed.rounds[0].status == "done"


@pytest.mark.slow
def test_sqlite_is_searched_and_shown(cli: Cli, small: Small) -> None:
    file = cli.write("small.toml", small())
    objective = "p99 < 50 ms and failed < 1 %"
    made = cli.run(file, "--set", "clients=2", "--slo", objective, "--budget", "12s", "--report", "out.html")
    document = from_json(Document, made)
    check(document, "p99")
    assert document.slo is not None
    assert [(each.metric, each.limit) for each in document.slo.clauses] == [("p99", 50.0), ("failed", 0.01)]
    shown = cli("show", "last", "--store", "runs.db")
    assert "p99 ms" in shown
    assert " ".join(document.answer.text[0].split()) in " ".join(shown.split())
    page = (cli.directory / "out.html").read_text()
    assert "p99 over the offered rate, and its limit of 50 ms" in page
    assert "Measured rates" in page
    assert cli("run", "--resume", "last", "--store", "runs.db", code=2).count("cannot be resumed") == 1
    for arguments in (("compare", "last", "last"), ("gate", "--baseline", "last"), ("baseline", "main")):
        assert "a search for the highest rate cannot be compared" in cli(*arguments, "--store", "runs.db", code=2)


@pytest.mark.slow
def test_each_configuration_has_a_search_of_its_own(cli: Cli, small: Small) -> None:
    text = small().replace("name =", 'slo = "p50 < 1 us"\nname =', 1)
    systems = ("--system", "sqlite:", "--system", "wal=sqlite:?journal_mode=wal")
    made = cli.run(cli.write("small.toml", text), *systems, "--set", "clients=2", "--budget", "12s")
    slo = from_json(Document, made).slo
    assert slo is not None and len(slo.searches) == 2
    # No request is as quick as that.
    for each in slo.searches:
        assert each.low is None
        assert each.status in ("none", "open")
    assert "serves at most" in cli("show", "last", "--store", "runs.db")


@pytest.mark.slow
@needs_postgresql
def test_a_managed_server_is_searched(server_cli: Cli, small: Small) -> None:
    file = server_cli.write("small.toml", small())
    options = ("--set", "clients=2", "--system", "postgresql:", "--slo", "p90 < 100 ms", "--budget", "12s")
    check(from_json(Document, server_cli.run(file, *options)), "p90")


@pytest.mark.slow
def test_a_service_is_searched(cli: Cli) -> None:
    file = cli.write("http.toml", HTTP)
    with service() as (_, port):
        url = f"http://127.0.0.1:{port}/"
        made = cli.run(file, "--system", url, "--slo", "mean < 20 ms", "--budget", "12s")
        check(from_json(Document, made), "mean")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--slo", "p99 > 5 ms"), "--slo: `p99 > 5 ms` is not an objective; write `p99 < 50 ms`"),
        (("--slo", "p99 < 5 ms", "--rounds", "3"), "--rounds: does not apply to a search"),
        (("--slo", "p99 < 5 ms", "--interleave", "20ms"), "--interleave: does not apply to a search"),
        (("--slo", "p99 < 5 ms", "--budget", "soon"), "--budget: `soon` is not a duration"),
        (("--slo", "p99 < 5 ms", "--budget", "1s"), "--budget: 1 s is too short for 2 searches; give at least 2 s"),
    ],
)
def test_what_a_search_cannot_be_given_is_refused(cli: Cli, small: Small, options: tuple[str, ...], words: str) -> None:
    assert words in cli("run", cli.write("small.toml", small()), *options, code=2)


def test_a_program_has_no_arrivals(cli: Cli) -> None:
    said = cli("run", "--system", "exec:true", "--slo", "p99 < 5 ms", code=2)
    assert "--slo: exec:true is a program, which doesn't support arrivals" in said


def test_a_wrong_objective_in_a_file_names_its_key(cli: Cli, small: Small) -> None:
    text = small().replace("name =", 'slo = "p99 < 5"\nname =', 1)
    said = cli("run", cli.write("small.toml", text), code=2)
    assert "slo" in said
    assert "write `p99 < 50 ms`" in said


PLANNED = {"objective": "p99 < 50 ms", "budget_s": 60.0, "window_s": 1.0, "approach": {}}


def closed(system: str, values: list[float | None], **changes: Any) -> Any:
    """The closed loop that a search begins with."""
    levels = {"offered": "closed", "system": system}
    changes = {"histograms": {}, "listeners": [], "error": "", "transactions_per_s": 100.0} | changes
    return cell(f"offered=closed,system={system}", values, levels, system=system, **changes)


def offering(rate: float, median_ms: float) -> Any:
    """Five windows at a rate, in which all requests took about as long."""
    made = closed("sqlite:", [rate] * 5, histograms={"response": histogram(median_ms * 1e3)})
    return replace(made, id=f"offered={rate:g}", factors={"offered": rate, "system": "sqlite:"})


def concluded(*searches: list[Any]) -> list[Any]:
    cells = [each for own in searches for each in own]
    planned = PLANNED | {"searches": [{"cells": [each.id for each in own]} for own in searches]}
    return list(conclude(planned, cells, "requests").searches)


def test_a_system_for_which_the_time_was_over_is_not_dropped() -> None:
    found = concluded([closed("sqlite:", [100.0])], [replace(closed("postgresql:", [1.0]), rounds=[])])
    assert [each.configuration for each in found] == ["sqlite", "postgresql"]
    assert found[1].text == ["postgresql was not measured within the time budget; use a longer --budget."]
    assert found[1].status == "open"


def test_a_search_that_ended_after_the_closed_loop_has_a_result() -> None:
    (found,) = concluded([closed("sqlite:", [100.0])])
    assert (found.status, found.carries) == ("open", 100.0)
    assert "has no result" not in " ".join(found.text)
    assert "sqlite serves at most 100.0 requests/s (closed loop)." in found.text
    (found,) = concluded([closed("sqlite:", [None], error="it ended with 1", transactions_per_s=None)])
    assert found.status == "failed"
    assert found.text == ["sqlite has no result: it ended with 1."]
    # Interrupted while the closed loop was measured.
    (found,) = concluded([closed("sqlite:", [None], status="interrupted", transactions_per_s=None)])
    assert found.status == "open"


def test_no_rate_is_interpolated_beyond_what_the_load_machine_offers() -> None:
    cells = [closed("sqlite:", [1000.0], transactions_per_s=1000.0), offering(500, 5.0), offering(900, 400.0)]
    (found,) = concluded(cells)
    assert found.status == "found"
    assert 500 < found.rate < 900
    cells[2].bottleneck = some(Bottleneck, resource=CLIENT, evidence="", advice="")
    (found,) = concluded(cells)
    assert (found.status, found.rate, found.low) == ("client", None, 500)


def test_a_slowest_request_is_not_known_without_requests() -> None:
    assert decide(read_objective("max < 50 ms", "x"), [window([])] * 5).verdict == "undecided"
    assert decide(read_objective("max < 50 ms", "x"), [window([1.0] * 300)] * 5).verdict == "holds"


def test_a_time_of_zero_is_drawn_at_the_bottom_and_no_end_at_the_top() -> None:
    probes = [some(SloProbe, rate=1.0, values={"p99": value}, windows=3, due=9) for value in (0.0, 5.0, None)]
    rows = _rows(some(SloSearch, configuration="x", probes=probes), "p99", 50.0)
    assert [each["ms"] for each in rows] == [0.001, 5.0, 500.0]


def test_a_search_cannot_be_compared() -> None:
    _refuse_search(run_record({"why": {"cell": "x"}}))
    with pytest.raises(InputError, match="a search for the highest rate cannot be compared"):
        _refuse_search(run_record({"slo": PLANNED}))


@pytest.mark.parametrize(("slo", "words"), [(None, "run --resume"), ({}, "a search for the highest rate cannot be")])
def test_what_was_interrupted_is_resumed_unless_it_is_a_search(
    slo: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = replace(lookup_document(), slo=slo)
    _last_lines(Console(width=200), document, True, None)
    said = capsys.readouterr().out
    assert f"interrupted; {words}" in said.replace("go on with: dbdyno ", "")
    assert ("--resume" in said) == (slo is None)


SEARCHED = 'slo = "p99 < 50 ms"\nname ='


def asked(cli: Cli, small: Small, **options: Any) -> Any:
    """The search that an experiment's file with an objective leads to."""
    file = cli.write("small.toml", small().replace("name =", SEARCHED, 1))
    return RunCommand(source=ExperimentSource([str(cli.directory / file)]), **options).request(["dbdyno"]).slo


def test_only_a_run_without_rounds_searches_for_the_objective_of_a_file(cli: Cli, small: Small) -> None:
    assert str(asked(cli, small, uses_objective=True).objective) == "p99 < 50 ms"
    # As `gate --against` and `noise` do.
    assert asked(cli, small, options=RunOptions(margin=0.03, rounds=5)) is None
    assert asked(cli, small) is None
    assert asked(cli, small, uses_objective=True, options=RunOptions(rounds=5)) is None
    with pytest.raises(InputError) as caught:
        asked(cli, small, uses_objective=True, options=RunOptions(margin=0.03))
    assert "`slo` in " in str(caught.value) and "`--rounds` measures rounds instead" in str(caught.value)


def test_a_description_says_that_a_run_searches(cli: Cli, small: Small) -> None:
    file = cli.write("small.toml", small().replace("name =", SEARCHED, 1))
    said = cli("describe", file)
    assert "a run searches for the highest rate that holds p99 < 50 ms" in said
    assert "rounds of" not in said


def test_no_rate_seems_to_hold_above_one_that_was_measured_beyond_the_limit() -> None:
    once = {rate: replace(offering(rate, ms), rounds=offering(rate, ms).rounds[:1]) for rate, ms in [(10, 60), (28, 5)]}
    (found,) = concluded([closed("sqlite:", [100.0]), once[10], once[28], offering(90, 200)])
    assert "sqlite does not hold" in found.text[0]
    assert "seems to hold" not in found.text[0]
    once[10] = replace(offering(10, 5), rounds=offering(10, 5).rounds[:1])
    (found,) = concluded([closed("sqlite:", [100.0]), once[10], once[28], offering(90, 200)])
    assert "It seems to hold at 28.00/s." in found.text[0]
