"""`gate --against`: both sides in the same blocks, and what the other side can be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from conftest import Cli, workers_of
from dbdyno.analysis.measured.cell_pairs import side_pairs, without_side
from waiting import eventually

Small = Callable[..., str]

# Some 3 ms of work, and a wait that no other program makes longer by much.
WORK = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000) select count(*) from n"
EXPERIMENT = f"""
name = "mine"
title = "A statement"

[load]
clients = 1
stop = {{ seconds = 0.1 }}

[[transactions]]
name = "t"
steps = [{{ think = 5 }}, {{ execute = "{WORK}" }}]
"""
SLOWER = EXPERIMENT.replace("i < 10000", "i < 30000").replace("think = 5 ", "think = 150 ")
WHO = {**os.environ} | {
    f"GIT_{who}_{what}": "n@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
BRIEF = ("--rounds", "5", "--store", "g.db")


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(cli: Cli) -> Cli:
    """A repository with an experiment in its one commit."""
    cli.write("bench.toml", EXPERIMENT)
    git(cli.directory, "init", "-q")
    git(cli.directory, "add", "bench.toml")
    git(cli.directory, "commit", "-q", "-m", "one")
    return cli


def gate(cli: Cli, *arguments: str) -> tuple[int, str, str]:
    process = cli.start("gate", *arguments)
    out, errors = process.communicate(timeout=300)
    return process.returncode, " ".join(out.split()), " ".join(errors.split())


def verdict(code: int, out: str) -> str:
    """The verdict of a gate that has lost most of its speed: a regression, or that a busy machine leaves it open."""
    found = {3: "regression", 0: "not settled"}[code]
    assert f"gate: {found}" in out
    return found


def trees(cli: Cli) -> str:
    command = ["git", "worktree", "list"]
    return subprocess.run(command, cwd=cli.directory, capture_output=True, text=True, check=True).stdout


def test_a_change_since_a_commit_is_found_and_none_is_not(repository: Cli) -> None:
    code, out, _ = gate(repository, "./bench.toml", "--against", "HEAD", *BRIEF)
    assert code == 0 and "regression" not in out, out
    assert "a baseline: HEAD, commit" in out and "both were measured in the same 5 rounds" in out
    repository.write("bench.toml", SLOWER)
    code, out, _ = gate(repository, "./bench.toml", "--against", "HEAD", "--markdown", "g.md", *BRIEF)
    said = verdict(code, out)
    assert f"{said} single:" in out
    assert "differs a b" in out and "statement 1" in out
    assert said in (repository.directory / "g.md").read_text()
    assert trees(repository).count("\n") == 1


def test_both_sides_are_cells_of_one_run_in_the_same_blocks(repository: Cli) -> None:
    gate(repository, "./bench.toml", "--against", "HEAD", *BRIEF)
    repository("show", "last", "--store", "g.db", "--json", "g.json")
    document = json.loads((repository.directory / "g.json").read_text())
    assert [cell["factors"]["side"] for cell in document["cells"]] == ["baseline", "candidate"]
    assert [[each["block"] for each in cell["rounds"]] for cell in document["cells"]] == [[0, 1, 2, 3, 4]] * 2
    (found,) = document["comparisons"]
    assert (found["a"], found["b"]) == ("side=baseline,single", "side=candidate,single")
    _, errors = repository.start("run", "--resume", document["id"], "--store", "g.db").communicate(timeout=60)
    assert "a gate's run is not gone on with" in errors


def test_a_program_is_built_at_the_commit(repository: Cli) -> None:
    # The build makes a program that says which it is, whichever directory it runs in.
    said = repository.directory / "said"
    made = f"printf '#!/bin/sh\\necho %s >> {said}\\n' \"$$(cat prog.txt)\" > prog"
    repository.write("Makefile", f"prog: prog.txt\n\t{made}\n\tchmod +x prog\n")
    repository.write("prog.txt", "then")
    git(repository.directory, "add", "Makefile", "prog.txt")
    git(repository.directory, "commit", "-q", "-m", "two")
    repository.write("prog.txt", "now")
    subprocess.run(["make", "prog"], cwd=repository.directory, check=True, capture_output=True)
    options = ["--system", "exec:./prog", "--against", "HEAD", "--rounds", "3", "--store", "g.db"]
    code, out, errors = gate(repository, *options, "--build", "make prog")
    assert code in (0, 3), out + errors
    assert set(said.read_text().split()) == {"then", "now"}
    # Unbuilt, there is nothing to measure there; it is not the program here that is taken.
    code, out, errors = gate(repository, *options)
    assert code != 0 and "./prog cannot be started" in out + errors


MAKE_DATABASE = """
import sqlite3

database = sqlite3.connect("app.db")
database.execute("create table orders (id integer primary key, customer integer)")
INDEX
database.executemany("insert into orders values (?, ?)", ((i, i) for i in range(5000)))
database.commit()
"""
QUERIES = """
-- name: orders of a customer
-- :customer = @customer of orders
select * from orders where customer = :customer;
-- name: one order
-- :id = 1..5000
select * from orders where id = :id;
"""


def test_statements_on_the_database_that_the_build_of_a_commit_makes(repository: Cli) -> None:
    indexed = 'database.execute("create index by_customer on orders (customer)")'
    repository.write("make.py", MAKE_DATABASE.replace("INDEX", indexed))
    repository.write("queries.sql", QUERIES)
    git(repository.directory, "add", "make.py", "queries.sql")
    git(repository.directory, "commit", "-q", "-m", "two")
    repository.write("make.py", MAKE_DATABASE.replace("INDEX", ""))
    build = f"{sys.executable} make.py"
    subprocess.run(build.split(), cwd=repository.directory, check=True)
    options = ["queries.sql", "--system", "sqlite:app.db", "--against", "HEAD", "--rounds", "2", "--store", "g.db"]
    files = ["--json", "g.json", "--report", "g.html"]
    code, out, errors = gate(repository, *options, "--build", build, *files)
    assert code == 3, out + errors
    written = json.loads((repository.directory / "g.json").read_text())
    found = {each["cell"]: each for each in written["cells"]}
    assert list(found) == ["orders of a customer", "one order"]
    assert (
        "now scans the whole table orders: index by_customer no longer exists"
        in found["orders of a customer"]["reason"]
    )
    assert found["one order"]["verdict"] != "regression"
    assert (written["verdict"], written["exit_code"]) == ("regression", 3)
    assert "index by_customer no longer exists" in (repository.directory / "g.html").read_text()
    # Both sides got the same values, so the statements are no difference.
    assert not any("transactions" in each for each in written["notes"] if each.startswith("Differs"))
    code, out, errors = gate(repository, *options)
    assert code == 2 and "has no file" in errors and "build it with `--build COMMAND`" in errors


@pytest.mark.parametrize(
    ("against", "what"), [("other.toml", "another experiment's file"), ("null:", "on another system")]
)
def test_other_sides(repository: Cli, against: str, what: str) -> None:
    repository.write("other.toml", EXPERIMENT)
    code, out, errors = gate(
        repository, "./bench.toml", "--against", f"./{against}" if ".toml" in against else against, *BRIEF
    )
    assert code in (0, 3), errors
    assert what in out


def test_what_cannot_be_the_other_side_is_told_before_anything_is_measured(
    repository: Cli, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for arguments, said in (
        (("--against", "no-such-branch"), "the repository has no such commit"),
        (("--against", "./nothing.toml"), "nothing.toml"),
        (("--against", "sqlite:", "--build", "make"), "so `--build` has no effect"),
        (("--against", "HEAD", "--build", "echo oh no; exit 7"), "`echo oh no; exit 7` ended with 7 in HEAD: oh no"),
        (("--against", "HEAD", "--baseline", "main"), "two baselines given"),
        ((), "no baseline given"),
    ):
        code, out, errors = gate(repository, "./bench.toml", *arguments, "--store", "g.db")
        assert code in (1, 2) and said in errors, errors + out
    assert trees(repository).count("\n") == 1
    elsewhere = Cli(tmp_path_factory.mktemp("elsewhere"))
    elsewhere.write("bench.toml", EXPERIMENT)
    code, _, errors = gate(elsewhere, "./bench.toml", "--against", "HEAD")
    assert code == 2 and "the current directory is not in a repository" in errors


def test_an_interrupted_gate_judges_nothing_and_leaves_nothing(repository: Cli) -> None:
    process = repository.start("gate", "./bench.toml", "--against", "HEAD", "--rounds", "30", "--store", "g.db")
    while not workers_of(process.pid):
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "gate:" not in out
    assert trees(repository).count("\n") == 1
    assert repository.left_behind() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_build_ends_with_dbdyno_and_nothing_stays(repository: Cli, number: signal.Signals) -> None:
    started = repository.directory / "started"
    # One child ignores what ends the other.
    build = f"trap '' TERM; (sleep 600; :) & echo $! >> {started}; sleep 600 & echo $! >> {started}; touch done.o; wait"
    process = repository.start("gate", "./bench.toml", "--against", "HEAD", "--build", build, "--store", "g.db")
    assert eventually(lambda: started.exists() and started.read_text().count("\n") == 2)
    children = [psutil.Process(int(each)) for each in started.read_text().split()]
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode in (130, -9)
    assert eventually(lambda: not any(each.is_running() and each.status() != "zombie" for each in children))
    assert eventually(lambda: repository.left_behind() == [])
    assert trees(repository).count("\n") == 1
    assert [path.name for path in (repository.directory / ".git").iterdir() if path.name == "worktrees"] == []


def test_what_a_killed_gate_and_its_guards_left_goes_with_the_next(repository: Cli) -> None:
    started = repository.directory / "started"
    process = repository.start(
        "gate", "./bench.toml", "--against", "HEAD", "--build", f"touch {started}; sleep 600", "--store", "g.db"
    )
    assert eventually(started.exists)
    for each in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
        each.kill()
    process.communicate(timeout=60)
    assert repository.left_behind() != []
    code, out, errors = gate(repository, "./bench.toml", "--against", "HEAD", *BRIEF)
    assert code in (0, 3), out + errors
    assert repository.left_behind() == []


def test_a_checkout_has_what_the_repository_has(repository: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tags for `git describe`; and a commit that no branch has, of a shallow clone."""
    git(repository.directory, "-c", "tag.gpgSign=false", "tag", "-a", "v1", "-m", "one")
    subprocess.run(["git", "commit", "--allow-empty", "-qm", "two"], cwd=repository.directory, check=True, env=WHO)
    shallow = Cli(tmp_path_factory.mktemp("shallow"))
    git(shallow.directory, "clone", "-q", "--depth=2", f"file://{repository.directory}", "clone")
    for folder in (repository.directory, shallow.directory / "clone"):
        cli = Cli(folder)
        git(folder, "checkout", "-q", "--detach")
        tags = "git describe --tags" if folder == repository.directory else "git log -1"
        code, out, errors = gate(
            cli, "./bench.toml", "--against", "HEAD~1", "--build", f"test -d .git && {tags}", *BRIEF
        )
        assert code in (0, 3), out + errors
        status = ["git", "status", "--porcelain", "--", "bench.toml"]
        assert subprocess.run(status, cwd=folder, capture_output=True, check=True).stdout == b""


def test_cells_are_compared_with_those_of_the_other_side() -> None:
    levels = [
        {"side": side, "threads": threads, "system": system}
        for side, system in (("baseline", "one"), ("candidate", "two"))
        for threads in (1, 2)
    ]
    assert side_pairs(levels) == [(0, 2), (1, 3)]
    same = [each | {"system": "one"} for each in levels]
    assert side_pairs(same) == [(0, 2), (1, 3)]
    # One that the baseline has not is compared with nothing.
    assert side_pairs([*same, {"side": "candidate", "threads": 4, "system": "one"}]) == [(0, 2), (1, 3)]
    assert without_side("side=candidate,threads=2") == "threads=2"
    assert without_side("threads=2") == "threads=2"
