"""Scripts: what becomes of each command, and what is refused with file and line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.pgbench.experiment import (
    PgbenchSource,
    builtin_scripts,
    experiment_of,
    from_options,
    pgbench_experiment,
)
from dbdyno.experiment.pgbench.lexer import Meta, Sql, Variable, commands
from dbdyno.experiment.pgbench.script import Presets, Script, assigned_variables, read_script
from experiment_files import TABLE, compiled, task_json
from experiment_files import steps as written


def script(text: str, **defines: str) -> Script:
    presets = Presets({"scale": "1"} | defines)
    assigned = assigned_variables(text, "s.sql")
    return read_script(
        text, "s.sql", presets=presets, begin="deferred", dynamic=assigned & presets.texts.keys(), assigned=assigned
    )


def steps(text: str, **defines: str) -> list[dict[str, Any]]:
    return script(text, **defines).steps


def refusal(text: str, **defines: str) -> str:
    with pytest.raises(InputError) as error:
        steps(text, **defines)
    assert error.value.hint
    return str(error.value)


def test_statements_end_at_semicolons_and_values_are_bound() -> None:
    made = steps("\\set a 1\n\\set b 2\nselect :a,\n  :b -- :c ;\n from t;insert into t values (:a); select (';')")
    assert made[2:] == [
        {"execute": "select ?,\n  ? -- :c ;\n from t", "params": [{"variable": "a"}, {"variable": "b"}]},
        {"execute": "insert into t values (?)", "params": [{"variable": "a"}]},
        {"execute": "select (';')"},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "select ':b'",
        "select 'it''s :b'",
        "select E'\\\\ :b'",
        "select '12:30:00', '::a'",
        'select ":b"',
        "select $$ :b ; $$",
        "select $x$ :b $$ ; $x$",
        "select 1 /* :a ; */ + 2",
        "select 1 /* a /* b */ :a ; */ + 2",
        "select 1 -- :a ;\n + 2",
        "/*+ seqscan(t) */ select 1",
        "select 1::text",
        "select f(a := 1)",
        "select\t1,\n\n  2",
    ],
)
def test_all_but_variables_is_sent_as_it_is_written(text: str) -> None:
    assert steps(f"\\set a 1\n{text};")[1:] == [{"execute": text}]


def test_constants_are_put_into_quotes_as_in_the_simple_mode() -> None:
    made = steps("select ':day', '{\"n\": :scale, \"m\": :no}', \"t:scale\", ':day'::date;", day="2024-01-31")
    assert made == [{"execute": "select '2024-01-31', '{\"n\": 1, \"m\": :no}', \"t1\", '2024-01-31'::date"}]


def test_a_function_body_has_semicolons() -> None:
    body = "create function f() returns int begin atomic select case when true then 1 end; select 2; end"
    assert steps(f"{body}; select case when true then 1 end;") == [
        {"execute": body},
        {"execute": "select case when true then 1 end"},
    ]
    assert steps("create procedure p() language sql as $$ select 1; $$; select 2;")[1] == {"execute": "select 2"}


@pytest.mark.parametrize(
    "text",
    ["select d ? 'a', d ?| array['a']", "select x[1:2], f(a := 1)", "select $$ ? $$", "select E'\\' :b'"],
)
def test_what_only_postgresql_reads_is_its_own(text: str) -> None:
    assert steps(f"{text};") == [{"execute": {"postgresql": text}}]


def test_a_cast_follows_a_variable() -> None:
    assert steps("\\set a 1\nselect :a::text;")[1] == {"execute": "select ?::text", "params": [{"variable": "a"}]}


def test_transactions_are_steps_of_their_own() -> None:
    made = steps("BEGIN;\nselect 1;\nEND;\nstart transaction; select 1; ROLLBACK WORK;\nbegin immediate; commit;")
    assert [step for step in made if "execute" not in step] == [
        {"begin": "deferred"},
        {"commit": True},
        {"begin": "deferred"},
        {"rollback": True},
        {"begin": "immediate"},
        {"commit": True},
    ]
    assert steps("savepoint a; select 1; rollback to a; release a;")[2] == {"execute": "rollback to a"}


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN ISOLATION LEVEL SERIALIZABLE",
        "begin transaction isolation level repeatable read, read only, deferrable",
        "Begin Work Read Write Not Deferrable",
        "START TRANSACTION\n\tISOLATION  LEVEL READ COMMITTED ,READ ONLY",
        "start transaction /* all */ read only",
    ],
)
def test_modes_of_a_transaction_reach_postgresql_as_written(text: str) -> None:
    made = script(f"{text};\nselect 1;\nEND;")
    assert made.steps == [{"execute": {"postgresql": text}}, {"execute": "select 1"}, {"commit": True}]
    assert [line for line, _ in made.own] == [1] and not made.begins


def test_a_chained_transaction_goes_on() -> None:
    made = steps("begin; select 1; commit and chain; select 2; ABORT WORK AND CHAIN; select 3; commit and no chain;")
    assert [step for step in made if step.get("execute") not in ("select 1", "select 2", "select 3")] == [
        {"begin": "deferred"},
        {"execute": {"postgresql": "commit and chain"}},
        {"execute": {"postgresql": "ABORT WORK AND CHAIN"}},
        {"commit": True},
    ]
    assert "line 1: the transaction that begins here isn't ended" in refusal("begin; select 1; end and chain;")


def test_other_statements_begin_with_the_same_words() -> None:
    for text in ("rollback work to savepoint a", "commit prepared 'x'", "set transaction read only", "endpoint"):
        assert steps(f"{text};") == [{"execute": text}]


@pytest.mark.parametrize("engine", ["sqlite", "mysql", "duckdb"])
def test_modes_are_refused_where_no_engine_knows_them(tmp_path: Path, engine: str) -> None:
    (tmp_path / "s.sql").write_text("select 1;\nBEGIN READ ONLY; select 1; END;")
    with pytest.raises(InputError) as error:
        from_options([str(tmp_path / "s.sql")], 1, [], ["postgresql:", f"{engine}:"])
    assert f"s.sql: line 2: {engine} doesn't support `BEGIN READ ONLY`" in str(error.value)
    assert from_options([str(tmp_path / "s.sql")], 1, [], ["postgresql:"])


def test_commands_have_any_case_and_any_white_space() -> None:
    made = steps(
        "\\SET a\trandom(1, \\\n\t10)\n\\Set\tb \\\r\n :a\n\\SLEEP\t1\tMS\n\\sleep +5 US\n"
        "\\IF :a\n\\sleep \\\n2\n\\ELIF :b\n\\sleep 3\n\\Else\nselect 1;\n\\EndIf\t\n"
        "select 2 AS x \\GSET\tp_\nselect :p_x;"
    )
    assert made == [
        {"set": "a", "value": {"expression": "random(1, 10)"}},
        {"set": "b", "value": {"expression": ":a"}},
        {"think": 1},
        {"think": 5, "unit": "us"},
        {
            "when": {"expression": ":a"},
            "then": [{"think": 2000}],
            "else": [
                {
                    "when": {"expression": ":b"},
                    "then": [{"think": 3000}],
                    "else": [{"execute": "select 1"}],
                }
            ],
        },
        {"execute": "select 2 AS x", "into": ["p_x"]},
        {"execute": "select ?", "params": [{"variable": "p_x"}]},
    ]


def test_conditions_nest() -> None:
    made = steps(
        "\\set a 1\n\\if :a > 0\n select 1;\n\\if :a\nselect 2;\n\\endif\n"
        "\\elif :a = 0\n\\else\nselect 4;\n\\endif\n\\if 1\n\\endif\n"
    )
    inner = {"when": {"expression": ":a"}, "then": [{"execute": "select 2"}]}
    negated = {"expression": "case when :a = 0 then false else true end"}
    assert made[1:] == [
        {
            "when": {"expression": ":a > 0"},
            "then": [{"execute": "select 1"}, inner],
            "else": [{"when": negated, "then": [{"execute": "select 4"}]}],
        }
    ]


def test_sleep_has_units() -> None:
    made = steps("\\set t 3\n\\sleep 10 us\n\\sleep 5ms\n\\sleep 2\n\\sleep :t s\n\\sleep :t us\nselect 1;")
    assert made[1:-1] == [
        {"think": 10, "unit": "us"},
        {"think": 5},
        {"think": 2000},
        {"think": {"expression": "int(:t) * 1000"}},
        {"think": {"expression": "int(:t)"}, "unit": "us"},
    ]


def test_gset_names_variables_after_columns() -> None:
    made = steps(
        'select abalance, x.Bid, 1 + 2 as Three, 4 "Four" from t as x where aid = :scale \\gset p_\n'
        "update t set a = a + 1 returning a \\gset\nselect :p_three + :a;"
    )
    assert made[0]["into"] == ["p_abalance", "p_bid", "p_three", "p_Four"]
    assert made[1]["into"] == ["a"]
    assert made[2]["params"] == [{"variable": "p_three"}, {"variable": "a"}]


def test_presets_are_constants_unless_a_script_sets_them() -> None:
    made = steps("\\set n :n + :scale\nselect :scale, :n, :f, :x;", n="4", f="1.5", x="NULL")
    assert made == [
        {"set": "n", "value": 4, "once": True},
        {"set": "n", "value": {"expression": ":n + 1"}},
        {"execute": "select ?, ?, ?, ?", "params": [1, {"variable": "n"}, 1.5, {"null": True}]},
    ]


def test_a_preset_that_is_no_value_is_text_of_the_statement() -> None:
    made = steps("select * from :tab_:scale, :tab;", tab="accounts", tab_="t")
    assert made == [{"execute": "select * from t1, accounts"}]


def test_automatic_variables_are_there() -> None:
    assert steps("select :client_id;") == [{"execute": "select ?", "params": [{"expression": ":client_id"}]}]


def test_a_dollar_and_a_brace_are_no_factor() -> None:
    assert steps("select '${clients}';") == [{"execute": "select '$${clients}'"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select 1;\n\\setshell x echo 1", r"s.sql: line 2: `\setshell` is not supported"),
        ("\\shell true", r"`\shell` is not supported"),
        ("select 1 \\aset", r"`\aset` is not supported"),
        ("\\startpipeline", r"`\startpipeline` is not supported"),
        ("\\endpipeline", r"`\endpipeline` is not supported"),
        ("select 1 \\; select 2;", r"line 1: statements joined by `\;`"),
        ("\\sett x 1", r"unknown command `\sett`; did you mean `set`?"),
        ("\n\n\\set x", r"line 3: `\set` needs a name and an expression"),
        ("\\set 1x 2", "`1x` is not the name of a variable"),
        ("\\set client_id 2", "`client_id` is set automatically"),
        ("\\set x 1 +", "line 1: `1 +`: the expression ends too early"),
        ("\\set x :y", r"no earlier command sets the variable `y`; set it before with `\set y …`"),
        ("select\n\n:y;", "line 3: no earlier command sets the variable `y`"),
        ("\\if 1\nselect 1;", r"line 1: missing `\endif` for this `\if`"),
        ("\\if 1\n\\else\n\\else\n\\endif", r"line 3: `\else` follows `\else`"),
        ("\\endif", r"missing `\if` for this `\endif`"),
        ("\\if\n\\endif", r"`\if` needs an expression"),
        ("\\sleep x", r"`\sleep x` is invalid"),
        ("\\gset", r"`\gset` does not follow a statement"),
        ("select count(*) from t \\gset", r"a column of the statement before `\gset` has no name"),
        ("select * from t \\gset", "has no name"),
        ("delete from t \\gset", "returns no columns"),
        ("begin;\nselect 1;", "line 1: the transaction that begins here isn't ended"),
        ("begin isolation level snapshot; end;", "`begin isolation level snapshot` is not valid in PostgreSQL"),
        ("begin; commit and; end;", "`commit and` is not valid in PostgreSQL"),
        ("select 'a", "line 1: a string is not closed"),
        ("\\set a 1\nselect\n '{\"a\": :a}';", "line 3: `:a` is inside quotes, so a value can't be bound to it"),
        ("select ':a';\n\\set a 1", "line 1: `:a` is inside quotes"),
        ("select interval ':client_id days';", "line 1: `:client_id` is inside quotes"),
        ('\\set a 1\nselect "t:a" from t;', "line 2: `:a` is inside quotes"),
        ("\\set a 1\nselect $$ :a ; $$;", "line 2: `:a` is inside quotes"),
        ("\\sleep 9999999999 us\nselect 1;", "the sleep `9999999999` is too long"),
        ("\\set x " + "9" * 5000, "99… is too large for an integer"),
        ("select 1;\nselect ? + 1;", "line 2: a `?` without a value"),
        ("\\set a 1\nselect x:a;", "line 2: `:a` is part of a longer name"),
        ("-- nothing", "no statement in the script"),
        ("\\set x :tab\nselect 1;", "`tab` is `accounts`, which is not a number"),
        ("\\if 1\n" * 20, "nested deeper than 16 levels"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(text: str, words: str) -> None:
    assert words in refusal(text, tab="accounts")


@given(st.text(alphabet="abs:;'\"\\$/*-?() \n1E", max_size=80))
def test_any_text_is_cut_or_refused_and_lines_ascend(text: str) -> None:
    try:
        found = list(commands(text, "s.sql"))
    except InputError:
        return
    lines = [each.line for each in found]
    assert lines == sorted(lines)
    for each in found:
        if isinstance(each, Sql):
            variables = [piece for piece in each.pieces if isinstance(piece, Variable)]
            assert each.pieces and all(f":{variable.name}" in text for variable in variables)
        else:
            assert isinstance(each, Meta) and each.name


SCRIPTS = (
    "\\set aid random(1, 100000 * :scale)\nselect abalance from t where aid = :aid;\n\\sleep 1 ms\n",
    "\\SET\tx\t1 + \\\n 2\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nupdate t set b = :x::int;\nCOMMIT AND CHAIN;\nend;\n",
    'select a, b as "B" from t where c = \':scale\' \\gset p_\n\\if :p_a > 0\nselect :"p_B", $$ ; :x $$;\n\\endif\n',
    "\\if 1 < 2\n\\elif case when :v then 1 else 0 end = hash(:v, 3)\nselect 1;\n\\else\nselect 2;\n\\endif\n",
    "start transaction read only, deferrable; insert into t values (E'\\';', '{\"a\": :v}'); rollback to a; abort;",
    "create function f() returns int begin atomic select 1; end; select a[1:2], b -- :x ;\n /* ' /* */ */ from t;",
)
PARTS = (
    *("\\", "\\set ", "\\gset", "\\if 1\n", "\\endif\n", "\\sleep", "\\aset", "\\;", "\\\n", "\n", "\t", "\r", "\0"),
    *(
        "'",
        '"',
        "$$",
        "$a$",
        "/*",
        "*/",
        "--",
        ";",
        ":",
        "::",
        ":x",
        ":v",
        ":scale",
        "?",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "${",
    ),
    *("begin", "end", "commit", "and chain", "read only", "9" * 25, "1e999", "null", "random(", "case", "é", "\ud800"),
)
CHANGES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 12), st.sampled_from(("", *PARTS))), max_size=5)


@pytest.mark.slow
@settings(max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SCRIPTS), CHANGES)
def test_a_changed_script_is_an_experiment_or_refused(text: str, changes: list[tuple[int, int, str]]) -> None:
    for at, removed, added in changes:
        place = at % (len(text) + 1)
        text = text[:place] + added + text[place + removed :]
    try:
        made = experiment_of(
            [PgbenchSource("s", "s.sql", Path(), 1, text)], 1, {"v": "2"} if ":v" in text else {}, own_tables=False
        )
    except DbdynoError:
        return
    assert made.definition(made.first_levels()).transactions


def test_a_long_script_takes_no_longer_than_its_length() -> None:
    made = steps(
        "insert into t values " + ", ".join(f"({n}, 'a', :scale)" for n in range(5_000)) + ";\nselect 1;" * 1_000
    )
    assert len(made) == 1_001 and len(made[0]["params"]) == 5_000


def test_the_built_in_scripts_make_experiments() -> None:
    assert builtin_scripts() == ["select-only", "simple-update", "tpcb-like"]
    statements = {}
    for name in builtin_scripts():
        experiment = pgbench_experiment([name])
        definition = experiment.definition(experiment.first_levels())
        statements[name] = len(definition.transactions[0].steps)
        assert sum(part.rows for part in definition.tables["pgbench_accounts"].parts) == 0
    assert statements == {"select-only": 2, "simple-update": 9, "tpcb-like": 11}


def test_scale_makes_branches_with_their_own_rows() -> None:
    experiment = pgbench_experiment(["tpcb-like"], scale=3)
    tables = experiment.definition(experiment.first_levels()).tables
    rows = {name: table.rows + sum(part.rows for part in table.parts) for name, table in tables.items()}
    assert rows == {
        "pgbench_branches": 3,
        "pgbench_tellers": 30,
        "pgbench_accounts": 300_000,
        "pgbench_history": 0,
    }
    assert "random(1, 100000 * 3)" in experiment.text


def test_an_experiment_is_the_same_when_read_back(tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text("select \"ü\", '\\n\x7f' from t where a = :v;\n", encoding="utf-8")
    made = pgbench_experiment([f"{tmp_path}/mine.sql@3", "select-only", "tpcb-like@0"], 1, {"v": "-1.5"}, False)
    again = make_experiment(parse(made.text, made.location, made.folder))
    assert again == made
    definition = made.definition(made.first_levels())
    assert [(each.name, each.weight) for each in definition.transactions] == [("mine", 3), ("select-only", 1)]
    assert not definition.tables
    assert made.name == "pgbench-mine-select-only"
    assert list(made.factors) == ["clients", "seconds", "prepare"]


@pytest.mark.parametrize(
    ("scripts", "scale", "defines", "words"),
    [
        (["tpcb"], 1, {}, "no such script; did you mean `tpcb-like`?"),
        (["tpcb-like@x"], 1, {}, "`x` is not a weight"),
        (["tpcb-like@0"], 1, {}, "no script to run"),
        (["tpcb-like"], 0, {}, "--scale 0"),
        (["tpcb-like"], 1, {"1a": "2"}, "--define 1a=2"),
        (["tpcb-like"], 1, {"a": ""}, "--define a="),
    ],
)
def test_wrong_options_are_refused(scripts: list[str], scale: int, defines: dict[str, str], words: str) -> None:
    with pytest.raises(InputError) as error:
        pgbench_experiment(scripts, scale, defines)
    assert words in str(error.value)


def test_options_say_what_is_defined_and_whose_tables_there_are() -> None:
    made = from_options(["select-only"], 2, ["scale=5"], ["sqlite:", "sqlite:?journal_mode=wal"])
    assert "100000 * 5" in made.text and "pgbench_accounts" in made.document["tables"]
    assert not from_options(["select-only"], 1, [], ["sqlite:/x.db"]).definition({**made.first_levels()}).tables
    for defines, words in ((["x"], "missing `=`"), (["x=1", "x=2"], "`x` is defined twice")):
        with pytest.raises(InputError) as error:
            from_options(["select-only"], 1, defines, [])
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "prepare"),
    [
        ("select 1;", "once"),
        ("create temp table if not exists t (a);\ninsert into t values (1);", "never"),
        ("\\set i 1\n\\if :i > 0\nATTACH ':memory:' as m;\n\\endif\nselect 1;", "never"),
    ],
)
def test_a_script_that_makes_tables_prepares_nothing_before(tmp_path: Path, text: str, prepare: str) -> None:
    script = tmp_path / "a.sql"
    script.write_text(text)
    made = from_options([str(script)], 1, [], ["sqlite:"])
    assert [level.name for level in made.factors["prepare"].levels] == [prepare]


def made_of(text: str, table: str = "") -> list[dict[str, Any]]:
    """Compile the steps of an experiment that is written by hand."""
    [cell] = compiled(written(text, table=table or TABLE))
    made: list[dict[str, Any]] = task_json(cell)["transactions"][0]["steps"]
    return made


def test_an_experiment_has_expressions_too() -> None:
    made = made_of(
        '{ set = "n", value = { expression = "1 + :client_id" }, once = true },'
        '{ when = { expression = ":n > 2" }, then = [{ think = 5, unit = "us" }, { think = 5 }] },'
        '{ execute = "select ?", params = [{ expression = ":n * 2" }] }'
    )
    assert made[0]["once"] is True and made[0]["value"]["text"] == "1 + :client_id"
    assert (made[1]["left"]["tree"]["function"], made[1]["compare"]) == ("truth", "ne")
    constant = {"kind": "constant", "value": 5}
    assert made[1]["then"] == [{"do": "pause", "microseconds": constant}, {"do": "think", "milliseconds": constant}]
    assert made[2]["params"][0]["kind"] == "expression"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{ set = "n", value = { expression = "1 +" } }', 'value.expression: "1 +": the expression ends too early'),
        ('{ set = "n", value = { expression = 1 } }', "value.expression: 1 is not an expression"),
        ('{ set = "n", value = { expression = ":m" } }', "no earlier step sets the variable `m`"),
        ('{ when = { expression = ":m" }, then = [{ think = 1 }] }', "no earlier step sets the variable `m`"),
        (
            '{ set = "n", value = { nullable = { share = 0.5, of = { expression = ":m" } } } }',
            "no earlier step sets the variable `m`",
        ),
    ],
)
def test_a_wrong_expression_in_an_experiment_is_refused(text: str, words: str) -> None:
    with pytest.raises(DbdynoError) as error:
        written(text)
    assert words in str(error.value)


def test_the_variables_of_an_expression_in_a_column_are_columns() -> None:
    table = TABLE + 'x = { type = "integer", fill = { expression = ":idd + :row" } }\n'
    with pytest.raises(DbdynoError) as error:
        written('{ execute = "select 1" }', table=table)
    assert "has no column `idd`; did you mean `id`?" in str(error.value)
