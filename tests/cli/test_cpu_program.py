"""dbdyno cpu --program: a program compiled with builds of SQLite and counted from its start to its end."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from conftest import LACKING, QUICK_BUILD, Builds, Cli

pytestmark = pytest.mark.skipif(
    shutil.which("valgrind") is None or shutil.which("cc") is None, reason="needs valgrind and a C compiler"
)

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <string.h>
#include "sqlite3.h"
static long sum = 0;
static int row(void *unused, int n, char **values, char **names){
  (void)unused; (void)names;
  for(int i = 0; i < n; i++) sum = sum * 31 + values[i][0];
  return 0;
}
static void run(sqlite3 *db, const char *sql){
  if( sqlite3_exec(db, sql, row, 0, 0)!=SQLITE_OK ){ fprintf(stderr, "%s\n", sqlite3_errmsg(db)); exit(1); }
}
int main(int argc, char **argv){
  sqlite3 *db;
  printf("%d\n", SQLITE_FCNTL_RESERVE_BYTES);
  if( argc!=2 || sqlite3_open(":memory:", &db)!=SQLITE_OK ) return 2;
#ifdef WITH_NAME
  printf("%s\n", sqlite3_db_name(db, 0));
#endif
  run(db, "create table t(a integer primary key, b text)");
  for(int i = atoi(argv[1]); i > 0; i--) run(db, "insert into t(b) values (hex(zeroblob(20)))");
  run(db, "insert into t(b) values (hex(randomblob(9)) || datetime('now'))");
  run(db, "select b from t order by b");
  for(int i = time(0) % 5 + getpid() % 5; i >= 0; i--) printf("%d\n", i);
  sqlite3_stmt *st;
  if( sqlite3_prepare_v2(db, "select ?1", -1, &st, 0)!=SQLITE_OK ) return 3;
  sqlite3_bind_text64(st, 1, "abcdef", 3, SQLITE_STATIC, SQLITE_UTF8);
  char *z = sqlite3_expanded_sql(st);
  if( sqlite3_step(st)!=SQLITE_ROW || strcmp((const char*)sqlite3_column_text(st, 0), "abc") ) return 4;
  printf("%s\n", z);
  sqlite3_free(z);
  sqlite3_finalize(st);
  printf("Verification Hash: %ld %s\n", sum, sqlite3_libversion());
  return sqlite3_close(db);
}
"""


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory, builds: Builds) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("program"))
    builds.share(cli)
    cli.write("p.c", PROGRAM)
    return cli


def counted(cli: Cli, *arguments: str, program: str = "./p.c") -> dict[str, Any]:
    cli("cpu", "--program", program, *arguments, "--cflags", QUICK_BUILD, "--json", "out.json")
    document: dict[str, Any] = json.loads((cli.directory / "out.json").read_text())
    return document


def test_the_count_is_that_of_valgrind_by_hand(cpu: Cli) -> None:
    build = counted(cpu, "--program-args", "300", "--flame", "flame.svg")["builds"][0]
    (binary,) = (cpu.directory / "cache" / "cpu-programs").glob("*/p")
    by_hand = subprocess.run(
        [str(shutil.which("valgrind")), "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, "300"],
        check=True,
        capture_output=True,
        text=True,
        # The loader reads the environment, which the count has none of.
        env={},
    )
    collected = re.search(r"Collected : (\d+)", by_hand.stderr)
    assert collected is not None
    assert build["i_refs"] == pytest.approx(int(collected[1]), rel=1e-4)
    assert build["engine"]["i_refs"] + build["harness"]["i_refs"] == build["i_refs"]
    assert 0.5 < build["engine"]["i_refs"] / build["i_refs"] < 1
    assert build["program"]["verified"].endswith(build["version"])
    functions = {each["name"] for each in build["functions"]}
    assert "sqlite3VdbeExec" in functions and not {"main", "row"} & functions
    assert "sqlite3_exec" in (cpu.directory / "flame.svg").read_text()


def test_two_counts_are_the_same_to_the_last_digit(cpu: Cli) -> None:
    first, second = (counted(cpu, "--program-args", "50")["builds"][0] for _ in range(2))
    for name in ("i_refs", "d_refs", "functions", "program"):
        assert first[name] == second[name], name


def test_a_library_that_lacks_something_is_left_out_and_named(cpu: Cli, builds: Builds) -> None:
    older = builds.older()
    # There is nothing that stands in for this function.
    name = cpu.write("named.c", f"#define WITH_NAME\n{PROGRAM}")
    document = counted(cpu, "--program-args", "10", "--sqlite", "bundled", "--sqlite", older, program=name)
    assert [build["family"] for build in document["builds"]] == ["bundled"]
    (note,) = [note for note in document["notes"] if "was skipped" in note]
    assert f"{older} {QUICK_BUILD} was skipped" in note and "sqlite3_db_name" in note


def test_what_a_library_lacks_is_given(cpu: Cli, builds: Builds) -> None:
    lacking = LACKING - {"sqlite3_db_name"}
    document = counted(cpu, "--program-args", "10", "--sqlite", builds.older(), "--sqlite", "bundled")
    older, newer = (build["program"] for build in document["builds"])
    assert set(older["given"]) == lacking and newer["given"] == []
    assert older["verified"] == newer["verified"] != ""
    for name in lacking:
        assert any(note.startswith(f"{name}, which") for note in document["notes"])


def test_a_program_that_fails_is_told(cpu: Cli) -> None:
    process = cpu.start("cpu", "--program", "./p.c", "--cflags", QUICK_BUILD)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1 and "p exited with code 2" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--program", "./nowhere.c"), "no such file"),
        (("pk-lookup", "--program", "./p.c"), "give only one"),
        (("--seed", "1"), "nothing to count"),
        (("--program", "./p.c", "--program-args", "'"), "close the quotes"),
    ],
)
def test_errors(cpu: Cli, arguments: tuple[str, ...], said: str) -> None:
    assert said in cpu("cpu", *arguments, code=2)
