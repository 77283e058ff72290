"""Exports. All results are synthetic."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path

import pytest

from dbdyno.base.errors import InputError
from dbdyno.model.result.convert import to_json
from dbdyno.report.export import (
    check_writable,
    csv_text,
    markdown_text,
    write_csv,
    write_markdown,
    write_result,
    write_text,
)
from synthetic import lookup_document, update_document


def test_json_is_the_document(tmp_path: Path) -> None:
    document = lookup_document()
    write_result(document, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == to_json(document)


def test_csv_has_a_row_for_every_round_failed_ones_included(tmp_path: Path) -> None:
    document = lookup_document()
    write_csv(document, tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").open(newline="")))
    assert len(rows) == 35
    first = document.cells[0].rounds[0]
    assert (rows[0]["cache"], rows[0]["threads"], rows[0]["unit"]) == ("private", "1", "lookups/s")
    assert float(rows[0]["throughput"]) == first.throughput
    lost = [row for row in rows if row["status"] == "failed"]
    assert [(row["error"], row["throughput"]) for row in lost] == [("the worker was killed by signal 9", "")]


def test_a_factor_called_like_a_column_gets_a_name_of_its_own() -> None:
    document = lookup_document()
    document.cells[0].factors["status"] = "x"
    head = next(csv.reader(io.StringIO(csv_text(document))))
    assert "factor_status" in head
    assert len(set(head)) == len(head)


def test_markdown_has_table_limits_and_failures() -> None:
    text = markdown_text(lookup_document())
    assert text.index("**private is faster than shared: ") < text.index("Keep private: it is faster")
    assert "| private | 4 |" in text
    assert "use fewer clients, or connections that share less" in text
    assert text.count("clients waited 75 %") == 1
    assert "the worker was killed by signal 9 (cache=private threads=4 round 5)" in text


def test_what_is_not_comparable_is_in_the_markdown() -> None:
    text = markdown_text(update_document(systems=("sqlite:", "sqlite:?journal_mode=wal")))
    assert text.index("Not ranked, because") < text.index("\n| ")


def test_words_of_others_are_no_markup() -> None:
    document = lookup_document()
    document.question = "<script>alert(1)</script> | **bold** [link](x)"
    text = markdown_text(document)
    assert "<script>" not in text
    assert "**bold**" not in text
    rows = [line for line in text.splitlines() if line.startswith("| private")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {10}


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.md"
    target.write_text("before")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"out\.md: no space left on device"):
        write_markdown(lookup_document(), target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path: Path) -> None:
    old, new, usual = tmp_path / "old", tmp_path / "new", tmp_path / "usual"
    old.write_text("x")
    old.chmod(0o640)
    usual.write_text("x")
    write_text(old, "y")
    write_text(new, "y")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == usual.stat().st_mode


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    check_writable(tmp_path / "out.json", "--json")
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_the_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    check_writable("-")
    write_result(lookup_document(), "-")
    assert json.loads(capsysbinary.readouterr().out)["experiment"] == "pk-lookup"
    assert not Path("-").exists()


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"^--json .*missing/out\.json: no such file or directory; give a file in a"):
        check_writable(tmp_path / "missing" / "out.json", "--json")
    with pytest.raises(InputError, match=r"^--csv .*: is a directory; give the name of a file$"):
        check_writable(tmp_path, "--csv")
    with pytest.raises(InputError, match=r"not a directory"):
        check_writable(tmp_path / "file" / "out.json")
