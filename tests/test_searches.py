"""Searches: what a statement asks, how plans and rules of comparison are read, and remedies on the real worker."""

from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.design import make_cells, parse_set
from dbdyno.errors import InputError
from dbdyno.experiment import load_experiment
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.searches import prefix_search
from dbdyno.systems.searching import equality_regards_case, like_regards_case, looks_up, why_no_prefix

# Words in both cases, an index, and the remedies of SQLite; scans end after three transactions.
WORDS = """
name = "words"
title = "Words"
rounds = 2

[factors]
pattern = ["ab%", "%b%"]

[factors.more.none]
exists = false

[factors.more.nocase]
exists = true

[tables.w]
rows = 3000

[tables.w.columns]
word = { type = "text", fill = { words = { count = 2, vocabulary = 500, without = ["ab"] } } }

[[tables.w.parts]]
rows = 5
columns = { word = { format = { template = "ab{}", parts = [{ serial = 1 }] } } }

[[tables.w.parts]]
rows = 2
columns = { word = { format = { template = "Ab{}", parts = [{ serial = 1 }] } } }

[[tables.w.indexes]]
columns = ["word"]

[[tables.w.indexes]]
name = "w_nocase"
columns = ["word"]
column_options = { sqlite = "collate nocase" }
include = "${more.exists}"

[load]
warmup = { transactions = 2 }
stop = { transactions = 50 }

[measure]
phases = true

[[transactions]]
name = "search"
steps = [{ execute = "select * from w where word like ?", params = ["${pattern}"] }]

[[remedies]]
name = "by-case"
answers = "prefix-scan"
engine = "sqlite"
does = "`case_sensitive_like=on`"
settings = { case_sensitive_like = "on" }

[[remedies]]
name = "nocase"
answers = "prefix-scan"
engine = "sqlite"
does = "another index"
levels = { more = "nocase" }

[report]
x = "pattern"
"""


@pytest.mark.parametrize(
    ("sql", "values", "found"),
    [
        ("select * from t where word like ?", ["create %"], ("word", "create ")),
        ("select * from t where a = ? and t.word LIKE ?", [1, "a_b"], ("t.word", "a")),
        ("select '?' from t where word like ?", ["a%"], ("word", "a")),
        ("select * from t where word like 'it''s%'", [], ("word", "it''s")),
        ("select * from t where word not like ?", ["a%"], None),
        ("select * from t where word like ?", ["%a"], None),
        ("select * from t where word like ?", ["exact"], None),
        ("select * from t where word like ?", [], None),
        ("select * from t where word like ?", [5], None),
        ("select * from t where word like ? escape '!'", ["a!%b%"], None),
        ("select * from t where word = ?", ["a%"], None),
    ],
)
def test_what_a_statement_searches_for(sql: str, values: list[Any], found: tuple[str, str] | None) -> None:
    search = prefix_search(sql, values)
    assert (search and (search.column, search.prefix)) == found


@pytest.mark.parametrize(
    ("engine", "plan", "expected"),
    [
        ("sqlite", ["SCAN eijiro"], False),
        ("sqlite", ["SCAN eijiro USING COVERING INDEX eijiro_word"], False),
        ("sqlite", ["SEARCH eijiro USING INDEX i (word>? AND word<?)", "USE TEMP B-TREE FOR ORDER BY"], True),
        ("PostgreSQL", ["Seq Scan on eijiro", "  Filter: (word ~~ 'create %'::text)"], False),
        ("PostgreSQL", ["Index Only Scan using i on eijiro", "  Filter: (word ~~ 'create %'::text)"], False),
        (
            "PostgreSQL",
            ["Bitmap Heap Scan on e", "  ->  Bitmap Index Scan on i", "        Index Cond: (w ~>=~ 'c')"],
            True,
        ),
        ("sqlite", [], None),
        ("mongodb", ["COLLSCAN"], None),
    ],
)
def test_plans_are_read(engine: str, plan: list[str], expected: bool | None) -> None:
    assert looks_up(engine, plan) is expected


def test_rules_of_comparison_and_advice() -> None:
    assert like_regards_case("sqlite", {"case_sensitive_like": "on"}) is True
    assert like_regards_case("sqlite", {"case_sensitive_like": "off"}) is False
    assert like_regards_case("sqlite", {}) is None
    assert like_regards_case("PostgreSQL", {}) is True
    assert like_regards_case("mysql", {"collation_database": "utf8mb4_general_ci"}) is False
    assert like_regards_case("mysql", {"collation_connection": "utf8mb4_bin"}) is True
    assert equality_regards_case("sqlite", {"case_sensitive_like": "off"}) is True
    assert "`collate nocase`" in why_no_prefix("sqlite", {"case_sensitive_like": "off"})
    assert "the collation de_DE.UTF-8" in why_no_prefix("PostgreSQL", {"lc_collate": "de_DE.UTF-8"})
    assert why_no_prefix("mongodb", {}) == ""


def texts(document: dict[str, Any]) -> list[str]:
    return [each["text"] for each in document["findings"]]


def test_a_prefix_that_no_index_serves_is_told_with_what_would(cli: Cli) -> None:
    document = cli.run(cli.write("words.toml", WORDS), "--seed", "1")
    assert [cell["id"] for cell in document["cells"]] == ["pattern=ab%,more=none", "pattern=%b%,more=none"]
    (text,) = [each for each in texts(document) if "no index was used" in each]
    assert text.startswith(
        "On sqlite: no index was used for `word like 'ab%'`, whose beginning is fixed: the plan is `SCAN"
    )
    assert "LIKE disregards case there and the index does not: `case_sensitive_like=on`" in text
    assert text.endswith("`--try-remedies` measures that.")
    assert [each["cells"] for each in document["remedies"]] == [{}, {}]
    (statement,) = document["cells"][0]["statements"]
    assert (statement["values"], statement["rows"]) == (["ab%"], 7)


def test_remedies_are_measured_beside_the_cells_they_are_for(cli: Cli) -> None:
    path = cli.write("words.toml", WORDS)
    document = cli.run(path, "--try-remedies", "--report", "r.html", "--markdown", "r.md")
    assert [cell["id"] for cell in document["cells"]] == [
        "pattern=ab%,more=none",
        "pattern=%b%,more=none",
        "pattern=ab%,more=none,system=sqlite:?case_sensitive_like=on",
        "pattern=ab%,more=nocase",
    ]
    assert all(len(cell["rounds"]) == 2 for cell in document["cells"])
    plans = {cell["id"]: cell["statements"][0]["plan"][0] for cell in document["cells"]}
    assert plans["pattern=ab%,more=none"].startswith("SCAN")
    # The pattern is a parameter: the plan is that of its value.
    assert plans["pattern=ab%,more=none,system=sqlite:?case_sensitive_like=on"].startswith("SEARCH")
    assert plans["pattern=ab%,more=nocase"].startswith("SEARCH w USING COVERING INDEX w_nocase")
    by_case, nocase = (
        next(each for each in texts(document) if f"Remedy {name} " in each) for name in ("by-case", "nocase")
    )
    assert "times the throughput, in 1 cell" in by_case
    assert "it returns other rows: 5 for `word like 'ab%'` instead of 7" in by_case
    assert "other rows" not in nocase
    assert not any("`--try-remedies`" in each for each in texts(document))
    (rows,) = [each for each in texts(document) if " returned " in each]
    assert rows == (
        "`select * from w where word like 'ab%'` returned 7 rows on sqlite:, 5 rows on sqlite:?case_sensitive_like=on: "
        "LIKE regards case on sqlite:?case_sensitive_like=on and disregards it on sqlite:."
    )
    html = (cli.directory / "r.html").read_text()
    assert "<h2>Plans</h2>" in html and "SEARCH w USING COVERING INDEX" in html
    assert "Parts of a transaction" in html and "fetch ms" in html
    assert "loaded 3,007 rows" in (cli.directory / "r.md").read_text()


def test_systems_that_find_other_rows_are_told_apart_once(cli: Cli) -> None:
    systems = ["--system", "sqlite:", "--system", "sqlite:?case_sensitive_like=on"]
    document = cli.run(cli.write("words.toml", WORDS), *systems, "--set", "pattern=ab%", "--rounds", "1")
    unlike = [each for each in document["findings"] if each["evidence"] and "unlike" in each["evidence"]]
    assert [each["evidence"]["unlike"] for each in unlike] == ["rows"]
    assert document["comparisons"][0]["verdict"] is None
    # Where the plan is a search there is nothing to tell.
    (scan,) = [each for each in document["findings"] if "no index was used" in each["text"]]
    assert scan["cells"] == ["pattern=ab%,more=none"]


def test_connecting_loading_executing_and_fetching_are_apart(cli: Cli) -> None:
    document = cli.run(cli.write("words.toml", WORDS), "--rounds", "1")
    cell = document["cells"][0]
    assert cell["latency_ms"]["connect"]["count"] == 1
    assert cell["latency_ms"]["execute"]["count"] == cell["latency_ms"]["fetch"]["count"] == 50
    load = cell["load"]
    assert load["rows"] == 3007
    assert [step["step"] for step in load["steps"]] == ["w"] * 3 + ['create index "w_word" on "w" ("word")', "(sync)"]
    assert load["rows_s"] > 0 < load["indexes_s"]
    assert load["at"] >= document["started"]
    # Loaded data are kept, and so is what loading them took.
    again = cli.run("./words.toml", "--rounds", "1")
    assert again["cells"][0]["load"] == load
    assert load["at"] < again["started"]
    text = " ".join(cli("show", "last", "--store", "runs.db").split())
    assert "execute" in text and "fetch" in text and "(for an earlier run)" in text


def test_a_run_with_remedies_can_be_resumed(cli: Cli) -> None:
    document = cli.run(cli.write("words.toml", WORDS), "--try-remedies", "--rounds", "1")
    cli("run", "--resume", document["id"], "--store", "runs.db", "--json", "again.json")
    assert '"pattern=ab%,more=nocase"' in (cli.directory / "again.json").read_text()


def test_a_level_of_a_remedy_is_measured_where_it_is_named() -> None:
    made = make_experiment(parse(WORDS, "words.toml", Path()))
    chosen = parse_set(["more=nocase", "pattern=ab%"], made)
    assert [cell.id for cell in make_cells(made, chosen).cells] == ["pattern=ab%,more=nocase"]


def test_without_remedies_none_can_be_tried(cli: Cli) -> None:
    errors = cli("run", "pk-lookup", "--try-remedies", code=2)
    assert "--try-remedies: `pk-lookup` has no remedies" in errors


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'levels = { more = "nocase" }',
            'levels = { mor = "nocase" }',
            "there is no such factor; did you mean `more`?",
        ),
        ('levels = { more = "nocase" }', 'levels = { more = "nocas" }', "there is no level `nocas`; did you mean"),
        ('levels = { more = "nocase" }', 'levels = { system = "sqlite:" }', "cannot take another system"),
        ('levels = { more = "nocase" }', "", "remedies[1]: it changes nothing"),
        ('name = "nocase"', 'name = "by-case"', "`by-case` is there already"),
        ('answers = "prefix-scan"', 'answers = "prefix-scam"', "remedies[0].answers"),
        ('engine = "sqlite"', 'engine = "sqlit"', '"sqlit" is no engine; did you mean `sqlite`?'),
        ("[factors.more.none]\nexists = false\n", "", "no level is left without the remedies"),
    ],
)
def test_mistakes_in_remedies(old: str, new: str, message: str) -> None:
    assert old in WORDS
    with pytest.raises(InputError) as caught:
        make_experiment(parse(WORDS.replace(old, new, 1), "words.toml", Path()))
    assert message in str(caught.value)


def test_dictionary_search_names_its_remedies() -> None:
    made = load_experiment("dictionary-search")
    assert len(make_cells(made).cells) == 21
    assert {each.engine for each in made.head.remedies} == {"sqlite", "postgresql"}
