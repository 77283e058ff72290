"""The command `predict`, through the command line, on real engines."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from conftest import Cli
from dbdyno.analysis.predict import schema
from installed_servers import needs_mysql, needs_postgresql
from test_growth import GROWING, INSERTING

# An index beside a heap, so that PostgreSQL has a tree as well; 3 sizes.
TREE = GROWING.replace("rows = [200, 1000]", "rows = [200, 1000, 3000]") + INSERTING


def prediction(cli: Cli, *arguments: str) -> tuple[str, dict[str, Any]]:
    out = cli("predict", *arguments, "--json", "prediction.json")
    found: dict[str, Any] = json.loads((cli.directory / "prediction.json").read_text())
    jsonschema_rs.Draft202012Validator(schema.json_schema(closed=True)).validate(found)
    return out, found


@pytest.mark.parametrize(
    "engine",
    [
        "sqlite",
        pytest.param("postgresql", marks=needs_postgresql),
        pytest.param("mysql", marks=needs_mysql),
    ],
)
def test_each_engine_is_predicted_from_a_run_of_its(server_cli: Cli, engine: str) -> None:
    path = server_cli.write("growing.toml", TREE)
    document = server_cli.run(path, "--system", f"{engine}:")
    out, found = prediction(
        server_cli, "--from", document["id"], "--store", "runs.db", "--rows", "1e6,3e6", "--report", "p.html"
    )
    assert [each["key"] for each in found["series"]] == ["v4", "sequence_blocked", "serial"]
    assert found["calibrated_rows"] == [200, 1000, 3000]
    assert found["error"] is None
    for series in found["series"]:
        points = series["points"]
        assert len(points) == 5
        assert [each["rows"] for each in points] == sorted(each["rows"] for each in points)
        assert sum(each["measured"] is not None for each in points) == 3
        for point in points:
            assert (point["by"] == "simulation") == (series["key"] == "sequence_blocked")
            if point["throughput"] is None:
                assert point["lacking"]
                continue
            low, high = point["band"]
            assert 0 < low <= point["throughput"] <= high
            assert point["throughput"] == pytest.approx(min(point["limits"].values()))
            assert point["tree"]["device_reads"] <= point["tree"]["misses"] + 1e-6 or series["key"] != "v4"
    random, _, counted = found["series"]
    assert random["points"][-1]["tree"]["misses"] > counted["points"][-1]["tree"]["misses"]
    assert re.search(r"At 3,000,000 rows, \w+ reaches", " ".join(out.split()))
    page = (server_cli.directory / "p.html").read_text()
    assert "<svg" in page and "used for the calibration" in page and "limited by" in page


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A command line with a stored run of random and of ordered keys on SQLite: `last` of runs.db."""
    cli = Cli(tmp_path_factory.mktemp("calibrated"))
    cli.run(cli.write("growing.toml", TREE), "--set", "key=random,counted", "--seed", "3")
    return cli


STORED = ("--from", "last", "--store", "runs.db")


def test_sizes_that_did_not_calibrate_show_how_far_off_it_is(calibrated: Cli) -> None:
    out, found = prediction(calibrated, *STORED, "--rows", "1e6", "--up-to", "1000")
    assert found["calibrated_rows"] == [200, 1000]
    kinds = [point["measured"]["calibrating"] for point in found["series"][0]["points"] if point["measured"]]
    assert kinds == [True, True, False]
    assert found["error"]["sizes"] == 2
    off = [
        abs(point["throughput"] / point["measured"]["throughput"] - 1)
        for series in found["series"]
        for point in series["points"]
        if point["measured"] and not point["measured"]["calibrating"]
    ]
    assert found["error"]["worst"] == pytest.approx(max(off))
    assert "at 2 measured sizes outside the calibration" in " ".join(out.split())


def test_a_slower_device_and_less_memory_make_it_slower(calibrated: Cli) -> None:
    rates = []
    for options in (
        ("--memory", "64GB", "--cache", "16GB"),
        ("--memory", "1GB", "--cache", "250MB"),
        ("--memory", "1GB", "--cache", "250MB", "--read", "8ms"),
    ):
        _, found = prediction(calibrated, *STORED, "--rows", "1e8", *options)
        random = found["series"][0]
        assert random["key"] == "v4"
        rates.append(next(point["throughput"] for point in random["points"] if point["rows"] == 10**8))
    assert rates[0] > rates[1] > rates[2]
    # A read of 8 ms for almost each insert, and no more than 125 of them a second.
    assert rates[2] < 200


def test_the_same_run_gives_the_same_prediction(calibrated: Cli) -> None:
    assert prediction(calibrated, *STORED, "--rows", "1e6") == prediction(calibrated, *STORED, "--rows", "1e6")


def test_an_embedded_engine_with_one_writer_gains_nothing_by_clients(calibrated: Cli) -> None:
    _, one = prediction(calibrated, *STORED, "--rows", "1e6", "--clients", "1")
    _, many = prediction(calibrated, *STORED, "--rows", "1e6", "--clients", "16")
    assert many["series"][1]["points"][-1]["throughput"] <= one["series"][1]["points"][-1]["throughput"] * 1.001


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pk-lookup",), "pk-lookup: none of its tables grows"),
        ((), "either an experiment to calibrate with is given, or a run"),
        (("key-order", *STORED), "either an experiment to calibrate with is given, or a run"),
        ((*STORED, "--set", "rows=1"), "are of a new calibration"),
        ((*STORED, "--rows", "many"), "`many` is not a number of rows"),
        ((*STORED, "--rows", "1e13"), "`1e13` is not a number of rows from 1,000 to 1e12"),
        ((*STORED, "--memory", "4 pages"), "`4 pages` is not a size"),
        ((*STORED, "--memory", "1kB"), "the engine's own cache is larger than the memory"),
        ((*STORED, "--read", "slow"), "`slow` is not a duration"),
        ((*STORED, "--reads-per-s", "-1"), "`-1` is not above 0"),
        (("--from", "nobody", "--store", "runs.db", "--up-to", "1000000000"), "nobody"),
    ],
)
def test_what_cannot_be_predicted_is_one_error(calibrated: Cli, arguments: tuple[str, ...], says: str) -> None:
    assert says in calibrated("predict", *arguments, code=2)


def test_two_sizes_are_needed(calibrated: Cli) -> None:
    out = calibrated("predict", *STORED, "--up-to", "1000", code=0)
    assert "limited by" in out
    wrong = calibrated("predict", *STORED, "--up-to", "1_000", "--rows", "10", code=2)
    assert "`10` is not a number of rows" in wrong


def test_a_run_without_growth_is_refused(cli: Cli, tmp_path: Path) -> None:
    text = TREE.replace('[growth]\nfactor = "rows"\ntable = "t"\nwindows = 2\n', "")
    cli.run(cli.write("still.toml", text), "--set", "key=counted")
    assert "has no growing table to predict from" in cli("predict", *STORED, code=2)
