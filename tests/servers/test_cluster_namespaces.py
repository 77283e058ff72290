"""Load from nodes of Ray that each have a network of their own, as machines have, and a node whose network is cut."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from conftest import Cli, those

try:
    import ray
except ImportError:
    ray = None

NODES = 3
NULL = """
name = "null"
title = "Nothing, from several machines"
rounds = 1

[load]
clients = 6
arrival = { rate = 300 }
stop = { seconds = 10 }

[[transactions]]
name = "read"
steps = [{ execute = "select 1" }]
"""


def can(*words: str) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def may_make_networks() -> bool:
    """Whether this user may make network namespaces, and bridges between them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"dyn{os.getpid()}"
    made = can("ip", "netns", "add", name) and can("ip", "link", "add", name, "type", "bridge")
    can("ip", "link", "delete", name)
    can("ip", "netns", "delete", name)
    return made


pytestmark = [
    pytest.mark.skipif(ray is None, reason="Ray is not installed: the extra `cluster` brings it"),
    pytest.mark.skipif(not may_make_networks(), reason="only root makes network namespaces"),
    pytest.mark.xdist_group("ray"),
]


@dataclass
class Nodes:
    """A head without processors, and nodes in networks of their own. What belongs to them has names that begin so."""

    name: str
    net: str

    @property
    def address(self) -> str:
        return f"ray://{self.net}.1:10001"

    def cut(self, worker: psutil.Process) -> str | None:
        """Cut the network of the node that a worker runs on; give the node's address, or None where it has ended."""
        words = ("nsenter", "-t", str(worker.pid), "-n", "ip", "-4", "-o", "addr", "show", "eth0")
        shown = subprocess.run(words, capture_output=True, text=True, check=False)
        if not worker.is_running():
            return None
        found = re.search(rf"{re.escape(self.net)}\.(\d+)", shown.stdout)
        assert found is not None, shown
        subprocess.run(["ip", "link", "set", f"{self.name}-{found[1]}", "down"], check=True)
        return found[0]


def workers_seen(process: "subprocess.Popen[str]", address: str, count: int) -> list[psutil.Process]:
    """Wait until so many workers of a run are in the networks of the nodes."""
    end = time.monotonic() + 400
    while time.monotonic() < end:
        if process.poll() is not None:
            raise AssertionError("the run ended: {}\n{}".format(*process.communicate()))
        found = those(
            psutil.process_iter(),
            lambda each: (
                re.match(r"/proc/self/fd/\d+$", (each.cmdline() or [""])[0])
                and address in " ".join(word for parent in each.parents() for word in parent.cmdline())
            ),
        )
        if len(found) == count:
            return found
        time.sleep(0.2)
    raise AssertionError("the workers were not seen")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    name, net = f"dyn{os.getpid() % 100_000}", f"10.{200 + os.getpid() % 50}.77"
    # Its sockets lie in it, whose paths may not be long.
    directory = Path(f"/tmp/{name}")
    program = Path(sys.executable).parent / "ray"
    # Where Ray has once made a token for the user, the head would ask for it, and the nodes would give none.
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    started: list[subprocess.Popen[bytes]] = []

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def start(number: int, *words: str) -> None:
        inside = ["ip", "netns", "exec", f"{name}-{number}"] if number > 1 else []
        options = ("--block", f"--node-ip-address={net}.{number}", "--object-store-memory=150000000", *words)
        log = tmp_path_factory.mktemp("ray") / "log"
        with log.open("wb") as out:
            command = [*inside, str(program), "start", *options]
            started.append(subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True))
        end = time.monotonic() + 120
        while b"Ray runtime started" not in log.read_bytes():
            assert time.monotonic() < end and started[-1].poll() is None, log.read_text()
            time.sleep(0.1)

    try:
        ip("link", "add", name, "type", "bridge")
        ip("addr", "add", f"{net}.1/24", "dev", name)
        ip("link", "set", name, "up")
        for number in range(2, 2 + NODES):
            own = f"{name}-{number}"
            ip("netns", "add", own)
            ip("link", "add", own, "type", "veth", "peer", "name", "eth0", "netns", own)
            ip("link", "set", own, "master", name, "up")
            for words in (f"addr add {net}.{number}/24 dev eth0", "link set eth0 up", "link set lo up"):
                ip("netns", "exec", own, "ip", *words.split())
        head = ("--head", "--port=6399", "--ray-client-server-port=10001", "--num-cpus=0")
        start(1, *head, "--include-dashboard=false", f"--temp-dir={directory}")
        for number in range(2, 2 + NODES):
            start(number, f"--address={net}.1:6399", "--num-cpus=1")
        yield Nodes(name, net)
    finally:
        for each in started:
            inner = those([psutil.Process(each.pid)] if each.poll() is None else [], lambda _: True)
            below = [child for process in inner for child in process.children(recursive=True)]
            each.send_signal(signal.SIGKILL)
            for child in below:
                if child.is_running():
                    child.kill()
            each.wait(30)
        for number in range(2, 2 + NODES):
            # A connection that was cut keeps a namespace, and its end of the link, for minutes.
            can("ip", "link", "delete", f"{name}-{number}")
            can("ip", "netns", "delete", f"{name}-{number}")
        can("ip", "link", "delete", name)
        shutil.rmtree(directory, ignore_errors=True)


def run(cli: Cli, nodes: Nodes) -> "subprocess.Popen[str]":
    words = (
        "--system",
        "null:",
        "--cluster",
        f"{nodes.address}?machines=2",
        "--store",
        "runs.db",
        "--json",
        "out.json",
    )
    return cli.start("run", cli.write("null.toml", NULL), *words)


def the_round(cli: Cli, process: "subprocess.Popen[str]") -> dict[str, list[dict[str, object]]]:
    out, errors = process.communicate(timeout=200)
    assert process.returncode == 0, f"{out}\n{errors}"
    (each,) = json.loads((cli.directory / "out.json").read_text())["cells"][0]["rounds"]
    return dict(each)


def test_a_machine_whose_network_is_cut_is_replaced_by_another(cli: Cli, nodes: Nodes) -> None:
    process = run(cli, nodes)
    cut = None
    # A busy machine may have taken the time of the trial to show its workers, or the trial may begin again.
    while cut is None:
        workers = workers_seen(process, f"{nodes.net}.1", 2)
        time.sleep(1.0)
        cut = nodes.cut(workers[1])
    each = the_round(cli, process)
    assert [cut in str(why) for why in each["lost_machines"]] == [True]
    names = [str(machine["name"]) for machine in each["load_machines"]]
    # Each on a node of its own, and none on that one.
    assert len(set(names)) == 2
    assert not any(cut in name for name in names)
    assert all(machine["began_ms"] is not None for machine in each["load_machines"])
