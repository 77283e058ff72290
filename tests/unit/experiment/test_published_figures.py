"""Published figures: the right figure beside the right cell, and nothing where there is none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.base.resources import package_path
from dbdyno.engines.cpu_placement import read_processors, with_processors
from dbdyno.engines.durability import with_durability
from dbdyno.engines.url import parse_url
from dbdyno.experiment import load_experiment, load_published
from dbdyno.experiment.design import make_cells, parse_set
from experiment_files import FIXTURES

Small = Callable[..., str]

PUBLISHED = """
[published]
file = "figures.csv"
machine = "another"
year = 2020
value = "reads_per_s"
match = { clients = "clients" }

[published.systems]
column = "system"
urls = { lite = "sqlite:", pg = "postgresql:", pg-unsafe = "postgresql:?fsync=off", innodb = "mysql:?engine=innodb" }
"""
FIGURES = """# made up
system,clients,reads_per_s
lite,1,10
lite,2,11
pg,1,20
pg-unsafe,1,30
innodb,1,40
"""


def write_small(small: Small, folder: Path) -> str:
    """The small experiment, with figures of several systems."""
    (folder / "figures.csv").write_text(FIGURES, encoding="utf-8-sig")
    (folder / "small.toml").write_text(small() + PUBLISHED)
    return str(folder / "small.toml")


def values(name: str, *options: str) -> dict[str, float | None]:
    made = load_experiment(name)
    published = load_published(made)
    assert published is not None
    figures = {
        cell.id: published.of(cell.levels, cell.system.engine)
        for cell in make_cells(made, parse_set(options, made)).cells
    }
    return {cell: figure and figure.value for cell, figure in figures.items()}


def test_pk_lookup() -> None:
    made = values("pk-lookup")
    assert made["threads=1,cache=private"] == 34000
    assert made["threads=16,cache=private"] == 56000
    assert made["threads=4,cache=shared"] == 14000
    # The shared cache was published for up to 4 threads.
    assert [cell for cell, value in made.items() if value is None] == [
        "threads=8,cache=shared",
        "threads=16,cache=shared",
    ]


def test_rounds_become_rates() -> None:
    published = load_published(load_experiment("pk-lookup"))
    assert published is not None
    figure = next(each for each in published.figures if each.levels == {"cache": "private", "threads": "2"})
    assert figure.rounds[0] == pytest.approx(2 * 100_000 / 3.641)
    assert len(figure.rounds) == 5
    assert figure.cpu_percent == 180
    assert published.label == "published 2015: 8-core Xeon E5, 16 GB, SSD, Linux 2.6.32; SQLite 3.8.11"
    assert published.source.startswith("SQLite 3.8.11, 8-core Xeon E5, 16 GB")


@pytest.mark.parametrize("name", ["pk-lookup", "bulk-insert", "pk-update"])
def test_a_rate_of_the_rounds_is_the_rate_published(name: str) -> None:
    published = load_published(load_experiment(name))
    assert published is not None
    for figure in published.figures:
        # The publication rounds E1's rates to thousands.
        assert sum(figure.rounds) / len(figure.rounds) == pytest.approx(figure.value, rel=0.07)


def test_bulk_insert_has_two_rounds_where_two_were_made() -> None:
    published = load_published(load_experiment("bulk-insert"))
    assert published is not None
    assert [len(figure.rounds) for figure in published.figures] == [2, 5, 5]


def test_no_figure_where_another_factor_differs_or_the_level_was_not_published() -> None:
    assert list(values("pk-update", "rows_per_transaction=1", "journal_mode=wal").values()) == [None]
    assert list(values("pk-update", "rows_per_transaction=5").values()) == [None]


def test_a_level_can_be_matched_by_a_value_it_binds() -> None:
    assert values("promo-code")["step=7_begin_immediate"] == 700


def test_figures_of_several_systems_belong_to_theirs() -> None:
    made = load_experiment("dictionary-search")
    published = load_published(made)
    assert published is not None
    chosen = parse_set(["search=like_create,computer,count", "sorted=no"], made)
    urls = ["sqlite:", "sqlite:?case_sensitive_like=on", "mysql:?engine=innodb", "postgresql:"]
    cells = make_cells(made, chosen, [parse_url(url) for url in urls]).cells
    figures = {
        (cell.levels["search"].name, cell.system.name): figure
        for cell in cells
        if (figure := published.of(cell.levels, cell.system.engine)) is not None
    }
    # `count` was published without a figure, `= computer` on InnoDB not at all.
    assert list(figures) == [
        ("like_create", "sqlite:"),
        ("like_create", "mysql:?engine=innodb"),
        ("like_create", "postgresql:"),
        ("computer", "sqlite:"),
        ("computer", "postgresql:"),
    ]
    sqlite, postgresql = figures["like_create", "sqlite:"], figures["like_create", "postgresql:"]
    assert sqlite.value == pytest.approx(1 / 1.68071)
    assert (sqlite.rows, postgresql.rows) == (198, 195)
    # The newer of two runs.
    assert postgresql.phases_ms == pytest.approx({"connect": 57.47, "execute": 11.6, "fetch": 4.37})


@pytest.mark.parametrize(
    ("url", "wanted", "figure"),
    [
        ("sqlite:", "power-safe", 10.0),
        ("sqlite:", "process-safe", 10.0),
        ("postgresql:", "power-safe", 20.0),
        # Published without `fsync`, too: that figure is nearer.
        ("postgresql:", "process-safe", 30.0),
        ("postgresql:?fsync=off", "process-safe", 30.0),
        ("mysql:?engine=innodb", "process-safe", 40.0),
        ("mysql:?engine=innodb&max_connections=50", "process-safe", None),
        ("sqlite:?journal_mode=wal", "power-safe", None),
    ],
)
def test_another_durability_leaves_the_figure_where_it_was(
    small: Small, tmp_path: Path, url: str, wanted: str, figure: float | None
) -> None:
    made = load_experiment(write_small(small, tmp_path))
    published = load_published(made)
    assert published is not None
    cell = make_cells(made, systems=[with_durability(parse_url(url), wanted)]).cells[0]
    found = published.of(cell.levels, cell.system.engine)
    assert (found and found.value) == figure


def test_processors_of_their_own_leave_the_figure_where_it_was() -> None:
    made = load_experiment("web-login")
    published = load_published(made)
    assert published is not None
    systems = [parse_url("web:?database=mysql&db.engine=myisam")]
    placed = with_processors(systems, read_processors("load=0,proxy=0,web=1,db=0"))
    assert placed[0].settings["processors.db"] == "0"
    chosen = parse_set(["persistent=on", "concurrency=10"], made)
    for of in (systems, placed):
        cells = make_cells(made, systems=of, chosen=chosen).cells
        figures = [published.of(cell.levels, cell.system.engine) for cell in cells]
        assert [figure and figure.value for figure in figures] == [102.69, 289.38]


def test_a_run_with_the_same_durability_shows_what_was_published(cli: Cli, small: Small) -> None:
    file = write_small(small, cli.directory)
    document = cli.run(file, "--same-durability", "process-safe", "--rounds", "1")
    assert [cell["system"]["name"] for cell in document["cells"]] == ["sqlite:?synchronous=off"] * 2
    assert [cell["published"]["value"] for cell in document["cells"]] == [10.0, 11.0]


def test_errors(tmp_path: Path) -> None:
    text = package_path("experiments", "promo-code.toml").read_text()
    file = tmp_path / "x.toml"
    for old, new, message in [
        (
            "e7_promo_code.csv",
            "e7_promo_cod.csv",
            "no such file `e7_promo_cod.csv`; did you mean `e7_promo_code.csv`?",
        ),
        ('value = "ssd"', 'value = "sdd"', "unknown column `sdd` in `e7_promo_code.csv`; did you mean `ssd`?"),
        ('value = "ssd"', 'value = "what"', "`1000 inserts one connection rollback journal` is not a number"),
    ]:
        assert old in text
        file.write_text(text.replace(old, new))
        with pytest.raises(InputError) as caught:
            load_published(load_experiment(str(file)))
        assert message in str(caught.value)


def test_an_experiment_without_any_has_none() -> None:
    assert load_published(load_experiment(next(path for path in FIXTURES if "web-login" in path))) is None
