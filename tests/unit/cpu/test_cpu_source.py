"""The amalgamation's files and functions, SQL files, and object sizes."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.base.errors import InputError
from dbdyno.cpu.builds import object_size
from dbdyno.cpu.document import short_names
from dbdyno.cpu.html import highlighted
from dbdyno.cpu.source import SourceMap, source_map
from dbdyno.cpu.sql_file import kind_of, read_statements, split_statements
from dbdyno.runtime.worker import write_amalgamation

TEXT = """\
/************** Begin file a.c ***********************************************/
#define ONE(x) \\
  f(x){ \\
}
/* A comment
int no(void){
}
*/
static int one(int x){
  return x;
}
/************** Include b.h in the middle of a.c *****************************/
/************** Begin file b.h ***********************************************/
struct S {
  int x;
};
static int table[] = {
  1, 2
};
/************** End of b.h ***************************************************/
/************** Continuing where we left off in a.c **************************/
SQLITE_PRIVATE SQLITE_NOINLINE int two(
  int x,
  int y      /* with ( and { in it */
){
  switch( x ){
case 1: {
  break;
}

/* another */
case 2: {
  break;
}
  }
  return y;
}
int three(void);
SQLITE_API void four(void){}
/************** End of a.c ***************************************************/
"""


@pytest.fixture(scope="module")
def amalgamation(tmp_path_factory: pytest.TempPathFactory) -> SourceMap:
    directory = tmp_path_factory.mktemp("source")
    write_amalgamation(directory)
    return source_map((directory / "sqlite3.c").read_text())


def test_functions_and_original_files() -> None:
    source = source_map(TEXT)
    assert [(each.name, each.file, each.first, each.last) for each in source.functions] == [
        ("one", "a.c", 9, 11),
        ("two", "a.c", 22, 37),
        ("four", "a.c", 39, 39),
    ]
    assert source.file_at(15) == "b.h" and source.file_at(30) == "a.c"
    inside = source.function_at(30)
    assert inside is not None and inside.name == "two"
    assert source.function_at(15) is None and source.function_at(1) is None


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("sqlite3VdbeExec", "vdbe.c"),
        ("balance_nonroot", "btree.c"),
        ("sqlite3Select", "select.c"),
        ("yy_reduce", "parse.c"),
        ("unixRead", "os_unix.c"),
        ("sqlite3BtreeIndexMoveto", "btree.c"),
    ],
)
def test_functions_of_the_real_amalgamation(amalgamation: SourceMap, name: str, file: str) -> None:
    found = [each for each in amalgamation.functions if each.name == name]
    assert [each.file for each in found] == [file]
    assert f"{name}(" in "".join(amalgamation.lines[found[0].first - 1 : found[0].first + 3])
    assert amalgamation.lines[found[0].last - 1].startswith("}")


def test_the_largest_function_is_whole(amalgamation: SourceMap) -> None:
    largest = max(amalgamation.functions, key=lambda each: each.last - each.first)
    assert largest.name == "sqlite3VdbeExec"
    text = amalgamation.lines[largest.first - 1 : largest.last]
    assert any(line.startswith("vdbe_return:") for line in text)


def test_functions_do_not_overlap(amalgamation: SourceMap) -> None:
    ends = [each.last for each in amalgamation.functions]
    starts = [each.first for each in amalgamation.functions]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))


def test_statements_end_where_sqlite_says() -> None:
    text = (
        "-- one; two\nselect ';' as \"a;b\"; \n\n/* x; */\ncreate trigger t after insert on a begin\n"
        "  delete from b; delete from c;\nend;\nselect 2"
    )
    found = split_statements(text, "a file")
    assert [(each.line, each.text.split()[0]) for each in found] == [(2, "select"), (5, "create"), (8, "select")]
    assert found[1].text.endswith("end;")


def test_a_byte_order_mark_is_no_part_of_a_statement(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("select 1;", encoding="utf-8-sig")
    assert [each.text for each in read_statements(tmp_path / "a.sql")] == ["select 1;"]


@pytest.mark.parametrize("text", ["", " ;; \n", "-- nothing\n", ".mode list\nselect 1;"])
def test_what_is_no_sql_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        split_statements(text, "a file")


@given(st.lists(st.sampled_from(["select 1;", "insert into t values ('a;b');", "delete from t /* ; */;"]), min_size=1))
def test_no_statement_is_lost(statements: list[str]) -> None:
    found = split_statements("\n".join(statements), "a file")
    assert [each.text for each in found] == statements
    assert [each.line for each in found] == list(range(1, len(statements) + 1))


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT 1", "select"),
        ("-- x\n  Update t set a = 1", "update"),
        ("with c as (select 1) insert into t select * from c", "with … insert"),
        ("with c as (select 1) select * from c", "with … select"),
    ],
)
def test_kinds_of_statements(sql: str, kind: str) -> None:
    assert kind_of(sql) == kind


def test_colours_lose_no_text() -> None:
    lines = ["/* a", "b */ int x = 5; // <c>", '  char *z = "a\\"/*"; if( x<y ) return \'&\';', "#define A 1"]
    lines += ["", "\t\f'", "x\ry"]
    html = "\n".join(highlighted(lines))
    assert len(list(highlighted(lines))) == len(lines)
    assert not list(highlighted([]))
    assert '<i class="k">int</i>' in html and '<i class="c">b */</i>' in html
    import re
    from html import unescape

    assert unescape(re.sub(r"</?i[^>]*>", "", html)) == "\n".join(lines)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["single"], ["single"]),
        (["size=2,part=a", "size=2,part=b"], ["a", "b"]),
        (["x=1,y=1", "x=1,y=2", "x=2,y=1"], ["x=1,y=1", "x=1,y=2", "x=2,y=1"]),
        (["x=1", "y=1"], ["x=1", "y=1"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_names_of_parts_are_shortened(names: list[str], short: list[str]) -> None:
    assert list(short_names(names).values()) == short


@pytest.mark.skipif(shutil.which("size") is None or shutil.which("cc") is None, reason="needs binutils and a compiler")
def test_sizes_are_those_of_the_tool(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text('int x = 1; int y[100]; const char z[] = "abc"; int f(int a){ return a * x; }\n')
    subprocess.run(["cc", "-g", "-O2", "-c", "a.c"], cwd=tmp_path, check=True)
    said = subprocess.run(["size", "a.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert list(object_size(tmp_path / "a.o")) == [int(each) for each in said.splitlines()[1].split()[:3]]
