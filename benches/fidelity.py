"""How well a distilled workload agrees with the application that it was recorded from.

Each application runs on a fresh database and is recorded. Its statements are replayed on a copy of the database, and
its distilled workload runs on another copy, with the recorded number of clients and their pauses. Before and after, the
application runs without being recorded. Prints the ratio of the rates, and of the times, costs and shares that `dbdyno
trace compare` shows. With `--decisions`, it measures changes
instead: do the replay and the workload agree on which side is faster? It installs the packages of
benches/applications/requirements.txt into a virtual environment, and needs PostgreSQL, MariaDB, pgbench and sysbench.
"""

import argparse
import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from figures import DBDYNO, NotMeasuredError
from proxy import free_port

from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import start_server
from dbdyno.engines.web.application import VARIABLE
from dbdyno.engines.web.application import application as application_program
from dbdyno.stats import paired_ratio
from directories import server_directory
from fresh_data import fresh_data

APPLICATIONS = Path(__file__).parent / "applications"
# Transactions in the last lines of an application's output.
DONE = re.compile(r"(?:processed|transactions):\s+(\d+)")
# Statements with a smaller share of the time are few, or too short to compare.
LARGE = 0.05
SECONDS = 15


@dataclass(frozen=True)
class Application:
    """An application. ``prepare``, ``run``: commands, in which `{port}`, `{database}` and `{python}` are replaced."""

    name: str
    engine: str
    prepare: Sequence[str]
    run: Sequence[str]


def script(name: str, engine: str, place: str) -> Application:
    """An application of this directory. ``place``: how it finds the database."""
    command = ["{python}", str(APPLICATIONS / f"{name}.py")]
    return Application(f"{name} {engine}", engine, [*command, "prepare", place], [*command, "run", place])


def sysbench(engine: str, *options: str) -> Application:
    command = ["sysbench", "oltp_read_write", "--tables=2", "--table-size=50000", "--rand-type=pareto", *options]
    run = [*command, "--threads=4", f"--time={SECONDS}", "run"]
    return Application(f"sysbench {engine}", engine, [*command, "prepare"], run)


PGBENCH = ["pgbench", "-h", "127.0.0.1", "-p", "{port}", "-U", "postgres", "{database}"]
ALL = (
    Application(
        "pgbench postgresql",
        "postgresql",
        [*PGBENCH, "-i", "-q", "-s", "10"],
        [*PGBENCH, "-n", "-c", "4", f"-T{SECONDS}"],
    ),
    sysbench(
        "postgresql", "--db-driver=pgsql", "--pgsql-host=127.0.0.1", "--pgsql-port={port}", "--pgsql-user=postgres",
        "--pgsql-db={database}",
    ),
    sysbench(
        "mysql", "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-port={port}", "--mysql-user=bench",
        "--mysql-db={database}",
    ),
    script("django_admin", "postgresql", "127.0.0.1:{port}:{database}"),
    script("django_admin", "sqlite", "{database}"),
    script("flask_shop", "postgresql", "postgresql+psycopg://postgres@127.0.0.1:{port}/{database}"),
    script("flask_shop", "sqlite", "sqlite:///{database}"),
    script("web_login", "postgresql", "postgresql://postgres@127.0.0.1:{port}/{database}"),
    script("procrastinate_queue", "postgresql", "host=127.0.0.1 port={port} dbname={database} user=postgres"),
    script("huey_queue", "sqlite", "{database}"),
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A change of a system to decide on. ``setting``: of its URL; ``sql``: for its database."""

    name: str
    setting: str = ""
    sql: str = ""


CHANGES = {
    "pgbench postgresql": (
        Change("synchronous_commit=off", "synchronous_commit=off"),
        Change("without primary key", sql="alter table pgbench_tellers drop constraint pgbench_tellers_pkey"),
    ),
    "sysbench postgresql": (
        Change("synchronous_commit=off", "synchronous_commit=off"),
        Change("without index", sql="drop index k_1; drop index k_2"),
    ),
    "flask_shop sqlite": (
        Change("synchronous=off", "synchronous=off"),
        Change("index on books", sql="create index book_of_author on book (author_id, title)"),
    ),
    "django_admin sqlite": (
        Change("journal_mode=wal", "journal_mode=wal"),
        Change("synchronous=off", "synchronous=off"),
    ),
    "huey_queue sqlite": (
        Change("synchronous=off", "synchronous=off"),
        Change("without index", sql="drop index task_queue_priority_id"),
    ),
}  # fmt: skip


class Place:
    """Where an application's databases are: a server, or a directory of files."""

    def __init__(self, work: Path, engine: str, port: int) -> None:
        self.work = work
        self.engine = engine
        self.port = port

    def sql(self, text: str, database: str = "") -> None:
        if self.engine == "sqlite":
            with sqlite3.connect(self.work / f"{database}.db") as connection:
                connection.executescript(text)
            connection.close()
        elif self.engine == "postgresql":
            options = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-qc", text, database or "postgres"]
            subprocess.run(["psql", *options], check=True, capture_output=True)
        else:
            options = ["--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-ubench", "-e", text]
            subprocess.run(["mariadb", *options, *([database] if database else [])], check=True, capture_output=True)

    def create(self, database: str) -> str:
        """Create a database, and return what the application calls it."""
        if self.engine == "sqlite":
            return str(self.work / f"{database}.db")
        self.sql(f"create database {database}")
        return database

    def copy(self, source: str, database: str) -> None:
        """Copy a database of which no session is open."""
        if self.engine == "sqlite":
            with_log = self.work / f"{source}.db-wal"
            if with_log.exists():
                raise NotMeasuredError("the application left a write-ahead log")
            shutil.copyfile(self.work / f"{source}.db", self.work / f"{database}.db")
        elif self.engine == "postgresql":
            self.sql(f"create database {database} template {source}")
        else:
            self.sql(f"create database {database}")
            dump = ["mariadb-dump", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-ubench", source]
            content = subprocess.run(dump, check=True, capture_output=True).stdout
            load = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-ubench", database]
            subprocess.run(load, input=content, check=True, capture_output=True)

    def settle(self, database: str) -> None:
        """Begin each measurement in the same state: statistics are gathered, and a checkpoint has ended."""
        if self.engine == "postgresql":
            self.sql("vacuum analyze", database)
            self.sql("checkpoint")

    def url(self, database: str, setting: str = "") -> str:
        options = f"?{setting}" if setting else ""
        if self.engine == "sqlite":
            return f"sqlite:{self.work / database}.db{options}"
        user = "postgres" if self.engine == "postgresql" else "bench"
        return f"{self.engine}://{user}@127.0.0.1:{self.port}/{database}{options}"


@contextmanager
def server(engine: str) -> Iterator[Place]:
    """Start a server, or make a directory for files."""
    with ExitStack() as stack:
        if engine == "sqlite":
            yield Place(Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp"))), engine, 0)
            return
        found = find_installations(engine)
        if not found:
            raise NotMeasuredError(f"no {engine} server is installed")
        work = stack.enter_context(server_directory("dbdyno-fidelity-"))
        fresh_data(found[0], work / "data")
        port = free_port()
        settings = {"innodb_buffer_pool_size": "512M"} if engine == "mysql" else {"shared_buffers": "256MB"}
        if engine == "postgresql":
            (work / "data" / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
        started = stack.enter_context(start_server(found[0], work / "data", work, settings, tcp_port=port))
        if engine == "mysql":
            client = ["mariadb", "--no-defaults", "-S", str(started.socket), "-u", started.user, "-e"]
            subprocess.run(
                [*client, "create user bench@'127.0.0.1'; grant all on *.* to bench@'127.0.0.1'"], check=True
            )
        yield Place(work, engine, port)


def filled(command: Sequence[str], database: str, port: int, python: Path) -> list[str]:
    return [each.format(port=port, database=database, python=python) for each in command]


def transactions(output: bytes) -> int:
    """Return how many transactions an application has executed."""
    found = DONE.search(output.decode())
    assert found is not None, output
    return int(found[1])


def run(application: Application, place: Place, database: str, python: Path) -> int:
    """Run an application without recording it. Returns its transactions."""
    name = str(place.work / f"{database}.db") if place.engine == "sqlite" else database
    command = filled(application.run, name, place.port, python)
    return transactions(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def record(application: Application, place: Place, database: str, trace: Path, python: Path) -> int:
    """Run an application and record its statements with their values. Returns its transactions."""
    capture: list[str | Path] = [DBDYNO, "capture", "--values", "keep", "-o", trace]
    if place.engine == "sqlite":
        command = filled(application.run, database, 0, python)
        return transactions(subprocess.run([*capture, "--", *command], check=True, stdout=subprocess.PIPE).stdout)
    port = free_port()
    address = [f"--listen=127.0.0.1:{port}", f"--to={place.engine}://127.0.0.1:{place.port}/?{tls(place.engine)}"]
    process = subprocess.Popen([*capture, *address], stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None and process.stdout.readline().startswith("Listening")
        command = filled(application.run, database, port, python)
        return transactions(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def tls(engine: str) -> str:
    return "sslmode=disable" if engine == "postgresql" else "ssl-mode=disabled"


def dbdyno(*arguments: str | Path, work: Path) -> str:
    done = subprocess.run([DBDYNO, *arguments], check=False, cwd=work, capture_output=True, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise NotMeasuredError(f"dbdyno {arguments[0]}: {done.stderr or done.stdout}")
    return done.stdout


def start(application: Application, place: Place, python: Path, copies: Sequence[str]) -> tuple[Path, int]:
    """Prepare an application's database and copies of it, and record the application on the first one.

    Returns the trace, and the application's transactions.
    """
    name = place.create("original")
    subprocess.run(filled(application.prepare, name, place.port, python), check=True, capture_output=True)
    for copy in ("recorded", *copies):
        place.copy("original", copy)
        place.settle(copy)
    recorded = str(place.work / "recorded.db") if place.engine == "sqlite" else "recorded"
    trace = place.work / "day.trace"
    return trace, record(application, place, recorded, trace, python)


def distil(trace: Path, place: Place, *options: str) -> list[str]:
    """Write the workload `load.sql`, and return the options to run it with the recorded number of clients."""
    system = ["--system", place.url("distilled")]
    shown = dbdyno("distil", trace, "-o", "load.sql", *options, *system, work=place.work)
    found = re.search(r"--clients (\d+)", shown)
    assert found is not None
    return ["--clients", found[1]]


def decide(application: Application, place: Place, python: Path) -> Iterator[str]:
    """Yield how the replay and the distilled workload decide on each change."""
    changes = CHANGES[application.name]
    names = [f"{side}{number}" for number in range(len(changes)) for side in ("a", "b", "c", "d")]
    (trace, _), work = start(application, place, python, [*names, "distilled"]), place.work
    writes = ["--allow-writes"] if place.engine != "sqlite" else []
    load = [*distil(trace, place, "--think", "none"), "--set=seconds=2", "--rounds", "6"]
    for number, change in enumerate(changes):
        for side in ("b", "d"):
            if change.sql:
                place.sql(change.sql, f"{side}{number}")
        of_replay, of_run = (
            ["--system", place.url(f"{a}{number}"), "--system", place.url(f"{b}{number}", change.setting)]
            for a, b in ("ab", "cd")
        )
        dbdyno("replay", trace, *of_replay, *writes, "--speed", "max", "--json", "replay.json", work=work)
        replayed = json.loads((work / "replay.json").read_text())["comparisons"][-1]
        dbdyno("run", "load.sql", "--mix", *of_run, *writes, *load, "--json", "run.json", work=work)
        cells = json.loads((work / "run.json").read_text())["cells"]
        rates = [{each["block"]: each["transactions_per_s"] for each in cell["rounds"]} for cell in cells]
        ratio = paired_ratio(rates[0], rates[1])
        ends = None if ratio is None else ratio.ends
        decisions = decision(replayed["speed_ci95"]), decision(ends)
        verdict = "agree" if decisions[0] == decisions[1] else "one is open" if "open" in decisions else "DIFFER"
        original, distilled = replayed["speed"], None if ratio is None else ratio.mean
        both = shown_ratio(original, replayed["speed_ci95"]), shown_ratio(distilled, ends)
        yield f"{change.name}: {both[0]}, {both[1]}: {verdict}"


def decision(ends: Sequence[float] | None) -> str:
    if ends is None or ends[0] <= 1 <= ends[1]:
        return "open"
    return "faster" if ends[0] > 1 else "slower"


def shown_ratio(mean: float | None, ends: Sequence[float] | None) -> str:
    return "?" if mean is None or ends is None else f"{mean:.3g} [{ends[0]:.3g}, {ends[1]:.3g}]"


def measure(application: Application, place: Place, python: Path, rounds: int) -> dict[str, Any]:
    """Record an application, replay it, run its workload, and return the comparison."""
    work = place.work
    trace, recorded = start(application, place, python, ("replayed", "distilled", "first_run", "second_run"))
    writes = ["--allow-writes"] if place.engine != "sqlite" else []
    dbdyno("replay", trace, "--system", place.url("replayed"), *writes, "-o", "replayed.trace", work=work)
    unrecorded = [run(application, place, "first_run", python)]
    options = [*distil(trace, place), f"--set=seconds={SECONDS}", "--rounds", str(rounds)]
    dbdyno("run", "load.sql", "--mix", "--system", place.url("distilled"), *writes, *options, work=work)
    unrecorded.append(run(application, place, "second_run", python))
    dbdyno("trace", "compare", "replayed.trace", "last", "--json", "agreement.json", work=work)
    comparison: dict[str, Any] = json.loads((work / "agreement.json").read_text())
    recorded_part = dbdyno("trace", "compare", trace, "last", "--json", "recorded.json", work=work)
    comparison["rates"] = [
        float(each.replace(",", "")) for each in re.findall(r"([\d.,]+) statements/s", recorded_part)
    ]
    comparison["unrecorded"] = [each / recorded for each in unrecorded]
    return comparison


def figures(comparison: dict[str, Any]) -> Iterator[str]:
    """Yield what agrees how well: distilled / original."""
    recorded, distilled = comparison["rates"]
    ratios = [distilled / recorded / each for each in comparison["unrecorded"]]
    yield f"rate {statistics.mean(ratios):.3f} ({min(ratios):.3f}, {max(ratios):.3f})"
    yield f"rate of the recorded {distilled / recorded:.3f}"
    yield f"shares of time differ by at most {100 * comparison['largest_difference']:.1f} points"
    large = [one for one in comparison["statements"] if one["recorded_time_share"] >= LARGE and one["run"]["count"]]
    for name in ("p50_ms", "p99_ms"):
        sides = [(one["run"][name], one["recorded"][name]) for one in large]
        ratios = [run / recorded for run, recorded in sides if run is not None and recorded is not None]
        if ratios:
            middle = statistics.median(ratios)
            yield f"{name[:3]} {middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} statements)"
    was, now = comparison["costs"]
    if was["cpu_ms"] and now["cpu_ms"]:
        yield f"CPU {now['cpu_ms'] / was['cpu_ms']:.2f}"
    for name in ("syncs", "reads", "read_bytes", "pages_read", "write_bytes", "log_bytes", "page_images"):
        before, after = was["counters"].get(name), now["counters"].get(name)
        if before is not None and after is not None:
            yield f"{name} {after / before:.2f}" if before else f"{name} {before:.3g} → {after:.3g}"
    if was["cache_hits"] is not None and now["cache_hits"] is not None:
        yield f"cache hits {was['cache_hits']:.3f} → {now['cache_hits']:.3f}"
    yield f"other plans: {len(comparison['plans'])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="applications whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="copy the traces and workloads to this directory")
    parser.add_argument("--decisions", action="store_true", help="measure changes with the replay and the workload")
    options = parser.parse_args()
    environment = Path(tempfile.gettempdir()) / "dbdyno-fidelity-packages"
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        install: list[str | Path] = [python, "-m", "pip", "install", "-q", "-r", APPLICATIONS / "requirements.txt"]
        subprocess.run(install, check=True)
    os.environ.setdefault(VARIABLE, str(application_program()))
    for application in ALL:
        if options.only not in application.name or (options.decisions and application.name not in CHANGES):
            continue
        with server(application.engine) as place:
            try:
                if options.decisions:
                    shown = "; ".join(decide(application, place, python))
                else:
                    shown = "; ".join(figures(measure(application, place, python, options.rounds)))
            except (NotMeasuredError, subprocess.CalledProcessError, OSError) as why:
                shown = f"NOT MEASURED: {why} {getattr(why, 'stderr', b'') or ''}"
            print(f"{application.name}: {shown}", flush=True)
            if options.keep is not None:
                kept = options.keep / application.name.replace(" ", "-")
                kept.mkdir(parents=True, exist_ok=True)
                for name in ("day.trace", "replayed.trace", "load.sql", "agreement.json"):
                    if (place.work / name).exists():
                        shutil.copyfile(place.work / name, kept / name)


if __name__ == "__main__":
    main()
