"""Transcripts of the real command line: what it says, and its exit codes."""

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import PROGRAM
from conftest import SMALL, Cli
from dbdyno.cli.app import commands
from dbdyno.cli.help import EXAMPLES, GROUPS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "experiment: none is named; `dbdyno list` shows the built-in ones"),
        (
            ["run", "exec:python3 own.py"],
            "exec:python3 own.py: this is a system, not an experiment; give an experiment, followed by "
            "`--system 'exec:python3 own.py'`",
        ),
        (["run", "postgresql://localhost/d"], "postgresql://localhost/d: this is a system, not an experiment"),
        (["run", "pk-lokup"], "pk-lokup: no such experiment; did you mean `pk-lookup`?"),
        (
            ["run", "pk-lookup", "--set", "thread=1"],
            "`pk-lookup` has no factor `thread`; did you mean `threads`?",
        ),
        (["run", "pk-lookup", "--system", "sqlte:"], "sqlte:: unknown engine `sqlte`; did you mean `sqlite:`?"),
        (
            ["run", "pk-lookup", "--system", "sqlite:?cache_sise=1"],
            "unknown SQLite setting `cache_sise`; did you mean `cache_size`?",
        ),
        (["run", "pk-lookup", "--system", "sqlserver:"], "sqlserver"),
        (["run", "nowhere.toml"], "nowhere.toml: no such file"),
        (["run", "pk-lookup", "--json", "no/such/dir.json"], "--json"),
        (["run", "pk-lookup", "--dir", "/proc", "--store", "s.db"], "/proc"),
        (["show", "--store", "runs.db"], "--store runs.db: no such store"),
        (
            ["run", "--resume", "last", "--rounds", "3"],
            "--rounds: it has no effect with `--resume`: a run that is resumed keeps its experiment",
        ),
        (["run", "pk-lookup", "--set", "threads=4", "--set", "library_threading=0"], "would corrupt its memory"),
    ],
)
def test_bad_input_is_one_message(cli: Cli, arguments: list[str], message: str) -> None:
    code = 1 if "/proc" in arguments else 2
    ended = cli.invoke(*arguments)
    assert ended.code == code, ended
    assert ended.errors.startswith("dbdyno: ")
    assert message in ended.errors
    assert "Traceback" not in ended.errors
    assert ended.errors.count("\n") <= 2


def test_without_a_command_three_are_shown_to_try(cli: Cli) -> None:
    shown = cli()
    assert shown.count("  dbdyno ") == 3
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_experiments_are_listed(cli: Cli) -> None:
    text = cli("list")
    listed, _, templates = text.partition("\n\n")
    told = "to begin your own, `dbdyno init FILE --template NAME`: engines, http-service, queue, settings, web-service"
    assert " ".join(templates.split()) == told
    assert [line.split()[0] for line in listed.splitlines()[1:] if not line.startswith(" ")] == [
        "bulk-insert",
        "cache-traces",
        "cpu-cost",
        "dictionary-search",
        "key-order",
        "linkbench",
        "orders-entry",
        "pk-lookup",
        "pk-update",
        "promo-code",
        "promo-code-engines",
        "smallbank",
        "star-schema",
        "sysbench-oltp",
        "tatp",
        "voter",
        "web-login",
        "wide-table",
        "ycsb-a",
        "ycsb-b",
        "ycsb-c",
        "ycsb-d",
        "ycsb-e",
        "ycsb-f",
    ]


def test_a_description_has_the_statements(cli: Cli) -> None:
    text = cli("describe", "pk-lookup", "--set", "threads=2")
    assert "select * from user where id = ?" in text
    assert "100,000 rows" in text
    assert "cache_size = 2000" in text
    assert "5 rounds of 2 cells\n" in text
    one = 'name = "one"\ntitle = "One"\nrounds = 1\n[load]\nstop = { seconds = 1 }\n'
    one += '[[transactions]]\nname = "t"\nsteps = [{ execute = "select 1" }]\n'
    assert "1 round of 1 cell\n" in cli("describe", cli.write("one.toml", one))


def test_a_template_is_written_runs_and_is_not_overwritten(cli: Cli) -> None:
    assert cli("init", "my.toml") == "wrote my.toml; run it with: dbdyno run ./my.toml\n"
    text = (cli.directory / "my.toml").read_text()
    assert "it exists already" in cli("init", "my.toml", code=2)
    # A built-in one as a file is the same experiment.
    assert "wrote own.toml" in cli("init", "own.toml", "--from", "promo-code")
    assert cli("describe", "./own.toml", "--toml") == cli("describe", "promo-code", "--toml")
    assert cli("describe", "./own.toml") == cli("describe", "promo-code")
    assert "no such experiment" in cli("init", "other.toml", "--from", "nothing", code=2)
    assert (cli.directory / "my.toml").read_text() == text
    assert "definitions" in cli("describe", "./my.toml")


def test_the_store_says_what_is_wrong_with_it(cli: Cli) -> None:
    (cli.directory / "bad.db").write_text("this is no database, and has not been one\n" * 100)
    process = cli.start("runs", "--store", "bad.db")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith("dbdyno: store")


def test_no_experiment_file_is_half_read(cli: Cli) -> None:
    broken = cli.write("broken.toml", SMALL.replace("stop = {", "stopp = {"))
    errors = cli("run", broken, "--store", "runs.db", code=2)
    assert "broken.toml: load.stopp: unknown key; did you mean `stop`?" in errors
    assert not Path(cli.directory / "runs.db").exists()


def test_the_cache_is_shown_and_cleared(cli: Cli) -> None:
    cli.run(cli.write("small.toml", SMALL), "--rounds", "1")
    assert "MB" in cli("cache")
    cli("cache", "--clear")
    assert list((cli.directory / "cache").rglob("*.db")) == []


def test_an_output_that_cannot_be_written_is_one_line_and_a_code(cli: Cli) -> None:
    for arguments in (["list"], ["--version"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr == "dbdyno: standard output: no space left on device\n"


def test_an_output_that_is_closed_or_read_in_part_needs_no_word(cli: Cli) -> None:
    for line in ('"$0" list >&-', '"$0" list | head -c 9 >/dev/null'):
        done = subprocess.run(["bash", "-c", line, PROGRAM], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), line


def test_nothing_lies_beside_a_store_that_was_looked_at(cli: Cli, small: Callable[..., str]) -> None:
    cli.run(cli.write("small.toml", small()), "--rounds", "1")
    cli("show", "last", "--store", "runs.db")
    assert [each.name for each in cli.directory.glob("runs.db*")] == ["runs.db"]


def all_commands(group: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each command without commands of its own, by its whole name."""
    for each, command in (group or commands()).commands.items():
        whole = f"{name} {each}".strip()
        if hasattr(command, "commands"):
            yield from all_commands(command, whole)
        else:
            yield whole, command


def test_each_command_is_in_a_group_and_has_two_examples_that_parse() -> None:
    known = dict(all_commands())
    assert known.keys() == EXAMPLES.keys()
    assert sorted(each for names in GROUPS.values() for each in names) == sorted(commands().commands)
    for command, examples in EXAMPLES.items():
        assert len(set(examples)) == 2
        assert any(each == command or each.startswith(f"{command} ") for each in examples)
        for example in examples:
            name = max((each for each in known if f"{example} ".startswith(f"{each} ")), key=len)
            with known[name].make_context(name, shlex.split(example.removeprefix(name))):
                pass


def test_help_shows_no_types_of_python() -> None:
    for name, command in all_commands():
        shown = command.get_help(command.context_class(command, info_name=name))
        assert not re.search(r"<\w+|x<=|x>=", shown), name


def test_a_wrong_variable_hides_no_other_system(cli: Cli) -> None:
    cli.environment["DBDYNO_WEBAPP"] = "/nowhere"
    shown = " ".join(cli("systems").split())
    assert "sqlite" in shown
    assert "DBDYNO_WEBAPP=/nowhere: not an executable file" in shown
