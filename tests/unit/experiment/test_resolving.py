"""What an experiment is at a cell is worked out once, and handed on."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from dbdyno.engines.sqlite import Sqlite
from dbdyno.engines.url import parse_url
from dbdyno.experiment.experiment import Experiment
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.levels import Level
from dbdyno.model.run_options import RunOptions
from dbdyno.run.request import Request, prepare
from experiment_files import small

TEXT = '[factors]\nthreads = [1, 2]\nsync = ["off", "full"]\n[system.sqlite]\nsynchronous = "${sync}"\n'


@pytest.mark.parametrize("urls", [[], ["sqlite:?cache_size=100", "sqlite:?cache_size=200"]])
def test_a_cell_is_resolved_once(urls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = small(TEXT, load='\n[load]\nclients = "${threads}"\nstop = { transactions = 5 }\n')
    defined: Counter[str] = Counter()
    read: Counter[str] = Counter()
    definition, read_settings = Experiment.definition, Sqlite.read_settings

    def counted_definition(self: Experiment, levels: Mapping[str, Level]) -> Definition:
        defined[" ".join(level.name for level in levels.values())] += 1
        return definition(self, levels)

    def counted_settings(self: Sqlite, settings: Mapping[str, Any], place: str, *, named: bool) -> Any:
        read[str(sorted(settings.items()))] += 1
        return read_settings(self, settings, place, named=named)

    monkeypatch.setattr(Experiment, "definition", counted_definition)
    monkeypatch.setattr(Sqlite, "read_settings", counted_settings)
    request = Request(
        experiment=experiment, systems=[parse_url(url) for url in urls], options=RunOptions(rounds=1, seed=1)
    )
    cells = [each.cell for each in prepare(request).compiled]
    assert len(cells) == 4 * max(len(urls), 1)
    assert set(defined.values()) == {1} and len(defined) == len(cells)
    # Cells that differ in the number of threads have the same settings.
    assert set(read.values()) == {2} and len(read) == len(cells) / 2
    assert all(cell.definition.load.clients == cell.levels["threads"].value for cell in cells)
