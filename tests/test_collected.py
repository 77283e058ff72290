"""The processes of the tests: what all of them import is imported by one that they are split off from."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CONFTEST = """
import sys
sys.path.insert(0, {tests!r})

import pytest
from collected import begin_collected

@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    begin_collected(config.args, specs)
"""
# A mark of each of the plugins that are away where the tests are collected first, and a library that waits for its
# threads when a process ends.
MODULE = """
import os
from pathlib import Path

import pytest

{more}
with open("imported", "a") as file:
    print(os.getpid(), file=file)

@pytest.mark.xdist_group("{name}")
@pytest.mark.flaky(reruns=1)
def test_{name}():
    Path("ran-{name}").write_text(str(os.getpid()))
"""


def prepare(directory: Path) -> None:
    (directory / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (directory / "conftest.py").write_text(CONFTEST.format(tests=str(TESTS)))


def run(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", str(directory)]
    # It waits for all that have its output: whoever does not end would have the time run out.
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_what_all_import_is_imported_once_and_all_processes_end(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "test_a.py").write_text(MODULE.format(name="a", more='polars = pytest.importorskip("polars")'))
    (tmp_path / "test_b.py").write_text(MODULE.format(name="b", more=""))
    ended = run(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout
    importing = (tmp_path / "imported").read_text().split()
    assert len(importing) == 2 and len(set(importing)) == 1
    ran = {(tmp_path / f"ran-{name}").read_text() for name in "ab"}
    assert len(ran) == 2 and not ran & set(importing)


@pytest.mark.slow
def test_a_mark_that_nobody_knows_is_told(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "test_a.py").write_text("import pytest\n\n@pytest.mark.nonsense\ndef test_a(): pass\n")
    (tmp_path / "test_b.py").write_text("def test_b(): pass\n")
    ended = run(tmp_path)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "'nonsense' not found in `markers`" in ended.stdout
