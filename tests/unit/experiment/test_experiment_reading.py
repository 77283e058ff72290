"""The experiments of the repository say what they are to say."""

import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engines.sqlite.targets import trial_target
from dbdyno.experiment import builtin_experiments, load_experiment, template_text
from dbdyno.experiment.document import Document, parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.experiment.substitute import substitute
from dbdyno.model.experiment.generators import Uniform
from dbdyno.model.experiment.transactions import Execute
from experiment_files import ALL, LOAD, READ, ROOT, TABLE, TEMPLATE, compiled, experiment, plan_schema, small


def names_of_levels(path: str) -> dict[str, list[str]]:
    return {name: [level.name for level in factor.levels] for name, factor in load_experiment(path).factors.items()}


@pytest.mark.parametrize("path", ALL)
def test_reads(path: str) -> None:
    assert load_experiment(path).title


def test_builtin_experiments() -> None:
    assert [each.name for each in builtin_experiments()] == [
        "bulk-insert",
        "cache-traces",
        "cpu-cost",
        "dictionary-search",
        "key-order",
        "linkbench",
        "orders-entry",
        "pk-lookup",
        "pk-update",
        "promo-code",
        "promo-code-engines",
        "smallbank",
        "star-schema",
        "sysbench-oltp",
        "tatp",
        "voter",
        "web-login",
        "wide-table",
        "ycsb-a",
        "ycsb-b",
        "ycsb-c",
        "ycsb-d",
        "ycsb-e",
        "ycsb-f",
    ]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    text = Path(TEMPLATE).read_text(encoding="utf-8")
    (tmp_path / "a.toml").write_text(text, encoding="utf-8-sig")
    assert (tmp_path / "a.toml").read_bytes().startswith(b"\xef\xbb\xbf")
    made = load_experiment(str(tmp_path / "a.toml"))
    assert made.title
    assert made.text == text


def test_pk_lookup_is_e1() -> None:
    made = load_experiment("pk-lookup")
    levels = names_of_levels("pk-lookup")
    assert levels["threads"] == ["1", "2", "4", "8", "16"]
    assert levels["cache"] == ["private", "shared"]
    assert {"library_threading", "config_threading", "open_mutex", "cache_size", "mmap_size", "page_size"} < set(levels)
    definition = made.definition(made.first_levels())
    assert {name: table.rows for name, table in definition.tables.items()} == {"user": 100_000, "orders": 100_000}
    assert definition.load.stop.transactions == 100_000
    assert made.rounds == 5


def test_bulk_insert_is_e2() -> None:
    made = load_experiment("bulk-insert")
    definitions = [made.definition(made.first_levels() | {"mode": level}) for level in made.factors["mode"].levels]
    assert [each.load.prepare for each in definitions] == ["once", "never", "once"]
    assert [each.load.stop.seconds for each in definitions] == [60.0, None, None]
    assert all(each.load.stop.statements == 100_000 for each in definitions)
    assert all(each.tables["user"].rows == 0 for each in definitions)


def test_pk_update_is_e3_on_the_data_of_e1() -> None:
    made, e1 = load_experiment("pk-update"), load_experiment("pk-lookup")
    assert names_of_levels("pk-update")["rows_per_transaction"] == ["1", "1000", "10000"]
    definition = made.definition(made.first_levels())
    assert definition.load.stop.statements == 10_000
    assert definition.tables == e1.definition(e1.first_levels()).tables


def test_promo_code_has_the_seven_steps() -> None:
    assert len(names_of_levels("promo-code")["step"]) == 7


def test_template_is_what_init_writes() -> None:
    assert template_text().startswith("# An experiment")
    assert load_experiment(TEMPLATE).name == "my-experiment"


def documentation() -> str:
    """Return the pages about experiment files, and the page with SQLite's settings."""
    pages = sorted((ROOT / "docs/reference/experiment-file").glob("*.md"))
    return "\n".join(page.read_text() for page in [*pages, ROOT / "docs/reference/systems/sqlite.md"])


def test_every_toml_example_in_the_documentation_is_toml_and_the_full_one_compiles() -> None:
    examples = re.findall(r"```toml\n(.*?)```", documentation(), re.DOTALL)
    for example in examples:
        parse(example, "docs", ROOT)
    full = [example for example in examples if example.startswith("name = ")]
    assert len(full) == 1
    cells = compiled(make_experiment(parse(full[0], "docs", ROOT)))
    assert all(plan_schema().is_valid(cell.plan(trial_target(cell, "/x.db"), 1).json) for cell in cells)
    assert len({cell.template_key("library") for cell in cells}) == 1


def test_documentation_names_every_key() -> None:
    from dbdyno.engines.sqlite.settings import NAMES
    from dbdyno.experiment import head
    from dbdyno.model.experiment import check, definition, load, tables, timed, transactions
    from dbdyno.model.experiment.generators import KINDS

    text = documentation()
    models = [definition.Definition, head.Head, head.Report, head.Published, head.PublishedRounds]
    models += [head.Growth, timed.Timed, check.Check]
    models += [load.Load, load.Warmup, load.Stop, load.Open, load.Retry, load.Measure]
    models += [tables.Table, tables.Column, tables.Index, tables.Part, transactions.Transaction, transactions.Execute]
    keys = {field.alias or name for model in models for name, field in model.model_fields.items()}
    for word in [*keys, *KINDS, *transactions.VERBS, *NAMES]:
        assert f"`{word}`" in text, f"docs/reference/experiment-file does not name `{word}`"


def test_reference_keeps_its_type_and_default_leaves_out() -> None:
    made = small(
        '[factors]\nn = [7]\nhigh = [2.5]\nwait = ["default"]\n',
        load='\n[load]\nclients = "${n}"\nstop = { seconds = "${wait}", transactions = "${n}" }\n',
        transactions='\n[[transactions]]\nname = "r${n}"\n'
        'steps = [{ execute = "select ${n}, ?", params = [{ uniform = [0, "${high}"] }] }]\n',
    )
    definition = made.definition(made.first_levels())
    assert definition.load.clients == 7
    assert definition.load.stop.seconds is None
    assert definition.transactions[0].name == "r7"
    step = definition.transactions[0].steps[0]
    assert isinstance(step, Execute)
    assert isinstance(step.params[0], Uniform)
    assert step.params[0].uniform == (0, 2.5)
    assert step.execute.text_for("sqlite") == "select 7, ?"


@pytest.mark.parametrize(
    ("size", "rows", "transactions"), [("3", 3_000, 90), ("0.1", 100, 3), ("0.7", 700, 21), ("1.5", 1_500, 45)]
)
def test_a_reference_can_be_a_product(size: str, rows: int, transactions: int) -> None:
    made = small(
        f"[factors]\nsize = [{size}]\n[factors.part.look]\ntimes = 30\n",
        table=TABLE.replace("rows = 10", 'rows = "${1_000*size}"'),
        load='\n[load]\nstop = { transactions = "${size * part.times}" }\n',
        transactions=READ.replace('"read"', '"read ${2 * size * 10} $${2 * size}"'),
    )
    definition = made.definition(made.first_levels())
    assert (definition.tables["user"].rows, definition.load.stop.transactions) == (rows, transactions)
    assert definition.transactions[0].name == f"read {rows // 50} ${{2 * size}}"


def test_a_level_can_contain_a_dollar_sign_and_a_brace() -> None:
    made = small(
        "[factors]\nname = ['a $${b}']\n[factors.part.one]\nlooked = 'look $${c}'\n",
        transactions=READ.replace('"read"', '"${part.looked} of ${name}"'),
    )
    assert made.definition(made.first_levels()).transactions[0].name == "look ${c} of a ${b}"


def test_a_product_with_default_is_left_out() -> None:
    load = '\n[load]\nstop = { seconds = 1, transactions = "${10 * n}" }\n'
    made = small('[factors]\nn = ["default", 2]\n', load=load)
    levels = made.factors["n"].levels
    assert [made.definition({"n": level}).load.stop.transactions for level in levels] == [None, 20]


@given(st.lists(st.one_of(st.integers(0, 10**6), st.decimals(0, 1000, places=3)), min_size=2, max_size=4))
def test_a_product_is_exact_in_decimal_digits(values: list[int | Decimal]) -> None:
    bindings = {f"f{index}": value if isinstance(value, int) else float(value) for index, value in enumerate(values)}
    made = substitute("${" + " * ".join(bindings) + "}", bindings)
    exact = math.prod(map(Fraction, values))
    assert made == (int(exact) if exact.denominator == 1 else float(exact))
    assert isinstance(made, int) == (exact.denominator == 1)


def test_factor_settings_name_the_factor() -> None:
    made = small('[factors]\na = [1]\n[system.sqlite]\ncache_size = "${a}"\nmmap_size = 0\n')
    assert made.factor_settings("sqlite", made.first_levels()) == {"cache_size": "a"}
    assert made.factor_settings("mysql", made.first_levels()) == {}


def test_an_empty_document_names_what_is_missing() -> None:
    with pytest.raises(Exception, match=r"x\.toml: name: this key is missing"):
        make_experiment(Document("x.toml", ROOT, {}, ""))


def test_parts_are_enough() -> None:
    assert (
        experiment(
            'name = "a"\ntitle = "b"\n',
            LOAD,
            READ.replace("where id = ?", "").replace(', params = [{ key = "user.id" }]', ""),
        ).factors
        == {}
    )
