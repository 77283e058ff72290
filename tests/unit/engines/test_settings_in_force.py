"""Settings that can be asked for are read back, and told where they are not what was asked for."""

from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Cli
from dbdyno.engines.sqlite.settings import _LOAD_PRAGMAS, _TRIAL_PRAGMAS, is_in_effect, read_settings
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask

# For each a value that is not its default.
ASKED = {
    "page_size": "8192",
    "encoding": "UTF-16",
    "auto_vacuum": "incremental",
    "application_id": "7",
    "user_version": "-7",
    "analysis_limit": "100",
    "automatic_index": "off",
    "cache_size": "-4000",
    "cache_spill": "off",
    "case_sensitive_like": "on",
    "cell_size_check": "on",
    "checkpoint_fullfsync": "on",
    "defer_foreign_keys": "on",
    "foreign_keys": "on",
    "fullfsync": "on",
    "hard_heap_limit": "900000000",
    "ignore_check_constraints": "on",
    "journal_mode": "truncate",
    "journal_size_limit": "4096",
    "locking_mode": "exclusive",
    "max_page_count": "5000",
    "mmap_size": "65536",
    "query_only": "on",
    "read_uncommitted": "on",
    "recursive_triggers": "on",
    "reverse_unordered_selects": "on",
    "secure_delete": "fast",
    "soft_heap_limit": "800000000",
    "synchronous": "extra",
    "temp_store": "memory",
    "threads": "3",
    "trusted_schema": "off",
    "wal_autocheckpoint": "-3",
}


def read_back(path: Path, pragmas: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    target = {"engine": "sqlite", "path": str(path), "pragmas": [list(each) for each in pragmas]}
    facts = ask({"schema": PLAN, "seed": 0, "task": {"kind": "inspect", "target": target}}, FactsRead)
    return facts.engine.settings


def test_each_pragma_that_can_be_asked_for_is_tried_here() -> None:
    assert set(ASKED) == {*_LOAD_PRAGMAS, *_TRIAL_PRAGMAS}


@pytest.mark.parametrize("name", ASKED)
def test_a_setting_that_is_asked_for_is_read_back(name: str, tmp_path: Path) -> None:
    settings = read_settings({name: ASKED[name]}, "here")
    ((_, value),) = (*settings.load_pragmas, *settings.trial_pragmas)
    usual = read_back(tmp_path / "usual.db", ())
    assert is_in_effect(name, value, usual[name]) is False, "this is the default"
    # The end of any transaction turns that one off again, so that no connection has it from its start.
    kept = name != "defer_foreign_keys"
    assert is_in_effect(name, value, read_back(tmp_path / "asked.db", ((name, value),))[name]) is kept


def test_the_settings_of_a_database_in_utf_16_are_read_as_text(tmp_path: Path) -> None:
    settings = read_back(tmp_path / "wide.db", (("encoding", "'UTF-16'"), ("journal_mode", "truncate")))
    assert (settings["encoding"][:6], settings["journal_mode"]) == ("UTF-16", "truncate")


@pytest.mark.parametrize(
    ("name", "asked", "found", "same"),
    [
        ("cache_spill", "1", "483", True),
        ("cache_spill", "1", "0", False),
        ("encoding", "'UTF-16'", "UTF-16le", True),
        ("encoding", "'UTF-16'", "UTF-8", False),
        ("synchronous", "1", "normal", True),
        ("temp_store", "memory", "2", True),
        ("threads", "100", "8", False),
        ("trusted_schema", "0", None, False),
        ("library", "/a.so", None, None),
        ("cache", "shared", "shared", None),
        ("journal_size_limit", "-5", "-1", True),
        ("wal_autocheckpoint", "-3", "0", True),
    ],
)
def test_what_is_the_same_by_another_word_is_known(name: str, asked: str, found: str | None, same: bool | None) -> None:
    assert is_in_effect(name, asked, found) is same


def test_a_setting_that_is_not_in_force_is_told(cli: Cli) -> None:
    file = cli.write("small.toml", SMALL)
    url = "sqlite:?threads=100&cache_size=100"
    document = cli.run(file, "--system", url, "--rounds", "1", "--set", "clients=1,2")
    (found,) = (each for each in document["findings"] if each["kind"] == "setting not in force")
    assert (
        found["text"]
        == "sqlite:?threads=100&cache_size=100: `threads=100` was requested, but `threads=8` is in effect."
    )
    assert len(found["cells"]) == 2
    assert document["cells"][0]["system"]["settings"]["threads"] == "8"
