"""Questions that people ask in public: planted figures, and the words that the first twelve lines must have."""

from __future__ import annotations

from itertools import product

import pytest

from conftest import Cli
from planted import Planted, first_lines


def test_7_database_is_locked_in_wal_with_a_busy_timeout(cli: Cli) -> None:
    """Failures stand first, with their cure."""
    cells = [
        Planted(
            {"begin": begin, "synchronous": sync},
            rate,
            failed=0.034 if begin == "deferred" else 0.0,
            slowest=2400 if begin == "deferred" else 200,
            durability="process-safe" if sync == "normal" else "power-safe",
            asked={"synchronous": sync},
        )
        for begin, sync, rate in [
            ("deferred", "full", 2600),
            ("deferred", "normal", 5200),
            ("immediate", "full", 2700),
            ("immediate", "normal", 5300),
        ]
    ]
    said = first_lines(cli, cells, factors={"begin": ["deferred", "immediate"], "synchronous": ["full", "normal"]})
    assert 'As it is, 3.4 % of transactions fail ("database is locked") and the slowest takes 2.4 s' in said
    assert "take BEGIN IMMEDIATE failures 3.4 % -> 0" in said
    assert "maybe PRAGMA synchronous = normal" in said
    assert "may lose the last commits when power fails" in said
    assert "slowest failed" in said


def test_11_sqlite_or_postgresql_as_our_default(cli: Cli) -> None:
    """The fastest engine at each load, in units, and the bottleneck of each."""
    rates = {"sqlite:": (9000, 11_000), "postgresql:": (4000, 24_000), "mysql:": (3000, 15_000)}
    # PostgreSQL has the highest throughput at 16 clients, MariaDB keeps requests waiting least.
    cells = [
        Planted({"clients": clients, "system": system}, of[place], p99=p99, clients=clients)
        for (place, clients), (system, of) in product(enumerate((1, 16)), rates.items())
        for p99 in [{"sqlite:": 20.0, "postgresql:": 8.0, "mysql:": 4.0}[system]]
    ]
    said = first_lines(
        cli,
        cells,
        factors={"clients": [1, 16], "system": list(rates)},
        load='clients = "${clients}"',
    )
    assert (
        "sqlite has the highest throughput: 9,000 transactions/s, postgresql 4,000, mysql 3,000 at clients=1." in said
    )
    assert (
        "postgresql has the highest throughput: 24,000 transactions/s, mysql 15,000, sqlite 11,000 at clients=16."
        in said
    )
    assert "mysql has the shortest p99: 3.98 ms, postgresql 7.96 ms, sqlite 19.9 ms." in said
    assert "commits survive power loss" in said
    assert "fastest" not in said


def test_14_how_bad_is_a_slow_fsync_for_us(cli: Cli) -> None:
    cells = [
        Planted({"commit": name}, rate, durability=durable, time={"sync": sync, "engine": 1 - sync}, clients=1)
        for name, rate, durable, sync in [("durable", 70, "power-safe", 0.93), ("later", 900, "process-safe", 0.0)]
    ]
    said = first_lines(cli, cells, factors={"commit": ["durable", "later"]})
    assert "maybe later 12.9x" in said and "may lose the last commits when power fails" in said
    assert "Keep durable: every other configuration has a price." in said


def test_15_what_is_normal_if_rounds_differ_by_half(cli: Cli) -> None:
    said = first_lines(cli, [Planted({}, 380, rates=(284, 474, 290, 470, 286, 468, 292, 476, 288, 472))], factors={})
    assert "The rounds fall into two groups, around 288 and 472" in said


def test_23_skip_locked_or_advisory_locks_for_the_queue(cli: Cli) -> None:
    cells = [
        Planted({"take": name}, rate, failed=failed, message="could not serialize access")
        for name, rate, failed in [("for_update", 400, 0.0), ("skip_locked", 2100, 0.0), ("advisory", 2400, 0.08)]
    ]
    said = first_lines(cli, cells, factors={"take": ["for_update", "skip_locked", "advisory"]})
    assert "Take skip_locked: 2,100 transactions/s instead of 400.0." in said
    assert "take skip_locked 5.25x" in said and "no price" in said
    assert "maybe advisory 6.00x" in said and "failures 0 -> 8.0 %" in said
    assert "fastest" not in said


def test_31_slower_in_docker_on_the_same_volume(cli: Cli) -> None:
    systems = ["postgresql://a/db#host", "postgresql://b/db#docker"]
    cells = [Planted({"system": name}, rate) for name, rate in zip(systems, (4000, 1000), strict=True)]
    said = first_lines(cli, cells, factors={"system": systems})
    assert "Keep host: it is faster (4,000 against 1,000 transactions/s with docker)." in said
    assert "skip docker 0.250x" in said


def test_33_offset_or_keyset(cli: Cli) -> None:
    cells = [Planted({"statement": name}, rate, writes=0.0) for name, rate in [("offset", 20), ("keyset", 4600)]]
    said = first_lines(cli, cells, factors={"statement": ["offset", "keyset"]})
    assert "Take keyset: 4,600 transactions/s instead of 19.98." in said
    assert "take keyset 230x" in said


@pytest.mark.parametrize("same", [True, False])
def test_34_is_the_comparison_fair(cli: Cli, same: bool) -> None:
    """Another class of durability is a price, in the same lines as the figures."""
    cells = [
        Planted({"system": "postgresql:"}, 900),
        Planted({"system": "mysql:"}, 9000, durability="power-safe" if same else "none"),
    ]
    said = first_lines(cli, cells, factors={"system": ["postgresql:", "mysql:"]})
    assert "mysql is faster than postgresql: 9,000 against 900.0 transactions/s (10.0x [" in said
    assert ("commits survive power loss" in said) == same
    assert ("mysql: may lose the last commits at a crash" in said) != same


def test_39_is_it_my_client_that_is_slow(cli: Cli) -> None:
    cell = Planted({}, 900_000, clients=1, time={"client": 0.95, "server": 0.05}, cpu_percent=99.0, writes=0.0)
    said = first_lines(cli, [cell], factors={})
    assert "900,000 transactions/s" in said
    assert "client" in said.partition("transactions/s")[2]


def test_42_it_gets_slower_in_one_process(cli: Cli) -> None:
    cells = [Planted({"rows": rows}, rate, clients=1) for rows, rate in [(1000, 900), (100_000, 250)]]
    said = first_lines(
        cli,
        cells,
        factors={"rows": [1000, 100_000]},
        definition='[report]\nroles = { rows = "load" }\n',
        report={"roles": {"rows": "load"}},
    )
    assert "From 250.0 transactions/s" in said and "at rows=100000 to 900.0 transactions/s" in said


@pytest.mark.parametrize(("served", "words"), [(2000, "All of the 2,000/s offered were served"), (880, "56 % never")])
def test_44_will_this_machine_take_2000_inserts_per_second(cli: Cli, served: int, words: str) -> None:
    cell = Planted({}, served, offered=2000, writes=1.0, p99=4.1, time={"idle": 0.6, "engine": 0.4})
    said = first_lines(cli, [cell], factors={})
    assert words in said
    assert "p99" in said and "slowest" in said


def test_an_open_loop_is_judged_by_its_response_time(cli: Cli) -> None:
    p99 = {("sqlite:", 50): 16.0, ("sqlite:", 2000): 7.5, ("postgresql:", 50): 5.9, ("postgresql:", 2000): 4.9}
    cells = [
        Planted({"rate": rate, "system": system}, rate, p99=of, offered=rate)
        for (system, rate), of in sorted(p99.items(), key=lambda each: each[0][1])
    ]
    said = first_lines(
        cli,
        cells,
        factors={"rate": [50, 2000], "system": ["sqlite:", "postgresql:"]},
        load='clients = 8\narrival = { rate = "${rate}" }',
    )
    assert "Both serve rate=2000." in said
    assert "postgresql is faster than sqlite by p99: 4.88 ms against 7.46 ms (1.53x [" in said
    assert "p99 ms rate=50 rate=2000" in said


def test_claims_of_a_source_are_confirmed_or_refuted_with_figures(cli: Cli) -> None:
    definition = """
[[claims]]
says = "a shared cache is slower"
of = { cache = "shared" }
against = { cache = "private" }
expect = "slower"

[[claims]]
says = "an index is faster"
of = { cache = "indexed" }
against = { cache = "private" }
expect = "faster"
"""
    cells = [
        Planted({"cache": name}, rate) for name, rate in [("private", 33_000), ("shared", 14_000), ("indexed", 22_000)]
    ]
    said = first_lines(cli, cells, factors={"cache": ["private", "shared", "indexed"]}, definition=definition)
    assert "Confirmed: a shared cache is slower: 33,000 -> 14,000 transactions/s (0.424x [" in said
    assert "Refuted: an index is faster: 33,000 -> 22,000 transactions/s (0.667x [" in said
