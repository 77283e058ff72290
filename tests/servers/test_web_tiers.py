"""Web tiers before databases: they start, spread requests, keep to processors, and leave nothing behind."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.cpu_placement import read_processors, with_processors
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.url import parse_url
from dbdyno.engines.web.application import find_application
from dbdyno.engines.web.provisioner import Tiers
from dbdyno.engines.web.proxies import PROXIES, find_proxy
from dbdyno.engines.web.settings import read_web_settings
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import ask
from waiting import eventually
from web_database import TABLES

needs_application = pytest.mark.skipif(find_application() is None, reason="the web application is not built")
pytestmark = pytest.mark.slow

LOGIN = '{ request = "GET /login?user_name=user1&password=Secret1" }'


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBDYNO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def compiled(url: str) -> CompiledCell:
    text = TABLES.replace('{ execute = "select count(*) from users" }', LOGIN)
    experiment = make_experiment(parse(text, "web.toml", Path()))
    return compile_cell(experiment, make_cells(experiment, systems=[parse_url(url)]).cells[0])


@contextlib.contextmanager
def running(url: str) -> Iterator[Tiers]:
    cell = compiled(url)
    with Provisioners() as provisioners:
        provisioner = provisioners.of(cell)
        provisioner.check(cell)
        with provisioner.ready(cell, 0) as ready:
            assert isinstance(ready, Tiers)
            yield ready


def get(address: str, path: str) -> tuple[int, dict[str, Any]]:
    host, _, port = address.rpartition(":")
    with contextlib.closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


def front(ready: Tiers) -> str:
    return f"{ready.target['host']}:{ready.target['port']}"


def tiers(ready: Tiers) -> dict[str, int]:
    return {name: pid for name, (pid,) in ready.tiers.items()}


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def needs(engine: str) -> None:
    if engine != "sqlite" and not find_installations(engine):
        pytest.skip(f"there is no server of the kind {engine} here")


@needs_application
@pytest.mark.parametrize("engine", ["sqlite", "postgresql", "mysql"])
def test_a_web_tier_stands_before_its_database(engine: str) -> None:
    needs(engine)
    with running(f"web:?database={engine}&persistent=off") as ready:
        status, reply = get(front(ready), "/login?user_name=user9&password=Secret9")
        assert (status, reply["user"]["id"]) == (200, 9)
        named = tiers(ready)
        assert list(named) == (["web 1"] if engine == "sqlite" else ["web 1", "database"])
        assert not any(gone(pid) for pid in named.values())
        assert ready.trouble(lost=False) is None
    assert all(gone(pid) for pid in named.values())


@needs_application
@pytest.mark.parametrize("proxy", list(PROXIES))
def test_a_proxy_spreads_requests_over_web_servers(proxy: str) -> None:
    if shutil.which(proxy, path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip(f"{proxy} is not installed")
    with running(f"web:?database=sqlite&servers=2&proxy={proxy}") as ready:
        for _ in range(10):
            assert get(front(ready), "/login?user_name=user1&password=Secret1")[0] == 200
        served = [get(each.address, "/stats")[1]["served"] for each in ready.processes if "web" in each.title]
        # Each of the processes of nginx takes turns by itself.
        assert sum(served) == 10 and min(served) >= 3
        named = tiers(ready)
        assert list(named) == ["proxy", "web 1", "web 2"]
        spread = [psutil.Process(named["proxy"]), *psutil.Process(named["proxy"]).children(recursive=True)]
    assert all(gone(pid) for pid in named.values())
    assert all(gone(each.pid) for each in spread)


@needs_application
def test_without_a_proxy_clients_are_dealt_to_the_web_servers_in_turn() -> None:
    with running("web:?database=sqlite&db.journal_mode=wal&servers=3&proxy=none") as ready:
        assert list(tiers(ready)) == ["web 1", "web 2", "web 3"]
        request = {"method": "GET", "path": ["/login?user_name=user1&password=Secret1"]}
        task = {
            "kind": "trial",
            "target": ready.target,
            "clients": 6,
            "window": {"transactions": 5},
            "statements": [{"name": "login", "sql": "", "request": request}],
            "transactions": [{"name": "login", "steps": [{"do": "execute", "statement": 0}]}],
        }
        result = ask({"schema": PLAN, "seed": 1, "task": task}, TrialResult, 60)
        assert (result.accounting.ok, result.accounting.failed) == (30, {})
        assert [get(each.address, "/stats")[1]["served"] for each in ready.processes] == [10, 10, 10]
        assert result.observed is not None
        assert result.observed.counters["connections"] == 6


@needs_application
def test_tiers_keep_to_their_processors() -> None:
    needs("postgresql")
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("there is one processor")
    first, last = allowed[0], allowed[-1]
    with running(f"web:?database=postgresql&processors.web={first}&processors.db={last}") as ready:
        assert get(front(ready), "/login?user_name=user1&password=Secret1")[0] == 200
        named = tiers(ready)
        assert ready.processors == {"web 1": [first], "database": [last]}
        database = psutil.Process(named["database"])
        # Those that were there, and that of the session, which came later.
        processes = [database, *database.children(recursive=True)]
        assert len(processes) > 2
        assert {tuple(each.cpu_affinity() or ()) for each in processes} == {(last,)}
        threads = psutil.Process(named["web 1"]).threads()
        assert {tuple(sorted(os.sched_getaffinity(each.id))) for each in threads} == {(first,)}


@needs_application
@pytest.mark.parametrize("named", [True, False])
def test_nginx_has_a_process_for_each_of_its_processors(named: bool) -> None:
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip("nginx is not installed")
    allowed = sorted(os.sched_getaffinity(0))
    asked = f"&processors.proxy={allowed[-1]}" if named else ""
    with running(f"web:?database=sqlite&proxy=nginx{asked}") as ready:
        own = psutil.Process(tiers(ready)["proxy"])

        def serving() -> list[psutil.Process]:
            return [each for each in own.children() if "worker process" in " ".join(each.cmdline())]

        # A process has its title a moment after it has begun.
        assert eventually(lambda: len(serving()) == (1 if named else len(allowed)))
        if named:
            assert {tuple(each.cpu_affinity() or ()) for each in [own, *serving()]} == {(allowed[-1],)}


@needs_application
def test_a_web_server_that_ends_is_told() -> None:
    with running("web:?database=sqlite") as ready:
        ready.processes[0].kill()
        assert eventually(lambda: ready.trouble(lost=True) is not None)
        assert (ready.trouble(lost=True) or "").startswith("the web server ended during the trial")


HOLDING = """
import sys, time
sys.path[:0] = {paths!r}
from test_web_tiers import running, tiers
with running({url!r}) as ready:
    print(*tiers(ready).values(), flush=True)
    time.sleep(600)
"""


@needs_application
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_dbdyno(number: signal.Signals) -> None:
    needs("postgresql")
    proxy = "&servers=2" if shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin") else ""
    program = HOLDING.format(paths=sys.path, url=f"web:?database=postgresql{proxy}")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == (4 if proxy else 2) and not any(map(gone, pids))
        process.send_signal(number)
        process.wait()
        assert eventually(lambda: all(map(gone, pids)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"database": "mongodb"}, "the web application doesn't support the database `mongodb`; known: `sqlite`"),
        ({"servers": "0"}, "`0` is not a number from 1 to 64"),
        ({"proxy": "squid"}, "unknown proxy `squid`"),
        ({"persistent": "maybe"}, "`maybe` is neither on nor off"),
        ({"pools": "3"}, "unknown web tier setting"),
        ({"processors.web": "x"}, "`x` is not a list of CPU numbers"),
        ({"processors.web": "0,3-1"}, "`0,3-1` is not a list of CPU numbers"),
        # More than a machine has: no list of them is made.
        ({"processors.web": "0-99999999999"}, "`0-99999999999` is not a list of CPU numbers"),
        ({"processors.disk": "0"}, "unknown tier"),
        ({"database": "sqlite", "processors.db": "0"}, "SQLite has no processes of its own"),
        ({"database": "sqlite", "db.journal_mode": "sideways"}, "journal_mode"),
    ],
)
def test_what_cannot_be_is_one_clear_error(settings: dict[str, str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_web_settings(settings, "web:")
    assert words in str(caught.value)


def test_a_proxy_that_is_not_there_is_refused_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.engines.web.proxies._FURTHER", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"nginx is not installed.*apt install nginx-light"):
        find_proxy("nginx", "web:")


def test_processors_are_asked_for_by_tier() -> None:
    assert read_processors("web=0,2,db=1") == {"web": "0,2", "db": "1"}
    assert read_processors("web=0-3") == {"web": "0-3"}
    for wrong in ("0", "web=", "web", "web=0,db", "web=0,web=1"):
        with pytest.raises(InputError):
            read_processors(wrong)
    systems = [parse_url(url) for url in ("web:?database=sqlite", "web:?database=postgresql", "sqlite:")]
    made = with_processors(systems, {"web": "0", "db": "1"})
    assert [dict(each.settings) for each in made] == [
        {"database": "sqlite", "processors.web": "0"},
        {"database": "postgresql", "processors.web": "0", "processors.db": "1"},
        {},
    ]
    # Nothing of a system that has no tiers is kept to processors, nor is what loads it.
    made = with_processors(systems, {"load": "0"})
    assert [each.settings.get("processors.load") for each in made] == ["0", "0", None]
    # How many web servers there are, and so whether a proxy, may be for the experiment to say.
    urls = ("web:?database=sqlite", "web:?database=sqlite&servers=1")
    made = with_processors([parse_url(url) for url in urls], {"proxy": "0"})
    assert [each.settings.get("processors.proxy") for each in made] == ["0", None]
    for proxy, processors in (("none", {}), ("haproxy", {"proxy": (0,)})):
        asked = {**made[0].settings, "proxy": proxy}
        assert read_web_settings(asked, "web:").processors == processors
    with pytest.raises(InputError, match="no system here has a tier `disk`"):
        with_processors(systems, {"disk": "0"})


def test_a_processor_that_is_not_there_is_refused() -> None:
    with Provisioners() as provisioners:
        cell = compiled("web:?database=sqlite&processors.web=4095")
        with pytest.raises(InputError, match="no CPU 4095"):
            provisioners.of(cell).check(cell)
