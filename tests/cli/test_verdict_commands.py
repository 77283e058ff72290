"""Runs that are judged, through the installed command line and real programs and databases."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from conftest import Cli
from dbdyno.analysis.measured.metrics import rates_by_block
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.convert import from_json
from dbdyno.stats import paired_rates
from dbdyno.store import open_store
from synthetic import run_of

Small = Callable[..., str]

ONE_CLIENT = ("clients = [1, 2]", "clients = [1]")


def test_a_system_is_compared_with_itself(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small(ONE_CLIENT))
    document = cli.run(path, "--system", "sqlite:", "--system", "sqlite:", "--rounds", "4", "--margin", "5%")
    assert [cell["system"]["name"] for cell in document["cells"]] == ["sqlite:", "sqlite:#2"]
    (found,) = document["comparisons"]
    assert (found["blocks"], found["margin"]) == (4, 0.05)
    # The interval shown is the one computed from the stored rounds.
    a, b = (rates_by_block(from_json(Cell, cell)) for cell in document["cells"])
    ratio = paired_rates(a, b)
    assert ratio is not None
    assert found["ci95"] == [ratio.low, ratio.high]
    shown = cli("show", document["id"], "--store", "runs.db", "--verbose")
    assert "sqlite:#2" in shown
    assert "detectable" in shown


def test_auto_stops_when_it_knows_enough(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small(ONE_CLIENT))
    # The rule is for any number of rounds, which it therefore implies.
    options = ["--min-rounds", "2"]
    # However noisy the machine, long before as many rounds as these.
    document = cli.run(path, *options, "--max-rounds", "200", "--target", "99%")
    assert len(document["cells"][0]["rounds"]) < 200
    assert any("every requested interval is within ±99 %" in each["text"] for each in document["findings"])
    document = cli.run(path, *options, "--max-rounds", "3", "--target", "0.001%")
    assert len(document["cells"][0]["rounds"]) == 3
    assert any(", the maximum: " in each["text"] for each in document["findings"])
    document = cli.run(path, *options, "--target", "0.001%", "--budget", "0.1s")
    assert len(document["cells"][0]["rounds"]) == 2, "fewer have no interval"
    assert any("the time budget of 0.1 s is spent" in each["text"] for each in document["findings"])


def test_a_gate_passes_or_fails_and_writes_what_ci_reads(cli: Cli, small: Small) -> None:
    ran = cli.run(cli.write("small.toml", small(ONE_CLIENT)), "--rounds", "1")["id"]
    store = open_store(str(cli.directory / "runs.db"))
    # With figures that are given: what runs here differ by is the machine's to say.
    kept = []
    for rates in ([1000.0, 1010.0, 990.0, 1005.0, 995.0, 1000.0], [301.0, 302.0, 299.0, 300.0, 298.0, 299.5]):
        kept.append(store.begin_run(replace(store.run(ran), observations=[])))
        for trial in run_of("", {"1": rates})[1]:
            store.add_trial(kept[-1], replace(trial, cell="single"))
        store.finish_run(kept[-1], "done")
    store.close()
    fast, slow = kept
    assert f"baseline main: {fast}" in cli("baseline", "main", fast, "--store", "runs.db")
    assert "main: " in cli("baseline", "--store", "runs.db")
    cli.environment["GITHUB_STEP_SUMMARY"] = str(cli.directory / "summary.md")
    process = cli.start("gate", slow, "--baseline", "main", "--store", "runs.db", "--junit", "gate.xml")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 3, out + errors
    assert "gate: regression" in out
    suite = ElementTree.parse(cli.directory / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "### dbdyno gate: regression" in (cli.directory / "summary.md").read_text()
    # The other way round it is no loss at all; a baseline's name stands for its run there too.
    assert "gate: pass" in cli("gate", "main", "--baseline", slow, "--store", "runs.db")
    cli("baseline", "slow", slow, "--store", "runs.db")
    assert "gate: pass" in cli("gate", fast, "--baseline", "slow", "--store", "runs.db")
    cli("baseline", "slow", "--remove", "--store", "runs.db")
    assert "there is no such baseline" in cli("baseline", "slow", "--remove", "--store", "runs.db", code=2)


def test_two_runs_are_compared(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small(ONE_CLIENT))
    first = cli.run(path, "--rounds", "2")["id"]
    second = cli.run(path, "--rounds", "2", "--system", "sqlite:?cache_size=55")["id"]
    cells = (f"{first}/single", f"{second}/system=sqlite:?cache_size=55")
    out = cli("compare", *cells, "--store", "runs.db", "--json", "compared.json")
    assert "cache_size" in out
    compared = json.loads((cli.directory / "compared.json").read_text())
    assert compared["schema"] == "dbdyno.comparison/1"
    assert {each["what"] for each in compared["differences"]} >= {"cache_size", "system"}


def test_noise_says_what_can_be_seen_here(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small(ONE_CLIENT))
    out = cli("noise", path, "--rounds", "4", "--store", "runs.db", "--json", "noise.json")
    assert "sees a change of" in out
    noise = json.loads((cli.directory / "noise.json").read_text())
    assert noise["blocks"] == 4
    assert [each["rounds"] for each in noise["sights"]] == [5, 10, 20, 30]
    both = cli.write("both.toml", small())
    assert "noise is measured for one" in cli("noise", both, "--store", "runs.db", code=2)


def test_history_says_that_it_needs_more_runs_or_draws_them(cli: Cli, small: Small) -> None:
    path = cli.write("small.toml", small(ONE_CLIENT))
    for _ in range(2):
        cli.run(path, "--rounds", "1")
    out = cli("history", path, "--store", "runs.db", "--json", "history.json", "--report", "history.html")
    assert "single" in out
    history = json.loads((cli.directory / "history.json").read_text())
    assert history["schema"] == "dbdyno.history/1"
    assert "<svg" in (cli.directory / "history.html").read_text()
    assert "metric" in cli("history", path, "--metric", "speed", "--store", "runs.db", code=2)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions_are_counted_compared_and_gated(cli: Cli, small: Small) -> None:
    last = '\n[[transactions]]\nname = "count"'
    text = small(ONE_CLIENT).replace(last, last + "\nweight = 0")
    options = ("--instructions", "--rounds", "2", "--seed", "7")
    path = cli.write("same.toml", text)
    cli.run(path, "--system", "sqlite:", *options)
    cli("baseline", "main", "--store", "runs.db")
    both = cli.run(path, "--system", "sqlite:", "--system", "sqlite:", *options)
    counts = [[each["instructions"] for each in cell["rounds"]] for cell in both["cells"]]
    # A lookup in a small table, prepared once, takes some thousands; the same keys in the same file, the same number.
    assert all(1000 < each < 20_000 for each in counts[0])
    assert counts[0] == pytest.approx(counts[1], rel=1e-4)
    assert "instructions" in cli("show", both["id"], "--store", "runs.db", "--verbose")
    cells = [f"{both['id']}/{cell['id']}" for cell in both["cells"]]
    out = cli("compare", *cells, "--metric", "instructions", "--margin", "0.1%", "--store", "runs.db")
    assert "equivalent" in out
    gate = ("gate", "--baseline", "main", "--metric", "instructions", "--margin", "0.5%", "--store", "runs.db")
    # The second of the two has nothing in the baseline.
    assert "gate: pass" in cli(*gate)
    more = text.replace("where id = ?", "where id = ? and v + 0 >= 0")
    cli.run(cli.write("same.toml", more), "--system", "sqlite:", *options)
    process = cli.start(*gate)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    assert "gate: regression" in out


def test_instructions_of_another_process_are_not_counted(cli: Cli) -> None:
    out = cli("run", "--system", "exec:true", "--instructions", "--store", "runs.db", code=2)
    assert "--instructions" in out


def test_programs_are_timed_as_wholes(cli: Cli) -> None:
    quick = f"exec:{sys.executable} -c pass"
    slow = f"exec:{sys.executable} -c 'import time; time.sleep({{n}} / 100)'"
    document = cli.run("--system", quick, "--system", slow, "--set", "n=40", "--rounds", "3")
    first, second = document["cells"]
    assert all(each["ok"] == 1 for each in first["rounds"])
    assert second["latency_ms"]["service"]["p50"] >= 400
    # What three rounds prove is the machine's to say: a start that was held up on a busy one makes the interval wide.
    assert document["comparisons"][0]["ratio"] < 1
    assert first["cpu_percent"]["client"] > second["cpu_percent"]["client"]


@pytest.mark.parametrize(
    ("url", "code", "message"),
    [
        ("exec:./nothing-there", 2, "./nothing-there cannot be started: no such file or directory"),
        ("exec:sh -c 'echo what is wrong; exit 7'", 1, "sh ended with 7: what is wrong"),
        ("exec:echo {rows}", 2, "refers to 'rows', which is not a factor"),
        ("exec:", 2, "the command is missing"),
        ("exec:echo 'open", 2, "the command cannot be read: no closing quotation"),
    ],
)
def test_programs_that_cannot_be_run_are_told(cli: Cli, url: str, code: int, message: str) -> None:
    out = cli("run", "--system", url, "--rounds", "1", "--store", "runs.db", code=code)
    assert message in " ".join(out.split())


@pytest.mark.parametrize(
    ("says", "kept"),
    [
        ("for i in range(30000): print('line', i)", "…" + "\n".join(f"line {i}" for i in range(29990, 30000))),
        ("print('x' * 300000, 'the end')", "…" + "x" * 992 + " the end"),
        ("[print('line', i) for i in range(10)]", "\n".join(f"line {i}" for i in range(10))),
        ("print('the end' + '\\n' * 5000)", "the end"),
    ],
)
def test_of_what_a_failing_program_says_the_end_is_kept(cli: Cli, says: str, kept: str) -> None:
    (cli.directory / "says.py").write_text(says + "\nraise SystemExit(3)\n")
    document = cli.run("--system", f"exec:{sys.executable} says.py", "--rounds", "1", code=1)
    (failed,) = document["failed_trials"]
    assert failed["error"] == f"{sys.executable} ended with 3: {kept}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rounds", "many"], "--rounds: `many` is not a number of rounds; give a number from 1 to 100000, or `auto`"),
        (
            ["--rounds", "1", "--budget", "10s"],
            "--budget: it has no effect with `--rounds 1`, which fixes the number of rounds; leave one of them out",
        ),
        (["--rounds", "3", "--target", "3%"], "--target: it has no effect with `--rounds 3`"),
        (["--margin", "200%"], "--margin: `200%` is not between 0 and 100 %; write `3%` or `0.03`"),
        (
            ["--rounds", "auto", "--budget", "soon"],
            "--budget: `soon` is not a duration; write `20ms`, `90s`, `10m` or `1h`",
        ),
        (
            ["--rounds", "auto", "--min-rounds", "9", "--max-rounds", "4"],
            "--min-rounds: 9 is more than the 4 allowed; raise `--max-rounds`",
        ),
    ],
)
def test_options_that_cannot_be_read_are_told(cli: Cli, options: list[str], message: str) -> None:
    assert message in cli("run", "pk-lookup", *options, "--store", "runs.db", code=2)
