"""`dbdyno tour`: its stops, what it has time for, and the whole through the real command line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.experiment import load_experiment
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.run.tour.stops import all_stops, within


@pytest.mark.parametrize("stop", all_stops(), ids=lambda stop: stop.experiment)
def test_each_stop_is_a_part_of_a_builtin_experiment(stop: object) -> None:
    from dbdyno.run.tour.stops import Stop

    assert isinstance(stop, Stop)
    experiment = load_experiment(stop.experiment)
    assert experiment.head.source, "a stop shows what others published"
    assert make_cells(experiment, parse_set(stop.chosen, experiment)).cells


@given(st.floats(0, 5000))
def test_stops_have_the_time_they_need_and_no_more_than_there_is(budget: float) -> None:
    made, left_out = within(all_stops(), budget)
    assert len(made) + len(left_out) == len(all_stops())
    assert all(seconds >= stop.seconds for stop, seconds in made)
    assert sum(seconds for _, seconds in made) <= budget * 1.0001
    assert all("--budget" in each.why for each in left_out)


def test_a_tour_shows_what_was_published_and_what_was_found_here(cli: Cli) -> None:
    told = cli("tour", "--only", "pk-lookup", "--budget", "15s", "--report", "tour.html", "--store", "runs.db")
    words = " ".join(told.split())
    assert "published: With private page caches" in words
    assert " here: " in words and "private" in words.partition(" here: ")[2]
    page = (Path(cli.directory) / "tour.html").read_text()
    assert "<svg " in page and "Published: With private" in page
    assert "://" not in page.replace("http://www.w3.org", "")
    assert "pk-lookup" in cli("runs", "--store", "runs.db")


def test_what_there_is_no_time_for_is_said(cli: Cli) -> None:
    told = cli("tour", "--only", "bulk-insert", "--budget", "5s", "--store", "runs.db", code=1)
    assert "not measured: it takes some 140 s: give a longer `--budget`" in " ".join(told.split())


def test_a_stop_that_is_none_is_refused(cli: Cli) -> None:
    process = cli.start("tour", "--only", "pk-lokup", "--store", "runs.db")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and "unknown stop of the tour: pk-lokup" in err and "pk-lookup" in err
