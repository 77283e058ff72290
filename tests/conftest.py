import contextlib
import fcntl
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from hypothesis import settings

from command_line import Cli
from dbdyno.cpu.builds import build
from dbdyno.runtime.worker import write_amalgamation
from directories import server_directory
from fresh_data import kept
from small_experiment import SMALL
from team_database import INSTALLED, TeamServer, team_server

if TYPE_CHECKING:
    from authenticated import Place

# How long an example takes is the machine's to say.
settings.register_profile("without a clock", deadline=None)
settings.load_profile("without a clock")

# Who asks for one of these starts programs: the command line, workers, servers, compilers.
PROGRAMS = {"cli", "server_cli", "tmp_path_factory"}


def pytest_configure() -> None:
    # A shell has what it runs in the background ignore Ctrl-C, and so would the programs that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--unit", action="store_true", help="only tests that start no command line, for the edit loop")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Run the tests of a module that share a fixture in the same process, so that it is set up once."""
    of_item = getattr(item, "_fixtureinfo", None)
    scopes = (each[-1].scope for each in of_item.name2fixturedefs.values()) if of_item is not None else ()
    if "module" in scopes:
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--unit"):
        slow = [
            PROGRAMS & set(getattr(item, "fixturenames", ())) or item.get_closest_marker("slow") is not None
            for item in items
        ]
        config.hook.pytest_deselected(items=[item for item, is_slow in zip(items, slow, strict=True) if is_slow])
        items[:] = [item for item, is_slow in zip(items, slow, strict=True) if not is_slow]


def loading(cli: Cli, process: subprocess.Popen[str]) -> tuple[Path, list[psutil.Process]]:
    """Wait until a run loads a template of some megabytes; give the template and the processes of the run."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        for path in (cli.directory / "cache" / "templates").glob("*.tmp"):
            if size(path) > 50_000_000:
                return path, psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.02)
    raise AssertionError("no template was seen in the making")


def those(processes: Iterable[psutil.Process], which: Callable[[psutil.Process], Any]) -> list[psutil.Process]:
    """The processes that something is true of. One that ended since they were listed is none of them."""
    found = []
    for each in processes:
        with contextlib.suppress(psutil.Error):
            if which(each):
                found.append(each)
    return found


def workers_of(process_id: int) -> list[psutil.Process]:
    """The workers of a laboratory, without the process that removes its directory."""
    return those(psutil.Process(process_id).children(recursive=True), lambda each: each.name() == "dbdyno-worker")


def size(path: Path) -> int:
    """The bytes of a file, or of all files below a directory."""
    try:
        return sum(each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file())
    except FileNotFoundError:
        return 0


@pytest.fixture(scope="session")
def team() -> Iterator[TeamServer]:
    """A PostgreSQL server for stores."""
    with team_server() as server:
        yield server


_NONE_HERE = pytest.mark.skipif(not INSTALLED, reason="there is no PostgreSQL server here")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, _NONE_HERE])])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where there is no store yet, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    team: TeamServer = request.getfixturevalue("team")
    return team.empty()


@pytest.fixture
def make_place() -> Iterator[Callable[[str], "Place"]]:
    """What makes a server of an engine that listens on TCP."""
    from authenticated import places

    with places() as made:
        yield made


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


# Options for builds that are only to be there: without optimisation the compiler takes a fifth of the time, and line
# numbers are all that counting asks of debugging information.
QUICK_BUILD = "-O0 -g1"

# What the older library lacks that :meth:`Builds.older` gives.
LACKING = {"SQLITE_FCNTL_RESERVE_BYTES", "sqlite3_bind_text64", "sqlite3_db_name", "sqlite3_expanded_sql"}


class Builds:
    """Builds of SQLite for counting that all tests of a run share: a compiler takes seconds for each."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def share(self, cli: Cli) -> None:
        """Give a command line these builds for its own, that of the bundled SQLite among them."""
        with self._alone():
            build("bundled", QUICK_BUILD)
        cache = cli.directory / "cache"
        cache.mkdir()
        for each in ("cpu", "sources"):
            (cache / each).symlink_to(self.directory / each)

    def older(self) -> str:
        """Give the source of a library that lacks functions, as one did some years ago; it has been built."""
        source = self.directory / "older" / "sqlite3.c"
        with self._alone():
            if not source.exists():
                source.parent.mkdir()
                write_amalgamation(source.parent)
                source.write_text(re.sub(rf"\b({'|'.join(LACKING)})\b", r"\1_renamed", source.read_text()))
            build(str(source.parent), QUICK_BUILD)
        return str(source.parent)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Build in the shared directory, one process at a time: two that need a build are not to make it twice."""
        self.directory.mkdir(exist_ok=True)
        with (self.directory / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
            fcntl.flock(lock, fcntl.LOCK_EX)
            patch.setenv("DBDYNO_CACHE", str(self.directory))
            yield


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    base = tmp_path_factory.getbasetemp()
    # Each of several processes of tests has a directory of its own below that of the run.
    return Builds((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "builds")


@pytest.fixture
def server_cli() -> Iterator[Cli]:
    """A command line whose directory servers may enter that run as another user than root."""
    with server_directory(mode=0o755) as directory:
        cache = directory / "cache"
        cache.mkdir()
        (cache / "fresh").symlink_to(kept())
        yield Cli(directory)


@pytest.fixture
def small() -> Callable[..., str]:
    """The small experiment, with parts of its text replaced."""

    def make(*replacements: tuple[str, str]) -> str:
        text = SMALL
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new)
        return text

    return make
