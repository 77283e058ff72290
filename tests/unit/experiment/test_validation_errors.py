"""Each error in a file gives one message: file, key, what is wrong and what would be right."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from dbdyno.base.errors import InputError
from dbdyno.experiment import ValidationErrors, load_experiment
from dbdyno.experiment.document import parse
from experiment_files import HEAD, LOAD, READ, ROOT, TABLE, experiment, small, steps

COLUMN = '[tables.t]\nrows = 1\n[tables.t.columns]\nc = {{ type = "integer", fill = {} }}\n'


TRANSCRIPTS = tomllib.loads((ROOT / "tests/unit/experiment/validation_errors.toml").read_text())["error"]


def make(error: dict[str, Any]) -> None:
    match error:
        case {"old": old, "new": new}:
            text = "".join([HEAD, TABLE, LOAD, READ])
            assert old in text
            also = error.get("and", {"old": "", "new": ""})
            experiment(text.replace(old, new, 1).replace(also["old"], also["new"], 1))
        case {"factors": factors}:
            small(factors)
        case {"steps": text}:
            steps(text)
        case {"fill": fill}:
            small(table=TABLE + COLUMN.format(fill))


def message(*parts: str) -> str:
    with pytest.raises(InputError) as caught:
        experiment(*parts)
    return str(caught.value)


@pytest.mark.parametrize("error", TRANSCRIPTS, ids=lambda error: error["says"][:80])
def test_transcript(error: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        make(error)
    assert str(caught.value) == error["says"]
    assert caught.value.exit_code == 2


def test_a_factor_that_nothing_refers_to_is_an_error_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text("".join([HEAD, "[factors]\nrows = [1, 2]\n", TABLE, LOAD, READ]))
    with pytest.raises(InputError) as caught:
        load_experiment(str(file))
    told = "factors.rows: unused factor: its levels have no effect; refer to it as `${rows}`"
    assert str(caught.value).endswith(told)


def test_a_wrong_level_is_told_with_the_factor_it_came_from() -> None:
    load = '\n[load]\nclients = "${threads}"\nstop = { seconds = 1 }\n'
    assert message(HEAD, "[factors]\nthreads = [1, 0]\n", TABLE, load, READ) == (
        "small.toml: load.clients: 0 is out of range (with ${threads} = 0); give a number at least 1"
    )


@pytest.mark.parametrize(
    ("levels", "product", "says"),
    [
        ('["big"]', "10 * n", '"${10 * n}" is not an integer (with ${n} = "big"); give an integer, such as `4`'),
        ("[true]", "10 * n", '"${10 * n}" is not an integer (with ${n} = true); give an integer, such as `4`'),
        ("[inf]", "10 * n", '"${10 * n}" is not an integer (with ${n} = Infinity); give an integer, such as `4`'),
        ("[0.25]", "10 * n", "2.5 is not an integer (with ${n} = 0.25); give an integer, such as `4`"),
        ("[1]", "10 * m", "unknown factor `${m}`; known: `n`"),
        ("[1]", "10 *", "unknown factor `${}`; known: `n`"),
    ],
)
def test_a_product_that_is_none_is_told_with_the_factors_it_came_from(levels: str, product: str, says: str) -> None:
    table = TABLE.replace("rows = 10", f'rows = "${{{product}}}"')
    assert message(HEAD, f"[factors]\nn = {levels}\n", table, LOAD, READ) == f"small.toml: tables.user.rows: {says}"


def test_unknown_reference_names_the_nearest() -> None:
    load = '\n[load]\nclients = "${thread}"\nstop = { seconds = 1 }\n'
    assert message(HEAD, "[factors]\nthreads = [1, 2]\n", TABLE, load, READ) == (
        "small.toml: load.clients: unknown factor `${thread}`; did you mean `threads`?"
    )


def test_several_errors_come_in_the_order_of_the_file() -> None:
    text = "".join([HEAD, TABLE, LOAD, READ]).replace("rows = 10", "rows = -1").replace("seconds = 1", "seconds = -1")
    with pytest.raises(ValidationErrors) as caught:
        experiment(text)
    assert [each.location for each in caught.value.errors] == [
        "small.toml: tables.user.rows",
        "small.toml: load.stop.seconds",
    ]


def test_broken_toml_gives_the_line() -> None:
    with pytest.raises(InputError) as caught:
        parse('name = "x"\ntitle = = 2\n', "my.toml", ROOT)
    assert str(caught.value) == "my.toml: line 2: invalid TOML: invalid value; see https://toml.io"


def test_a_missing_file_and_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_experiment(str(tmp_path / "none.toml"))
    assert "no such file; create one with `dbdyno init`" in str(caught.value)
    with pytest.raises(InputError) as caught:
        load_experiment("pk-lokup")
    assert str(caught.value).startswith("pk-lokup: no such experiment; did you mean `pk-lookup`?")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(InputError, match="byte 9 is not UTF-8"):
        load_experiment(str(tmp_path / "latin.toml"))
    with pytest.raises(InputError, match="could not read the file"):
        load_experiment(str(tmp_path) + "/")
