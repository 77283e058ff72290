"""The templates of `dbdyno init`: each is written and run, by the real command line, on a real database."""

import pytest

from conftest import Cli
from dbdyno.base.resources import template_names
from experiment_files import SERVICES, shortened
from http_service import service
from installed_servers import needs_mysql, needs_postgresql
from repeated import repeated

# Of the factors that are settings or choices, what leaves one or two cells.
FEWER = {
    "engines": ["clients=4"],
    "queue": ["clients=4", "journal_mode=wal", "synchronous=normal", "begin=immediate"],
    "settings": ["journal_mode=wal", "synchronous=normal", "cache_size=-2000", "mmap_size=0", "page_size=4096,8192"],
    "web-service": ["clients=2"],
}


def written(cli: Cli, name: str) -> str:
    """Write a template as it is, but for a window that suits a test."""
    assert cli("init", "my.toml", "--template", name) == "wrote my.toml; run it with: dbdyno run ./my.toml\n"
    text = (cli.directory / "my.toml").read_text()
    short, found = shortened(text)
    assert found == 2
    return cli.write("my.toml", short)


def test_each_has_its_test() -> None:
    assert template_names() == sorted([*FEWER, *SERVICES])


@repeated
@pytest.mark.parametrize("name", sorted(FEWER))
def test_one_is_written_and_runs_on_sqlite_as_it_is(cli: Cli, name: str) -> None:
    path = written(cli, name)
    chosen = [word for each in FEWER[name] for word in ("--set", each)]
    document = cli.run(path, "--rounds", "1", *chosen)
    assert document["experiment"] == name
    for cell in document["cells"]:
        for one in cell["rounds"]:
            assert one["status"] == "done"
            assert one["ok"] > 0
            assert one["failed"] == {}
        # Every statement of the file has been run.
        assert {each["name"] for each in cell["operations"] if each["count"] == 0} == set()


@pytest.mark.parametrize("name", SERVICES)
def test_one_for_a_service_runs_on_one(cli: Cli, name: str) -> None:
    path = written(cli, name)
    with service() as (_, port):
        url = f"http://127.0.0.1:{port}/"
        document = cli.run(path, "--rounds", "1", "--set", "keepalive=on,off", "--set", "clients=2", "--system", url)
    assert len(document["cells"]) == 2
    for cell in document["cells"]:
        assert [(one["status"], one["failed"]) for one in cell["rounds"]] == [("done", {})]
        assert {each["name"] for each in cell["operations"] if each["count"] == 0} == set()


def test_the_queue_has_few_enough_cells_for_four_minutes(cli: Cli) -> None:
    cli("init", "my.toml", "--template", "queue")
    assert "5 rounds of 32 cells" in cli("describe", "./my.toml")
    assert "stop = { seconds = 0.5 }" in (cli.directory / "my.toml").read_text()


def test_an_index_is_a_choice_of_the_queue(cli: Cli) -> None:
    cli("init", "my.toml", "--template", "queue")
    assert "create index" not in cli("describe", "./my.toml", "--set", "index=false")
    assert "create index" in cli("describe", "./my.toml", "--set", "index=true")


@pytest.mark.parametrize("name", ["engines", "web-service"])
@pytest.mark.parametrize(
    "system",
    [pytest.param("postgresql:", marks=needs_postgresql), pytest.param("mysql:", marks=needs_mysql)],
)
def test_one_for_several_engines_runs_on_a_server(server_cli: Cli, name: str, system: str) -> None:
    path = written(server_cli, name)
    document = server_cli.run(path, "--rounds", "1", "--set", "clients=2", "--system", "sqlite:", "--system", system)
    assert len(document["cells"]) == 2
    for cell in document["cells"]:
        assert [(one["status"], one["failed"]) for one in cell["rounds"]] == [("done", {})]


def test_an_unknown_one_is_one_message_with_the_names(cli: Cli) -> None:
    errors = cli("init", "my.toml", "--template", "que", code=2)
    assert errors == (
        "dbdyno: --template que: no such template; "
        "the templates are engines, http-service, queue, settings, web-service, and all experiments of `dbdyno list`\n"
    )
    assert "give one" in cli("init", "my.toml", "--template", "queue", "--from", "pk-lookup", code=2)
    assert not (cli.directory / "my.toml").exists()


def test_the_help_names_them(cli: Cli) -> None:
    said = " ".join(cli("init", "--help").replace("│", " ").split())
    assert "engines, http-service, queue, settings, web-service" in said
