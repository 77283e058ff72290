"""Load from several machines: dividing, clocks, what goes to a machine, and runs on nodes of Ray."""

import hashlib
import io
import json
import re
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from conftest import Cli, those
from dbdyno.analysis.measured.histograms import Histogram, encode_ns
from dbdyno.analysis.measured.merged_results import merge_results
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.base.errors import InputError
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.plan.worker_plan import PLAN, WorkerPlan
from dbdyno.model.run_options import RunOptions
from dbdyno.run.cluster_checks import check_cluster
from dbdyno.run.processes import parts
from dbdyno.run.progress import Display
from dbdyno.runtime.cluster.address import read_cluster
from dbdyno.runtime.cluster.client_distribution import distribute_clients
from dbdyno.runtime.cluster.clocks import Exchange, measure_offset, offset_of
from dbdyno.runtime.cluster.node import LoadMachine, NotTheWorker, masked
from dbdyno.runtime.worker import worker_path
from dbdyno.stats.mean_test import p_value
from dbdyno.store import TrialRecord, open_store
from experiment_files import compiled, experiment
from synthetic_events import an_interval, result_of

try:
    import ray
except ImportError:
    ray = None

needs_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed: the extra `cluster` brings it")
# Half a dozen processes a node: one such test at a time.
on_ray = pytest.mark.xdist_group("ray")

NULL = """
name = "null"
title = "Nothing, from several machines"
rounds = 1

[load]
clients = 7
{load}

[measure]
interval_ms = 250

[[transactions]]
name = "read"
steps = [{steps}]
"""
READ = '{ execute = "select 1" }'


def null(seconds: float, load: str = "", steps: str = READ) -> str:
    return NULL.replace("{load}", f"stop = {{ seconds = {seconds} }}\n{load}").replace("{steps}", steps)


def test_the_address_of_a_cluster_is_read() -> None:
    assert read_cluster("local:3").shown == "local:3"
    assert read_cluster("local:3").machines == 3
    assert read_cluster("ray://head:10001").shown == "ray://head:10001"
    assert read_cluster("ray://head:10001").machines is None
    asked = read_cluster("ray://head:10001?machines=4")
    assert (asked.address, asked.machines, asked.shown) == ("ray://head:10001", 4, "ray://head:10001?machines=4")


@pytest.mark.parametrize(
    "text",
    [
        *("", "local", "local:", "local:0", "local:x", "local:1000", "head:10001", "ray://head", "ray://head:x"),
        *("ray://:1", "http://head:1", "ray://head:1/path", "ray://head:1?machines=0", "ray://head:1?nodes=3"),
        "ray://u:p@head:1",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--cluster: ") as error:
        read_cluster(text)
    assert "u:p@" not in str(error.value)


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_clients_are_divided_evenly_and_none_is_lost(clients: int, machines: int) -> None:
    if machines > clients:
        with pytest.raises(ValueError, match="be distributed over"):
            distribute_clients(clients, machines)
        return
    sizes = distribute_clients(clients, machines)
    assert (len(sizes), sum(sizes)) == (machines, clients)
    assert max(sizes) - min(sizes) <= 1


def test_each_client_of_a_trial_is_on_one_machine() -> None:
    plans = parts(WorkerPlan(task=TrialTask(clients=100_000)), distribute_clients(100_000, 7))
    tasks = [each.json["task"] for each in plans]
    assert tasks[0]["part"]["first"] == 0
    ends = [each["part"]["first"] + each["clients"] for each in tasks]
    assert [each["part"]["first"] for each in tasks[1:]] == ends[:-1]
    assert ends[-1] == 100_000 and {each["part"]["of"] for each in tasks} == {100_000}
    assert [each["record"]["waits"] for each in tasks] == [True] + 6 * [False]


@given(st.integers(-(10**15), 10**15), st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=1))
def test_an_offset_is_as_near_as_it_says_however_unlike_the_ways(ahead: int, ways: list[tuple[int, int]]) -> None:
    seen = [Exchange(at, at + there + ahead, at + there + back) for at, (there, back) in enumerate(ways)]
    found = offset_of(seen)
    assert abs(found.ns - ahead) <= found.uncertainty_ns
    assert found.uncertainty_ns <= min(there + back for there, back in ways) / 2 + 1


def test_the_clock_of_this_machine_is_at_no_offset() -> None:
    found = measure_offset(time.monotonic_ns, LoadMachine().clock_ns)
    assert abs(found.ns) <= found.uncertainty_ns


PARTS = st.lists(st.lists(st.integers(1, 10**10), min_size=1, max_size=30), min_size=1, max_size=6)


@given(PARTS)
def test_what_machines_recorded_is_as_if_one_worker_had_recorded_all(times: list[list[int]]) -> None:
    results = [
        result_of(
            accounting={"issued": len(own) + 3, "ok": len(own), "failed": {"locked": 1}, "skipped": 1, "in_flight": 1},
            completed=len(own),
            histograms={"service": encode_ns(own)},
        )
        for own in times
    ]
    merged = merge_results(results, [str(number) for number in range(len(times))])
    together = [each for own in times for each in own]
    ours, of_one = (Histogram(each).points() for each in (merged.histograms["service"], encode_ns(together)))
    assert all(np.array_equal(a, b) for a, b in zip(ours, of_one, strict=True))
    accounting = merged.accounting
    assert accounting.ok == len(together)
    assert accounting.issued == accounting.ok + sum(accounting.failed.values()) + 2 * len(times)
    assert (accounting.skipped, accounting.in_flight) == (len(times), len(times))


def test_the_processors_of_several_machines_are_added_and_those_of_one_are_not() -> None:
    cpu = {"process_percent": 50.0, "machine_percent": 60.0, "steal_percent": 1.0, "cores": 4}
    results = [result_of(cpu=cpu) for _ in range(3)]
    one, two = merge_results(results).cpu, merge_results(results, ["a", "b", "a"]).cpu
    assert (one.process_percent, one.machine_percent, one.cores) == (150.0, 60.0, 4)
    assert (two.process_percent, two.machine_percent, two.cores) == (150.0, 120.0, 8)


def test_chance_explains_noise_of_neighbours_alike_and_no_difference_that_stays() -> None:
    draws = np.random.default_rng(7)
    alarms, alike_alarms, runs = 0, 0, 2000
    for _ in range(runs):
        noise = draws.normal(0, 0.1, 20)
        alike = np.array([0.0, *noise])
        for number in range(1, len(alike)):
            alike[number] += 0.4 * alike[number - 1]
        alarms += (p_value(list(noise)) or 0.0) < 0.01
        alike_alarms += (p_value(list(alike[1:])) or 0.0) < 0.01
        assert (p_value(list(noise + 0.3)) or 0.0) < 0.01
    # 1 % is stated; of neighbours alike the correction leaves somewhat more.
    assert alarms / runs < 0.02
    assert alike_alarms / runs < 0.04
    assert p_value([0.5] * 4) is None


def test_what_came_must_be_what_was_sent() -> None:
    machine = LoadMachine()
    with pytest.raises(NotTheWorker, match="expected"):
        machine.take_program(b"something else", hashlib.sha256(worker_path().read_bytes()).hexdigest())
    with pytest.raises(NotTheWorker, match="no program"):
        machine.start(machine.pad(2)[0], b"{}", 0)


@given(st.binary(min_size=1), st.data())
def test_a_plan_is_nothing_without_its_pad(text: bytes, data: st.DataObject) -> None:
    pad = data.draw(st.binary(min_size=len(text), max_size=len(text)))
    assert masked(masked(text, pad), pad) == text


def on_machine(task: dict[str, Any]) -> tuple[LoadMachine, str]:
    """Start the worker on a task as a load machine does, in this process."""
    machine, content = LoadMachine(), worker_path().read_bytes()
    machine.take_program(content, hashlib.sha256(content).hexdigest())
    plan = json.dumps({"schema": PLAN, "seed": 1, "task": task}).encode()
    name, pad = machine.pad(len(plan))
    machine.start(name, masked(plan, pad), 100)
    return machine, name


def all_heard(machine: LoadMachine, name: str) -> tuple[list[dict[str, Any]], tuple[int, str]]:
    lines: list[str] = []
    while True:
        news, ended = machine.read_output(name, len(lines), 5.0)
        lines += news
        if ended is not None:
            return [json.loads(line) for line in lines], ended


def null_task(seconds: float, part: dict[str, int] | None = None) -> dict[str, Any]:
    (cell,) = compiled(experiment(null(seconds)), "null:")
    return cell.plan({"engine": "null"}, 1).json["task"] | ({} if part is None else {"part": part})


def test_a_machine_runs_the_worker_and_gives_what_it_says() -> None:
    events, ended = all_heard(*on_machine(null_task(0.2)))
    assert ended == (0, "")
    before = time.monotonic_ns()
    result = events[-1]
    assert result["event"] == "result"
    assert 0 < before - result["began_ns"] < 60_000_000_000


def test_a_worker_waits_to_be_told_when_to_begin_and_says_when_it_did() -> None:
    machine, name = on_machine(null_task(0.2, {"first": 0, "of": 7}))
    seen: list[str] = []
    agreed = 0
    while True:
        news, ended = machine.read_output(name, len(seen), 5.0)
        seen += news
        if ended is not None:
            break
        if any(json.loads(line)["event"] == "ready" for line in news):
            agreed = time.monotonic_ns() + 100_000_000
            machine.send(name, json.dumps({"start_ns": agreed}))
    # Not before the moment, in a closed loop as soon as each client has ended a transaction.
    assert json.loads(seen[-1])["began_ns"] >= agreed - 1_000_000


def test_a_worker_ends_when_it_is_asked_or_made_to() -> None:
    machine, name = on_machine(null_task(60.0))
    while not any('"window"' in line for line in machine.read_output(name, 0, 5.0)[0]):
        pass
    machine.end(name, at_once=False)
    events, ended = all_heard(machine, name)
    assert (events[-1]["ended_by"], ended) == ("interrupted", (0, ""))
    machine, name = on_machine(null_task(60.0))
    machine.end(name, at_once=True)
    assert all_heard(machine, name)[1][0] == -signal.SIGKILL


@pytest.mark.parametrize(
    ("load", "system", "address", "why"),
    [
        ("", "sqlite:", "local:3", "is a file"),
        ("", "postgresql:", "ray://head:1", "listens on this machine only"),
        ("", "postgresql://localhost/d", "ray://head:1", "another machine on each"),
        ("", "postgresql:///d?host=/run/postgresql", "ray://head:1", "another machine on each"),
        ('clients_as = "processes"', "postgresql://db/d", "ray://head:1", "processes of their own"),
        ("memory_limit_mb = 100", "postgresql:", "local:3", "memory"),
        ('[measure.processes]\ndb = "postgres"', "postgresql://db/d", "ray://head:1", "processes of this machine"),
        ("", "null:", "local:8", "7 clients are fewer than the 8 load machines"),
    ],
)
def test_what_load_from_elsewhere_cannot_reach_is_refused(load: str, system: str, address: str, why: str) -> None:
    cells = compiled(experiment(null(1, load)), system)
    with pytest.raises(InputError, match=why):
        check_cluster(cells, read_cluster(address))


@pytest.mark.parametrize(
    ("system", "address"),
    [("postgresql://db/d", "ray://head:1"), ("postgresql:", "local:7"), ("null:", "ray://head:1?machines=7")],
)
def test_what_clients_elsewhere_reach_is_not_refused(system: str, address: str) -> None:
    cells = compiled(experiment(null(1)), system)
    check_cluster(cells, read_cluster(address))
    for options in (RunOptions(interleaving=0.02), RunOptions(instructions=True), RunOptions(wait_idle=True)):
        with pytest.raises(InputError, match="leave one of the two out"):
            check_cluster(cells, read_cluster(address), options)
    with pytest.raises(InputError, match=r"growth: .*leave one of the two out"):
        check_cluster(cells, read_cluster(address), grows=True)


def test_a_cluster_without_ray_is_told_what_to_install(cli: Cli) -> None:
    if ray is not None:
        pytest.skip("Ray is installed")
    file = cli.write("null.toml", null(1))
    assert "pip install 'WHEEL[cluster]'" in cli("run", file, "--system", "null:", "--cluster", "local:2", code=2)


def load_workers(process: Any, count: int) -> list[psutil.Process]:
    """Wait until so many workers run on the nodes that a run has started."""
    end = time.monotonic() + 180
    while time.monotonic() < end:
        if process.poll() is not None:
            raise AssertionError("the run ended: {}\n{}".format(*process.communicate()))
        children = psutil.Process(process.pid).children(recursive=True)
        found = those(children, lambda child: re.match(r"/proc/self/fd/\d+$", (child.cmdline() or [""])[0]))
        if len(found) == count:
            return found
        # Looking through all processes takes some time itself.
        time.sleep(0.2)
    raise AssertionError("the workers were not seen")


def ended_with(process: Any, code: int) -> str:
    out, errors = process.communicate(timeout=300)
    assert process.returncode == code, f"{out}\n{errors}"
    return str(out)


def balanced(each: dict[str, Any]) -> bool:
    failed = each["failed"] if isinstance(each["failed"], int) else sum(each["failed"].values())
    return bool(each["issued"] == each["ok"] + failed + each["skipped"] + each["in_flight"])


@pytest.fixture
def clustered(cli: Cli) -> Iterator[Callable[..., Any]]:
    """Start a run on nodes that it starts itself; they are gone when it is."""
    started = []

    def start(text: str, nodes: int = 3) -> Any:
        words = ("run", cli.write("null.toml", text), "--system", "null:", "--cluster", f"local:{nodes}")
        process = cli.start(*words, "--store", "runs.db", "--json", "out.json", "--verbose")
        started.append(process)
        return process

    yield start
    for each in started:
        if each.poll() is None:
            each.kill()


def stored_trials(cli: Cli) -> list[TrialRecord]:
    store = open_store(str(cli.directory / "runs.db"))
    return store.trials(store.run("last").id)


def wait_for_trials(cli: Cli, process: Any, count: int) -> None:
    """Wait until so many trials have ended, whichever way."""
    end = time.monotonic() + 180
    while not (cli.directory / "runs.db").exists() or len(stored_trials(cli)) < count:
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.1)


@needs_ray
@on_ray
def test_a_run_on_three_nodes_is_the_sum_of_what_each_did_and_a_slow_one_is_flagged(
    cli: Cli, clustered: Callable[..., Any]
) -> None:
    # A client does some 125 of these a second, and has 86 to do.
    text = null(4, "arrival = { rate = 600 }", f"{READ}, {{ think = {{ uniform = [7, 9] }} }}")
    process = clustered(text.replace("rounds = 1", "rounds = 2"))
    nodes = those(psutil.Process(load_workers(process, 3)[0].pid).parents(), lambda each: each.name() == "raylet")
    assert nodes
    wait_for_trials(cli, process, 1)
    slow = load_workers(process, 3)[2]
    # In the second trial one stands still for more than half of the time.
    while slow.is_running() and slow.status() != psutil.STATUS_ZOMBIE:
        try:
            slow.suspend()
            time.sleep(0.06)
            slow.resume()
            time.sleep(0.04)
        except psutil.Error:
            break
    out = ended_with(process, 0)
    document = json.loads((cli.directory / "out.json").read_text())
    each, with_slow = document["cells"][0]["rounds"]
    machines = each["load_machines"]
    assert [machine["clients"] for machine in machines] == [3, 2, 2]
    for name in ("issued", "ok", "skipped", "in_flight"):
        assert each[name] == sum(machine[name] for machine in machines), name
    assert balanced(each) and all(balanced(machine) for machine in machines)
    # 600 a second were offered, by all together.
    assert each["issued"] == pytest.approx(2400, rel=0.1)
    assert sum(machine["throughput"] for machine in machines) == pytest.approx(each["throughput"], rel=0.01)
    assert sum(machine["share"] for machine in machines) == pytest.approx(1)
    assert all(machine["began_ms"] is not None and machine["clock_ms"] > 0 for machine in machines)
    assert len(document["options"]["load_machines"]) == 3
    assert "load machines shared" in {finding["kind"] for finding in document["findings"]}
    assert "3 load machines: 1 (127.0.0.1)" in out
    (found,) = [each for each in document["findings"] if each["kind"] == "load machines differ"]
    slowest = min(with_slow["load_machines"], key=lambda each: each["rate_ratio"])
    assert found["evidence"]["machine"] == slowest["name"]
    assert found["evidence"]["rate_ratio"] == slowest["rate_ratio"] < 0.9
    # Its nodes ended with it.
    assert not any(node.is_running() for node in nodes)


@needs_ray
@on_ray
def test_a_trial_that_loses_a_machine_is_done_again_by_as_many_and_ctrl_c_keeps_what_all_measured(
    cli: Cli, clustered: Callable[..., Any]
) -> None:
    process = clustered(null(6, "arrival = { rate = 300 }").replace("rounds = 1", "rounds = 2"), nodes=2)
    victim = load_workers(process, 2)[1]
    time.sleep(1.0)
    # The whole node: what runs the worker, and what makes it a node.
    for each in [each for each in victim.parents() if each.pid != process.pid][:2]:
        each.kill()
    wait_for_trials(cli, process, 2)
    workers = load_workers(process, 2)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    ended_with(process, 130)
    first, second, third = stored_trials(cli)
    assert (first.status, first.error_kind, second.status, third.status) == (
        *("failed", "load machine", "done", "interrupted"),
    )
    again, interrupted = json.loads((cli.directory / "out.json").read_text())["cells"][0]["rounds"]
    assert again["status"] == "done"
    assert len(again["load_machines"]) == 2
    assert [bool(re.search(r"load machine \d .* was lost", why)) for why in again["lost_machines"]] == [True]
    assert interrupted["status"] == "interrupted"
    assert len(interrupted["load_machines"]) == 2 and balanced(interrupted)
    assert not any(worker.is_running() for worker in workers)


@needs_ray
@on_ray
def test_a_run_that_was_cut_short_goes_on_with_as_many_machines(cli: Cli, clustered: Callable[..., Any]) -> None:
    process = clustered(null(4, "arrival = { rate = 300 }").replace("rounds = 1", "rounds = 2"), nodes=2)
    load_workers(process, 2)
    wait_for_trials(cli, process, 1)
    nodes = those(psutil.Process(process.pid).children(recursive=True), lambda each: each.name() == "raylet")
    assert nodes
    # Whatever ends dbdyno, its nodes end with it.
    process.kill()
    process.wait(60)
    gone, there = psutil.wait_procs(nodes, timeout=60)
    assert (len(gone), there) == (len(nodes), [])
    # Ray ends the process that it runs in if its cluster fails.
    cli.spawn("run", "--resume", "last", "--store", "runs.db", "--json", "out.json")
    document = json.loads((cli.directory / "out.json").read_text())
    assert [each["status"] for each in document["cells"][0]["rounds"]] == ["done", "done"]
    assert [len(each["load_machines"]) for each in document["cells"][0]["rounds"]] == [2, 2]
    # What the killed one left was removed by the next.
    assert not list(Path("/tmp").glob(f"dbdyno-ray-{process.pid}-*"))


def test_what_each_machine_does_is_in_the_one_live_line() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    (cell,) = compiled(experiment(null(1)), "null:")
    with Display(console, trials=1, rounds=1, measure=Measure("transaction", "transactions")) as display:
        display.trials(0, [cell.cell])
        for number, ok in enumerate((400, 500, 600)):
            display.machine(number, 3, an_interval(0, ok))
        display.interval(cell.cell, an_interval(0, 1500))
        assert display._progress is not None
        shown = display._progress.tasks[0].description
        assert "1,500 transactions/s = 400 + 500 + 600 of 3 load machines" in shown
        # Those of another trial are others.
        display.trials(0, [cell.cell])
        display.interval(cell.cell, an_interval(0, 7))
        assert "load machines" not in display._progress.tasks[0].description


def test_the_command_that_uses_more_machines_is_one_that_is_read() -> None:
    from dbdyno.analysis.findings.load_machines import _machines

    assert [_machines(share, 1) for share in (0.5, 0.9, 1.0)] == [2, 2, 3]
    assert _machines(0.8, 4) == 7
    (word,) = shlex.split("'ray://HOST:10001?machines=3'")
    assert read_cluster(word).machines == 3


def test_nothing_of_a_node_needs_the_package() -> None:
    text = Path(LoadMachine.facts.__code__.co_filename).read_text(encoding="utf-8")
    assert "dbdyno." not in re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
