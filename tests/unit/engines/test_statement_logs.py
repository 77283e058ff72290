"""Logs of PostgreSQL, MySQL and MariaDB: their statements with times, parameters and errors."""

from __future__ import annotations

import csv
import io
import json

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.statement_log import Logged, read_time
from dbdyno.trace.capture import open_log

TIME = "2026-11-28 10:00:00.500 UTC"
AT = 1_795_860_000_500_000


def csv_line(session: str, message: str, detail: str = "", failed: tuple[str, str, str] = ("LOG", "00000", "")) -> str:
    """A line of a csvlog. ``failed``: severity, code and statement."""
    severity, code, query = failed
    fields = [TIME, "app", "shop", "11", "[local]", session, "1", "SELECT", TIME, "3/1", "0", severity, code, message]
    fields += [detail, "", "", "", "", query, "", "", "web", "client backend", "", "0"]
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue().removesuffix("\n")


MESSAGES = [
    ("a", "connection authorized: user=bob"),
    ("a", "duration: 1.500 ms  statement: select 1;\nselect 2"),
    ("b", "duration: 0.250 ms  parse <unnamed>: select $1, $2"),
    ("b", "duration: 0.250 ms  bind <unnamed>: select $1, $2"),
    ("b", "duration: 1.000 ms  execute <unnamed>: select $1, $2"),
    ("c", "statement: begin"),
    ("c", "duration: 0.100 ms"),
    ("c", "statement: select 3"),
    ("c", "statement: select 4"),
]
DETAIL = "parameters: $1 = 'it''s', $2 = NULL"
EXPECTED = [
    Logged("a", "select 1;\nselect 2", AT - 1500, 1_500_000),
    Logged("b", "select $1, $2", AT - 1500, 1_500_000, parameters=["it's", None], once=False),
    Logged("c", "begin", AT - 100, 100_000),
    Logged("c", "select 3", AT),
    Logged("d", "select * from bob", AT, error="42P01"),
    Logged("c", "select 4", AT),
]
FAILED = 'relation "bob" does not exist'


def csvlog() -> str:
    lines = [csv_line(*each, DETAIL if "execute" in each[1] else "") for each in MESSAGES]
    return "\n".join([*lines, csv_line("d", FAILED, failed=("ERROR", "42P01", "select * from bob"))]) + "\n"


def jsonlog() -> str:
    records = [{"session_id": each, "error_severity": "LOG", "message": message} for each, message in MESSAGES]
    records[4]["detail"] = DETAIL
    failed = {"session_id": "d", "error_severity": "ERROR", "message": FAILED, "state_code": "42P01"}
    records.append({**failed, "statement": "select * from bob"})
    return "".join(json.dumps({"timestamp": TIME, **each}) + "\n" for each in records)


def stderr(prefix: str) -> str:
    def line(session: str, kind: str, text: str, code: str = "00000") -> str:
        number = "abcd".index(session) + 10
        begin = prefix.replace("%m", TIME).replace("%p", str(number)).replace("%e", code).replace("%u", "bob")
        return f"{begin}{kind}:  " + text.replace("\n", "\n\t")

    lines = []
    for session, message in MESSAGES:
        lines.append(line(session, "LOG", message))
        if "execute" in message:
            lines.append(line(session, "DETAIL", DETAIL))
    lines += [line("d", "ERROR", FAILED, "42P01"), line("d", "STATEMENT", "select * from bob", "42P01")]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [csvlog(), jsonlog()], ids=["csvlog", "jsonlog"])
def test_postgresql_structured_logs(text: str) -> None:
    engine, log = open_log(io.StringIO(text), "x.log", None, None)
    assert engine.name == "postgresql"
    assert list(log.entries) == EXPECTED


@pytest.mark.parametrize("prefix", ["%m [%p] ", "%m [%p] %e %q%u ", "%u:%p:%e:%m "])
def test_postgresql_log_with_a_prefix(prefix: str) -> None:
    _, log = open_log(io.StringIO(stderr(prefix)), "x.log", None, prefix)
    found = list(log.entries)
    assert [(each.text, each.start_us, each.duration_ns, each.parameters) for each in found] == [
        (each.text, each.start_us, each.duration_ns, each.parameters) for each in EXPECTED
    ]
    assert [each.error is not None for each in found] == [each.error is not None for each in EXPECTED]


GENERAL = """\
/usr/sbin/mysqld, Version: 8.0.36. started with:
Tcp port: 3306  Unix socket: /x.sock
Time                 Id Command    Argument
2026-11-28T10:00:00.500000Z\t    8 Connect\tbob@localhost on shop using Socket
2026-11-28T10:00:00.500000Z\t    8 Query\tselect 1,
  2
2026-11-28T10:00:00.600000Z\t    9 Prepare\tselect ?
2026-11-28T10:00:00.700000Z\t    9 Execute\tselect 'x'
2026-11-28T10:00:00.800000Z\t    8 Quit\t
"""
MARIADB = """\
/usr/sbin/mariadbd, Version: 10.11. started with:
Time\t\t    Id Command\tArgument
261128 10:00:00\t     8 Connect\tbob@localhost on shop using Socket
\t\t     8 Query\tselect 1
261128 10:00:01\t     8 Query\tselect 2
"""
SLOW = """\
# Time: 2026-11-28T10:00:00.500000Z
# User@Host: bob[bob] @ localhost []  Id:    12
# Query_time: 0.000500  Lock_time: 0.000000 Rows_sent: 3  Rows_examined: 3
use shop;
SET timestamp=1795860000;
select a
from t;
# User@Host: bob[bob] @ localhost []  Id:    13
# Query_time: 0.001000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 3
SET timestamp=1795860000;
update t set a = 1;
# administrator command: Quit;
"""


def test_mysql_logs() -> None:
    engine, log = open_log(io.StringIO(GENERAL), "x.log", None, None)
    assert engine.name == "mysql"
    assert list(log.entries) == [
        Logged("8", "select 1,\n  2", AT),
        Logged("9", "select 'x'", AT + 200_000),
    ]
    _, log = open_log(io.StringIO(MARIADB), "x.log", None, None)
    assert log.resolution_us == 1_000_000
    assert list(log.entries) == [Logged("8", "select 1", AT - 500_000), Logged("8", "select 2", AT + 500_000)]
    _, log = open_log(io.StringIO(SLOW), "x.log", None, None)
    assert list(log.entries) == [
        Logged("12", "select a\nfrom t", AT - 500, 500_000, rows=3),
        Logged("13", "update t set a = 1", AT - 1000, 1_000_000, rows=0),
    ]


@pytest.mark.parametrize(
    ("text", "form", "prefix", "words"),
    [
        ("", None, None, "the log is empty"),
        ("hello\n", None, None, "no line begins with the prefix `%m [%p] `"),
        ("hello\n", "xml", None, "`xml` is not a log format; give one of"),
        (csvlog(), None, "%m", "PostgreSQL: a csvlog has no prefix"),
        ("hello\n", "stderr", "%m ", "it doesn't name the session"),
        ("hello\n", "stderr", "%p %K", "`%K` is unknown"),
    ],
)
def test_wrong_logs(text: str, form: str | None, prefix: str | None, words: str) -> None:
    with pytest.raises(InputError) as raised:
        open_log(io.StringIO(text), "x.log", form, prefix)
    assert words in str(raised.value)


def test_times_have_zones() -> None:
    assert read_time("2026-11-28 10:00:00.500 UTC") == read_time("2026-11-28T11:00:00.5+01:00") == AT
    assert read_time("yesterday") is None
    assert read_time("2026-13-28 10:00:00") is None
