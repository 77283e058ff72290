"""Runs in which a table grows from trial to trial, through the command line, on real engines."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from conftest import Cli, those
from dbdyno.runtime.workspace.memory_limit import MemoryLimit, NoMemoryLimit
from installed_servers import needs_mysql, needs_postgresql, servers
from waiting import wait_until

GROWING = """
name = "growing"
title = "A table that grows"
rounds = 1

[growth]
factor = "rows"
table = "t"
windows = 2

[factors]
rows = [200, 1000]

[factors.key.random]
type = "char(32)"
fill = { uuid = { version = "v4", format = "hex" } }

[factors.key.blocked]
type = "binary(16)"
fill = { uuid = { version = "sequence_blocked", format = "bytes", block_size = 10, block_count = 16 } }

[factors.key.counted]
type = "bigint"
fill = { serial = 1 }

[tables.t]
rows = "${rows}"

[tables.t.columns]
id = { type = "${key.type}", not_null = true, primary_key = true, fill = "${key.fill}" }

[measure]
space = true

[[timed]]
name = "build an index"
run = "create index again on t (id)"
undo = [{ mysql = "drop index again on t", any = "drop index again" }]

[load]
clients = 2
warmup = { transactions = 3 }
"""
INSERTING = """
stop = { rows = 30 }
retry = { attempts = 1000, on = ["locked"], wait_ms = 1 }

[[transactions]]
name = "insert"
steps = [{ execute = "insert into t (id) values (?)", params = [{ next = "t.id" }] }]

[system.sqlite]
journal_mode = "wal"
busy_timeout = 10_000
"""
READING = """
stop = { transactions = 5 }

[[transactions]]
name = "read"
steps = [{ execute = "select id from t" }]
"""

ENGINES = [
    "sqlite",
    pytest.param("postgresql", marks=needs_postgresql),
    pytest.param("mysql", marks=needs_mysql),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_trials_insert_counts_and_no_key_comes_twice(server_cli: Cli, engine: str) -> None:
    path = server_cli.write("growing.toml", GROWING + INSERTING)
    document = server_cli.run(path, "--system", f"{engine}:", "--seed", "1")
    assert len(document["cells"]) == 6
    for cell in document["cells"]:
        assert [each["status"] for each in cell["rounds"]] == ["done", "done"]
        for each in cell["rounds"]:
            assert each["failed"] == {}
            assert each["ended_by"] == "rows"
            assert each["ok"] == each["rows_changed"] == 2 * 30
        # Of the warm-up three each, and both windows stand behind the rows before.
        each_trial = 2 * (30 + 3)
        size, filled = (200, 0) if cell["factors"]["rows"] == 200 else (1000, 1000 - 200 - 2 * each_trial)
        assert cell["growth"]["rows"] == size + each_trial / 2
        assert cell["growth"]["filled_rows"] == filled
        assert (cell["growth"]["fill_rows_per_s"] is None) == (filled == 0)
        assert cell["timed"]["build an index"] > 0
        assert cell["not_looked_at"] == {}
        assert sum(each["bytes"] for each in cell["space"]) > 1000
        fills = [each["leaf_fill"] for each in cell["space"] if each["leaf_fill"] is not None]
        assert all(0 < each <= 1 for each in fills)
    assert server_cli.left_behind() == []


@needs_postgresql
def test_the_report_shows_log_and_device_window_by_window(server_cli: Cli) -> None:
    path = server_cli.write("growing.toml", GROWING + INSERTING)
    server_cli.run(path, "--system", "postgresql:", "--set", "key=random,counted", "--report", "report.html")
    page = (server_cli.directory / "report.html").read_text()
    assert "<h2>Log and device as the table grew</h2>" in page
    for key in ("random", "counted"):
        assert f'aria-label="Log and device as the table grew, key={key}"' in page
    assert "log bytes" in page and "page images" in page


@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_has_as_many_rows_as_the_size_says(server_cli: Cli, engine: str) -> None:
    path = server_cli.write("growing.toml", GROWING + READING)
    document = server_cli.run(path, "--system", f"{engine}:", "--set", "key=random,counted")
    for cell in document["cells"]:
        assert [each["rows"] / each["completed"] for each in cell["rounds"]] == [cell["factors"]["rows"]] * 2


def test_a_file_keeps_its_log_when_it_grows(cli: Cli) -> None:
    path = cli.write("growing.toml", GROWING + INSERTING)
    document = cli.run(path, "--set", "key=counted")
    assert {cell["system"]["settings"]["journal_mode"] for cell in document["cells"]} == {"wal"}


def test_ctrl_c_keeps_what_was_measured_and_resume_measures_the_rest(cli: Cli) -> None:
    text = GROWING + INSERTING.replace("stop = { rows = 30 }", "stop = { seconds = 1.5 }")
    path = cli.write("growing.toml", text)
    process = cli.start("run", path, "--set", "key=counted", "--store", "runs.db", "--seed", "1")
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    assert any("rows=200" in line for line in lines)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    found = re.search(r"dbdyno run --resume (\S+)", out)
    assert found is not None, out
    cli("run", "--resume", found[1], "--store", "runs.db", "--json", "out.json")
    resumed = json.loads((cli.directory / "out.json").read_text())
    assert resumed["status"] == "done"
    assert [[each["status"] for each in cell["rounds"]] for cell in resumed["cells"]] == [["done"] * 2] * 2
    assert all(each["failed"] == {} for cell in resumed["cells"] for each in cell["rounds"])
    assert cli.left_behind() == []


@needs_postgresql
def test_a_server_that_is_killed_fails_the_rest_of_its_series(server_cli: Cli) -> None:
    text = GROWING + INSERTING.replace("stop = { rows = 30 }", "stop = { seconds = 4 }")
    path = server_cli.write("growing.toml", text)
    arguments = ("--system", "postgresql:", "--set", "key=counted", "--store", "runs.db", "--json", "out.json")
    process = server_cli.start("run", path, *arguments)
    wait_until(lambda: clients(server_cli) >= 2)
    for each in servers(server_cli):
        each.kill()
    process.communicate(timeout=120)
    assert process.returncode == 1
    document: dict[str, Any] = json.loads((server_cli.directory / "out.json").read_text())
    rounds = [each for cell in document["cells"] for each in cell["rounds"]]
    assert len(rounds) == 4
    assert {each["status"] for each in rounds} == {"failed"}
    assert all("PostgreSQL" in each["error"] and "ended during the trial" in each["error"] for each in rounds)
    assert server_cli.left_behind() == []


def clients(cli: Cli) -> int:
    """How many sessions of PostgreSQL are at work for a command line's servers."""
    found = 0
    for each in servers(cli):
        # It may have ended since it was found: it was the one that the data were loaded with.
        with contextlib.suppress(psutil.Error):
            found += len(those(each.children(), lambda child: "[local]" in " ".join(child.cmdline())))
    return found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('rows = "${rows}"', "rows = 7"), "`t` does not have as many rows as `rows` says"),
        (('table = "t"', 'table = "u"'), "there is no table `u`"),
        (("clients = 2", 'clients = 2\nclients_as = "processes"'), "its clients are processes of their own"),
    ],
)
def test_what_cannot_grow_is_said_before_anything_is_measured(cli: Cli, change: tuple[str, str], says: str) -> None:
    text = GROWING + INSERTING
    assert change[0] in text
    assert says in cli("run", cli.write("growing.toml", text.replace(*change)), code=2)


def test_a_size_that_changes_the_system_is_refused(cli: Cli) -> None:
    text = GROWING + INSERTING.replace("busy_timeout = 10_000", 'busy_timeout = "${rows}"')
    assert "changes more than the rows of `t`" in cli("run", cli.write("growing.toml", text), code=2)


@pytest.mark.parametrize("option", [("--interleave", "20ms"), ("--instructions",)])
def test_what_needs_fresh_data_is_refused(cli: Cli, option: tuple[str, ...]) -> None:
    assert option[0] in cli("run", cli.write("growing.toml", GROWING + INSERTING), *option, code=2)


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_is_limited_or_it_is_said_why_not(server_cli: Cli, engine: str) -> None:
    text = GROWING.replace("clients = 2", "clients = 2\nmemory_limit_mb = 200") + READING
    document = server_cli.run(server_cli.write("growing.toml", text), "--system", f"{engine}:", "--set", "key=counted")
    for cell in document["cells"]:
        limit = cell["memory_limit"]
        assert limit["bytes"] == 200_000_000
        assert (limit["means"] is None) == (limit["refused"] is not None)
    said = [each for each in document["findings"] if each["kind"] == "memory not limited"]
    assert bool(said) == (document["cells"][0]["memory_limit"]["refused"] is not None)


def test_a_system_that_needs_more_memory_than_its_limit_is_told_so(cli: Cli) -> None:
    text = GROWING.replace("clients = 2", "clients = 2\nmemory_limit_mb = 1") + READING
    arguments = ("--set", "key=counted", "--set", "rows=200", "--store", "runs.db", "--json", "out.json")
    process = cli.start("run", cli.write("growing.toml", text), *arguments)
    process.communicate(timeout=120)
    document = json.loads((cli.directory / "out.json").read_text())
    (cell,) = document["cells"]
    if cell["memory_limit"] is not None and cell["memory_limit"]["refused"] is not None:
        pytest.skip(cell["memory_limit"]["refused"])
    errors = [each["error"] for each in document["failed_trials"]]
    assert len(errors) == 2
    assert all("it takes more than the 1 MB of memory that `memory_limit_mb` leaves it" in each for each in errors)
    assert cli.left_behind() == []


READS = """
import sys
with open(sys.argv[1], "rb") as file:
    sys.stdin.readline()
    while file.read(1 << 20):
        pass
print("read", flush=True)
sys.stdin.readline()
"""


def cached_by(limit: MemoryLimit) -> int:
    """Bytes that a group has, as the kernel says."""
    group = limit._path
    for name in ("memory.usage_in_bytes", "memory.current"):
        if (group / name).exists():
            return int((group / name).read_text())
    raise AssertionError(group)


def test_what_the_kernel_caches_is_within_the_limit(tmp_path: Path) -> None:
    try:
        limit = MemoryLimit()
    except NoMemoryLimit as error:
        pytest.skip(str(error))
    file = tmp_path / "file"
    file.write_bytes(bytes(100_000_000))
    subprocess.run(["dd", f"of={file}", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"], check=True)
    with (
        contextlib.closing(limit),
        subprocess.Popen(
            [sys.executable, "-c", READS, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        limit.add(process.pid)
        limit.set(40_000_000)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "read\n"
        assert cached_by(limit) <= 40_000_000
        process.communicate("\n")
    assert not limit._path.exists()


def test_groups_that_were_left_behind_go_with_the_next() -> None:
    try:
        limit = MemoryLimit()
    except NoMemoryLimit as error:
        pytest.skip(str(error))
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        ended.wait()
    left = limit._path.with_name(f"dbdyno-{ended.pid}-00000000")
    left.mkdir()
    limit.close()
    deadline = time.monotonic() + 60
    # Another process may have got the number meanwhile.
    while left.exists() and time.monotonic() < deadline and not psutil.pid_exists(ended.pid):
        MemoryLimit().close()
    assert not left.exists() or psutil.pid_exists(ended.pid)
