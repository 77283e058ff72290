"""Callgrind's files: the form of the manual, and any that could be written in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.base.errors import SystemFailed
from dbdyno.cpu.attribution import attribute, by_object
from dbdyno.cpu.callgrind import Call, Function, Line, parse_profile

# Names given once and then by number, lines relative to the last, an inlined stretch, calls, costs cut short.
TEXT = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir Dr
summary: 100 7

ob=(1) /bin/worker
fl=(1) main.c
fn=(1) main
10 5 1
+2 3
cob=(2) libsqlite3.so
cfi=(2) sqlite3.c
cfn=(2) sqlite3_step
calls=2 100
* 85 5
-1 7 1

ob=(2)
fl=(2)
fn=(2)
100 20
fi=(3) inlined.h
7 30 2
fe=(2)
+1 5
cob=(3) libc.so
cfi=(4) memcpy.S
cfn=(3) memcpy
calls=4 1
102 30 3

ob=(3)
fl=(4)
fn=(3)
1 30 3
"""


def test_the_forms_of_the_manual() -> None:
    profile = parse_profile(TEXT, "a file")
    main, step, memcpy = (
        Function("/bin/worker", "main.c", "main"),
        Function("libsqlite3.so", "sqlite3.c", "sqlite3_step"),
        Function("libc.so", "memcpy.S", "memcpy"),
    )
    assert set(profile.functions) == {main, step, memcpy}
    number = {function: index for index, function in enumerate(profile.functions)}
    assert profile.lines == {
        Line(number[main], "main.c", 10): [5, 1],
        Line(number[main], "main.c", 12): [3, 0],
        Line(number[main], "main.c", 11): [7, 1],
        Line(number[step], "sqlite3.c", 100): [20, 0],
        Line(number[step], "inlined.h", 7): [30, 2],
        Line(number[step], "sqlite3.c", 8): [5, 0],
        Line(number[memcpy], "memcpy.S", 1): [30, 3],
    }
    call = Call(Line(number[main], "main.c", 12), number[step])
    assert profile.calls[call] == [85, 5] and profile.counts[call] == 2
    assert profile.totals == [100, 7]


def test_whose_a_cost_is() -> None:
    found = attribute(parse_profile(TEXT, "a file"), by_object("libsqlite3.so", "/bin/worker"))
    # The engine's own 55, and the 30 of memcpy that it called.
    assert (found.engine, found.harness) == ([85, 5], [15, 2])
    assert list(found.outgoing.values()) == [[30, 3]]


def test_calls_that_do_not_add_up_are_refused() -> None:
    wrong = TEXT.replace("* 85 5", "* 84 5")
    with pytest.raises(SystemFailed, match="do not add up"):
        attribute(parse_profile(wrong, "a file"), by_object("libsqlite3.so", "/bin/worker"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("summary: 100 7", "summary: 100 8", "add up"),
        ("summary: 100 7", "summary: 9000 7\ntotals: 100 7", "summary is"),
        ("summary: 100 7\n", "", "totals"),
        ("fn=(2)\n100", "fn=(9)\n100", "before"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(SystemFailed, match=said):
        parse_profile(TEXT.replace(old, new), "a file")


_NAMES = st.text("abcxyz_'0123456789 .", min_size=1, max_size=8).map(lambda text: "n" + text.strip())
_COSTS = st.lists(st.integers(0, 10**12), min_size=2, max_size=2)
_LINES = st.dictionaries(
    st.tuples(_NAMES, _NAMES, _NAMES, _NAMES, st.integers(0, 10**6)), _COSTS, min_size=1, max_size=20
)


@given(_LINES, st.booleans())
def test_whatever_is_written_is_read_back(
    lines: dict[tuple[str, str, str, str, int], list[int]], relative: bool
) -> None:
    """Objects, files, functions, files inlined from, and lines, as callgrind writes them, compressed or not."""
    names: dict[str, dict[str, int]] = {"ob": {}, "file": {}, "fn": {}}

    def named(kind: str, name: str) -> str:
        table = names[kind]
        if name in table:
            return f"({table[name]})"
        table[name] = len(table) + 1
        return f"({table[name]}) {name}"

    text, last = ["positions: line", "events: Ir Dr"], 0
    for (obj, file, function, inlined, line), costs in lines.items():
        text += [f"ob={named('ob', obj)}", f"fl={named('file', file)}", f"fn={named('fn', function)}"]
        text.append(f"fi={named('file', inlined)}")
        at = ("*" if line == last else f"{line - last:+d}") if relative else str(line)
        short = costs if costs[1] else costs[:1]
        text.append(f"{at} {' '.join(map(str, short))}")
        last = line
    totals = [sum(costs[index] for costs in lines.values()) for index in range(2)]
    text.append(f"totals: {totals[0]} {totals[1]}")
    profile = parse_profile("\n".join(text), "a file")
    found = {
        (*profile.functions[place.function], place.file, place.line): costs for place, costs in profile.lines.items()
    }
    assert found == lines
