"""Cells and the order of blocks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.base.errors import InputError
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment
from dbdyno.experiment.compile import refusal
from dbdyno.experiment.design import block_order, block_seed, make_cells, parse_set
from dbdyno.model.plan.cell import Cell
from experiment_files import LOAD, small

FACTORS = """
[factors]
threads = [1, 2, 4]
cache = ["private", "shared"]
size = ["default"]
[[exclude]]
cache = "shared"
threads = 4
reason = "too slow"
[factors.mode.text]
prepare = "never"
"""


def ids(made: Experiment, *options: str) -> list[str]:
    return [cell.id for cell in make_cells(made, parse_set(options, made)).cells]


def test_cells_are_the_combinations_without_the_excluded() -> None:
    cells = make_cells(small(FACTORS))
    assert [cell.id for cell in cells.cells] == [
        "threads=1,cache=private",
        "threads=1,cache=shared",
        "threads=2,cache=private",
        "threads=2,cache=shared",
        "threads=4,cache=private",
    ]
    assert [(each.cell.id, each.reason) for each in cells.excluded] == [("threads=4,cache=shared", "too slow")]
    assert cells.cells[0].factors == {
        "threads": 1,
        "cache": "private",
        "size": "default",
        "mode": "text",
        "system": "sqlite:",
    }
    assert cells.cells[0].system.engine == "sqlite"


def test_an_exclusion_can_be_for_some_engines() -> None:
    only = '[factors]\npart = ["a", "b"]\n[[exclude]]\npart = "b"\nengines = "postgresql"\nreason = "no words for it"\n'
    systems = [parse_url("sqlite:"), parse_url("postgresql:")]
    cells = make_cells(small(only), systems=systems)
    assert [(cell.levels["part"].name, cell.system.engine) for cell in cells.cells] == [
        ("a", "sqlite"),
        ("a", "postgresql"),
        ("b", "sqlite"),
    ]
    assert [(each.cell.system.engine, each.reason) for each in cells.excluded] == [("postgresql", "no words for it")]
    nowhere = '[factors]\npart = ["a"]\n[[exclude]]\nengines = ["mongodb"]\nreason = "it is SQL"\n'
    with pytest.raises(InputError, match=r"all cells are excluded: .*: it is SQL"):
        make_cells(small(nowhere), systems=[parse_url("mongodb:")])


def test_an_exclusion_holds_on_all_engines_but_those_it_excepts() -> None:
    sqlite_only = '[factors]\npart = ["a", "b"]\n[[exclude]]\npart = "b"\n'
    sqlite_only += 'except_engines = ["sqlite"]\nreason = "no words for it"\n'
    cells = make_cells(small(sqlite_only), systems=[parse_url("sqlite:"), parse_url("mysql:")])
    assert [(each.levels["part"].name, each.system.engine) for each in cells.cells] == [
        ("a", "sqlite"),
        ("a", "mysql"),
        ("b", "sqlite"),
    ]


def test_optional_levels_are_measured_where_they_are_asked_for() -> None:
    made = small('[factors]\npart = ["a", "b", 3]\nn = [1]\n[optional]\npart = ["b", 3]\n')
    assert ids(made) == ["part=a"]
    assert ids(made, "part=b,a") == ["part=b", "part=a"]
    assert ids(made, "part=3") == ["part=3"]


def test_set_narrows_and_takes_new_levels_without_changing_ids() -> None:
    made = small(FACTORS)
    assert ids(made, "cache=private", "threads=2, 8") == ["threads=2,cache=private", "threads=8,cache=private"]
    assert ids(made, "threads=1", "cache=private", "size=2000") == ["threads=1,cache=private,size=2000"]
    assert ids(small()) == ["single"]


def test_levels_are_read_as_in_toml() -> None:
    made = small(FACTORS)
    chosen = parse_set(["size=1_000,0.5,true,off,'a,b',\"2\""], made)["size"]
    assert [level.value for level in chosen] == [1000, 0.5, True, "off", "a,b", "2"]
    assert ids(made, "threads=1", "cache=private", "size='a,b'") == ['threads=1,cache=private,size="a,b"']
    assert parse_set(["mode=text"], made)["mode"][0] is made.factors["mode"].levels[0]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("thread=1", "--set thread=1: `small` has no factor `thread`; did you mean `threads`?"),
        ("threads", "--set threads: missing `=`; write `--set factor=level,level`"),
        ("threads=", "--set threads=: a level is empty; write `factor=level,level`"),
        ("threads=1,,2", "--set threads=1,,2: a level is empty; write `factor=level,level`"),
        ("threads='1", "--set threads='1: a quote is not closed; write `factor=level,level`"),
        ("threads=1,1", "--set threads=1,1: duplicate level; remove one"),
        ("mode=tex", "--set mode=tex: `mode` has no level `tex`; did you mean `text`?"),
    ],
)
def test_transcript_of_set(option: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_set([option], small(FACTORS))
    assert str(caught.value) == expected


def test_a_factor_is_set_once() -> None:
    with pytest.raises(InputError, match="`threads` is set twice"):
        parse_set(["threads=1", "threads=2"], small(FACTORS))


def test_no_cell_left_says_why() -> None:
    made = small(FACTORS)
    with pytest.raises(InputError) as caught:
        ids(made, "threads=4", "cache=shared")
    assert str(caught.value) == "small.toml: all cells are excluded: `threads=4,cache=shared`: too slow"


def test_too_many_combinations_are_refused_before_they_are_made() -> None:
    factors = "".join(f"f{number} = {list(range(10))}\n" for number in range(9))
    with pytest.raises(InputError) as caught:
        make_cells(small(f"[factors]\n{factors}"))
    assert str(caught.value) == (
        "small.toml: factors: 1,000,000,000 combinations of levels; the limit is 10,000; "
        "choose fewer levels with `--set factor=level`"
    )


def test_systems_are_a_factor() -> None:
    made = small(FACTORS)
    systems = [parse_url("sqlite:"), parse_url("sqlite:?journal_mode=wal")]
    cells = make_cells(made, parse_set(["threads=1", "cache=private"], made), systems).cells
    assert [cell.id for cell in cells] == [
        "threads=1,cache=private",
        "threads=1,cache=private,system=sqlite:?journal_mode=wal",
    ]
    assert cells[1].system.settings == {"journal_mode": "wal"}


def test_no_password_reaches_a_cell() -> None:
    made = small('[factors]\nsystem = ["postgresql://me:secret@h/d", "sqlite3:"]\n')
    cells = make_cells(made).cells
    assert [cell.id for cell in cells] == ["system=postgresql://me@h/d", "system=sqlite:"]
    assert "secret" not in repr(cells)
    assert cells[0].system.password == "secret"
    assert ids(made, "system=sqlite:") == ["system=sqlite:"]


def test_an_unsafe_combination_is_left_out_with_the_reason() -> None:
    made = load_experiment("pk-lookup")
    chosen = parse_set(["library_threading=0", "threads=1,2", "cache=private"], made)
    cells = make_cells(made, chosen, refuse=refusal)
    assert [cell.id for cell in cells.cells] == ["threads=1,cache=private,library_threading=0"]
    assert [each.reason for each in cells.excluded] == [
        "`library_threading=0` leaves SQLite without any mutex: 2 clients in one process would corrupt its memory"
    ]
    with pytest.raises(InputError, match="2 clients in one process would corrupt its memory"):
        make_cells(made, parse_set(["config_threading=single", "threads=2"], made), refuse=refusal)


def cells_of(count: int) -> list[Cell]:
    levels = ", ".join(map(str, range(count)))
    made = small(f"[factors]\nn = [{levels}]\n", load=LOAD)
    return list(make_cells(made).cells)


@given(st.integers(1, 7), st.integers(0, 50), st.integers(0, 2**63))
def test_a_block_has_every_cell_once_and_is_the_same_again(count: int, block: int, seed: int) -> None:
    cells = cells_of(count)
    order = block_order(cells, block, seed)
    assert sorted(cell.id for cell in order) == sorted(cell.id for cell in cells)
    assert order == block_order(cells[::-1], block, seed)


@given(st.integers(0, 50), st.integers(0, 2**63))
def test_two_cells_go_abba(pair: int, seed: int) -> None:
    cells = cells_of(2)
    assert block_order(cells, 2 * pair, seed) == block_order(cells, 2 * pair + 1, seed)[::-1]


def test_all_orders_come_about_equally_often() -> None:
    cells = cells_of(3)
    orders = Counter(tuple(cell.id for cell in block_order(cells, block, 7)) for block in range(1200))
    assert len(orders) == 6
    # Each is expected 200 times, with a standard deviation of 13.
    assert all(140 < count < 260 for count in orders.values())


def test_block_seeds_differ_and_stay_below_2_to_63() -> None:
    seeds = {block_seed(1, block) for block in range(1000)} | {block_seed(2, block) for block in range(1000)}
    assert len(seeds) == 2000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert block_seed(1, 0) == block_seed(1, 0)
