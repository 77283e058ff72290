"""Each option of a run goes into the store, and `--resume` takes it up."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.engines.url import parse_url
from dbdyno.experiment import load_experiment
from dbdyno.model.run_options import RunOptions
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.record import check_prepared, new_record, stored_request
from dbdyno.run.request import Request, prepare
from dbdyno.store import open_store
from synthetic import run_record

# Values of the options whose text has a syntax.
WRITTEN: dict[str, st.SearchStrategy[Any]] = {
    "systems": st.lists(st.sampled_from(["sqlite:", "sqlite:?cache_size=100", "postgresql:"]), unique=True),
    "interleaving": st.none() | st.just("none") | st.floats(0.001, 10),
    "margin": st.none() | st.floats(0.001, 0.9),
    "target": st.none() | st.floats(0.001, 0.9),
    "budget_s": st.none() | st.floats(0.001, 1e6),
}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=st.builds(RunOptions, **WRITTEN))
def test_each_option_survives_the_store(options: RunOptions, tmp_path: Path) -> None:
    experiment = load_experiment("pk-lookup")
    facts = {"place": experiment.location, "folder": str(experiment.folder), "process": {"pid": 1}}
    record = run_record({}, definition=experiment.text, options=options.stored() | facts)
    with closing(open_store(str(tmp_path / "runs.db"))) as store:
        run = store.run(store.begin_run(record))
        assert stored_request(run, store, []).options == options


# A value of each option that its default is not, and that goes with the others.
CHANGED: dict[str, Any] = {
    "set": ["threads=1,2"],
    "systems": ["sqlite:?mmap_size=0", "sqlite:?mmap_size=65536"],
    "rounds": "auto",
    "seed": 7,
    "directory": "here",
    "margin": 0.02,
    "target": 0.05,
    "min_rounds": 3,
    "max_rounds": 7,
    "budget_s": 60.0,
    "wait_idle": True,
    "instructions": True,
    "try_recommendations": True,
    "interleaving": 0.02,
    "allow_writes": True,
    "design": "screening",
    "cluster": "local:2",
    "slo": "p99 < 50 ms",
    "cell": "threads=1",
    "fix": True,
    "tune": True,
    "try_indexes": True,
    "index_budget_bytes": 1_000_000,
}


def default(name: str) -> Any:
    (found,) = [each for each in fields(RunOptions) if each.name == name]
    return found.default if found.default_factory is MISSING else found.default_factory()


@pytest.mark.parametrize("name", [each.name for each in fields(RunOptions)])
def test_resume_reads_each_option_of_a_run_that_began(name: str, tmp_path: Path) -> None:
    """The record is made as a run makes it, so that nothing is lost on the way into the store."""
    assert CHANGED[name] != default(name)
    directory = str(tmp_path)
    options = RunOptions(**{"directory": directory, "seed": 1, "interleaving": "none", name: CHANGED[name]})
    experiment = load_experiment("pk-lookup")
    systems = [parse_url(url) for url in options.systems]
    request = Request(experiment=experiment, systems=systems, options=options)
    prepared = prepare(Request(experiment=experiment, systems=systems))
    with Provisioners(tmp_path) as provisioners, closing(open_store(str(tmp_path / "runs.db"))) as store:
        record = new_record(request, prepared, provisioners, None, options.seed or 1)
        run = store.run(store.begin_run(record))
        resumed = stored_request(run, store, [])
    assert resumed.options == options


def test_an_older_store_has_unknown_and_missing_options() -> None:
    assert RunOptions.from_stored({"set": ["a=1"], "gone": 3}) == RunOptions(set=["a=1"])
    assert RunOptions.from_stored({}) == RunOptions()


def test_options_without_a_value_are_not_stored() -> None:
    """The store looks for runs of `dbdyno why` by the word `cell`."""
    assert "cell" not in RunOptions().stored() and "cell" in RunOptions(cell="threads=1").stored()


def test_a_run_whose_rounds_were_not_stored_is_not_resumed_with_others() -> None:
    prepared = prepare(Request(experiment=load_experiment("pk-lookup"), options=RunOptions(rounds=3)))
    check_prepared(run_record({"rounds": 3}), prepared)
    for design in ({"rounds": 4}, {"rounds": 3, "stopping": {}}):
        with pytest.raises(InputError, match="did not store all of its options"):
            check_prepared(run_record(design), prepared)


def test_the_command_line_sets_what_is_stored(cli: Cli, small: Callable[..., str]) -> None:
    path = cli.write("small.toml", small())
    typed = ("--set", "clients=1", "--budget", "5m", "--min-rounds", "2", "--max-rounds", "2", "--target", "5%")
    stored = cli.run(path, "--seed", "7", "--margin", "2%", "--interleave", "none", "--allow-writes", *typed)["options"]
    expected = RunOptions(
        set=["clients=1"],
        rounds="auto",
        seed=7,
        margin=0.02,
        target=0.05,
        min_rounds=2,
        max_rounds=2,
        budget_s=300.0,
        interleaving="none",
        allow_writes=True,
    )
    assert RunOptions.from_stored(stored) == expected
