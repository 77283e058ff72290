"""Hosts: what a run keeps ready, and that nothing of it is left behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.compile import CompiledCell, compile_cell
from dbdyno.design import make_cells
from dbdyno.errors import SystemFailed
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.run.hosts import Hosts
from dbdyno.systems.managed import create_data, find_installations, start_server
from dbdyno.systems.url import parse_url
from test_server_runs import needs_postgresql

Small = Callable[..., str]


def compiled(text: str, url: str) -> CompiledCell:
    """The first cell of an experiment on a system."""
    experiment = make_experiment(parse(text, "small.toml", Path()))
    return compile_cell(experiment, make_cells(experiment, systems=[parse_url(url)]).cells[0])


@needs_postgresql
def test_the_directory_goes_although_a_database_cannot_be_removed(
    server_cli: Cli, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", server_cli.environment["DBDYNO_CACHE"])
    installation = find_installations("postgresql")[0]
    create_data(installation, server_cli.directory / "data")
    hosts = Hosts(server_cli.directory)
    with start_server(installation, server_cli.directory / "data", server_cli.directory, {}) as server:
        host = str(server.socket).replace("/", "%2F")
        cell = compiled(small(), f"postgresql://{server.user}@{host}:{server.port}/")
        with hosts.of(cell).ready(cell, 0) as ready:
            assert ready.target["database"] != "postgres"
    assert hosts.workspace.path.is_dir()
    # The server is gone, and with it the way to drop what was made on it.
    with pytest.raises(SystemFailed):
        hosts.close()
    assert not hosts.workspace.path.exists()
