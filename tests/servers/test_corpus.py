"""Each engine receives the statements of its corpus byte for byte, and the result shows them as they were sent.

The tests read and compile the statements as `dbdyno queries` does. `dbdyno queries` measures each statement for half a
second; here one trial executes each statement once. The engine's own log shows which texts it received.
"""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from corpus_files import DIRECTORY, Entry, read_entries, sql_file
from dbdyno.cli.experiment_source import ExperimentSource
from dbdyno.engines.server.installations import find_installations, installation_of
from dbdyno.engines.server.programs import Installation
from dbdyno.engines.server.server import Server, start_server
from dbdyno.engines.sqlite.library import c_compiler
from dbdyno.engines.url import parse_url
from dbdyno.experiment.compile import compile_cell, refusal
from dbdyno.experiment.design import make_cells
from dbdyno.model.events.answers import Loaded
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.steps import Execute, Transaction
from dbdyno.model.plan.tasks import Warmup, Window
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import ask, write_amalgamation
from directories import server_directory
from duckdb_library import LIBRARY, needs_duckdb
from fresh_data import fresh_data
from installed_servers import needs_mysql, needs_postgresql
from real_mysql import PROGRAM, needs_real_mysql

# Statements in one file; `dbdyno queries` takes 200.
_PART = 180


@dataclass(frozen=True)
class Corpus:
    """An engine with the corpus's tables.

    ``product``: as in `-- only:`; ``log``: the engine's; ``parse``: returns the statements in a part of that log.
    """

    engine: str
    product: str | None
    url: str
    directory: Path
    log: Path
    parse: Callable[[str], set[str]]

    def entries(self, kind: str = "") -> list[Entry]:
        """Read its entries; ``kind``: `_parameters` for statements with parameters."""
        return read_entries(f"{self.engine}{kind}.sql", self.product)

    def received(self, since: int = 0) -> set[str]:
        """Return the statements in the log from a byte on."""
        return self.parse(self.log.read_bytes()[since:].decode())


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with server_directory(mode=0o755) as made:
        yield made


@pytest.fixture(scope="module")
def postgresql(directory: Path) -> Iterator[Corpus]:
    installation = find_installations("postgresql")[0]
    with serving(installation, directory / "postgresql", {}) as server:
        psql = [str(installation.programs["psql"]), "-qAt", "-v", "ON_ERROR_STOP=1"]
        psql += ["-h", str(server.socket), "-p", str(server.port), "-U", server.user]
        fill([*psql, server.database], "create database corpus; alter database corpus set log_statement = 'all'")
        fill([*psql, "corpus"], schema("postgresql"))

        def parse(log: str) -> set[str]:
            # A record begins with its time. Later lines of a text begin with a tab that the server adds.
            records = re.split(r"^(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ )", log, flags=re.MULTILINE)
            executed = (re.match(r"[^\n]*?LOG:  execute [^:]+: (.*)\n", each, re.DOTALL) for each in records)
            return {each[1].replace("\n\t", "\n") for each in executed if each}

        yield Corpus("postgresql", None, url(server, "corpus"), directory, server.log, parse)


@pytest.fixture(scope="module")
def mariadb(directory: Path) -> Iterator[Corpus]:
    yield from logged_mysql(find_installations("mysql")[0], directory / "mariadb")


@pytest.fixture(scope="module")
def mysql(directory: Path) -> Iterator[Corpus]:
    yield from logged_mysql(installation_of("mysql", str(PROGRAM), "the corpus"), directory / "mysql")


def logged_mysql(installation: Installation, directory: Path) -> Iterator[Corpus]:
    product = "mariadb" if installation.product == "MariaDB" else "mysql"
    with serving(installation, directory, {"general_log": "1", "general_log_file": "received.log"}) as server:
        client = [str(installation.programs.get("mariadb") or installation.programs["mysql"])]
        client += ["-S", str(server.socket), "-u", server.user, "--default-character-set=utf8mb4", server.database]
        fill(client, schema("mysql"))

        def parse(log: str) -> set[str]:
            # A record is: a time or nothing, the session's number, the command, its text.
            time = r"(?:\d{4}-\d\d-\d\dT\S+|\d{6} [ \d]\d:\d\d:\d\d)?"
            parts = re.split(rf"^{time}\t+ *\d+ ([A-Z]\w+(?: [A-Z]\w+)?)\t", log, flags=re.MULTILINE)[1:]
            commands = zip(parts[::2], parts[1::2], strict=True)
            return {text.removesuffix("\n") for command, text in commands if command in ("Execute", "Prepare")}

        log = server.data / "received.log"
        yield Corpus("mysql", product, url(server, server.database), directory, log, parse)


@pytest.fixture(scope="module")
def sqlite(directory: Path) -> Corpus:
    work = directory / "sqlite"
    work.mkdir()
    write_amalgamation(work)
    log = work / "received"
    log.touch()
    # All ways to prepare a statement lead to this function.
    function = r"(static int sqlite3LockAndPrepare\((?:[^()]*)\)\{)"
    text = (work / "sqlite3.c").read_text()
    text, count = re.subn(function, lambda found: f"{keeps_text(log)}{found[1]} keep_text(zSql, nBytes);", text)
    assert count == 1
    (work / "sqlite3.c").write_text(text)
    enabled = " ".join(
        f"-DSQLITE_{name}"
        for name in ("ENABLE_FTS4", "ENABLE_FTS3_PARENTHESIS", "ENABLE_FTS5", "ENABLE_RTREE", "ENABLE_DBSTAT_VTAB")
    )
    cflags = f"-O0 -DSQLITE_SOUNDEX -DSQLITE_ENABLE_COLUMN_METADATA {enabled}".replace(" ", "%20")
    file = work / "corpus.db"
    load({"engine": "sqlite", "path": str(file), "library": None}, "sqlite")
    return Corpus("sqlite", None, f"sqlite:{file}?source={work}&cflags={cflags}", work, log, texts_kept)


@pytest.fixture(scope="module")
def duckdb(directory: Path) -> Corpus:
    assert LIBRARY is not None
    work = directory / "duckdb"
    work.mkdir()
    log = work / "received"
    log.touch()
    # This library replaces one function of DuckDB's, which it is linked to. The setting `log_query_path` would do, but
    # DuckDB does not accept it when it opens a database.
    (work / "before.c").write_text(
        f"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        {keeps_text(log)}
        int duckdb_prepare(void *connection, const char *query, void **statement) {{
            keep_text(query, -1);
            int (*prepare)(void *, const char *, void **) = dlsym(RTLD_NEXT, "duckdb_prepare");
            return prepare(connection, query, statement);
        }}
        """
    )
    library = work / "libduckdb-before.so"
    linked = ["-Wl,--no-as-needed", str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}", "-ldl"]
    subprocess.run([c_compiler(), "-shared", "-fPIC", "-o", library, work / "before.c", *linked], check=True)
    file = work / "corpus.db"
    load({"engine": "duckdb", "path": str(file), "library": str(LIBRARY)}, "duckdb")
    return Corpus("duckdb", None, f"duckdb:{file}?library={library}", work, log, texts_kept)


def keeps_text(log: Path) -> str:
    """Write a function in C that appends a text and a zero to a file."""
    return f"""
        #include <stdio.h>
        static void keep_text(const char *text, int bytes) {{
            FILE *log = fopen("{log}", "ab");
            fprintf(log, "%.*s%c", bytes < 0 ? 2147483647 : bytes, text, 0);
            fclose(log);
        }}
    """


def texts_kept(log: str) -> set[str]:
    return set(log.split("\0"))


def serving(installation: Installation, data: Path, settings: dict[str, str]) -> Server:
    fresh_data(installation, data)
    return start_server(installation, data, data.parent, settings)


def schema(engine: str) -> str:
    return (DIRECTORY / f"{engine}_schema.sql").read_text(encoding="utf-8")


def fill(client: list[str], text: str) -> None:
    done = subprocess.run(client, input=text, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def load(target: dict[str, Any], engine: str) -> None:
    """Make the corpus's tables in a file, by the worker, which has the library."""
    statements = [each for each in re.split(r";\n", schema(engine)) if each.strip()]
    task = {"kind": "load", "target": target, "before": [], "tables": [], "after": statements}
    ask({"schema": PLAN, "seed": 1, "task": task}, Loaded)


def url(server: Server, database: str) -> str:
    host = str(server.socket).replace("/", "%2F")
    return f"{server.installation.engine}://{server.user}@{host}:{server.port}/{database}"


def engine_param(name: str, *marks: pytest.MarkDecorator) -> Any:
    """A parameter for the tests of an engine, which one process runs so that the engine is started once."""
    return pytest.param(name, marks=[pytest.mark.xdist_group(f"corpus of {name}"), *marks])


ENGINES = [
    engine_param("postgresql", needs_postgresql),
    engine_param("mariadb", needs_mysql),
    engine_param("mysql", needs_real_mysql),
    engine_param("sqlite"),
    engine_param("duckdb", needs_duckdb),
]


@pytest.fixture(params=ENGINES)
def corpus(request: pytest.FixtureRequest) -> Corpus:
    made: Corpus = request.getfixturevalue(request.param)
    return made


def compile_entries(corpus: Corpus, entries: list[Entry]) -> list[CompiledCell]:
    """Compile an SQL file with these entries: one cell per statement."""
    file = corpus.directory / "part.sql"
    file.write_text(sql_file(entries), encoding="utf-8")
    experiment = ExperimentSource([str(file)]).experiment([corpus.url])
    cells = make_cells(experiment, {}, [parse_url(corpus.url)], refusal).cells
    return [compile_cell(experiment, each) for each in cells]


def run_once(corpus: Corpus, cells: Sequence[CompiledCell], allow_writes: bool) -> tuple[TrialResult, set[str]]:
    """Execute the statement of each cell once, all in one transaction; return what the engine received meanwhile."""
    steps = [
        replace(step, statement=index) if isinstance(step, Execute) else step
        for index, each in enumerate(cells)
        for step in each.task.transactions[0].steps
    ]
    task = replace(
        cells[0].task,
        warmup=Warmup(),
        window=Window(transactions=1),
        statements=[each.task.statements[0] for each in cells],
        transactions=[Transaction(name="corpus", steps=steps)],
    )
    cell = replace(cells[0], task=task)
    with Provisioners(corpus.directory, allow_writes) as provisioners:
        provisioner = provisioners.of(cell)
        provisioner.check(cell)
        with provisioner.ready(cell, 0) as ready:
            # What dbdyno sends to check the statements does not count.
            before = corpus.log.stat().st_size
            result = ask(cell.plan(ready.target, 1), TrialResult)
            return result, corpus.received(before)


def parts(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Divide entries into files; statements that need `--allow-writes` are in files of their own."""
    for allow_writes in (False, True):
        those = [each for each in entries if each.allow_writes == allow_writes]
        yield from (those[first : first + _PART] for first in range(0, len(those), _PART))


@pytest.mark.parametrize("kind", ["", "_parameters"])
def test_each_statement_is_received_as_it_was_given(corpus: Corpus, kind: str) -> None:
    entries = corpus.entries(kind)
    assert len({each.text for each in entries}) == len(entries) >= (40 if kind else 300)
    missing = []
    for part in parts(entries):
        result, received = run_once(corpus, compile_entries(corpus, part), part[0].allow_writes)
        assert result.failures == {}
        missing += [each.sent for each in part if each.sent not in received]
    assert missing == []


# The number of statements that are measured.
_SHOWN = 6


def test_a_result_shows_the_text_that_was_given(corpus: Corpus, server_cli: Cli) -> None:
    entries = [each for each in corpus.entries() if not each.allow_writes]
    chosen = entries[:: len(entries) // _SHOWN]
    file = server_cli.write("shown.sql", sql_file(chosen))
    document = server_cli.run(file, "--system", corpus.url, "--rounds", "1")
    shown = [each["sql"] for cell in document["cells"] for each in cell["statements"]]
    assert shown == [each.text for each in chosen]
    assert [cell["failed"] for cell in document["cells"]] == [{}] * len(chosen)
    assert corpus.received() >= set(shown)
