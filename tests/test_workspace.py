"""The directory of a run: whatever ends dbdyno, it goes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dbdyno.errors import SystemFailed
from dbdyno.run.workspace import Workspace
from test_server_runs import wait_until

LABORATORY = """
import signal, sys, time
from dbdyno.run.workspace import Workspace
signal.signal(signal.SIGINT, signal.SIG_IGN)
work = Workspace(sys.argv[1])
(work.path / "data").mkdir()
(work.path / "data" / "file").touch()
print(work.path, flush=True)
time.sleep(600)
"""


def test_it_goes_where_dbdyno_is_killed_also_after_ctrl_c(tmp_path: Path) -> None:
    name = "a place's; $(name)"
    (tmp_path / name).mkdir()
    # By a path from the current directory, which is not the guard's.
    with subprocess.Popen(
        [sys.executable, "-c", LABORATORY, name],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as laboratory:
        assert laboratory.stdout is not None
        path = tmp_path / laboratory.stdout.readline().strip()
        assert (path / "data" / "file").exists()
        # As a terminal does it: to all of the group.
        os.killpg(laboratory.pid, signal.SIGINT)
        laboratory.kill()
    wait_until(lambda: not path.exists())
    assert (tmp_path / name).exists()


def test_it_stays_until_those_have_ended_that_hold_it(tmp_path: Path) -> None:
    """As the keeper of a server does, which has to end it first."""
    work = Workspace(tmp_path)
    assert work.held is not None
    (guard,) = psutil.Process().children()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[work.held]) as holder:
        # As the end of this process would.
        os.close(work.held)
        assert guard.is_running() and work.path.exists()
        assert holder.stdin is not None
    guard.wait(60)
    assert not work.path.exists()


def test_what_is_closed_is_gone_and_its_guard_too(tmp_path: Path) -> None:
    before = psutil.Process().children()
    work = Workspace(tmp_path)
    assert len(psutil.Process().children()) == len(before) + 1
    (work.path / "file").touch()
    work.close()
    assert list(tmp_path.iterdir()) == []
    assert psutil.Process().children() == before
    # A second time too.
    work.close()


def test_where_it_cannot_be_made_nothing_stays(tmp_path: Path) -> None:
    before = psutil.Process().children()
    with pytest.raises(SystemFailed, match="the directory cannot be made"):
        Workspace(tmp_path / "nowhere")
    assert psutil.Process().children() == before


def test_what_a_run_left_whose_guard_was_killed_too_goes_with_the_next(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    left, going_on = tmp_path / f"dbdyno-run-{ended.pid}", tmp_path / f"dbdyno-run-{os.getppid()}"
    for each in (left, going_on):
        each.mkdir()
    Workspace(tmp_path).close()
    assert list(tmp_path.iterdir()) == [going_on]
