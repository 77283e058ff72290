"""Runs in which the cells of a block are interleaved."""

import copy
import json
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psutil
import pytest

from conftest import Cli, workers_of
from dbdyno.analysis.document import build_document
from dbdyno.analysis.measured.derived import derived
from dbdyno.store import TrialRecord
from repeated import repeated
from synthetic import lookup_design, lookup_trials, run_record
from synthetic_events import as_stored, result_of
from test_processes import workers_at_work

Small = Callable[..., str]

INTERLEAVED = ("--interleave", "5ms")
LONG = ("transactions = 500", "seconds = 30")


def rounds_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for cell in document["cells"] for each in cell["rounds"]]


def test_interleaved_cells_do_the_work_that_they_do_one_after_another(cli: Cli, small: Small) -> None:
    file = cli.write("small.toml", small())
    apart = cli.run(file, "--rounds", "2", "--seed", "3")
    interleaving = cli.run(file, "--rounds", "2", "--seed", "3", *INTERLEAVED)
    for one, other in zip(rounds_of(apart), rounds_of(interleaving), strict=True):
        for name in ("issued", "ok", "statements", "rows", "transactions", "position", "ended_by"):
            assert one[name] == other[name], name
        assert one["interleaving"] == {}
        assert other["interleaving"]["length_ms"] == 5 and other["interleaving"]["of"] == 2
        # The first of the block has the first slice.
        assert other["interleaving"]["index"] == other["position"]
        assert other["issued"] == other["ok"] + sum(other["failed"].values()) + other["skipped"] + other["in_flight"]
        assert other["throughput"] == pytest.approx(other["ok"] / other["elapsed_s"])
    assert interleaving["options"]["slice_s"] == pytest.approx(0.005)
    assert "seconds of a slice" in cli("compare", apart["id"], interleaving["id"], "--store", "runs.db")
    assert cli.left_behind() == []


@repeated
def test_a_window_is_as_long_as_its_interleaving(cli: Cli, small: Small) -> None:
    file = cli.write("timed.toml", small(("stop = { transactions = 500 }", "stop = { seconds = 0.2 }")))
    for each in rounds_of(cli.run(file, "--rounds", "1", *INTERLEAVED)):
        assert each["elapsed_s"] == pytest.approx(0.2)
        # Forty slices of its own, and as many of the other but for the last; fewer where a transaction outlasts
        # its slice because the thread had no processor.
        assert each["interleaving"]["real_s"] > 0.25
        # What the window's end cut goes on in the client's own slices.
        longest = each["latency_ms"]["service"]["max"] / 1e3
        assert each["client_s"] <= (0.2 + longest) * each["window"]["clients"] + 1e-6
        assert each["intervals"][-1]["end_s"] < each["interleaving"]["real_s"]
        assert each["disk"]["device"] is None
    assert "in time slices of 5 ms" in cli("show", "last", "--store", "runs.db", "--verbose")


def test_a_statement_that_outlasts_its_turn_goes_on_in_the_next(cli: Cli, small: Small) -> None:
    counted = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) select count(*) from n"
    text = small(("select * from t where id = ?", counted), (', params = [{ key = "t.id" }]', ""))
    file = cli.write("slow.toml", text.replace("transactions = 500", "transactions = 3"))
    rounds = rounds_of(cli.run(file, "--rounds", "1", *INTERLEAVED))
    for each in rounds:
        assert each["ok"] == 3 * each["window"]["clients"]
        # The others' slices are in no latency: all that a client did makes up its time.
        assert each["latency_ms"]["service"]["mean"] * each["ok"] <= each["client_s"] * 1e3 * 1.01
    # Until one has ended, slices that ended in time have each been followed by one of the other's, but for the last.
    first = min(rounds, key=lambda each: each["interleaving"]["real_s"])
    # What was overrun is the clients' mean: none of them did so for longer than all together.
    in_turn_s = first["elapsed_s"] - first["interleaving"]["overrun_s"] * first["window"]["clients"]
    assert first["interleaving"]["real_s"] >= in_turn_s + max(0, int(in_turn_s / 0.005 - 1)) * 0.005


def test_what_goes_on_after_its_turn_is_told() -> None:
    design = lookup_design((1,), ())
    trials = lookup_trials(design, 5, seed=1)
    for overrun_s, syncs, told in ((0.15, 9, False), (0.25, 9, True), (0.25, 0, False)):
        for trial in trials:
            assert trial.result is not None
            trial.result["io"]["syncs"] = syncs
            trial.result["interleaving"] = {"overrun_s": overrun_s, "real_s": 8.0}
        texts = [each.text for each in build_document(run_record(design), trials).findings]
        assert any("overran their time slices for" in text for text in texts) is told


def test_a_run_that_finds_its_number_of_rounds_takes_interleaving_where_all_cells_can(cli: Cli, small: Small) -> None:
    file = cli.write("small.toml", small())
    auto = ("--rounds", "auto", "--max-rounds", "2")
    for options, slice_s in (
        ((), 0.02),
        (("--interleave", "none"), None),
        (INTERLEAVED, 0.005),
        (("--set", "clients=1"), None),
    ):
        document = cli.run(file, *auto, *options)
        assert document["options"]["slice_s"] == slice_s, options
        assert all(bool(each["interleaving"]) is (slice_s is not None) for each in rounds_of(document))
    open_loop = cli.write(
        "open.toml", small(('clients = "${clients}"', 'clients = "${clients}"\narrival = { rate = 500 }'))
    )
    document = cli.run(open_loop, "--set", "clients=1,2", *auto)
    assert document["options"]["slice_s"] is None


def test_a_run_interrupted_before_it_was_decided_whether_to_take_turns_decides_when_resumed(
    cli: Cli, small: Small
) -> None:
    file = cli.write("small.toml", small())
    process = cli.start("run", file, "--rounds", "auto", "--max-rounds", "2", "--store", "runs.db")
    # The run is stored before the machine is measured, by workers and for longer than the signal takes.
    while process.poll() is None and (stored_options(cli) is None or not workers_of(process.pid)):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert "slice_s" not in (stored_options(cli) or {"slice_s": "no run is stored"})
    document = cli.run("--resume", "last")
    assert document["options"]["slice_s"] == 0.02
    assert all(each["interleaving"] for each in rounds_of(document))


def test_ctrl_c_ends_all_that_take_turns_and_resume_goes_on(cli: Cli, small: Small) -> None:
    # The second block is cut short; what is gone on with is interleaved as well.
    file = cli.write("long.toml", small(LONG))
    process = cli.start("run", file, "--rounds", "1", *INTERLEAVED, "--store", "runs.db", "--json", "out.json")
    workers = interleaved_workers(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not any(worker.is_running() for worker in workers)
    document = json.loads((cli.directory / "out.json").read_text())
    assert [each["status"] for each in rounds_of(document)] == ["interrupted", "interrupted"]
    process = cli.start("run", "--resume", document["id"], "--store", "runs.db", "--json", "out.json")
    interleaved_workers(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    resumed = json.loads((cli.directory / "out.json").read_text())
    assert [each["interleaving"]["of"] for each in rounds_of(resumed)] == [2, 2]
    assert cli.left_behind() == []


def test_one_that_is_killed_leaves_the_others_their_interleaving(cli: Cli, small: Small) -> None:
    file = cli.write("long.toml", small(("transactions = 500", "seconds = 3")))
    process = cli.start("run", file, "--rounds", "1", *INTERLEAVED, "--store", "runs.db", "--json", "out.json")
    interleaved_workers(process.pid)[0].kill()
    process.communicate(timeout=60)
    assert process.returncode == 1
    rounds = rounds_of(json.loads((cli.directory / "out.json").read_text()))
    assert sorted(each["status"] for each in rounds) == ["done", "failed"]
    assert [each["error_kind"] for each in rounds if each["status"] == "failed"] == ["killed"]
    assert [each["elapsed_s"] for each in rounds if each["status"] == "done"] == [3.0]
    assert cli.left_behind() == []


def test_a_statement_that_takes_longer_than_the_budget_leaves_the_others_theirs(cli: Cli) -> None:
    """One statement never ends within the time of the run; the other has a result, and the run says why."""
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000000000000) select x from c"
    file = cli.write("two.sql", f"-- name: quick\nselect 1;\n-- name: endless\nselect count(*) from ({endless});\n")
    cli("run", file, "--system", "sqlite:", "--budget", "3s", "--store", "runs.db", "--json", "out.json", code=1)
    document = json.loads((cli.directory / "out.json").read_text())
    found = {cell["factors"]["statement"]: cell["rounds"] for cell in document["cells"]}
    assert {each["status"] for each in found["quick"]} == {"done"}
    (failed,) = found["endless"]
    assert failed["error_kind"] == "timeout"
    assert "without a result (a long statement" in failed["error"] and "`--budget`" in failed["error"]
    assert cli.left_behind() == []


def test_a_trial_whose_warm_up_takes_long_is_measured_alone(cli: Cli, small: Small) -> None:
    warm = (
        ("clients = [1, 2]", "warm = [0.1, 9.0]"),
        ('clients = "${clients}"', 'warmup = { seconds = "${warm}" }'),
        ('x = "clients"', 'x = "warm"'),
    )
    document = cli.run(cli.write("warm.toml", small(*warm)), "--rounds", "2", *INTERLEAVED)
    found = {cell["factors"]["warm"]: cell["rounds"] for cell in document["cells"]}
    assert [each["status"] for each in [*found[0.1], *found[9.0]]] == ["done"] * 4
    assert all(each["interleaving"] == {} for each in found[9.0])
    assert found[0.1][0]["interleaving"]["of"] == 2
    assert cli.left_behind() == []


def test_instructions_are_counted_of_cells_that_took_turns(cli: Cli, small: Small) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    file = cli.write("small.toml", small())
    document = cli.run(file, "--rounds", "1", *INTERLEAVED, "--instructions")
    assert all(each["instructions"] > 1000 and each["interleaving"] for each in rounds_of(document))


@pytest.mark.parametrize(
    ("options", "old", "new", "said"),
    [
        (("--interleave", "soon"), "", "", "--interleave: `soon` is not a duration"),
        (("--interleave", "0.5ms"), "", "", "--interleave: a slice lasts a millisecond at least"),
        (
            INTERLEAVED,
            'clients = "${clients}"',
            'clients = "${clients}"\narrival = { rate = 50 }',
            "transactions start by the clock",
        ),
        (
            INTERLEAVED,
            'clients = "${clients}"',
            'clients = "${clients}"\nclients_as = "processes"',
            "processes of their own",
        ),
        ((*INTERLEAVED, "--system", "postgresql:"), "", "", "is not suspended between the slices"),
    ],
)
def test_what_cannot_take_turns_is_refused(
    cli: Cli, small: Small, options: tuple[str, ...], old: str, new: str, said: str
) -> None:
    file = cli.write("small.toml", small((old, new)) if old else small())
    assert said in cli("run", file, "--rounds", "1", *options, code=2)


def test_what_the_others_used_is_not_the_machines_disturbance() -> None:
    # Of a window of 2 s each was at work for 1 s, with one and with half a processor; something else used 30 %.
    def trial(percent: float, **around: str) -> TrialRecord:
        cpu = {"process_percent": percent, "machine_percent": 100 * (1.5 + 0.6) / 2}
        result = as_stored(result_of(cpu=cpu, interleaving={"overrun_s": 0.0, "real_s": 2.0}))
        return TrialRecord(cell="a", block=0, position=0, status="done", result=result, around=around)

    trials = [trial(100.0, together="then"), trial(50.0, together="then"), trial(100.0, together="later"), trial(50.0)]
    said = copy.deepcopy(trials)
    made = [each.result.cpu.machine_percent for each in derived(trials) if each.result is not None]
    # Of the third nobody else is known, and the last was alone.
    assert made == pytest.approx([130.0, 80.0, 155.0, 105.0])
    assert trials == said


def stored_options(cli: Cli) -> dict[str, Any] | None:
    """The options of the run in the store, or None where there is none yet."""
    try:
        with closing(sqlite3.connect(f"file:{cli.directory}/runs.db?mode=ro", uri=True)) as store:
            row = store.execute("select options from dbdyno_runs").fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else dict(json.loads(row[0]))


def interleaved_workers(process_id: int) -> list[psutil.Process]:
    """Wait until two workers have a trial's database open, and their windows have begun."""
    found = workers_at_work(process_id, 2)
    time.sleep(0.3)
    return found


SYNCS = """
name = "syncs"
title = "What a sync costs"
question = "What does a sync cost?"
rounds = 2
[factors]
sync = ["off", "full"]
[tables.t]
rows = 100
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
v = { type = "integer", fill = { serial = 1 } }
[system.sqlite]
synchronous = "${sync}"
[load]
stop = { transactions = 50 }
[[transactions]]
name = "t"
steps = [{ execute = "%s", params = [{ key = "t.id" }] }]
"""
WRITES, READS = "update t set v = v + 1 where id = ?", "select v from t where id = ?"
AUTO = ("--rounds", "auto", "--min-rounds", "2", "--max-rounds", "2")


@pytest.mark.parametrize(
    ("statement", "chosen", "interleaving"),
    [(WRITES, (), False), (WRITES, ("--set", "sync=full"), None), (READS, (), True)],
)
def test_cells_that_write_and_sync_differently_take_no_turns_unasked(
    cli: Cli, statement: str, chosen: tuple[str, ...], interleaving: bool | None
) -> None:
    file = cli.write("syncs.toml", SYNCS % statement)
    # A cell alone has nobody to be interleaved with: a second one that syncs alike.
    systems = () if interleaving is not None else ("--system", "sqlite:", "--system", "sqlite:?cache_size=100")
    document = cli.run(file, *chosen, *systems, *AUTO)
    assert (document["options"]["slice_s"] is not None) == (interleaving is not False)


def test_what_one_leaves_to_the_kernel_is_not_paid_by_one_that_reads(cli: Cli) -> None:
    text = (SYNCS % "${cell.sql}").replace('sync = ["off", "full"]\n', "").replace("${sync}", "${cell.sync}")
    cells = "".join(
        f'[factors.cell.{name}]\nsql = "{sql}"\nsync = "{sync}"\n'
        for name, sql, sync in (("reads", READS, "off"), ("lazy", WRITES, "off"), ("syncs", WRITES, "full"))
    )
    file = cli.write("mixed.toml", text.replace("[factors]\n", cells))
    for chosen, interleaving in (("reads,lazy", False), ("reads,syncs", True)):
        document = cli.run(file, "--set", f"cell={chosen}", *AUTO)
        assert (document["options"]["slice_s"] is not None) == interleaving, chosen


def test_interleaving_that_were_asked_for_between_them_are_remarked_on(cli: Cli) -> None:
    document = cli.run(cli.write("syncs.toml", SYNCS % WRITES), "--rounds", "2", *INTERLEAVED)
    (told,) = (each for each in document["findings"] if "sync their writes differently" in each["text"])
    assert len(told["cells"]) == 2 and len(told["evidence"]["settings"]) == 2
    document = cli.run(cli.write("reads.toml", SYNCS % READS), "--rounds", "2", *INTERLEAVED)
    assert not any("sync their writes differently" in each["text"] for each in document["findings"])
