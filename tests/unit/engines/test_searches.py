"""Searches: what a statement asks, how plans and rules of comparison are read, and what helps, on the real worker."""

from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.analysis.document import build_document
from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of_product
from dbdyno.engines.searches import may_return_fewer_rows, prefix_search, returns_one_row, text_comparison
from dbdyno.engines.string_rules import CaseRule, Column
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.model.result.convert import to_json
from dbdyno.store import RunRecord, TrialRecord
from synthetic_events import as_stored, rate_of, result_of

# Words in both cases, an index, and the recommendations of SQLite; scans end after three transactions.
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

[[recommendations]]
name = "by-case"
answers = "prefix-scan"
engine = "sqlite"
does = "`case_sensitive_like=on`"
settings = { case_sensitive_like = "on" }

[[recommendations]]
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
        ("select * from t where word like 'it''s%'", [], ("word", "it's")),
        ("select * from t where word not like ?", ["a%"], None),
        ("select * from t where word like ?", ["%a"], None),
        ("select * from t where word like ?", ["exact"], None),
        ("select * from t where word like ?", [], None),
        ("select * from t where word like ?", [5], None),
        ("select * from t where word like ? escape '!'", ["a!%b%"], ("word", "a%b")),
        ("select * from t where word like ? escape '!'", ["a!%"], None),
        ("select * from t where not (word like ?)", ["a%"], None),
        ("select * from t where word like ? or id = 3", ["a%"], None),
        ("select word like ? from t", ["a%"], None),
        ("select * from t join u on u.id = t.id where u.word like ?", ["a%"], ("u.word", "a")),
        ("select * from t where word = ?", ["a%"], None),
    ],
)
def test_what_a_statement_searches_for(sql: str, values: list[Any], found: tuple[str, str] | None) -> None:
    search = prefix_search(sql, values, "sqlite")
    assert (search and (search.written, search.prefix)) == found


def test_brackets_hold_a_value_where_they_are_no_quotes() -> None:
    sql = "select * from t where (array[1, 2])[?] = 1 and word like ?"
    search = prefix_search(sql, [1, "ab%"], "postgresql")
    assert search and search.prefix == "ab"


def test_the_operator_of_postgresql_searches_too() -> None:
    search = prefix_search("select v from t where v ~~ 'ab%'", [], "postgresql")
    assert search is not None and search.prefix == "ab"


def like_rule(
    product: str, settings: dict[str, str], columns: list[Column], *, own_tables: bool = True
) -> CaseRule | None:
    return engine_of_product(product).like_rule(settings, columns, own_tables=own_tables)


def equality_rule(product: str, settings: dict[str, str], columns: list[Column]) -> CaseRule | None:
    return engine_of_product(product).equality_rule(settings, columns, own_tables=True)


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
    assert engine_of_product(engine).looks_up(plan) is expected


def column(kind: str = "text", **collation: Any) -> dict[str, Any]:
    """The column `word` as a catalogue has it."""
    unknown = {"provider": None, "by_bytes": None, "regards_case": None}
    return {"name": "word", "type": kind, "collation": unknown | collation if collation else None}


def table(name: str, *columns: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "storage_engine": None, "columns": list(columns), "indexes": []}


def test_rules_of_comparison_are_those_of_settings_and_columns() -> None:
    usual = [column(name="C", regards_case=True)]
    assert regards(like_rule("sqlite", {"case_sensitive_like": "on"}, [])) is True
    assert regards(like_rule("sqlite", {"case_sensitive_like": "off"}, usual)) is False
    assert regards(like_rule("sqlite", {}, usual)) is None
    assert regards(like_rule("PostgreSQL", {}, usual)) is True
    assert regards(like_rule("PostgreSQL", {}, [])) is None
    assert regards(like_rule("PostgreSQL", {}, [column(kind="citext", name="C", regards_case=True)])) is False
    assert regards(like_rule("PostgreSQL", {}, [column(name="any")])) is None
    # A column has a collation of its own: those of the server and of the session decide nothing.
    folded = [column(kind="varchar(20)", name="utf8mb4_general_ci", regards_case=False)]
    assert regards(like_rule("MariaDB", {"collation_server": "utf8mb4_bin"}, folded)) is False
    assert regards(like_rule("MariaDB", {}, [column(name="utf8mb4_bin", regards_case=True)])) is True
    assert regards(like_rule("MariaDB", {}, [*folded, column(name="utf8mb4_bin", regards_case=True)])) is None
    assert regards(like_rule("MariaDB", {}, [])) is None
    assert regards(like_rule("SQL Server", {"collation": "SQL_Latin1_General_CP1_CI_AS"}, [])) is False
    assert regards(like_rule("SQL Server", {"collation": "Latin1_General_BIN2"}, [])) is True
    assert regards(like_rule("SQL Server", {"collation": "Latin1_General_BIN2"}, [], own_tables=False)) is None
    assert regards(like_rule("FerretDB", {}, usual)) is None
    assert regards(equality_rule("sqlite", {"case_sensitive_like": "off"}, usual)) is True
    assert regards(equality_rule("sqlite", {}, [column(name="NOCASE", regards_case=False)])) is False
    assert regards(equality_rule("mysql", {}, folded)) is False
    assert regards(equality_rule("sqlite", {}, [])) is None


def regards(rule: CaseRule | None) -> bool | None:
    return rule.regards if rule else None


@pytest.mark.parametrize(
    ("sql", "values", "expected"),
    [
        ("select * from t where word like ?", ["a%"], "LIKE"),
        ('SELECT * FROM "t" WHERE "word" LIKE \'a%\'', [], "LIKE"),
        ("select * from t where word = ?", ["a"], "="),
        ("select * from t where word in ('a', 'b')", [], "="),
        ("select * from t where id = ?", [1], None),
        ("select 'a like = b' from t", [], None),
        ("select * from t where word >= 'a'", [], None),
        ("select * from t where word ilike ?", ["a%"], None),
        ("select * from t where lower(word) = ?", ["a"], None),
        ("select * from t where word = ? collate nocase", ["a"], None),
        # It is a number that is equal, and a text that is greater.
        ("select id from t where grp = 3 and day > '2020-01-01'", [], None),
        ("select id from t where grp = ? and day > ?", [3, "2020-01-01"], None),
        ("select id from t where grp in (1, ?) and day > ?", [3, "2020-01-01"], None),
        ("select 'x = ?', id from t where grp = ? -- 'a' = a", [3], None),
        ("select id from t where day > ? and 'b' = word", ["2020-01-01"], "="),
        ("select id from t where grp in (?, ?) and a = ?", [3, "x", 4], "="),
        ("select id from t where grp in (select grp from t where day > 'a')", [], None),
        ("select id from t where grp in (select grp from t where word = 'a')", [], "="),
        ("select lower(word) from t where word == 'a'", [], "="),
        ("select id from t where word is ?", ["a"], "="),
        ("select id from t where word = (?)", ["a"], "="),
        ("select id from t where word <> 'a'", [], "="),
        ("select id from t where not t.word like ?", ["a%"], "LIKE"),
        ("select * from a join b on a.id = b.id where a.word > 'a'", [], None),
        ("update t set word = ? where id = ?", ["a", 1], None),
        ("selec 'a' = b", [], None),
    ],
)
def test_how_a_statement_compares_texts(sql: str, values: list[Any], expected: str | None) -> None:
    assert text_comparison(sql, values, "sqlite") == expected


@pytest.mark.parametrize(
    ("engine", "sql", "values", "expected"),
    [
        ("postgresql", "select * from t where (array[1, 2])[?] = 1 and word = ?", [1, "x"], "="),
        ("postgresql", "select * from t where word = any(array['a', 'b'])", [], "="),
        ("postgresql", 'select "v" from "t" where "word" ILIKE ?', ["a%"], None),
        ("postgresql", "select * from t where word = cast(? as text)", ["a"], "="),
        ("mysql", "select `v` from `t` where binary `word` = ?", ["a"], None),
        ("mysql", "select `v` from `t` where `word` = ?", ["a"], "="),
        ("sqlserver", "select [v] from [t] where [word] = N'a'", [], "="),
        ("mongodb", '{"find": "t", "filter": {"word": "?"}}', ["a"], None),
    ],
)
def test_comparisons_are_read_as_the_engine_writes_them(
    engine: str, sql: str, values: list[Any], expected: str | None
) -> None:
    assert text_comparison(sql, values, engine) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from t where word = 'a'", False),
        ("select * from t where word = 'a' and id <> 3", False),
        ("select * from t where word <> 'a'", True),
        ("select * from t where w.word not in ('a')", True),
        ("select * from t where not (word = 'a' or id = 3)", True),
        ("select * from t where not exists (select 1 from u where word like 'a%')", True),
        ("select distinct word from t where word like 'a%'", True),
        ("select word from t where word like 'a%' group by word", True),
        ("select * from t where not id = 3 and word = 'a'", False),
    ],
)
def test_what_may_find_less_where_more_is_equal(sql: str, expected: bool) -> None:
    assert may_return_fewer_rows(sql, [], "sqlite") is expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select count(*) from t where word = ?", True),
        (" SELECT MAX(id) FROM t", True),
        ("select * from t", False),
        ("select count(*) from t group by word", False),
        ("select count(*) over () from t", False),
    ],
)
def test_what_returns_one_row_whatever_it_finds(sql: str, expected: bool) -> None:
    assert returns_one_row(sql) is expected


MARIADB = "mysql:?engine=myisam"
ENGINES = {
    "sqlite:": ("sqlite", {"case_sensitive_like": "off"}, {"name": "BINARY", "regards_case": True}),
    "postgresql:": ("PostgreSQL", {}, {"name": "C.UTF-8", "regards_case": True}),
    MARIADB: (
        "MariaDB",
        {"collation_server": "latin1_swedish_ci"},
        {"name": "utf8mb4_general_ci", "regards_case": False},
    ),
}
CI = "by the collation utf8mb4_general_ci"


def found_on(
    made: Experiment, rows: dict[str, int], *, catalog: bool = True, changed: int = 0, **chosen: str
) -> list[dict[str, Any]]:
    """The findings of a run in which an experiment's one statement returned so many rows, by system. SYNTHETIC."""
    options = [f"{name}={level}" for name, level in chosen.items()]
    cells = make_cells(made, parse_set(options, made), [parse_url(url) for url in rows]).cells
    trials = []
    for cell in cells:
        task = compile_cell(made, cell).plan({}, 1).json
        engine, settings, collation = ENGINES[cell.system.name]
        made_of = [table(name, column(**collation)) for name in ("eijiro", "w")]
        (name,) = [each["name"] for each in task["task"]["statements"]]
        count = rows[cell.system.name]
        result = result_of(
            accounting={"issued": 1, "ok": 1},
            **rate_of(1, 1, 1.0),
            engine={"engine": engine, "settings": settings, "catalog": {"tables": made_of if catalog else []}},
            statements={name: {"executions": 1, "rows": count, "changed": changed}},
            work={
                "transactions": 1,
                "statements": 1,
                "rows_returned": count,
                "rows_returned_squared": float(count**2),
                "rows_changed": changed,
            },
        )
        stored = as_stored(result)
        trials.append(TrialRecord(cell=cell.id, block=0, position=0, status="done", plan=task, result=stored))
    design = {"cells": [{"id": c.id, "system": c.system.name, "factors": c.factors} for c in cells]}
    document = build_document(RunRecord(experiment=made.name, seed=1, design=design), trials)
    return [to_json(each) for each in document.findings]


def one_search(sql: str) -> Experiment:
    text = (
        WORDS[: WORDS.index("[[transactions]]")]
        + f"""
[[transactions]]
name = "search"
steps = [{{ execute = "{sql}" }}]
"""
    )
    return make_experiment(parse(text, "words.toml", Path()))


def test_other_rows_on_other_engines_are_told_with_the_rule_of_each() -> None:
    made = load_experiment("dictionary-search")
    rows = {"sqlite:": 198, "postgresql:": 195, MARIADB: 198}
    found = found_on(made, rows, search="like_create", sorted="no")
    assert [each["text"] for each in found if each["evidence"] and "not_comparable" in each["evidence"]] == [
        f"`select * from eijiro where word like 'create %'` returned 198 rows on sqlite: and {MARIADB}, "
        f"195 rows on postgresql:: LIKE is case-sensitive on postgresql: and case-insensitive on sqlite: and {MARIADB}."
    ]
    (pair,) = texts(
        {"findings": found_on(made, {"postgresql:": 195, MARIADB: 198}, search="like_create", sorted="yes")}
    )
    assert pair.endswith(f"LIKE is case-sensitive on postgresql: and case-insensitive on {MARIADB}.")


def test_equality_has_a_rule_of_its_own() -> None:
    rows = {"sqlite:": 1, "postgresql:": 1, MARIADB: 2}
    (text,) = texts({"findings": found_on(load_experiment("dictionary-search"), rows, search="computer", sorted="no")})
    assert text == (
        f"`select * from eijiro where word = 'computer'` returned 1 row on sqlite: and postgresql:, 2 rows on "
        f"{MARIADB}: = is case-sensitive on sqlite: and postgresql: and case-insensitive on {MARIADB}."
    )


def test_a_text_in_the_statement_is_searched_for_as_one_that_is_given() -> None:
    made = one_search("select * from w where word like 'ab%'")
    (text,) = texts({"findings": found_on(made, {"sqlite:": 7, "postgresql:": 5}, pattern="ab%", more="none")})
    assert text.endswith("LIKE is case-sensitive on postgresql: and case-insensitive on sqlite:.")


def test_rules_of_case_that_differ_are_told_apart() -> None:
    made = one_search("select * from w where word like 'é%'")
    rows = {"sqlite:": 3, "postgresql:": 1, MARIADB: 9}
    (text,) = texts({"findings": found_on(made, rows, pattern="ab%", more="none")})
    assert text.endswith(
        "LIKE is case-insensitive for A to Z only on sqlite:, is case-sensitive on postgresql: and is "
        f"case-insensitive, {CI}, on {MARIADB}."
    )


def test_a_rule_that_does_not_fit_the_rows_explains_nothing() -> None:
    made = one_search("select * from w where word like 'ab%'")
    rows = {"sqlite:": 7, "postgresql:": 5, MARIADB: 5}
    chosen = {"pattern": "ab%", "more": "none"}
    (text,) = texts({"findings": found_on(made, rows, **chosen)})
    assert "the reason is unknown" in text
    # Of columns that no catalogue has no rule is known.
    (text,) = texts({"findings": found_on(made, {"sqlite:": 7, MARIADB: 5}, catalog=False, **chosen)})
    assert "the reason is unknown" in text
    # Where rows are changed the data may have grown, also where a rule would fit.
    for found in (rows, {"sqlite:": 7, "postgresql:": 5}):
        (text,) = texts({"findings": found_on(made, found, changed=1, **chosen)})
        assert "are not comparable" in text
    # Who disregards case does not find less.
    (text,) = texts({"findings": found_on(made, {"sqlite:": 5, "postgresql:": 7}, **chosen)})
    assert "the reason is unknown" in text
    others = one_search("select * from w where word not like 'ab%'")
    (text,) = texts({"findings": found_on(others, {"sqlite:": 5, "postgresql:": 7}, **chosen)})
    assert text.endswith("LIKE is case-sensitive on postgresql: and case-insensitive on sqlite:.")


def test_counts_that_may_differ_are_told() -> None:
    made = load_experiment("dictionary-search")
    rows = dict.fromkeys(("sqlite:", "postgresql:", MARIADB), 1)
    (finding,) = found_on(made, rows, search="count_admin,count_program", sorted="no")
    assert finding["text"] == (
        "`select count(*) from eijiro where word like 'admin%'` returns a count, which may differ "
        f"between the systems: LIKE is case-sensitive on postgresql: and case-insensitive on sqlite: and {MARIADB}; "
        "1 more of this kind."
    )
    assert len(finding["cells"]) == 6
    assert "not_comparable" not in finding["evidence"]
    # That all is counted common_rule, and so is where the rule is the same.
    assert found_on(made, rows, search="count", sorted="no") == []
    assert found_on(made, dict.fromkeys(("sqlite:", MARIADB), 1), search="count_admin", sorted="no") == []


def texts(document: dict[str, Any]) -> list[str]:
    return [each["text"] for each in document["findings"]]


def test_a_prefix_that_no_index_serves_is_told_with_what_would(cli: Cli) -> None:
    document = cli.run(cli.write("words.toml", WORDS), "--seed", "1")
    assert [cell["id"] for cell in document["cells"]] == ["pattern=ab%,more=none", "pattern=%b%,more=none"]
    (text,) = [each for each in texts(document) if "no index was used" in each]
    assert text.startswith(
        "On sqlite:, no index was used for `word like 'ab%'`, although it has a fixed prefix: the plan is `SCAN"
    )
    assert (
        "; the index `w_word` is in the order of BINARY, and LIKE is case-insensitive (case_sensitive_like=off): "
        "`case_sensitive_like=on`, or an index on it with `collate nocase`, would let it look up the pattern's "
        "prefix."
    ) in text
    assert text.endswith("`--try-recommendations` measures the changes that the experiment offers.")
    (finding,) = [each for each in document["findings"] if each["kind"] == "prefix scan"]
    (index,) = finding["evidence"]["catalog"]["indexes"]
    assert [key["collation"]["name"] for key in index["keys"]] == ["BINARY"]
    assert [each["cells"] for each in document["recommendations"]] == [{}, {}]
    (statement,) = document["cells"][0]["statements"]
    assert (statement["values"], statement["rows"]) == (["ab%"], 7)


def test_recommendations_are_measured_beside_the_cells_they_are_for(cli: Cli) -> None:
    path = cli.write("words.toml", WORDS)
    document = cli.run(path, "--try-recommendations", "--report", "r.html", "--markdown", "r.md")
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
        next(each for each in texts(document) if f"Recommendation {name} " in each) for name in ("by-case", "nocase")
    )
    assert " times the throughput (" in by_case
    assert "but not for the same work: rows returned per transaction: 7 against 5" in by_case
    assert ": pattern=ab%,more=nocase versus pattern=ab%,more=none" in nocase
    assert "it returns different rows: 5 for `word like 'ab%'` instead of 7" in by_case
    assert "different rows" not in nocase
    assert not any("`--try-recommendations`" in each for each in texts(document))
    (rows,) = [each for each in texts(document) if each.startswith("`select")]
    assert rows == (
        "`select * from w where word like 'ab%'` returned 7 rows on sqlite:, 5 rows on sqlite:?case_sensitive_like=on: "
        "LIKE is case-sensitive on sqlite:?case_sensitive_like=on and case-insensitive on sqlite:."
    )
    html = (cli.directory / "r.html").read_text()
    assert "<h2>Plans</h2>" in html and "SEARCH w USING COVERING INDEX" in html
    assert "Parts of a transaction" in html and "fetch ms" in html
    assert "loaded 3,007 rows" in (cli.directory / "r.md").read_text()


def test_systems_that_find_other_rows_are_told_apart_once(cli: Cli) -> None:
    systems = ["--system", "sqlite:", "--system", "sqlite:?case_sensitive_like=on"]
    document = cli.run(cli.write("words.toml", WORDS), *systems, "--set", "pattern=ab%", "--rounds", "1")
    not_comparable = [
        each for each in document["findings"] if each["evidence"] and "not_comparable" in each["evidence"]
    ]
    assert [each["evidence"]["not_comparable"] for each in not_comparable] == ["rows"]
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
    text = " ".join(cli("show", "last", "--store", "runs.db", "--verbose").split())
    assert "execute" in text and "fetch" in text and "(for an earlier run)" in text


def test_a_run_with_recommendations_can_be_resumed(cli: Cli) -> None:
    document = cli.run(cli.write("words.toml", WORDS), "--try-recommendations", "--rounds", "1")
    cli("run", "--resume", document["id"], "--store", "runs.db", "--json", "again.json")
    assert '"pattern=ab%,more=nocase"' in (cli.directory / "again.json").read_text()


def test_a_level_of_a_recommendation_is_measured_where_it_is_named() -> None:
    made = make_experiment(parse(WORDS, "words.toml", Path()))
    chosen = parse_set(["more=nocase", "pattern=ab%"], made)
    assert [cell.id for cell in make_cells(made, chosen).cells] == ["pattern=ab%,more=nocase"]


def test_without_recommendations_none_can_be_tried(cli: Cli) -> None:
    errors = cli("run", "pk-lookup", "--try-recommendations", code=2)
    assert "--try-recommendations: `pk-lookup` has no recommendations" in errors


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'levels = { more = "nocase" }',
            'levels = { mor = "nocase" }',
            "unknown factor; did you mean `more`?",
        ),
        ('levels = { more = "nocase" }', 'levels = { more = "nocas" }', "unknown level `nocas`; did you mean"),
        ('levels = { more = "nocase" }', 'levels = { system = "sqlite:" }', "a recommendation can't change the system"),
        ('levels = { more = "nocase" }', "", "recommendations[1]: missing change"),
        ('name = "nocase"', 'name = "by-case"', "duplicate name `by-case`"),
        ('answers = "prefix-scan"', 'answers = "prefix-scam"', "recommendations[0].answers"),
        ('engine = "sqlite"', 'engine = "sqlit"', 'unknown engine "sqlit"; did you mean `sqlite`?'),
        ("[factors.more.none]\nexists = false\n", "", "all levels belong to recommendations"),
    ],
)
def test_errors_in_recommendations(old: str, new: str, message: str) -> None:
    assert old in WORDS
    with pytest.raises(InputError) as caught:
        make_experiment(parse(WORDS.replace(old, new, 1), "words.toml", Path()))
    assert message in str(caught.value)


def test_dictionary_search_names_its_recommendations() -> None:
    made = load_experiment("dictionary-search")
    assert len(make_cells(made).cells) == 21
    assert {each.engine for each in made.head.recommendations} == {"sqlite", "postgresql"}
