"""What shells complete: the real command line, asked as the scripts that it installs ask it."""

import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from command_line import PROGRAM
from conftest import Cli
from dbdyno.cli.completion import _together
from dbdyno.store import open_store
from synthetic import run_record

ASKED = "_DBDYNO_COMPLETE"

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def ask(cli: Cli, environment: dict[str, str]) -> list[str]:
    """Ask once; nothing else may be written, since it would land in the line that is typed."""
    before = dict(cli.environment)
    cli.environment.update(environment)
    process = cli.start()
    cli.environment = before
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    return out.rstrip("\n").split("\n") if out.strip() else []


def bash(cli: Cli, *words: str) -> list[str]:
    """Ask as bash does, which takes words apart at `=` and `:`."""
    place = {"COMP_WORDS": "\n".join(["dbdyno", *words]), "COMP_CWORD": str(len(words))}
    return ask(cli, {ASKED: "complete_bash", **place})


def zsh(cli: Cli, line: str) -> list[str]:
    return ask(cli, {ASKED: "complete_zsh", "_TYPER_COMPLETE_ARGS": line})


def fish(cli: Cli, line: str) -> list[str]:
    action = {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": line}
    return ask(cli, {ASKED: "complete_fish", **action})


@pytest.fixture
def own(cli: Cli, small: Callable[..., str]) -> Cli:
    """A command line beside files of experiments: ``./my.toml`` and ``./sub/other.toml``."""
    cli.write("my.toml", small(("[factors]", '[factors]\nmode = ["a b", "plain"]\non = [true, false]')))
    (cli.directory / "sub").mkdir()
    cli.write("sub/other.toml", small())
    cli.write("notes.txt", "no experiment")
    return cli


def test_commands_and_options_are_completed(cli: Cli) -> None:
    assert bash(cli, "ru") == ["run", "runs"]
    assert bash(cli, "show", "--open") == ["--openmetrics"]


def test_experiments_are_built_in_ones_and_files(own: Cli) -> None:
    assert bash(own, "run", "pk-") == ["pk-lookup", "pk-update"]
    every = bash(own, "describe", "")
    assert {"pk-lookup", "promo-code", "my.toml", "sub/other.toml"} <= set(every)
    assert "notes.txt" not in every
    assert bash(own, "run", "./m") == ["./my.toml"]
    assert bash(own, "noise", "sub/") == ["sub/other.toml"]
    assert bash(own, "init", "new.toml", "--from", "pk-l") == ["pk-lookup"]
    templates = ["engines", "http-service", "queue", "settings", "web-service"]
    assert bash(own, "init", "new.toml", "--template", "")[: len(templates)] == templates
    assert bash(own, "init", "new.toml", "--template", "ycsb-a") == ["ycsb-a"]
    assert bash(own, "init", "new.toml", "--template", "q") == ["queue"]
    assert fish(own, "dbdyno predict key") == ["key-order"]


def test_factors_are_those_of_the_experiment_named(own: Cli) -> None:
    assert bash(own, "run", "pk-lookup", "--set", "ca") == ["cache=", "cache_size="]
    assert bash(own, "run", "./my.toml", "--set", "") == ["mode=", "on=", "clients="]
    assert bash(own, "run", "--set", "") == []
    assert bash(own, "run", "./nowhere.toml", "--set", "") == []
    # One that is unique has its levels: behind `mode=` alone the shell would put a space.
    assert bash(own, "run", "./my.toml", "--set", "cl") == ["clients=1", "clients=2"]
    # A level that has to be quoted is left to be typed.
    assert bash(own, "run", "./my.toml", "--set", "mo") == ["mode=plain"]
    assert bash(own, "run", "./my.toml", "--set", "o") == ["on=true", "on=false"]
    for command in ("describe", "noise", "gate", "predict", "cpu"):
        assert bash(own, command, "pk-lookup", "--set", "library") != []


def test_levels_are_completed_as_each_shell_has_words(own: Cli) -> None:
    typed = ("run", "pk-lookup", "--set", "threads")
    assert bash(own, *typed, "=") == ["1", "2", "4", "8", "16"]
    assert bash(own, *typed, "=", "1") == ["1", "16"]
    assert bash(own, *typed, "=", "1,") == ["1,2", "1,4", "1,8", "1,16"]
    assert bash(own, *typed, "=", "1,2", "--set", "cache_") == ["cache_size=2000"]
    assert fish(own, "dbdyno run pk-lookup --set threads=1") == ["threads=1", "threads=16"]
    assert fish(own, "dbdyno run pk-lookup --set threads=4,1") == ["threads=4,1", "threads=4,16"]
    (first, *_) = zsh(own, "dbdyno run pk-lookup --set threads=8")
    assert '"threads=8"' in first


def test_systems_are_the_beginnings_of_urls(cli: Cli) -> None:
    assert bash(cli, "run", "pk-lookup", "--system", "postgresql") == ["postgresql:", "postgresql://"]
    assert bash(cli, "check", "sqli") == ["sqlite:", "sqlite3:"]
    assert {"sqlite:", "duckdb:", "mysql:", "mongodb://", "exec:"} <= set(bash(cli, "run", "--system", ""))
    # What bash has taken apart is no name of an experiment.
    assert bash(cli, "run", "pk-lookup", "--system", "sqlite", ":") == []
    assert bash(cli, "run", "pk-lookup", "--system", "sqlite", ":", "p") == []


def test_runs_are_the_newest_of_the_store_named(cli: Cli) -> None:
    place = cli.directory / "my runs.db"
    with closing(open_store(str(place))) as kept:
        days = [f"2026-03-{day:02}T10:00:00.000+00:00" for day in (13, 15, 14)]
        ids = [kept.begin_run(run_record({}, started=started)) for started in days]
    newest = [ids[1], ids[2], ids[0]]
    assert bash(cli, "show", "--store", shlex.quote(str(place)), "") == ["last", *newest]
    assert bash(cli, "show", "--store", "my\\ runs.db", "2026031") == newest
    assert bash(cli, "compare", "--store", "my\\ runs.db", ids[0], "la") == ["last"]
    assert bash(cli, "run", "--store", "my\\ runs.db", "--resume", ids[1]) == [ids[1]]
    assert ids[0] in bash(cli, "gate", "--store", "my\\ runs.db", "--baseline", "2")
    assert "pk-lookup" in bash(cli, "gate", "--store", "my\\ runs.db", "")
    assert fish(cli, f"dbdyno report --store 'my runs.db' {ids[0]}") == [f"{ids[0]}\tpk-lookup, 2026-03-13 10:00"]


def test_without_a_store_there_is_only_the_last(cli: Cli) -> None:
    assert bash(cli, "show", "") == ["last"]
    assert not (cli.directory / "data").exists()
    assert bash(cli, "show", "--store", "postgresql://nowhere/db", "") == ["last"]


def test_the_store_of_the_user_is_read_where_none_is_named(own: Cli) -> None:
    own("run", "./sub/other.toml", "--rounds", "1")
    last, run = bash(own, "show", "")
    assert last == "last"
    assert own("runs").count(run) == 1


def test_what_is_broken_completes_nothing(own: Cli) -> None:
    own.write("broken.toml", "[factors")
    own.write("no factors.toml", "factors = 3")
    (own.directory / "latin.toml").write_bytes(b'[factors]\nn = ["\xff"]\n')
    (own.directory / "bad.db").write_text("this is no database\n" * 100)
    sqlite3.connect(own.directory / "other.db").close()
    for name in ("./broken.toml", "./no factors.toml", "./latin.toml", "./"):
        assert bash(own, "run", f"'{name}'", "--set", "") == []
    for store in ("bad.db", "other.db", "nowhere/at/all.db", "."):
        assert bash(own, "show", "--store", store, "") == ["last"]


def test_words_are_put_together_as_they_were_typed() -> None:
    assert _together(["run", "--set", "a", "=", "1"]) == ["run", "--set", "a=1"]
    assert _together(["--system", "postgresql", ":", "//h", ":", "1"]) == ["--system", "postgresql://h:1"]
    assert _together(["--set", "a", "="]) == ["--set", "a="]
    assert _together(["run", ""]) == ["run", ""]


def test_completing_imports_nothing_that_takes_time(cli: Cli) -> None:
    cli("runs")
    for words in (["run", "pk-lookup", "--set", "thr"], ["show", "l"]):
        place = {"COMP_WORDS": "\n".join(["dbdyno", *words]), "COMP_CWORD": str(len(words))}
        done = subprocess.run(
            [sys.executable, "-X", "importtime", PROGRAM],
            env={**cli.environment, ASKED: "complete_bash", **place},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split()[0] in ("threads=1", "last")
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "dbdyno.cli.completion" in imported
        heavy = {"numpy", "scipy", "sqlalchemy", "sqlglot", "altair", "jinja2", "pandas", "polars", "pyarrow"}
        # The first of these import pydantic's models, of which there are many.
        heavy |= {f"dbdyno.{name}" for name in ("experiment", "model.experiment", "store", "analysis.document", "run")}
        assert heavy & imported == set()


@needs_bash
def test_bash_asks_by_the_script_that_it_is_given(cli: Cli) -> None:
    script = """
    eval "$(_DBDYNO_COMPLETE=source_bash dbdyno)"
    complete -p dbdyno
    COMP_WORDS=(dbdyno run pk-lookup --set threads = 1); COMP_CWORD=6
    _dbdyno_completion dbdyno
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**cli.environment, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["complete -o default -F _dbdyno_completion dbdyno", "1", "16"]


@needs_bash
def test_completion_is_installed_for_the_shell_at_hand(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("# mine\n")
    environment = {**os.environ, "HOME": str(tmp_path)}
    # A shell that has nothing else to do becomes the program, and is then no longer there to be found.
    for option in ("--show-completion", "--install-completion"):
        command = ["bash", "--norc", "-c", f"'{PROGRAM}' {option}; true"]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert "_dbdyno_completion" in said or "bash completion installed" in said
    source = (tmp_path / ".bashrc").read_text()
    assert source.startswith("# mine\n")
    (installed,) = [path for path in tmp_path.rglob("*.sh") if "dbdyno" in path.name]
    assert str(installed) in source
    assert "complete -o default -F _dbdyno_completion dbdyno" in installed.read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(cli: Cli, shell: str) -> None:
    script = "\n".join(ask(cli, {ASKED: f"source_{shell}"}))
    assert f"{ASKED}=complete_{shell}" in script
