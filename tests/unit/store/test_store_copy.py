"""Copying runs between stores of either kind. The results stored here are synthetic."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from conftest import Cli
from dbdyno.analysis.document import build_document
from dbdyno.base.errors import InputError, StoreError
from dbdyno.model.result.convert import to_json
from dbdyno.store import RunStatus, Store, TrialRecord, open_store
from dbdyno.store.process import this_process
from dbdyno.store.run_copy import copy_run, copy_runs
from dbdyno.store.tables import META, RUNS, TRIALS
from parallel import run_in_parallel
from synthetic import lookup_design, lookup_trials, run_record


@pytest.fixture
def there(place: str) -> Iterator[Store]:
    """The store that runs are copied to."""
    with closing(open_store(place)) as opened:
        yield opened


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Store]:
    """The store that they are copied from."""
    with closing(open_store(str(tmp_path / "here.db"))) as opened:
        yield opened


def begun(store: Store, started: str = "2026-01-01T00:00:00.000+00:00", **more: object) -> str:
    return store.begin_run(run_record(lookup_design(), started=started, **more))


def measured(store: Store, run_id: str, rounds: int = 2, status: RunStatus | None = "done") -> str:
    for each in lookup_trials(lookup_design(), rounds=rounds, seed=3):
        store.add_trial(run_id, each)
    if status is not None:
        store.finish_run(run_id, status, [{"kind": "ended", "why": "most"}])
    return run_id


def trial(block: int) -> TrialRecord:
    return TrialRecord(cell="threads=1", block=block, position=0, status="done")


def outcomes(source: Store, target: Store, *names: str) -> list[tuple[str, str, int]]:
    return [(each.run, each.outcome, each.trials) for each in copy_runs(source, target, names)]


def all_of(store: Store) -> list[object]:
    """Every row of a store, with the numbers of its trials."""
    with store.reading() as connection:
        queries = (select(RUNS).order_by(RUNS.c.id), select(TRIALS).order_by(TRIALS.c.id), select(META))
        return [[tuple(row) for row in connection.execute(each)] for each in queries]


def document(store: Store, run_id: str) -> bytes:
    return json.dumps(to_json(build_document(store.run(run_id), store.trials(run_id)))).encode()


def test_a_document_of_a_copy_is_the_same_byte_for_byte(here: Store, there: Store, tmp_path: Path) -> None:
    run_id = measured(here, begun(here))
    assert outcomes(here, there) == [(run_id, "copied", len(here.trials(run_id)))]
    assert document(there, run_id) == document(here, run_id)
    with closing(open_store(str(tmp_path / "back.db"))) as back:
        copy_run(there, back, run_id)
        assert document(back, run_id) == document(here, run_id)
        assert back.run(run_id) == here.run(run_id)


def test_copying_again_adds_nothing(here: Store, there: Store) -> None:
    ids = [measured(here, begun(here, f"2026-01-0{day}T00:00:00.000+00:00")) for day in (1, 2)]
    here.set_baseline("main", ids[0])
    here.set_noise("pk-lookup", {"deviation": 0.01})
    assert [each[:2] for each in outcomes(here, there)] == [(each, "copied") for each in ids]
    before = all_of(there)
    assert outcomes(here, there) == [(each, "unchanged", 0) for each in ids]
    assert outcomes(here, there, *ids) == [(each, "unchanged", 0) for each in ids]
    assert all_of(there) == before
    assert there.baselines() == {"main": ids[0]} and there.noise("pk-lookup") == {"deviation": 0.01}


def test_the_runs_that_are_named_are_copied_and_no_baselines(here: Store, there: Store) -> None:
    ids = [measured(here, begun(here, f"2026-01-0{day}T00:00:00.000+00:00")) for day in (1, 2, 3)]
    here.set_baseline("main", ids[0])
    assert [each[0] for each in outcomes(here, there, "last", ids[0], ids[2])] == [ids[2], ids[0]]
    assert {each.id for each in there.runs()} == {ids[0], ids[2]}
    assert there.baselines() == {}
    with pytest.raises(InputError, match="no such run"):
        outcomes(here, there, ids[1], "nonsense")
    assert len(there.runs()) == 2


def test_what_is_kept_by_a_name_there_stays(here: Store, there: Store) -> None:
    for store, day in ((here, 1), (there, 2)):
        run_id = begun(store, f"2026-01-0{day}T00:00:00.000+00:00")
        store.set_baseline("main", run_id)
        store.set_noise("pk-lookup", {"deviation": day})
    before = there.baselines()
    outcomes(here, there)
    assert (there.baselines(), there.noise("pk-lookup")) == (before, {"deviation": 2})


def test_a_run_that_went_on_is_added_to(here: Store, there: Store) -> None:
    run_id = begun(here, options={"process": this_process()})
    here.add_trial(run_id, trial(0))
    assert outcomes(here, there) == [(run_id, "copied", 1)]
    assert there.run(run_id).status == "running"
    assert outcomes(here, there) == [(run_id, "unchanged", 0)]
    here.update_run(run_id, device={"sync_us": 5.0})
    assert outcomes(here, there) == [(run_id, "added to", 0)]
    here.add_trial(run_id, replace(trial(1), status="failed", error="killed"))
    here.add_trial(run_id, trial(1))
    here.finish_run(run_id, "done")
    assert outcomes(here, there) == [(run_id, "added to", 2)]
    assert there.run(run_id) == here.run(run_id)
    strip = [replace(each, id=None) for each in there.trials(run_id)]
    assert strip == [replace(each, id=None) for each in here.trials(run_id)]


def test_a_copy_that_went_on_is_left_alone(here: Store, there: Store) -> None:
    run_id = begun(here)
    here.add_trial(run_id, trial(0))
    here.finish_run(run_id, "interrupted")
    outcomes(here, there)
    there.update_run(run_id, status="running", options={"process": this_process()})
    assert outcomes(here, there) == [(run_id, "unchanged", 0)]
    there.add_trial(run_id, trial(1))
    there.finish_run(run_id, "done")
    assert outcomes(here, there) == [(run_id, "unchanged", 0)]
    assert (there.run(run_id).status, len(there.trials(run_id))) == ("done", 2)


def test_a_run_that_went_on_in_both_is_refused_in_words(here: Store, there: Store) -> None:
    run_id = begun(here)
    outcomes(here, there)
    here.add_trial(run_id, trial(0))
    there.add_trial(run_id, trial(1))
    (said,) = copy_runs(here, there)
    assert (said.outcome, said.why) == ("not copied", "its trials differ from the trials in the target")
    assert [each.block for each in there.trials(run_id)] == [1]


def test_another_run_with_the_same_id_is_refused_and_the_others_are_copied(
    here: Store, there: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as same:
        same.setattr("dbdyno.store.store.secrets.choice", lambda _: "b")
        ids = {begun(here, seed=1), begun(there, seed=2)}
    (clash,) = ids
    other = measured(here, begun(here, "2026-02-01T00:00:00.000+00:00"))
    said = list(copy_runs(here, there))
    assert [(each.run, each.outcome) for each in said] == [(clash, "not copied"), (other, "copied")]
    assert said[0].why == "the target contains another run with this id"
    assert there.run(clash).seed == 2


def test_a_killed_run_is_no_running_one_in_another_store(here: Store, there: Store) -> None:
    run_id = begun(here, options={"process": this_process() | {"pid": 2**22 + 1}})
    assert here.run(run_id).status == "interrupted"
    outcomes(here, there)
    with there.reading() as connection:
        assert connection.execute(select(RUNS.c.status)).scalar_one() == "interrupted"
    assert document(there, run_id) == document(here, run_id)


def test_a_run_is_copied_whole_or_not_at_all(here: Store, there: Store) -> None:
    run_id = begun(here)
    for block in range(4):
        here.add_trial(run_id, trial(block))
    with closing(sqlite3.connect(here.location)) as raw, raw:
        raw.execute("UPDATE dbdyno_trials SET result = '{' WHERE block = 3")
    with pytest.raises(StoreError, match=r"here\.db: contains unreadable data"):
        outcomes(here, there)
    assert there.runs() == []


def test_several_who_copy_at_once_copy_once(here: Store, there: Store, place: str) -> None:
    ids = [measured(here, begun(here, f"2026-01-0{day}T00:00:00.000+00:00")) for day in (1, 2, 3)]
    imports = "from dbdyno.store import open_store\nfrom dbdyno.store.run_copy import copy_runs"
    does = f"""
source, target = open_store({here.location!r}), open_store({place!r})
together()
print(sum(each.trials for each in copy_runs(source, target)))
"""
    copied = list(map(int, run_in_parallel(4, imports + does)))
    with there.reading() as connection:
        assert connection.execute(select(func.count()).select_from(TRIALS)).scalar_one() == sum(copied)
    assert sum(copied) == sum(len(here.trials(each)) for each in ids)
    assert [document(there, each) for each in ids] == [document(here, each) for each in ids]


def test_the_command_says_what_became_of_each_run(cli: Cli, place: str) -> None:
    with closing(open_store(str(cli.directory / "from.db"))) as source:
        ids = [measured(source, begun(source, f"2026-01-0{day}T00:00:00.000+00:00")) for day in (1, 2)]
        trials = len(source.trials(ids[0]))
    said = cli("store", "copy", "from.db", place, ids[0])
    assert said.splitlines()[0] == f"{ids[0]}  pk-lookup  copied, {trials} trials"
    said = cli("store", "copy", "from.db", place)
    assert f"{ids[0]}  pk-lookup  unchanged\n" in said and "1 unchanged, 1 copied" in said
    with closing(open_store(str(cli.directory / "from.db"))) as source:
        source.update_run(ids[0], options={"place": "x", "folder": "."})
        source.add_trial(ids[0], trial(99))
    with closing(open_store(place)) as target:
        target.add_trial(ids[0], trial(98))
    assert f"{ids[0]}  pk-lookup  not copied: its trials differ from the trials in the target" in cli(
        "store", "copy", "from.db", place, code=1
    )


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("none.db", "to.db", "--store none.db: no such store"),
        ("here.db", "./here.db", "this is one store; give two"),
        ("here.db", "mysql://me@host/db", "a store is a SQLite file or a PostgreSQL database"),
    ],
)
def test_what_cannot_be_copied_is_told(cli: Cli, source: str, target: str, words: str) -> None:
    open_store(str(cli.directory / "here.db")).close()
    assert words in cli("store", "copy", source, target, code=2)
    assert not (cli.directory / "none.db").exists()


def test_the_users_own_store_has_a_name(cli: Cli) -> None:
    with closing(open_store(str(cli.directory / "data" / "dbdyno" / "runs.db"))) as own:
        run_id = begun(own)
    assert f"{run_id}  pk-lookup  copied" in cli("store", "copy", "default", "to.db")
