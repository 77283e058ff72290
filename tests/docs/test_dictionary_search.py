"""The dictionary of `dictionary-search`: made by the real worker, searched by SQLite itself."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.base.resources import package_path
from dbdyno.engines.sqlite.targets import load_target
from dbdyno.experiment import load_experiment
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.runtime.worker import ask
from dictionary import tenth
from experiment_files import compiled, experiment

# Rows that LIKE finds without regard to case, and with it. Published are those down to `performance`.
COUNTS = {
    "create %": (198, 195),
    "table a%": (5, 5),
    "%text%": (612, 573),
    "%integer%": (16, 16),
    "computer": (2, 1),
    "performance": (1, 1),
    "admin%": (74, 70),
    "happy %": (48, 46),
    "slash%": (18, 17),
    "%computer%": (1370, 1331),
    "%program%": (1066, 1022),
}


def load(made: CompiledCell, path: Path) -> None:
    """Make the dictionary."""
    ask(made.load_plan(load_target(made, str(path))), Loaded)


def digest_of(path: Path) -> str:
    """The digest of a dictionary's rows in their order."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("select word || char(9) || trans from eijiro order by rowid")
        digest = hashlib.sha256()
        for (row,) in rows:
            digest.update(row.encode() + b"\n")
    return digest.hexdigest()


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("dictionary") / "eijiro.db"
    load(compiled(load_experiment("dictionary-search"))[0], path)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def test_every_search_finds_the_published_number_of_rows(dictionary: sqlite3.Connection) -> None:
    found = {}
    for switch in ("off", "on"):
        dictionary.execute(f"pragma case_sensitive_like = {switch}")
        for pattern in COUNTS:
            (count,) = dictionary.execute("select count(*) from eijiro where word like ?", [pattern]).fetchone()
            found.setdefault(pattern, []).append(count)
    assert {pattern: tuple(counts) for pattern, counts in found.items()} == COUNTS
    for word in ("computer", "performance"):
        for collation, expected in (("nocase", COUNTS[word][0]), ("binary", COUNTS[word][1])):
            sql = f"select count(*) from eijiro where word = ? collate {collation}"
            assert dictionary.execute(sql, [word]).fetchone() == (expected,)


def test_the_published_counts_are_those_of_the_publication() -> None:
    rows = [line.split(",") for line in _published().read_text().splitlines() if not line.startswith("#")]
    head = rows[0]
    published: dict[str, set[int]] = {}
    for row in rows[1:]:
        each = dict(zip(head, row, strict=True))
        published.setdefault(each["predicate"].removeprefix("like ").removeprefix("= "), set()).add(int(each["rows"]))
    assert len(published) == 6
    for pattern, counts in published.items():
        assert counts == set(COUNTS[pattern])


def _published() -> Path:
    return package_path("published", "e5_dictionary_search.csv")


def test_the_dictionary_has_its_size_and_looks_like_one(dictionary: sqlite3.Connection) -> None:
    sql = "select count(*), sum(length(word) + length(trans) + 2), count(distinct word) from eijiro"
    rows, size, different = dictionary.execute(sql).fetchone()
    assert rows == 892_200
    # As a tab-separated file.
    assert size == pytest.approx(45e6, rel=0.03)
    assert different > 0.8 * rows
    sql = "select count(*) from eijiro group by substr(word, 1, instr(word || ' ', ' ')) order by 1 desc limit 100"
    first = [count for (count,) in dictionary.execute(sql)]
    # Zipf's law: what the most frequent first word begins, the hundredth begins a hundredth of.
    assert 50 < first[0] / first[99] < 200


def test_the_same_seed_makes_the_same_dictionary(tmp_path: Path) -> None:
    made = compiled(experiment(tenth()))[0]
    for name in ("one.db", "again.db"):
        load(made, tmp_path / name)
    assert digest_of(tmp_path / "one.db") == digest_of(tmp_path / "again.db")


def test_the_experiment_finds_what_was_published_and_measures_what_helps(cli: Cli) -> None:
    # The same searches, which find the same rows among fewer, in shorter trials.
    text = tenth().replace("seconds = 3\n", "seconds = 0.1\n").replace("times = 15\n", "times = 1\n")
    searches = "search=like_create,like_text,computer,count,count_admin"
    options = ["--try-recommendations", "--set", searches, "--rounds", "1"]
    document = cli.run(cli.write("short.toml", text.replace("transactions = 1 }", "transactions = 0 }")), *options)
    published = [
        (cell["rows_per_transaction"], cell["published"]["rows"]) for cell in document["cells"] if cell["published"]
    ]
    assert published == [(198, 198), (612, 612), (1, 1)] * 2
    assert all(set(cell["published"]["phases_ms"]) == {"connect", "execute", "fetch"} for cell in document["cells"][:3])
    plans = {
        (cell["factors"]["search"], cell["factors"]["like_index"], cell["system"]["name"]): each["plan"][0].split()[0]
        for cell in document["cells"]
        for each in cell["statements"]
    }
    for search in ("like_create", "count_admin"):
        assert plans[search, "none", "sqlite:"] == "SCAN"
        assert plans[search, "none", "sqlite:?case_sensitive_like=on"] == "SEARCH"
        assert plans[search, "in_order_of_like", "sqlite:"] == "SEARCH"
    assert plans["computer", "none", "sqlite:"] == "SEARCH"
    recommendations = {each["name"]: len(each["cells"]) for each in document["recommendations"]}
    assert recommendations == {"like-by-case": 3, "index-without-case": 3, "pattern-index": 0}
    told = [
        each["evidence"]["recommendation"]
        for each in document["findings"]
        if "recommendation" in (each["evidence"] or {})
    ]
    assert told == ["like-by-case", "index-without-case"]
    assert {cell["load"]["rows"] for cell in document["cells"]} == {92_200}


def test_a_dictionary_of_ones_own_takes_its_place(cli: Cli) -> None:
    words = ["a text\tone", "a tale\tanother", "Textual\ta third"]
    cli.write("mine.tsv", "\n".join(words) + "\n")
    options = ["--set", "dictionary=mine.tsv", "--set", "search=like_text", "--rounds", "1"]
    document = cli.run("dictionary-search", *options)
    assert [cell["rows_per_transaction"] for cell in document["cells"]] == [2, 2]
