"""Randomly changed SQL files are read or refused with an InputError; they raise no other error."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus_files import read_entries, sql_file
from dbdyno.base.errors import InputError
from dbdyno.engines.statements import bind
from dbdyno.experiment.queries import queries_experiment, read_queries
from dbdyno.experiment.sql_file import read_sql_file

_ENGINES = ("postgresql", "mysql", "sqlite", "duckdb")
_ENTRIES = {
    engine: [each for kind in ("", "_parameters") for each in read_entries(f"{engine}{kind}.sql")]
    for engine in _ENGINES
}

# Text with a meaning in SQL or in files: quotes, escapes, comments, placeholders, directives, blocks, odd characters.
_PIECES = (
    "'", '"', "`", "[", "]", "(", ")", "{", "}", "\\", "\\'", "''", "E'", "U&'", "x'", "N'", "_utf8mb4'", "$$", "$a$",
    "$", "--", "-- ", "#", "/*", "*/", "/*!", "/*!99999 ", "/*+", "/**/", "/*/", ";", ";;", "\n", "\r\n", "\r", "\t",
    "\x0b", "\x00", "?", "?|", "@?", ":", "::", ":=", ":a", ":a:b", "$1", "@a", "@@a", "%s", "%(a)s", "?1", "#1", "%",
    "..", ".", ",", "1e", "\ufeff", "\u00a0", "\u2028", "é", "😀", "\u0301", "\u017f", "İ", "begin", "end", "case",
    "create trigger", "begin atomic", "go", "delimiter //", "delimiter", "//", "\\G", "\\g", "\\.", ".mode",
    "-- name: x", "-- name:", "/*! select 1 */",
    "-- transaction: t", "-- end", "-- weight: 2", "-- think: 1ms", "-- :a = 1..9 zipf 1", "commit;", "begin;",
    "-- :a = 1", "-- :a = '", "-- :a = 1..", "-- :a = 2024-01-01..2024-02-30", "-- :a = @x of y", "-- :",
)  # fmt: skip


@st.composite
def changed_files(draw: st.DrawFn) -> tuple[str, str]:
    """Return an engine and a file: pieces, or statements of this or another engine's corpus, with random changes."""
    engine = draw(st.sampled_from(_ENGINES))
    corpus = _ENTRIES[engine if draw(st.integers(0, 3)) else draw(st.sampled_from(_ENGINES))]
    text = sql_file(draw(st.lists(st.sampled_from(corpus), max_size=4)))
    if not draw(st.integers(0, 3)):
        text = "".join(draw(st.lists(st.sampled_from((*_PIECES, "select", " ", "1")), max_size=12)))
    for _ in range(draw(st.integers(1, 6))):
        tokens = re.findall(r"\w+|\s+|.", text, re.DOTALL)
        at = draw(st.integers(0, len(tokens)))
        match draw(st.sampled_from(("insert", "insert", "remove", "replace", "swap", "repeat", "cut"))):
            case "insert":
                tokens.insert(at, draw(st.sampled_from(_PIECES)))
            case "remove":
                del tokens[at : at + draw(st.integers(1, 5))]
            case "replace":
                tokens[at : at + 1] = [draw(st.sampled_from(_PIECES))]
            case "swap":
                other = draw(st.integers(0, len(tokens)))
                low, high = min(at, other), max(at, other)
                tokens = tokens[:low] + tokens[high:] + tokens[low:high]
            case "repeat":
                tokens[at:at] = tokens[at : at + 3] * draw(st.integers(1, 50))
            case "cut":
                tokens = tokens[:at]
        text = "".join(tokens)
    return engine, text


@st.composite
def encoded(draw: st.DrawFn, text: str) -> bytes:
    """A text as the bytes of a file, of which some may be changed."""
    encoding = draw(st.sampled_from(("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "utf-16-be")))
    content = bytearray(text.encode(encoding, "replace"))
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 3)))):
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=3))
    return bytes(content)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "changed.sql"


@pytest.mark.slow
@settings(max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
@given(changed=changed_files(), data=st.data())
def test_a_changed_file_is_read_or_refused(file: Path, changed: tuple[str, str], data: st.DataObject) -> None:
    engine, text = changed
    file.write_bytes(data.draw(encoded(text)))
    try:
        text = read_sql_file(str(file))
        queries = read_queries(text, "changed.sql", engine)
        queries_experiment(queries, {}, "changed.sql", engine)
    except InputError:
        return
    for each in queries:
        bound = bind(each.sql, engine, len(each.parameters))
        assert bound is not None and len(bound.places) == len(each.parameters)
        # Only parameters are replaced.
        starts = [0, *(place + 1 for place in bound.places)]
        assert all(bound.text[start:end] in text for start, end in zip(starts, [*bound.places, None], strict=True))


@settings(max_examples=300)
@given(data=st.data(), engine=st.sampled_from(_ENGINES), line_end=st.sampled_from(("\n", "\r\n")))
def test_statements_are_read_back_as_they_were_given(data: st.DataObject, engine: str, line_end: str) -> None:
    plain = [each for each in _ENTRIES[engine] if not each.values]
    entries = data.draw(st.lists(st.sampled_from(plain), min_size=1, max_size=20))
    queries = read_queries(sql_file(entries).replace("\n", line_end), "given.sql", engine)
    assert [each.sql for each in queries] == [each.text.replace("\n", line_end) for each in entries]
    assert [each.parameters for each in queries] == [()] * len(entries)
