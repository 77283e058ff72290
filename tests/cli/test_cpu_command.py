"""dbdyno cpu, with a real build of SQLite under the real valgrind."""

import gzip
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from conftest import QUICK_BUILD, SMALL, Builds, Cli, loading, those
from dbdyno.cpu.attribution import attribute, by_object
from dbdyno.cpu.callgrind import parse_profile
from dbdyno.cpu.counting import counting_directory
from dbdyno.cpu.document import by_version
from dbdyno.cpu.own_cost import USUAL_WORK, bare_loop
from dbdyno.cpu.source import source_map
from dbdyno.cpu.work import find_work
from dbdyno.runtime.worker import write_amalgamation

pytestmark = pytest.mark.skipif(
    shutil.which("valgrind") is None or shutil.which("cc") is None, reason="needs valgrind and a C compiler"
)

# What is tested here does not depend on how a build is optimised.
QUICK = ("--cflags", QUICK_BUILD)

SQL = """\
-- a small file
create table t(a integer primary key, b text);
begin;
with recursive c(x) as (select 1 union all select x + 1 from c where x < 400)
  insert into t select x, 'row ' || x || abs(random() % 1000) from c;
commit;
create index i on t(b);
select count(*), max(b) from t;
select a from t where b like 'row 1%' order by b;
update t set b = b || '; x' where a % 7 = 0;
delete from t where a > 300;
select datetime('now');
"""


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory, builds: Builds) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("cpu"))
    builds.share(cli)
    cli.write("a.sql", SQL)
    return cli


def counted(cli: Cli, *arguments: str) -> dict[str, Any]:
    cli("cpu", *arguments, *QUICK, "--counts", "counts", "--json", "out.json")
    document: dict[str, Any] = json.loads((cli.directory / "out.json").read_text())
    return document


@pytest.fixture(scope="module")
def first(cpu: Cli) -> dict[str, Any]:
    return counted(
        cpu, "./a.sql", "--save", "first", "--callgrind", "raw", "--flame", "stacks.txt", "--report", "a.html"
    )


@pytest.fixture(scope="module")
def second(cpu: Cli, first: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The same count once more, and what is said of it against the first."""
    against = ("--baseline", "first", "--margin", "0.01%", "--json", "second.json")
    said = cpu("cpu", "./a.sql", *QUICK, "--counts", "counts", *against)
    return json.loads((cpu.directory / "second.json").read_text()), said


def test_the_same_binary_and_input_count_the_same(first: dict[str, Any], second: tuple[dict[str, Any], str]) -> None:
    again = second[0]["builds"][0]
    assert again["i_refs"] == first["builds"][0]["i_refs"] > 1_000_000
    assert again["d_refs"] == first["builds"][0]["d_refs"]
    # Its random numbers and its time are the same too.
    hashes = [
        [(each["name"], each["i_refs"], each["rows_hash"]) for each in build["parts"][0]["groups"]]
        for build in (again, first["builds"][0])
    ]
    assert hashes[0] == hashes[1]


def test_counters_belong_together(first: dict[str, Any]) -> None:
    build = first["builds"][0]
    assert build["d_refs"] == build["d_refs_read"] + build["d_refs_write"]
    assert build["ll_refs"] == build["i1_misses"] + build["d1_misses"]
    assert build["ll_misses"] == build["lli_misses"] + build["lld_misses"]
    assert build["estimated_cycles"] == build["i_refs"] + 10 * build["ll_refs"] + 100 * build["ll_misses"]
    assert sum(each["i_refs"] for each in build["functions"]) == build["i_refs"]
    assert sum(each["i_refs"] for each in build["files"]) == build["i_refs"]


def test_kinds_of_statements_add_up_to_the_engine(first: dict[str, Any]) -> None:
    build = first["builds"][0]
    groups = {each["name"]: each for each in build["parts"][0]["groups"]}
    assert groups["create"]["executions"] == 2 and groups["select"]["executions"] == 3
    # All but what the library called back: its clock.
    assert 0 <= sum(each["i_refs"] for each in groups.values()) - build["i_refs"] < 0.001 * build["i_refs"]


def test_callgrinds_own_file_gives_the_same(cpu: Cli, first: dict[str, Any]) -> None:
    build = first["builds"][0]
    place = cpu.directory / "raw" / f"1-{build['version']}"
    profile = parse_profile((place / "callgrind.out.0").read_text(), "a file")
    found = attribute(profile, by_object("libsqlite3.so", "dbdyno-worker"))
    assert found.engine[0] == build["i_refs"]
    assert found.harness[0] == build["harness"]["i_refs"] == profile.totals[0] - build["i_refs"] > 0
    # Nothing of ours sits within the library: what it calls in the worker is the fixed clock and random seed alone.
    called = {
        profile.functions[call.callee].name
        for call in profile.calls
        if profile.functions[call.line.function].object == "libsqlite3.so"
        and profile.functions[call.callee].object == "dbdyno-worker"
    }
    assert {re.sub(r".*fixed_vfs::(\w+).*", r"\1", name) for name in called} <= {"randomness", "current_time_ms"}
    assert (place / "sqlite3.c").stat().st_size == build["source_bytes"]


def test_flame_graph_has_all_instructions(cpu: Cli, first: dict[str, Any]) -> None:
    lines = (cpu.directory / "stacks.txt").read_text().splitlines()
    total = sum(int(line.rpartition(" ")[2]) for line in lines)
    assert total == pytest.approx(first["builds"][0]["i_refs"], rel=1e-3)
    assert any(re.match(r"select;sqlite3_step;(sqlite3Step;)?sqlite3VdbeExec\b", line) for line in lines)


def test_html_holds_the_source_with_its_counts(cpu: Cli, first: dict[str, Any]) -> None:
    html = (cpu.directory / "a.html").read_text()
    hottest = first["builds"][0]["functions"][0]
    assert f'id="b0l{hottest["line"]}"' in html and f'href="#b0l{hottest["line"]}"' in html
    assert "<script" not in html and "http://" not in html.partition("<h2>")[0]
    assert "cycle counts approximate energy more than time" in html
    assert "harness&#39;s I refs" in html and "instructions of one" in html
    assert re.search(r"<s> +\d+\.\d\d %</s>", html)
    assert _frame_of(hottest).search(html)


def _frame_of(function: dict[str, Any]) -> re.Pattern[str]:
    """The flame graph's frames lead to the source as well."""
    return re.compile(rf'<a href="#b0l{function["line"]}"><g><title>{function["name"]}\b')


def test_a_page_is_made_of_a_kept_count(cpu: Cli, look_ups: dict[str, Any]) -> None:
    cpu("cpu", "annotate", "look-ups", "--report", "kept.html", "--counts", "counts")
    hottest = look_ups["builds"][0]["functions"][0]
    assert _frame_of(hottest).search((cpu.directory / "kept.html").read_text())


def test_builds_side_by_side_give_the_same_rows(cpu: Cli, builds: Builds) -> None:
    cpu.write("rows.sql", "create table t(a); insert into t values (random()), (datetime('now')); select a from t;")
    both = ("--sqlite", "bundled", "--sqlite", builds.older())
    said = cpu("cpu", "./rows.sql", *both, *QUICK, "--chart", "c.svg")
    assert "returned the same rows" in said
    svg = (cpu.directory / "c.svg").read_text()
    assert svg.startswith("<svg") and "all parts" in svg


def test_other_rows_are_told(cpu: Cli) -> None:
    cpu.write("pages.sql", "create table t(a); insert into t values (1); pragma page_size;")
    flags = ("--cflags", QUICK_BUILD, "--cflags", f"{QUICK_BUILD} -DSQLITE_DEFAULT_PAGE_SIZE=1024")
    said = cpu("cpu", "./pages.sql", *flags, code=1)
    assert "differs in its results" in said and "pragma: different rows" in said


@pytest.fixture(scope="module")
def look_ups(cpu: Cli) -> dict[str, Any]:
    """An experiment, counted; few of SQLite's functions are in it."""
    text = SMALL.replace("transactions = 500", "transactions = 400").replace("rows = 2000", "rows = 300")
    return counted(cpu, cpu.write("look-ups.toml", text), "--save", "look-ups")


def test_an_experiment_is_counted_by_cell_and_statement(look_ups: dict[str, Any]) -> None:
    parts = look_ups["builds"][0]["parts"]
    # One client in both cells: the same work, counted once.
    assert [part["transactions"] for part in parts] == [400]
    assert any("1 of 2 cells" in note for note in look_ups["notes"])
    groups = {each["name"]: each for each in parts[0]["groups"]}
    assert sum(each["executions"] for each in groups.values()) == parts[0]["statements"] == 400
    slope = parts[0]["i_refs_per_statement"]
    assert slope == pytest.approx(parts[0]["i_refs"] / parts[0]["statements"], rel=0.3)


def test_a_baseline_tells_what_changed(cpu: Cli, second: tuple[dict[str, Any], str]) -> None:
    said = second[1]
    assert "+0 (+0.000 %)" in said and "no function changed" in said
    assert "first: a.sql" in cpu("cpu", "list", "--counts", "counts")
    cpu.write("b.sql", SQL + "select 1;")
    assert "different work" in cpu("cpu", "./b.sql", *QUICK, "--counts", "counts", "--baseline", "first", code=2)


def test_counts_of_other_surroundings_are_refused(cpu: Cli, first: dict[str, Any]) -> None:
    shutil.copytree(cpu.directory / "counts" / "first", cpu.directory / "counts" / "elsewhere", dirs_exist_ok=True)
    path = cpu.directory / "counts" / "elsewhere" / "count.json"
    document = json.loads(path.read_text())
    document["surroundings"]["cpu"] = "another processor"
    path.write_text(json.dumps(document))
    said = cpu("cpu", "./a.sql", *QUICK, "--counts", "counts", "--baseline", "elsewhere", code=2)
    assert "another processor" in said and "cannot be compared" in said


@pytest.fixture(scope="module")
def planted(cpu: Cli, first: dict[str, Any]) -> tuple[int, int, int]:
    """A copy of the source in which one line costs 0.05 % of all. Gives the line, its cost, and the base's count."""
    raw = (cpu.directory / "raw" / f"1-{first['builds'][0]['version']}" / "callgrind.out.0").read_text()
    profile = parse_profile(raw, "a file")
    calls = sum(
        count for call, count in profile.counts.items() if profile.functions[call.callee].name == "sqlite3BtreeInsert"
    )
    total = first["builds"][0]["i_refs"]
    instructions = round(0.0005 * total / calls)
    assert instructions > 0
    directory = cpu.directory / "planted"
    directory.mkdir()
    write_amalgamation(directory)
    text = (directory / "sqlite3.c").read_text()
    source = source_map(text)
    function = next(each for each in source.functions if each.name == "sqlite3BtreeInsert")
    lines = text.split("\n")
    body = next(number for number in range(function.first, function.last) if lines[number].startswith("  assert("))
    lines.insert(body, f'  __asm__ volatile("{";".join(["nop"] * instructions)}");')
    (directory / "sqlite3.c").write_text("\n".join(lines))
    return body + 1, calls * instructions, total


def test_a_planted_change_is_found_sized_and_placed(cpu: Cli, planted: tuple[int, int, int]) -> None:
    line, cost, total = planted
    assert 0.0004 < cost / total < 0.0006
    against = ("--sqlite", "./planted", "--counts", "counts", "--baseline", "first", "--margin", "0.03%")
    assert cpu("cpu", "./a.sql", *QUICK, *against, "--save", "second", code=3) == ""
    said = cpu("cpu", "diff", "first", "second", "--counts", "counts").splitlines()
    top = next(index for index, each in enumerate(said) if "function" in each) + 1
    assert "sqlite3BtreeInsert (btree.c)" in said[top]
    found = int(said[top].split()[2].replace(",", ""))
    assert found == pytest.approx(cost, rel=0.1)
    hottest = next(each for each in said if "asm" in each)
    fields = hottest.split()
    assert fields[2] == f"{cost:+,}" and fields[3:5] == ["-", str(line)]
    # The gate says the same of the counts that are kept, to whoever reads its files.
    files = ("--counts", "counts", "--junit", "gate.xml", "--markdown", "gate.md")
    cpu("gate", "second", "--baseline", "first", "--margin", "0.03%", *files, code=3)
    assert '<failure message="' in (cpu.directory / "gate.xml").read_text()
    assert "| all | regression | " in (cpu.directory / "gate.md").read_text()
    passed = cpu("gate", "second", "--baseline", "first", "--margin", "1%", *files)
    assert passed.splitlines()[0] == "gate: pass"
    assert 'failures="0"' in (cpu.directory / "gate.xml").read_text()
    assert "no count has this name" in cpu("gate", "second", "--baseline", "nothing", *files, code=2)


def errors_of(cpu: Cli, *arguments: str) -> str:
    """Run what is to fail for a cause that is told, whichever its code; give what it says of that."""
    process = cpu.start("cpu", *arguments)
    _, errors = process.communicate(timeout=300)
    assert process.returncode in (1, 2) and errors.startswith("dbdyno: "), errors
    return errors


def test_a_kept_count_that_is_not_what_it_was_is_refused(cpu: Cli, first: dict[str, Any]) -> None:
    def damaged(name: str, file: str, content: bytes) -> None:
        place = cpu.directory / "counts" / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(cpu.directory / "counts" / "first", place)
        (place / file).write_bytes(content)

    def document(**changed: Any) -> bytes:
        text = (cpu.directory / "counts" / "first" / "count.json").read_text()
        return json.dumps(json.loads(text) | changed).encode()

    build = json.loads((cpu.directory / "counts" / "first" / "count.json").read_text())["builds"][0]
    counts = ("--counts", "counts")
    damaged("other-source", "sqlite3.c.gz", gzip.compress(b"int x;"))
    assert "not the source of the count" in errors_of(cpu, "annotate", "other-source", *counts)
    damaged("no-gzip", "sqlite3.c.gz", b"no archive")
    assert "cannot be read" in errors_of(cpu, "diff", "first", "no-gzip", *counts)
    for content in (
        document(schema="dbdyno.cpu/9"),
        document(builds=[]),
        document(builds=[build | {"i_refs": 5}]),
        b'{"schema": "dbdyno.cpu/1"}',
        b"{",
    ):
        damaged("broken", "count.json", content)
        for command in (
            ("annotate", "broken"),
            ("diff", "broken", "first"),
            ("./a.sql", *QUICK, "--baseline", "broken"),
        ):
            said = errors_of(cpu, *command, *counts)
            assert said.count("\n") <= 3 and "broken" in said
    listed = cpu("cpu", "list", *counts)
    assert "first: a.sql on" in listed and "broken: " in listed
    shutil.rmtree(cpu.directory / "counts" / "broken")


def test_a_name_that_cannot_be_kept_is_told_before_anything_is_counted(cpu: Cli) -> None:
    # What cannot be built would be told first.
    cpu.write("file", "")
    nothing = ("./a.sql", "--sqlite", "./nowhere")
    assert "`a b` is not a valid name" in cpu("cpu", *nothing, "--save", "a b", code=2)
    assert "cannot be stored" in errors_of(cpu, *nothing, "--save", "b", "--counts", "file")


def test_nothing_of_a_compiler_is_left_when_dbdyno_alone_is_ended(cli: Cli) -> None:
    cli.write("a.sql", SQL)
    process = cli.start("cpu", "./a.sql")
    end = time.monotonic() + 60
    below: list[psutil.Process] = []
    while not those(below, lambda each: "cc1" in each.name()):
        assert time.monotonic() < end, "no compiler was seen"
        time.sleep(0.05)
        below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    psutil.wait_procs(below, timeout=10)
    assert not those(below, lambda each: each.is_running() and each.status() != psutil.STATUS_ZOMBIE)
    assert not list((cli.directory / "cache" / "cpu").glob("unfinished-*"))


def test_releases_stand_in_their_order() -> None:
    builds = [{"version": version} for version in ("3.21.0", "3.54.1", "3.8.5")]
    assert [each["version"] for each in by_version(builds)] == ["3.8.5", "3.21.0", "3.54.1"]
    same = [*builds, {"version": "3.8.5", "cflags": "-O1"}]
    assert by_version(same) == same


def test_annotated_source(cpu: Cli, first: dict[str, Any]) -> None:
    text = cpu("cpu", "annotate", "first", "--function", "sqlite3BtreeInsert", "--counts", "counts")
    counts = [int(found.replace(",", "")) for found in re.findall(r"^ *([\d,]+) +[\d.]+ %", text, re.MULTILINE)]
    function = next(each for each in first["builds"][0]["functions"] if each["name"] == "sqlite3BtreeInsert")
    # Lines below the noise are left out.
    assert 0.9 * function["i_refs"] <= sum(counts) <= function["i_refs"]


def test_the_worker_beside_the_engine(cpu: Cli, small: Callable[..., str]) -> None:
    few = (("transactions = 500", "transactions = 40"), ("rows = 2000", "rows = 500"))
    name = cpu.write("self.toml", small(*few))
    process = cpu.start("cpu", "--self", name, *QUICK, "--margin", "0.01%")
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 3, errors
    pattern = r"([\d,.]+) instructions a statement in the engine, ([\d,.]+) in the worker: ([\d.]+) of"
    found = re.search(pattern, " ".join(said.split()))
    assert found is not None
    engine, worker, ratio = (float(each.replace(",", "")) for each in found.groups())
    assert ratio == pytest.approx((engine + worker) / engine, abs=0.001)
    assert ratio < 1.5
    # Nobody draws parameters, counts and measures for nothing.
    assert worker > 50


def test_the_worker_against_a_bare_loop(cpu: Cli) -> None:
    # What measuring adds to the cheapest statement there is; here by a worker that is not built to be fast.
    text = Path(USUAL_WORK).read_text(encoding="utf-8")
    text = text.replace("transactions = 20_000", "transactions = 200").replace("5_000", "500")
    name = cpu.write("own.toml", text)
    said = cpu("cpu", "--self", name, "--set", "statement=value", *QUICK, "--margin", "99%")
    pattern = (
        r"([\d,.]+) instructions .* engine, ([\d,.]+) in the worker: .*, ([\d.]+) of a bare loop in C \(([\d,.]+)\)"
    )
    found = re.search(pattern, " ".join(said.split()))
    assert found is not None
    engine, worker, ratio, loop = (float(each.replace(",", "")) for each in found.groups())
    assert ratio == pytest.approx((engine + worker) / loop, abs=0.001)
    assert ratio < 1.99
    # The loop draws keys, reads rows and calls the same library.
    assert engine < loop < engine + worker


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('connect = "once"', 'connect = "per-transaction"'),
        ("uniform = [1, 5_000] }", "zipf = { low = 1, high = 5_000, exponent = 1.1 } }"),
        ("[system.sqlite]", '[system.sqlite]\njournal_mode = "wal"'),
        ("steps = [{ execute", 'steps = [{ begin = "deferred" }, { commit = true }, { execute'),
    ],
)
def test_what_is_more_than_a_bare_loop_is_not_compared_with_one(tmp_path: Path, old: str, new: str) -> None:
    text = Path(USUAL_WORK).read_text(encoding="utf-8")
    assert all(bare_loop(part) is not None for part in find_work(USUAL_WORK, []).parts)
    changed = tmp_path / "changed.toml"
    assert old in text
    changed.write_text(text.replace(old, new), encoding="utf-8")
    assert [bare_loop(part) for part in find_work(str(changed), []).parts] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--self", "./a.sql", "--save", "x"), "no more than"),
        (("./a.sql", "--sqlite", "./nowhere"), "neither a release nor a file"),
        (("./a.sql", "--set", "threads=1"), "--set: it has no effect with a file of SQL"),
        (("./a.sql", "--margin", "1%"), "--baseline"),
        (("./a.sql", *QUICK, "--report", "b.html", "--base", "3.0.1"), "no build has version"),
        (("./a.sql", "--baseline", "unknown", "--counts", "none"), "no count has this name"),
        (("./a.sql", "--chart", "a.txt"), "neither"),
        (("diff", "unknown", "other", "--counts", "none"), "no count has this name"),
        (("pk-lookup", "--set", "threads=1", "--set", "nothing=1"), "nothing"),
    ],
)
def test_errors(cpu: Cli, arguments: tuple[str, ...], said: str) -> None:
    assert said in cpu("cpu", *arguments, code=2)


def test_an_unfinished_load_goes_when_it_is_ended(cli: Cli, builds: Builds, small: Callable[..., str]) -> None:
    builds.share(cli)
    path = cli.write("large.toml", small(("rows = 2000", "rows = 50000000")))
    process = cli.start("cpu", path, *QUICK)
    unfinished, workers = loading(cli, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert not any(worker.is_running() for worker in workers)
    assert list(unfinished.parent.iterdir()) == []


@pytest.mark.parametrize("parent", [Path("/dev/shm"), Path(tempfile.gettempdir()).resolve()])
def test_what_a_killed_count_left_goes_with_the_next(parent: Path) -> None:
    with counting_directory(0) as directory:
        assert directory.is_dir()
        prefix, length = directory.name[:-19], 19
        script = "import os; from pathlib import Path; from dbdyno.runtime.workspace.claims import Claim; "
        script += f"parent = Path({str(parent)!r}); "
        script += f"made = Claim(parent, {prefix!r}, length={length}); made.path.mkdir(); "
        script += "print(made.path, flush=True); os._exit(9)"
        killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        left = Path(killed.stdout.strip())
        (left / "trial.db").touch()
        with counting_directory(0) as other:
            # Another length of its path would be another count.
            assert len(str(other)) == len(str(directory)) == len(str(left)) - len(str(parent)) + len(str(other.parent))
            assert directory.is_dir()
            assert not left.exists()
    assert not directory.exists()


def test_a_statement_that_fails_is_named(cpu: Cli) -> None:
    cpu.write("wrong.sql", "select 1;\n\nselect * from nowhere;")
    process = cpu.start("cpu", "./wrong.sql", *QUICK)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1 and "line 3: no such table: nowhere" in errors


def test_a_source_that_does_not_compile_is_told(cpu: Cli, tmp_path: Path) -> None:
    source = '#define SQLITE_VERSION "3.0.0"\n#define SQLITE_SOURCE_ID "none"\nint f( {\n'
    (cpu.directory / "broken.c").write_text(source)
    process = cpu.start("cpu", "./a.sql", "--sqlite", "./broken.c")
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1 and "building failed" in errors and "error:" in errors


def test_valgrind_by_hand(cpu: Cli, first: dict[str, Any]) -> None:
    """What callgrind_annotate, valgrind's own reader, makes of the file agrees with ours."""
    if shutil.which("callgrind_annotate") is None:
        pytest.skip("callgrind_annotate is not there")
    build = first["builds"][0]
    place = cpu.directory / "raw" / f"1-{build['version']}" / "callgrind.out.0"
    said = subprocess.run(
        ["callgrind_annotate", "--auto=no", "--threshold=100", place], check=True, capture_output=True, text=True
    ).stdout
    total = re.search(r"^\s*([\d,]+) .*PROGRAM TOTALS", said, re.MULTILINE)
    assert total is not None
    # Where counting is switched on and off, a handful of instructions belong to no function and to no line.
    assert 0 <= int(total[1].replace(",", "")) - (build["i_refs"] + build["harness"]["i_refs"]) < 50
