"""The processes of pytest-xdist, split off from one that has collected the tests.

Each of them collects all tests, and imports for it what all of them import. Where that is there already, collecting
takes a tenth of the time.
"""

import atexit
import os
import shlex
import signal
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from splitting import Splitter, exit_code, serve


def begin_collected(arguments: Iterable[str], specs: Iterable[Any]) -> None:
    """Have pytest-xdist start its processes so. The arguments are the paths and names of what is collected."""
    program = [sys.executable, __file__, f"dbdyno-collected-{os.getpid()}", *arguments]
    for each in specs:
        each.python = shlex.join(program)


def _collect(paths: list[str]) -> None:
    # It is read in by those that collect alone.
    import pytest

    # What is wrong with a test is told by those that are split off, which collect it too.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # A process that has threads is not to be split, and pytest-rerunfailures starts one beside pytest-xdist.
    without = ("cacheprovider", "xdist", "rerunfailures")
    options = ["--collect-only", "-qqq", *(f"-pno:{each}" for each in without)]
    pytest.main([*options, *paths], plugins=[_Marks()])


class _Marks:
    """The marks of the plugins that stay away. Of one that nobody knows a module is told, and imported no earlier."""

    def pytest_configure(self, config: Any) -> None:
        for each in ("xdist_group", "flaky"):
            config.addinivalue_line("markers", f"{each}: as its plugin has it")


def _as_xdist_starts_it(name: str, arguments: list[str]) -> int:
    """Be the process that was started: what it is handed goes to one that is split off, and so does what that says."""
    # Ctrl-C is for the one that is split off, with which this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    paths = arguments[: arguments.index("-u")]
    splitter = Splitter(name, [sys.executable, __file__, "", *paths])
    _, told = splitter.split_off(["-c"], str(Path.cwd()), os.environ, {0: 0, 1: 1, 2: 2})
    # The other end of a pipe is to see that it has ended.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return exit_code(told)


if __name__ == "__main__":
    _, name, *rest = sys.argv
    if name:
        sys.exit(_as_xdist_starts_it(name, rest))
    *paths, listener = rest
    serve(int(listener), lambda: _collect(paths))
    # What libraries do at the end would wait for threads that have not been split off with them.
    atexit._clear()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    # As `python -c` does with what pytest-xdist gives it: the first line is the program.
    exec(eval(sys.stdin.readline()), vars(main))
    # Nor are they to be taken apart.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
