"""The cost of recording a program that uses SQLite: the same program with and without `dbdyno capture`, alternately.

Prints the CPU time per statement and per row that the recording adds to a C program and to one with Python's sqlite3.
The CPU time of the recorder, which runs beside it, isn't included. It needs a C compiler and a shared library of
SQLite, which Python uses, too. `--blocks` sets the length.
"""

import argparse
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = r"""
#include <stdio.h>
#include <time.h>
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open(const char *, sqlite3 **);
int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
int sqlite3_bind_int64(sqlite3_stmt *, int, long long);
int sqlite3_step(sqlite3_stmt *);
int sqlite3_reset(sqlite3_stmt *);
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}
int main(int count, char **arguments) {
    sqlite3 *db;
    sqlite3_stmt *get, *all;
    sqlite3_open(arguments[1], &db);
    sqlite3_prepare_v2(db, "select b from t where a = ?", -1, &get, 0);
    sqlite3_prepare_v2(db, "select b from t", -1, &all, 0);
    double begin = now();
    for (int each = 0; each < STATEMENTS; each++) {
        sqlite3_bind_int64(get, 1, each * 7919LL % ROWS + 1);
        while (sqlite3_step(get) == 100);
        sqlite3_reset(get);
    }
    double middle = now();
    for (int each = 0; each < 20; each++) {
        while (sqlite3_step(all) == 100);
        sqlite3_reset(all);
    }
    printf("%f %f\n", (middle - begin) / STATEMENTS, (now() - middle) / 20 / ROWS);
}
"""

SCRIPT = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1])
begin = time.process_time()
for each in range(STATEMENTS):
    connection.execute("select b from t where a = ?", (each * 7919 % ROWS + 1,)).fetchone()
middle = time.process_time()
for each in range(20):
    for _ in connection.execute("select b from t"): pass
print((middle - begin) * 1e6 / STATEMENTS, (time.process_time() - middle) * 1e6 / 20 / ROWS)
"""

ROWS, STATEMENTS = 10_000, 20_000


def measured(command: list[str]) -> tuple[float, float]:
    """Return the CPU time per statement and per row in µs."""
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    statement, row = out.split()
    return float(statement), float(row)


def shown(values: list[float], form: str = ".2f") -> str:
    """A median with the middle half of the values."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:{form}} (middle half {low:{form}} to {high:{form}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=20)
    options = parser.parse_args()
    library = next(each for each in Path("/proc/self/maps").read_text().split() if "/libsqlite3.so" in each)
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        database = str(directory / "my.db")
        with sqlite3.connect(database) as connection:
            connection.execute("create table t (a integer primary key, b text)")
            connection.executemany("insert into t (b) values (?)", ((f"{each:040}",) for each in range(ROWS)))
        numbers = [f"-D{name}={value}" for name, value in (("ROWS", ROWS), ("STATEMENTS", STATEMENTS))]
        source = directory / "program.c"
        source.write_text(PROGRAM)
        subprocess.run(["cc", "-O2", *numbers, "-o", directory / "program", source, library], check=True)
        script = SCRIPT.replace("STATEMENTS", str(STATEMENTS)).replace("ROWS", str(ROWS))
        commands = {"C": [str(directory / "program"), database], "Python": [sys.executable, "-c", script, database]}
        record = [str(Path(sys.executable).parent / "dbdyno"), "capture", "-o", str(directory / "day.trace"), "--"]
        for name, command in commands.items():
            pairs = []
            for block in range(options.blocks):
                order = [command, record + command] if block % 2 == 0 else [record + command, command]
                found = [measured(each) for each in order]
                pairs.append(found if block % 2 == 0 else found[::-1])
            for at, unit in enumerate(("statement", "row")):
                plain = [each[0][at] for each in pairs]
                print(f"{name}: {shown(plain)} µs per {unit}")
                print(f"  more: {shown([each[1][at] - each[0][at] for each in pairs])} µs")
                print(f"  ratio: {shown([each[1][at] / each[0][at] for each in pairs])}")


if __name__ == "__main__":
    main()
