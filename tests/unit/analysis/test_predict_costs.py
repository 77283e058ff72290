"""What a prediction is made of: kinds of keys, engines' rules, devices, and the costs of an insert."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.analysis.measured.keys import NewKeys
from dbdyno.analysis.predict.device import Device
from dbdyno.analysis.predict.fit import Sample, Use, fit
from dbdyno.analysis.predict.predict import slower_sizes
from dbdyno.analysis.predict.series import KeySeries, Observed
from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of_product
from dbdyno.engines.btree import BtreeRules
from dbdyno.model.plan.generators import (
    Constant,
    Generator,
    SequenceBlocked,
    SequenceBlocks,
    Serial,
    TimeBlocked,
    TimeBlocks,
    Uniform,
    Uuid,
)
from dbdyno.model.plan.steps import Execute, Transaction
from dbdyno.model.plan.tasks import TrialTask


def task(param: Generator) -> TrialTask:
    step = Execute(statement=0, params=[Constant(value=1), param])
    return TrialTask(transactions=[Transaction(name="t", steps=[step])])


def blocked(size: int, count: int) -> Uuid:
    return Uuid(version=SequenceBlocked(sequence_blocked=SequenceBlocks(block_size=size, block_count=count)))


@pytest.mark.parametrize(
    ("param", "expected"),
    [
        (Uuid(version="v4"), NewKeys("v4")),
        (Serial(), NewKeys("serial")),
        (Uniform(low=1, high=9), NewKeys("")),
        # 256 prefixes take one byte; 257 take two, and blocks are smaller, so that the prefix begins again as soon.
        (blocked(100, 256), NewKeys("sequence_blocked", 100, 256)),
        (blocked(1000, 257), NewKeys("sequence_blocked", 3, 65_536)),
        (
            Uuid(version=TimeBlocked(time_blocked=TimeBlocks(interval_length=60, interval_count=65_536))),
            NewKeys("time_blocked", 60, 65_536),
        ),
        (blocked(2, 1), NewKeys("v4")),
    ],
)
def test_the_order_of_keys_is_read_from_a_plan(param: Generator, expected: NewKeys) -> None:
    assert NewKeys.of(task(param)) == expected


def test_engines_give_their_rules_by_the_settings_in_force() -> None:
    settings = {
        "shared_buffers": "16MB", "max_wal_size": "1GB", "checkpoint_timeout": "5min", "full_page_writes": "off",
    }  # fmt: skip
    postgresql = engine_of_product("PostgreSQL").btree(settings, "index", numbered=False)
    assert postgresql is not None
    assert (postgresql.cache_pages, postgresql.checkpoint_seconds) == (2048, 300.0)
    assert postgresql.checkpoint_log_bytes == pytest.approx(2**30 / 1.9)
    assert not postgresql.page_images
    # A heap is no B-tree.
    assert engine_of_product("PostgreSQL").btree(settings, "table", numbered=False) is None
    settings = {"innodb_buffer_pool_size": "25165824", "innodb_log_file_size": "100663296"}
    innodb = engine_of_product("MariaDB").btree(settings, "table", numbered=False)
    assert innodb is not None and innodb.cache_pages == 1536 and innodb.fuzzy
    assert innodb.split == {"rule": "last_insert", "reserve": True}
    settings = {"page_size": "4096", "cache_size": "-8192", "journal_mode": "wal", "wal_autocheckpoint": "500"}
    sqlite = engine_of_product("SQLite").btree(settings, "index", numbered=False)
    assert sqlite is not None
    assert (sqlite.cache_pages, sqlite.checkpoint_log_bytes) == (2048, 500 * 4096)
    assert engine_of_product("SQLite").btree(settings | {"journal_mode": "delete"}, "index", numbered=False) is None
    for product in ("PostgreSQL", "MariaDB", "SQLite", "MongoDB", "DuckDB"):
        assert engine_of_product(product).btree({}, "index", numbered=False) is None


PROBED = {
    "sync_us": 100.0,
    "large_sync_us": 1000.0,
    "large_sync_bytes": 1_000_000,
    "random_read": [
        {"depth": 1, "per_s": 10_000.0, "mean_us": 100.0},
        {"depth": 4, "per_s": 20_000.0, "mean_us": 200.0},
        {"depth": 16, "per_s": 40_000.0, "mean_us": 400.0},
    ],
    "random_write": [{"depth": 1, "per_s": 5000.0, "mean_us": 200.0}],
}


def test_a_read_takes_longer_among_others() -> None:
    device = Device.of(PROBED, "run x")
    assert device.read_seconds(1) == pytest.approx(100e-6)
    assert device.read_seconds(4) == pytest.approx(200e-6)
    assert device.read_seconds(8) == pytest.approx(300e-6)
    times = [device.read_seconds(depth) for depth in (1, 2, 3, 4, 6, 16, 32, 64)]
    assert times == sorted(times)
    # Beyond what was probed it does no more a second.
    assert device.read_seconds(64) == pytest.approx(64 / 40_000)
    assert (device.writes_per_s, device.log_bytes_per_s) == (5000.0, pytest.approx(1e9))


def test_a_device_can_be_said_to_be_another() -> None:
    device = Device.of(PROBED, "run x")
    assert device.changed({}) == device
    disk = device.changed({"read_s": 8e-3})
    assert disk.read_seconds(1) == pytest.approx(8e-3)
    assert disk.reads_per_s == pytest.approx(125.0)
    # A disk does one at a time.
    assert disk.read_seconds(4) == pytest.approx(32e-3)
    several = device.changed({"read_s": 1e-3, "reads_per_s": 4000.0})
    assert several.read_seconds(4) == pytest.approx(1e-3)


def test_a_run_without_a_probe_is_refused() -> None:
    with pytest.raises(InputError, match="run x: the storage device was not probed"):
        Device.of({}, "run x")


@settings(max_examples=60, deadline=None)
@given(
    insert=st.floats(1e-5, 1e-3),
    miss=st.floats(5e-6, 5e-4),
    page=st.floats(1e-5, 6e-5),
    read=st.floats(2e-5, 8e-3),
)
def test_costs_are_found_that_made_the_times(insert: float, miss: float, page: float, read: float) -> None:
    """From three sizes, at a fourth with three times the reads."""

    def seconds(use: Use) -> float:
        return insert + miss * use.misses + page * use.pages + read * use.device_reads

    sizes = [Use(0.1, 0.02, 0.0, 0.0), Use(0.6, 0.3, 0.27, 0.0), Use(0.85, 0.6, 0.55, 0.0)]
    samples = [Sample("k", use, seconds(use), 2 * insert) for use in sizes]
    costs = fit(samples, read, 1e-4)
    later = Use(1.4, 1.9, 1.3, 0.0)
    assert sum(costs.terms("k", later, read).values()) == pytest.approx(seconds(later), rel=0.2)
    assert costs.error < 0.05
    assert costs.cpu_s("k", later) == pytest.approx(2 * insert, rel=0.05)


def series(*client_cpu_s: float | None) -> KeySeries:
    """A table that grew, with the client's CPU for an insert at each of its sizes."""
    observed = tuple(
        Observed(10**place, 10.0**place, (1e-4,), 1e4, None, 0.0, 0.0, 0.0, 0.0, 1e-4, cpu_s)
        for place, cpu_s in enumerate(client_cpu_s, 3)
    )
    rules = BtreeRules(page_bytes=8192, leaf_bytes=8152, split={}, cache_pages=100, policy={})
    return KeySeries("k", {}, "PostgreSQL", NewKeys("v4"), rules, 1, 1e9, True, 50, 0.7, 0.0, True, observed)


def test_sizes_at_which_the_machine_was_slower_are_found() -> None:
    """By what the client took, which does the same at each size; an embedded engine's client does not."""
    assert slower_sizes([series(1e-5, 1.2e-5, 1.1e-5, 2.2e-5)], [series(1e-5, 1.2e-5)]) == [(10**6, pytest.approx(2.0))]
    assert slower_sizes([series(None, None)], [series(None)]) == []


def test_a_page_in_the_log_is_as_large_as_the_log_grew() -> None:
    rules = BtreeRules(page_bytes=8192, leaf_bytes=8152, split={}, cache_pages=100, policy={}, page_images=True)

    def logged(*images: float) -> KeySeries:
        observed = tuple(
            Observed(1, 1.0, (1e-4,), 1e4, None, 0.0, 0.0, 200 + 5000 * each, each, 1e-4, None) for each in images
        )
        return KeySeries("k", {}, "PostgreSQL", NewKeys("v4"), rules, 1, 1e9, True, 50, 0.7, 0.0, True, observed)

    assert logged(0.0, 0.5).image_bytes == pytest.approx(5000)
    assert logged(0.0, 0.5).record_bytes == pytest.approx(200)
    # Too few of them to tell: what is used of a page.
    assert logged(0.0, 0.01).image_bytes == pytest.approx(0.7 * 8192)


def test_no_cost_is_below_zero() -> None:
    """Sizes that became faster by chance."""
    samples = [Sample("k", Use(share, share, 0.0, 0.0), 1e-4 * (1 - share / 3), 1e-4) for share in (0.1, 0.5, 0.9)]
    costs = fit(samples, 1e-4, 1e-4)
    found = [costs.insert["k"], costs.miss, costs.page, costs.checkpoint_page, costs.cpu_miss, costs.cpu_page]
    assert min(found) >= 0 and all(math.isfinite(each) for each in found)


def test_an_insert_takes_some_time_even_where_reads_seem_to_take_more_than_all_of_it() -> None:
    samples = [Sample("k", Use(0.0, 0.0, reads, 0.0), 1e-4, None) for reads in (0.1, 0.5, 0.9)]
    costs = fit(samples, 1e-2, 1e-4)
    assert 0 < costs.insert["k"] < 1e-4
    assert sum(costs.terms("k", Use(0.0, 0.0, 0.0, 0.0), 1e-2).values()) > 0
