"""The directory of a run: whatever ends dbdyno, it goes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dbdyno.base.errors import SystemFailed
from dbdyno.runtime.workspace.workspace import Workspace
from parallel import python_environment
from waiting import wait_until

ENVIRONMENT = python_environment()
LABORATORY = """
import signal, sys, time
from dbdyno.runtime.workspace.workspace import Workspace
signal.signal(signal.SIGINT, signal.SIG_IGN)
work = Workspace(sys.argv[1])
(work.path / "data").mkdir()
(work.path / "data" / "file").touch()
print(work.path, flush=True)
time.sleep(120)
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
        env=ENVIRONMENT,
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
    before = psutil.Process().children()
    work = Workspace(tmp_path)
    assert work.guard_pipe is not None
    (guard,) = (each for each in psutil.Process().children() if each not in before)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[work.guard_pipe]) as holder:
        # As the end of this process would.
        os.close(work.guard_pipe)
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
    with pytest.raises(SystemFailed, match=r"can.t create the directory"):
        Workspace(tmp_path / "nowhere")
    assert psutil.Process().children() == before


def test_what_a_run_left_whose_guard_was_killed_too_goes_with_the_next(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LABORATORY, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as laboratory:
        assert laboratory.stdout is not None
        left = Path(laboratory.stdout.readline().strip())
        (guard,) = psutil.Process(laboratory.pid).children()
        going_on = Workspace(tmp_path)
        assert left.exists()
        guard.kill()
        wait_until(lambda: guard.status() == psutil.STATUS_ZOMBIE)
        Workspace(tmp_path).close()
        assert left.exists() and going_on.path.exists()
        laboratory.kill()
    assert left.exists()
    Workspace(tmp_path).close()
    assert set(tmp_path.glob("dbdyno-run-*[!k]")) == {going_on.path}
    going_on.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root makes namespaces")
def test_containers_with_equal_process_ids_and_names_leave_each_others_alone(tmp_path: Path) -> None:
    """Each sees itself as the same process of the same host, and nothing of the other's processes."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--uts", "--kill-child", "sh", "-c"]
    command += [f"hostname twin; {sys.executable} -c '{LABORATORY}' {tmp_path}; true"]
    containers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) for _ in range(3)]
    try:
        paths = [tmp_path / each.stdout.readline().strip() for each in containers if each.stdout is not None]
        assert len(set(paths)) == 3
        assert all(path.exists() for path in paths)
        # All of the container, its guard too.
        containers[2].kill()
        wait_until(lambda: gone_with_the_next(paths[2]))
        assert paths[0].exists() and paths[1].exists()
    finally:
        for each in containers:
            each.kill()
            each.communicate()
    wait_until(lambda: all(map(gone_with_the_next, paths)))
    assert list(tmp_path.iterdir()) == []


def gone_with_the_next(path: Path) -> bool:
    """Whether what a run has left is gone when the next has begun; its processes may still be about to end."""
    Workspace(path.parent).close()
    return not path.exists()
