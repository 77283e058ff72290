"""The commands `baseline`, `compare` and `gate` on stored runs of programs."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from conftest import Cli

STORE = ("--store", "runs.db")
FILES = ("--junit", "gate.xml", "--markdown", "gate.md")


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A store with a baseline of two programs, and then a run of one of them, of enough rounds to exclude 99 %."""
    cli = Cli(tmp_path_factory.mktemp("gate"))
    (cli.directory / "fails").write_text("#!/bin/sh\nexit 7\n")
    (cli.directory / "fails").chmod(0o755)
    cli.run("--system", "exec:true", "--system", "exec:sh -c :", "--rounds", "8")
    cli("baseline", "both", *STORE)
    cli.run("--system", "exec:true", "--rounds", "8")
    return cli


def said(cli: Cli) -> str:
    return (cli.directory / "gate.md").read_text()


def test_a_cell_that_is_gone_does_not_pass(gate: Cli) -> None:
    gate("gate", "--baseline", "both", "--margin", "99%", *STORE, *FILES, "--inconclusive", "fail", code=4)
    assert "| system=exec:sh -c : | not settled | the baseline has this cell, and the run has not |" in said(gate)
    suite = ElementTree.fromstring((gate.directory / "gate.xml").read_text())
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("2", "1", "0")
    out = gate("gate", "--baseline", "both", "--margin", "99%", *STORE, *FILES)
    assert "gate: not settled (1 of 2), exit code 0; `--inconclusive fail` makes it 4" in out
    suite = ElementTree.fromstring((gate.directory / "gate.xml").read_text())
    assert (suite.get("tests"), suite.get("errors"), suite.get("skipped")) == ("2", "0", "1")
    compared = gate("compare", "both", "last", *STORE)
    assert "only in a, and not compared: system=exec:sh -c :" in compared
    # The other way round there is only more than before.
    gate("gate", "both", "--baseline", "last", "--margin", "99%", *STORE, *FILES)
    assert "Not judged, the baseline has no such cell: system=exec:sh -c :" in said(gate)


def test_an_unknown_word_for_what_is_not_settled_is_refused(gate: Cli) -> None:
    out = gate("gate", "--baseline", "both", "--inconclusive", "maybe", *STORE, code=2)
    assert "--inconclusive: unknown value `maybe`; use `pass` or `fail`" in out


def test_a_summary_that_cannot_be_written_changes_no_answer(gate: Cli) -> None:
    gate.environment["GITHUB_STEP_SUMMARY"] = str(gate.directory / "nowhere" / "summary.md")
    try:
        out = gate("gate", "both", "--baseline", "last", "--margin", "99%", *STORE)
    finally:
        del gate.environment["GITHUB_STEP_SUMMARY"]
    assert "the summary is not written to" in out
    assert "Traceback" not in out


def test_what_is_no_baseline_is_refused(gate: Cli) -> None:
    run = gate.run("--system", "exec:./fails", "--rounds", "2", code=1)["id"]
    why = "none of its trials gave a result"
    assert why in gate("baseline", "bad", run, *STORE, code=2)
    listed = gate("baseline", *STORE)
    good = listed.split()[1]
    for name in ("last", good, good.rpartition("-")[2]):
        assert "a run is called so" in gate("baseline", name, good, *STORE, code=2)
    assert listed.startswith("both: ")
    assert "bad" not in listed
    assert "baselines: `both`" in gate("gate", "--baseline", "nothing", *STORE, code=2)


def test_a_baseline_that_is_replaced_is_told(gate: Cli) -> None:
    # Called as a branch is.
    first = gate("baseline", *STORE).split()[1]
    assert gate("baseline", "fix/mine", first, *STORE) == f"baseline fix/mine: {first}\n"
    other = gate.run("--system", "exec:true", "--rounds", "2")["id"]
    assert gate("baseline", "fix/mine", other, *STORE) == f"baseline fix/mine: {other}, in place of {first}\n"
    for named in ("fix/mine", "fix/mine/system=exec:true"):
        assert f"b  command {other}" in gate("compare", "both/system=exec:true", named, *STORE)
    assert "baselines: `both`, `fix/mine`" in gate("gate", "--baseline", "fix", *STORE, code=2)
    gate("baseline", "fix/mine", "--remove", *STORE)


def test_trials_that_failed_are_the_reason(gate: Cli) -> None:
    (gate.directory / "fails").write_text("#!/bin/sh\n")
    good = gate.run("--system", "exec:./fails", "--rounds", "2")["id"]
    (gate.directory / "fails").write_text("#!/bin/sh\nprintf '\\033[31mno\\001pe\\033[0m' >&2\nexit 7\n")
    gate.run("--system", "exec:./fails", "--rounds", "2", code=1)
    gate("gate", "--baseline", good, *STORE, *FILES, "--inconclusive", "fail", code=1)
    # A change that breaks trials does not pass unnoticed.
    gate("gate", "--baseline", good, *STORE, *FILES, code=1)
    assert "2 of 2 rounds of b failed: " in said(gate)
    # XML has no words for colours and other such characters.
    suite = ElementTree.fromstring((gate.directory / "gate.xml").read_text())
    (error,) = suite.iter("error")
    assert "nope" in str(error.get("message"))


def test_a_new_cell_that_gives_no_result_fails(gate: Cli) -> None:
    (gate.directory / "fails").write_text("#!/bin/sh\nexit 7\n")
    base = gate.run("--system", "exec:true", "--rounds", "2")["id"]
    gate.run("--system", "exec:true", "--system", "exec:./fails", "--rounds", "2", code=1)
    out = " ".join(gate("gate", "--baseline", base, "--margin", "99%", *STORE, *FILES, code=1).split())
    assert "not settled system=exec:./fails: the baseline has no such cell; 2 of 2 rounds of b failed: " in out
    assert "not judged, the baseline has no such cell" not in out


def test_the_noise_of_a_program(gate: Cli) -> None:
    assert "false alarms" in gate("noise", "--system", "exec:true", "--rounds", "4", *STORE)
