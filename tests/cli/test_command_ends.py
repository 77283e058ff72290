"""How a command ends: without its reader, without what it needs, and with an error that nobody expected."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import PROGRAM
from conftest import Cli

Small = Callable[..., str]

# Python reads it in before it runs anything, so that a test can break what it likes.
BREAKING = "sitecustomize.py"


def shell(cli: Cli, line: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which ``$0`` is the command line."""
    environment = cli.environment | variables
    return subprocess.run(
        ["bash", "-c", line, PROGRAM, *arguments],
        cwd=cli.directory,
        env=environment,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )


def broken(cli: Cli, code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command after some code."""
    cli.write(BREAKING, code)
    return shell(cli, '"$0" "$@"', *arguments, PYTHONPATH=str(cli.directory), **variables)


@pytest.mark.parametrize(
    "line",
    [
        '"$0" run ./small.toml --store r.db --markdown m.md | true',
        '"$0" run ./small.toml --store r.db --markdown m.md 2>&1 >/dev/null | true',
        '"$0" run ./small.toml --store r.db --markdown m.md --json - 2>/dev/null | true',
    ],
)
def test_a_run_does_not_need_a_reader(cli: Cli, small: Small, line: str) -> None:
    cli.write("small.toml", small())
    ended = shell(cli, line + "; echo ${PIPESTATUS[0]}")
    assert ended.stdout == "0\n" and "dbdyno: " not in ended.stderr
    shown = cli("runs", "--store", "r.db").splitlines()
    assert len(shown) == 2 and " done " in shown[1]
    assert (cli.directory / "m.md").read_text().startswith("## A small table")


def test_a_run_does_not_need_a_device_to_print_to(cli: Cli, small: Small) -> None:
    cli.write("small.toml", small())
    ended = shell(cli, '"$0" run ./small.toml --store r.db --json o.json > /dev/full')
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "dbdyno: standard output: no space left on device"
    assert json.loads((cli.directory / "o.json").read_text())["status"] == "done"


@pytest.mark.parametrize(
    "command", ['"$0" show --store r.db', '"$0" runs --store r.db', '"$0" show --store r.db --json -', '"$0" --help']
)
def test_what_is_shown_does_not_need_a_reader(cli: Cli, small: Small, command: str) -> None:
    cli.run(cli.write("small.toml", small()), "--rounds", "1")
    (cli.directory / "runs.db").rename(cli.directory / "r.db")
    ended = shell(cli, f"{command} | true; echo ${{PIPESTATUS[0]}}")
    assert (ended.stdout, ended.stderr) == ("0\n", "")


def test_closed_streams_are_not_taken_by_files(cli: Cli, small: Small) -> None:
    cli.write("small.toml", small())
    ended = shell(cli, '"$0" run ./small.toml --store r.db --json o.json <&- >&- 2>&-')
    assert ended.returncode == 0
    assert json.loads((cli.directory / "o.json").read_text())["status"] == "done"
    assert " done " in cli("runs", "--store", "r.db")


@pytest.mark.parametrize(
    ("error", "what"),
    [
        ("ZeroDivisionError('1 / 0')", "ZeroDivisionError: 1 / 0"),
        ("RecursionError('too deep')", "RecursionError: too deep"),
        ("KeyError('postgresql://me:secret@host/d')", "KeyError: 'postgresql://***@host/d'"),
        ("type('Panic', (BaseException,), {})('at\\x1b[31m line')", "sitecustomize.Panic: at␛[31m line"),
    ],
)
def test_an_unexpected_error_is_one_line_and_a_file(cli: Cli, error: str, what: str) -> None:
    code = f"import dbdyno.engines.url as url\ndef fail(*_): raise {error}\nurl.parse_url = fail\n"
    ended = broken(cli, code, "try", "select 1", "--system", "postgresql://me:secret@host/d")
    assert ended.returncode == 1
    line, place = ended.stderr.removesuffix("\n").split("; details: ")
    assert line == f"dbdyno: unexpected error: {what}"
    details = Path(place)
    assert details.parent == cli.directory / "cache" / "errors"
    assert stat.S_IMODE(details.stat().st_mode) == 0o600
    text = details.read_text(encoding="utf-8")
    assert "Traceback" in text and "dbdyno try 'select 1'" in text and "secret" not in text


def test_the_details_find_another_place(cli: Cli) -> None:
    cli.write("file", "")
    code = "import dbdyno.engines.url as url\nurl.parse_url = None\n"
    arguments = ("try", "select 1", "--system", "sqlite:")
    ended = broken(cli, code, *arguments, DBDYNO_CACHE=str(cli.directory / "file" / "no"), TMPDIR=str(cli.directory))
    assert ended.returncode == 1
    assert Path(ended.stderr.strip().split("; details: ")[1]).parent == cli.directory


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("MemoryError()", "out of memory"),
        ("OSError(24, 'Too many open files')", "too many open files; raise the limit of "),
        ("BlockingIOError(11, 'busy')", "no further process or thread can be started"),
        ('RuntimeError("can\'t start new thread")', "no further process or thread can be started"),
    ],
)
def test_what_ran_out_is_said(cli: Cli, error: str, said: str) -> None:
    code = f"import dbdyno.engines.url as url\ndef fail(*_): raise {error}\nurl.parse_url = fail\n"
    ended = broken(cli, code, "try", "select 1", "--system", "sqlite:")
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"dbdyno: {said}") and ended.stderr.count("\n") == 1


def test_an_error_in_a_thread_or_while_importing_has_no_traceback(cli: Cli) -> None:
    code = "import dbdyno.cli.entry_point as e, threading\nold = e.catch_everything\n"
    thread = "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()"
    ended = broken(cli, f"{code}def new():\n    old()\n    {thread}\ne.catch_everything = new\n", "list")
    assert ended.returncode == 0
    assert ended.stderr.startswith("dbdyno: unexpected error: ZeroDivisionError") and ended.stderr.count("\n") == 1
    ended = broken(cli, "import sys\nsys.modules['typer'] = None\n", "list")
    assert ended.returncode == 1
    assert "typer" in ended.stderr and ended.stderr.count("\n") == 1


def test_a_working_directory_that_is_gone(cli: Cli) -> None:
    line = 'mkdir gone; cd gone; rmdir ../gone; "$0" "$@"'
    for arguments in (["list"], ["describe", "pk-lookup"], ["runs"]):
        assert shell(cli, line, *arguments).returncode == 0
    for arguments in (["gate", "pk-lookup", "--against", "HEAD"], ["run", "./x.toml"], ["init", "x.toml"]):
        ended = shell(cli, line, *arguments)
        assert ended.returncode == 2
        assert ended.stderr.startswith("dbdyno: ") and ended.stderr.count("\n") == 1


NAME = b"caf\xe9".decode(errors="surrogateescape")


def test_names_that_are_not_utf8(cli: Cli, small: Small) -> None:
    folder = cli.directory / NAME
    folder.mkdir()
    (folder / f"{NAME}.toml").write_text(small(), encoding="utf-8")
    files = f"--store {NAME}.db --json {NAME}.json --report {NAME}.html --markdown {NAME}.md"
    ended = shell(cli, f'cd {NAME}; "$0" run ./{NAME}.toml --rounds 1 {files}')
    assert ended.returncode == 0 and "dbdyno: " not in ended.stderr
    assert sorted(path.suffix for path in folder.iterdir()) == [".db", ".html", ".json", ".md", ".toml"]
    ended = shell(
        cli, f'cd {NAME}; "$0" show --store {NAME}.db --verbose; "$0" history ./{NAME}.toml --store {NAME}.db'
    )
    assert "unexpected" not in ended.stderr
    for arguments in (
        *(f"describe {NAME}", f"run ./{NAME}/no.toml", f"show {NAME}", f"queries {NAME}.sql", f"baseline {NAME}"),
        *(f"run pk-lookup --dir {NAME}", f"run pk-lookup --system sqlite:{NAME}/x.db", f"runs --store {NAME}/no.db"),
        *(f"run pk-lookup --set threads={NAME}", f"try 'select {NAME}' --system sqlite:", f"compare {NAME} {NAME}"),
    ):
        ended = shell(cli, f'"$0" {arguments}')
        assert ended.returncode == 2, ended.stderr
        assert "unexpected" not in ended.stderr and "dbdyno: " in ended.stderr


def test_no_home_and_no_name(cli: Cli) -> None:
    """As in a container with a user id of its own."""
    code = "import pwd\ndef nobody(number): raise KeyError(number)\npwd.getpwuid = nobody\n"
    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME", "XDG_DATA_HOME", "DBDYNO_CACHE", "TERM"):
        cli.environment.pop(name, None)
    assert broken(cli, code, "list").returncode == 0
    for arguments in (["runs"], ["cache"], ["run", "pk-lookup"]):
        ended = broken(cli, code, *arguments)
        assert ended.returncode == 2
        assert ended.stderr.startswith("dbdyno: HOME: not set"), ended.stderr
    cli.environment["HOME"] = str(cli.directory)
    ended = broken(cli, code, "try", "select 1", "--system", "postgresql://127.0.0.1:1/d")
    assert ended.returncode == 2
    assert "no user is given" in ended.stderr and "has no name on this system" in ended.stderr
    ended = broken(cli, code, "runs", "--store", "~no-such-user/runs.db")
    assert ended.returncode == 2 and "no such home directory" in ended.stderr


def test_a_full_device_costs_only_its_file(cli: Cli, small: Small) -> None:
    code = """
import os, dbdyno.report.export as export
write = os.fsync
def full(descriptor):
    if os.readlink(f"/proc/self/fd/{descriptor}").startswith(os.getcwd() + "/full/"):
        raise OSError(28, "No space left on device")
    write(descriptor)
os.fsync = full
"""
    (cli.directory / "full").mkdir()
    path = cli.write("small.toml", small())
    ended = broken(cli, code, "run", path, "--rounds", "1", "--store", "r.db", "--csv", "full/a", "--markdown", "b.md")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == "dbdyno: full/a: no space left on device; free some space"
    assert "is stored: dbdyno show" in ended.stdout
    assert (cli.directory / "b.md").exists() and not (cli.directory / "full" / "a").exists()


def test_a_file_that_never_ends_is_no_experiment(cli: Cli) -> None:
    assert "larger than 16 MB" in cli("describe", "/dev/zero", code=2)


def test_too_little_address_space_is_refused_at_once(cli: Cli) -> None:
    # Libraries would try for ever to get more.
    ended = shell(cli, 'ulimit -v 300000; "$0" runs')
    assert ended.returncode == 1
    assert ended.stderr.startswith("dbdyno: the limit of 292 MB on address space is too low; dbdyno needs ")


@pytest.mark.parametrize("files", [10, 14])
def test_too_few_open_files_end_a_run(cli: Cli, small: Small, files: int) -> None:
    cli.write("small.toml", small())
    ended = shell(cli, f'ulimit -n {files}; "$0" run ./small.toml --store r.db')
    assert ended.returncode == 1
    assert "open files" in ended.stderr and "unexpected" not in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_an_interruption_before_anything_is_read_in_has_no_traceback(cli: Cli) -> None:
    code = "import sys, os, signal\nclass Finder:\n    def find_spec(self, name, *_):\n"
    code += "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\nsys.meta_path.insert(0, Finder())\n"
    ended = broken(cli, code, "list")
    assert (ended.returncode, ended.stderr) == (130, "")


def test_help_imports_none_of_what_measures() -> None:
    code = "import sys, dbdyno.cli.app as app; app.commands(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert not {"numpy", "scipy", "altair", "jinja2", "sqlglot", "pydantic"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("files", "clients", "system", "words"),
    [
        (1024, 1500, "sqlite:", "1,500 clients need 3,064 open files, and the limit is 1,024; use at most 480 clients"),
        (1024, 1500, "postgresql://127.0.0.1/none", "1,500 clients need 1,564 open files, and the limit is 1,024;"),
        (
            "unlimited",
            15000,
            "sqlite:",
            "15,000 clients of an embedded engine need as many threads; use at most 10,000",
        ),
    ],
)
def test_more_clients_than_this_machine_allows_are_refused_before_data_are_loaded(
    cli: Cli, small: Small, files: int | str, clients: int, system: str, words: str
) -> None:
    cli.write("small.toml", small(("clients = [1, 2]", f"clients = [{clients}]")))
    # Not every user may raise the limit.
    limit = f"ulimit -n {files} || ulimit -n $(ulimit -Hn)"
    ended = shell(cli, f'{{ {limit}; }} 2>/dev/null && "$0" run ./small.toml --system {system} --store r.db')
    assert ended.returncode == 2
    assert words in ended.stderr
    assert not cli("runs", "--store", "r.db").splitlines()[1:]
