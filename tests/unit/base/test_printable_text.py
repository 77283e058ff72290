"""Text from files and servers is shown, and never executed or interpreted."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, get_args

import altair as alt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from command_line import PROGRAM
from conftest import Cli
from dbdyno.analysis.gate import GateVerdict, Judgement
from dbdyno.base.console import Console
from dbdyno.base.text import printable, printable_json
from dbdyno.cli.gate import Gated, _junit, _markdown
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.shape import Document
from dbdyno.report.charts import figure, renderer
from dbdyno.report.export import csv_text, write_json

HOSTILE = "a\x1b[31mb\x1b]0;owned\x07\x00\x7f\x9b1m\u202ec\ud800\ufffe[/x] :smile:"
EXPERIMENT = r"""
name = "hostile"
title = "title\u001b[31m \u202e[/x]"
question = "question\u001b]0;owned\u0007"

[factors]
level = ["1", "=1\u001b[2J", "\u009b31m[/x]"]

[load]
clients = 1
stop = { transactions = 50 }

[[transactions]]
name = "t\u001b[5m"
steps = [{ execute = "select '${level}'" }]
"""


def controls(text: str) -> list[str]:
    """The characters that a terminal may act upon, besides tab and newline."""
    return [
        each
        for each in text
        if each not in "\t\n" and (ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 or "\u202a" <= each <= "\u202e")
    ]


@given(st.text())
def test_what_is_printable_is_xml_and_stays_as_it_is(text: str) -> None:
    shown = printable(text)
    assert controls(shown) == []
    assert printable(shown) == shown
    ElementTree.fromstring(f"<a>{shown.replace('&', '').replace('<', '')}</a>".encode())


@given(st.text())
def test_json_without_control_characters_has_the_same_value(text: str) -> None:
    written = printable_json(json.dumps(text, ensure_ascii=False))
    assert controls(written) == []
    assert json.loads(written) == text


def test_a_console_shows_any_text(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(width=60)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE, style="red"))
    for each in (HOSTILE, Text(HOSTILE), table):
        console.print(each)
    shown = capsys.readouterr().out
    assert controls(shown) == []
    assert shown.count("␛[31mb") == 6
    # A string has no markup.
    assert "[/x] :smile:" in shown


def test_a_chart_shows_any_text_and_a_crash_costs_one_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    def bar(name: str) -> Any:
        return alt.Chart(figure.data([{"name": name, "value": 1}])).mark_bar().encode(x="value:Q", y="name:N")

    assert "␛[31mb" in figure.draw(bar(HOSTILE), HOSTILE)
    # The library ends its process when it measures an escape character.
    monkeypatch.setattr(figure, "_printable", lambda chart: chart)
    assert "could not be drawn" in figure.draw(bar(HOSTILE), "broken")
    assert "could not be drawn" not in figure.draw(bar("plain"), "whole")
    assert renderer.vegalite_to_svg({"no": "chart"}) is None


def test_a_document_with_a_lone_surrogate_is_written(tmp_path: Path) -> None:
    write_json({"name": HOSTILE}, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"name": HOSTILE}


def test_the_files_of_a_gate_have_no_control_characters() -> None:
    judged = [(HOSTILE, Judgement(each, HOSTILE)) for each in get_args(GateVerdict)]
    gated = Gated(HOSTILE, HOSTILE, "tps", judged, False, [HOSTILE], HOSTILE)
    assert ElementTree.fromstring(_junit(gated).encode()).tag == "testsuite"
    assert controls(_junit(gated) + _markdown(gated)) == []


def test_no_escape_reaches_a_terminal_or_a_file(cli: Cli) -> None:
    path = cli.write("hostile.toml", EXPERIMENT)
    files = {"--report": "r.html", "--csv": "r.csv", "--markdown": "r.md", "--json": "r.json", "--openmetrics": "r.txt"}
    options = [each for pair in files.items() for each in pair]
    shown = cli("run", path, "--rounds", "2", "--store", "runs.db", "--verbose", *options)
    shown += cli("describe", path) + cli("show", "--store", "runs.db", "--verbose") + cli("runs", "--store", "runs.db")
    assert controls(shown) == [] and "␛[2J" in shown
    for name in files.values():
        text = (cli.directory / name).read_text(encoding="utf-8")
        assert controls(text) == [], name
    document = json.loads((cli.directory / "r.json").read_text(encoding="utf-8"))
    assert document["title"] == "title\x1b[31m \u202e[/x]"
    rows = list(csv.DictReader((cli.directory / "r.csv").open(encoding="utf-8")))
    assert {row["level"] for row in rows} == {"1", "'=1␛[2J", "�31m[/x]"}


@pytest.mark.parametrize("level", ["=1+1", "+a", "-a", "@a", "\ta"])
def test_cells_of_text_are_no_formulas_and_numbers_stay_numbers(level: str) -> None:
    cell = {"id": "c", "factors": {"text": level, "number": -5, "written": "-5"}, "rounds": [{"throughput": -1.5}]}
    (row,) = csv.DictReader(io.StringIO(csv_text(from_json(Document, {"id": "r", "cells": [cell]}))))
    assert (row["text"], row["number"], row["written"]) == ("'" + level, "-5", "-5")
    assert row["throughput"] == "-1.5"


def test_progress_on_a_terminal_shows_names_as_they_are(cli: Cli) -> None:
    path = cli.write("hostile.toml", EXPERIMENT)
    reader, writer = pty.openpty()
    command = [PROGRAM, "run", path, "--rounds", "1", "--store", "runs.db"]
    with subprocess.Popen(command, cwd=cli.directory, env=cli.environment, stdout=writer, stderr=writer) as process:
        os.close(writer)
        shown = b""
        while content := _read(reader):
            shown += content
    os.close(reader)
    assert process.returncode == 0
    text = shown.decode()
    # Progress itself moves the cursor and colors; the names must not.
    assert "␛[2J" in text
    assert "\x1b[2J" not in text and "\x1b[5m" not in text and "\x9b" not in text and "\x07" not in text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        # The other end is closed.
        return b""
