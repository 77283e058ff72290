"""What a `dbdyno why` concludes from cells whose rates are known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy
import pytest

from dbdyno.analysis.why.cells import Why as Planned
from dbdyno.analysis.why.conclude import conclude, settled
from dbdyno.analysis.why.pilot import Pilot
from dbdyno.base.numbers import milliseconds
from dbdyno.model.plan.change import AGAIN, CHANGE, UNCHANGED, Change, Resource
from dbdyno.model.result.cell import Bottleneck
from dbdyno.model.result.why import Why, WhyResource
from synthetic_cells import cell, change, some

RATE = 1000.0
# What a transaction takes of it, in microseconds.
TIME_US = 1e6 / RATE
BLOCKS = 6
SIZES = (0.2, 0.5, 1.0)

PILOT = Pilot(TIME_US, 1, {}, {}, None, 0.1, 1000, 1.0, 100.0)
KINDS: dict[Resource, str] = {
    "flush": "sync",
    "read": "read",
    "client": "transaction",
    "message": "message",
    "write": "write",
}


class Simulated:
    """Cells of a system whose resources decide known shares of a transaction's time."""

    def __init__(self, noise: float = 0.01, seed: int = 1) -> None:
        self._random = numpy.random.default_rng(seed)
        self._together = self._random.normal(0, 0.1, BLOCKS)
        self._noise = noise
        self.pilot = PILOT
        self.changes: list[Change] = []
        self.untried: list[dict[str, Any]] = [{"resource": "write", "why": "not used", "share": 0.0}]
        self.cells: list[Any] = [self._cell(UNCHANGED, 1.0), self._cell(AGAIN, 1.0)]

    def _cell(self, level: str, longer: float, **rounds: Any) -> Any:
        logs = math.log(RATE / longer) + self._together + self._random.normal(0, self._noise, BLOCKS)
        return cell(f"change={level}", [float(each) for each in numpy.exp(logs)], {CHANGE: level}, **rounds)

    def calls(self, resource: Resource, share: float, own_us: float = 100.0) -> None:
        """A kind of call that takes a share of the time, each call of so many microseconds; with three delays."""
        kind, each = KINDS[resource], share * TIME_US / own_us if share else 1.0
        told = {kind: {"calls": 1000, "own_s": own_us * 1e-3, "added_s": 0.0}}
        for base in self.cells[:2]:
            for one in base.rounds:
                one.changes = one.changes | told
        for size in SIZES:
            delay = size * TIME_US / each
            level = f"{resource} +{size}"
            self.changes.append(Change(level, resource, "slower", "", "delay", delay, own_us=own_us))
            added = {kind: {"calls": 1000, "own_s": own_us * 1e-3, "added_s": delay * 1e-3}}
            effect = share * delay / own_us
            self.cells.append(self._cell(level, 1 + effect, changes=added))

    def free(self, resource: Resource, gain: float) -> None:
        level = f"{resource} free"
        self.changes.append(Change(level, resource, "free", ""))
        self.cells.append(self._cell(level, 1 / gain))

    def processors(self, share: float) -> None:
        for took in (0.1, 0.25, 0.4):
            level = f"processors -{took}"
            self.changes.append(Change(level, "processors", "slower", "", "share", took, competitor=took))
            self.cells.append(self._cell(level, 1 + share * took / (1 - took), competitor=took))

    def cache(self, elasticity: float) -> None:
        for divided in (2.0, 4.0):
            level = f"cache /{divided:g}"
            self.changes.append(Change(level, "cache", "slower", "", "ratio", divided))
            self.cells.append(self._cell(level, divided**elasticity))

    def why(self, inferred: str | None = None) -> Why:
        self.cells[0].bottleneck = None if inferred is None else some(Bottleneck, resource=inferred)
        planned = Planned("single", self.pilot, self.changes, self.untried, 0.5, 0.1, [], {})
        found = conclude(planned, self.cells)
        assert found is not None
        return found


class Arriving(Simulated):
    """An open loop: its rate is what is offered, and its response times tell what resources decide.

    ``skipped``: by level, the share of the arrivals that never begin; ``idle``: of the clients' time.
    """

    def __init__(self, p99_ms: float = 12.0, idle: float = 0.8, skipped: dict[str, float] | None = None) -> None:
        self._p99_ms, self._idle, self._skipped = p99_ms, idle, skipped or {}
        super().__init__()
        self.pilot = replace(PILOT, busy=1 - idle)

    def _cell(self, level: str, longer: float, **rounds: Any) -> Any:
        made = super()._cell(level, longer, **rounds)
        skipped = self._skipped.get(level, 0.0)
        offered = self._random.normal(RATE, RATE / 100, BLOCKS)
        for each, arrivals in zip(made.rounds, offered, strict=True):
            # Noise is that of the rate that the closed loop would have.
            times = {"p99": self._p99_ms * RATE / each.throughput, "max": 40.0, "at_least": []}
            lost = round(1000 * skipped)
            change(each, issued=1000, skipped=lost, completed=1000 - lost, client_s=1.0)
            change(each, segments={"idle": self._idle}, latency_ms={"response": times, "service": times})
            if not skipped:
                each.throughput = float(arrivals)
            each.transactions_per_s = each.throughput
        made.throughput.mean = sum(each.throughput for each in made.rounds) / BLOCKS
        return made


def resource(why: Why, name: str) -> WhyResource:
    return next(each for each in why.resources if each.resource == name)


def test_the_largest_share_is_the_bottleneck() -> None:
    made = Simulated()
    made.calls("flush", 0.8)
    made.free("flush", 5.0)
    made.calls("read", 0.1)
    made.processors(0.1)
    made.cache(0.02)
    why = made.why("device sync")
    assert why.bottleneck == "flush"
    assert why.text[0].startswith("Flushing the device is the bottleneck: without it, ")
    assert {each.resource: each.verdict for each in why.resources} == {
        "flush": "bottleneck",
        "read": "part",
        "processors": "part",
        "cache": "not",
        "write": "not",
    }
    flush = resource(why, "flush")
    assert flush.elasticity == pytest.approx(0.8, abs=0.05)
    assert flush.share == pytest.approx(0.8, abs=0.02)
    assert flush.inferred_right is True
    assert why.elasticities == pytest.approx(1.0, abs=0.15)
    assert settled(why)
    assert why.resources[0] is flush, "the largest first"
    assert resource(why, "write").untested == "not used"


def test_an_open_loop_is_judged_by_its_response_time() -> None:
    made = Arriving()
    made.calls("flush", 0.8)
    made.free("flush", 5.0)
    made.calls("read", 0.02)
    made.processors(0.15)
    why = made.why("device sync")
    assert why.metric == "p99"
    assert why.bottleneck == "flush"
    flush = resource(why, "flush")
    assert (flush.share, flush.elasticity) == (pytest.approx(0.8, abs=0.02), pytest.approx(0.8, abs=0.05))
    assert resource(why, "read").verdict == "not"
    (free,) = next(test for test in flush.tests if test.kind == "free").changes
    assert free.rate == pytest.approx(1, abs=0.02), "as much arrives whatever it waits for"
    assert free.p99 == pytest.approx(0.2, rel=0.03)
    assert why.p99_ms == pytest.approx(12.0, rel=0.2)
    assert free.p99_ci95 is not None
    low, high = (milliseconds(end * why.p99_ms) for end in free.p99_ci95)
    own, least = milliseconds(why.p99_ms), milliseconds(free.p99 * why.p99_ms)
    assert why.text[0] == (
        "Flushing the device is the bottleneck of the response time: without it, "
        f"the p99 response time falls from {own} ms to {least} [{low}, {high}] ms."
    )
    assert "throughput" not in " ".join(why.text)
    assert settled(why)


def test_of_a_response_time_the_parts_are_named_and_what_was_only_made_slower() -> None:
    made = Arriving()
    made.calls("flush", 0.3)
    made.calls("read", 0.3)
    (first, *_) = made.why().text
    assert first.startswith("No single resource is the bottleneck; each takes part of the p99 response time (1")
    made = Arriving()
    made.calls("read", 0.8)
    (first, *_) = made.why().text
    assert "1 % less of it makes the p99 response time (1" in first
    assert first.endswith("] % shorter.")


def test_arrivals_that_wait_for_one_another_make_elasticities_larger_and_no_other_bottleneck() -> None:
    """With clients that are busy most of the time, each resource decides more than its share of a transaction."""
    made = Arriving(idle=0.3)
    made.calls("write", 1.2)
    made.calls("flush", 3.0)
    made.free("flush", 8.0)
    why = made.why()
    assert why.bottleneck == "flush"
    assert "arrivals wait for each other" in " ".join(why.text)


def test_a_size_that_is_too_much_for_an_open_loop_does_not_count() -> None:
    """Its response times tell how long the window is."""
    made = Arriving(skipped={"flush +1.0": 0.4})
    made.calls("flush", 0.3)
    for each in made.cells[-1].rounds:
        each.latency_ms["response"].p99 = 900.0
    flush = resource(made.why(), "flush")
    assert flush.elasticity == pytest.approx(0.3, abs=0.05)
    assert [each.p99_is_bound for each in flush.tests[0].changes] == [False, False, True]


def test_an_overloaded_open_loop_is_named_first_and_judged_by_what_it_carries() -> None:
    levels = (UNCHANGED, AGAIN, *(f"flush +{size}" for size in SIZES), "locks free")
    made = Arriving(idle=0.0, skipped=dict.fromkeys(levels, 0.6))
    made.calls("flush", 0.8)
    made.free("flush", 2.5)
    made.free("locks", 1.0)
    why = made.why()
    assert why.metric == "throughput"
    assert why.bottleneck == "flush"
    assert why.text[0].startswith("The system cannot serve the offered rate: ")
    assert "60 % never started. Flushing the device is the bottleneck: " in why.text[0]
    assert "without it, all of it is served, " in why.text[0]
    assert "all of it is served" not in " ".join(why.text[1:])


@pytest.mark.parametrize(("more", "said"), [(1, " free, all of it is served."), (0, "No change lets it")])
def test_of_an_overloaded_open_loop_it_is_said_with_what_it_carries_all(more: int, said: str) -> None:
    levels = (UNCHANGED, AGAIN) if more else (UNCHANGED, AGAIN, "locks free", "flush free")
    made = Arriving(idle=0.0, skipped=dict.fromkeys(levels, 0.6))
    made.free("locks", 2.5)
    made.free("flush", 2.5)
    assert said in " ".join(made.why().text[1:])


def test_what_lets_an_overloaded_open_loop_carry_all_gains_so_much_at_least() -> None:
    """It is offered little more than it carries, so that little is gained, and far more might be."""
    made = Arriving(idle=0.0, skipped=dict.fromkeys((UNCHANGED, AGAIN), 0.03))
    for each in (one for base in made.cells for one in base.rounds):
        each.throughput = 900.0 + each.block
    made.free("locks", 8.0)
    why = made.why()
    locks = resource(why, "locks")
    assert locks.verdict == "part", "never that it does not matter"
    assert locks.ci95 is not None
    assert locks.ci95[1] == 1
    assert "is one of several limits: without it, all of it is served, " in why.text[0]


def test_a_response_time_that_is_a_lower_bound_does_not_show_what_makes_it_longer() -> None:
    """Some arrivals are skipped while clients are idle: a stall. What takes it away is shown even so."""
    made = Arriving(skipped=dict.fromkeys((UNCHANGED, AGAIN), 0.02))
    made.calls("read", 0.8)
    made.free("flush", 5.0)
    why = made.why()
    assert why.metric == "p99"
    assert resource(why, "read").verdict == "inconclusive"
    assert why.bottleneck == "flush"
    assert why.text[0].startswith("The system did not serve the offered rate: ")
    assert "the p99 response time falls from at least 1" in why.text[0]


def test_that_an_open_loop_is_offered_little_is_not_refuted_by_its_response_times() -> None:
    made = Arriving()
    made.calls("flush", 0.8)
    why = made.why("offered load")
    assert why.bottleneck == "flush"
    assert "refuted" not in " ".join(why.text)


def test_no_processor_gives_more_than_it_is_faster_by() -> None:
    """A competing program costs more than it takes, where two processors share a core."""
    made = Simulated()
    made.processors(1.6)
    why = made.why()
    assert why.text[0] == "Computing is the bottleneck: throughput is proportional to the speed of the CPUs."
    assert "the competing program cost more than its CPU time" in why.text[1]
    assert "counts twice" not in " ".join(why.text)


def test_a_unix_socket_frees_messages_in_part_alone() -> None:
    made = Simulated()
    made.calls("message", 0.7)
    made.free("message", 1.2)
    made.processors(0.3)
    why = made.why()
    assert why.bottleneck == "message"
    assert "1 % less of it makes throughput 0.7" in why.text[0]
    assert "over a Unix socket" not in why.text[0]


def test_a_unix_socket_that_gains_most_is_named() -> None:
    made = Simulated()
    made.calls("message", 0.6)
    made.free("message", 3.0)
    made.processors(0.2)
    assert "is the bottleneck: over a Unix socket, " in made.why().text[0]


def test_what_cannot_be_tested_is_left_open_and_needs_no_further_rounds() -> None:
    made = Simulated()
    made.untried.append({"resource": "processors", "why": "db.example is another machine", "share": None})
    made.calls("client", 0.02)
    why = made.why("CPU")
    processors = resource(why, "processors")
    assert processors.verdict == "inconclusive"
    assert processors.inferred_right is None
    assert why.text[0] == (
        "None of the changed resources limits it; processors could not be changed and may be the bottleneck."
    )
    assert settled(why)


def test_what_a_report_inferred_is_refuted() -> None:
    made = Simulated()
    made.calls("flush", 0.85)
    made.processors(0.05)
    why = made.why("CPU")
    assert resource(why, "processors").inferred_right is False
    assert "This refutes the bottleneck" in " ".join(why.text)


def test_the_clients_work_is_no_computing_of_the_system() -> None:
    """A client that computes for 0.7 of the time is slowed down by a competing program, too."""
    made = Simulated()
    made.calls("client", 0.7, own_us=700.0)
    made.processors(0.95)
    why = made.why("CPU")
    assert why.bottleneck == "client"
    assert resource(why, "processors").elasticity == pytest.approx(0.25, abs=0.1)


def test_several_that_may_be_it_are_parts_but_for_the_largest() -> None:
    made = Simulated()
    made.calls("flush", 0.9)
    made.free("locks", 2.5)
    why = made.why()
    assert why.bottleneck == "flush"
    assert resource(why, "locks").verdict == "part"


def test_without_a_bottleneck_the_parts_are_named() -> None:
    made = Simulated()
    made.calls("flush", 0.3)
    made.calls("read", 0.3)
    why = made.why()
    assert why.bottleneck is None
    assert why.text[0].startswith("No single resource is the bottleneck")
    assert settled(why)


def test_the_think_time_of_idle_clients_is_the_bottleneck() -> None:
    made = Simulated()
    made.pilot = replace(PILOT, idle=0.98)
    made.free("thinking", 60.0)
    made.processors(0.02)
    why = made.why("offered load")
    assert why.bottleneck == "thinking"
    assert why.text[0].startswith("The clients' think time is the bottleneck: without it, ")
    assert "--think none" in why.text[1]
    assert why.text[2].startswith("This confirms the bottleneck inferred by the run: ")


@pytest.mark.parametrize(
    ("holder", "subject"),
    [
        ("process 12 (backup.sh)", "A lock that another program holds, process 12 (backup.sh), is the bottleneck: "),
        ("", "Lock contention is the bottleneck: "),
    ],
)
def test_a_lock_that_another_program_holds_is_named_by_its_process(holder: str, subject: str) -> None:
    made = Simulated()
    made.pilot = replace(PILOT, waiting_for_lock=0.98, lock_holder=holder)
    made.free("locks", 5.0)
    why = made.why("file lock")
    assert why.bottleneck == "locks"
    assert why.text[0].startswith(subject)


def test_what_the_pilot_saw_comes_first_where_noise_leaves_it_open() -> None:
    made = Simulated(noise=2.0)
    made.pilot = replace(PILOT, waiting_for_lock=0.98, lock_holder="process 12 (backup.sh)")
    made.processors(2.0)
    made.free("locks", 5.0)
    why = made.why()
    assert why.bottleneck is None
    assert why.resources[0].resource == "locks"
    assert why.text[0] == (
        "A lock that another program holds, process 12 (backup.sh), took 98 % of the clients' time in the pilot; "
        "more rounds would confirm this."
    )


def test_noise_leaves_it_open() -> None:
    made = Simulated(noise=0.8)
    made.calls("flush", 0.6)
    made.processors(0.4)
    why = made.why()
    assert why.bottleneck is None
    assert not settled(why)
    assert "settled" in why.text[0]


def test_of_noise_alone_no_resource_is_said_not_to_matter() -> None:
    """Rates of which many are three times those of others, as beside programs that take both processors."""
    for seed in range(40):
        made = Simulated(noise=1.2, seed=seed)
        made.processors(1.0)
        assert resource(made.why(), "processors").verdict != "not", seed


def test_a_half_that_may_be_more_is_not_said_to_be_no_bottleneck() -> None:
    made = Simulated(noise=0.05)
    made.calls("flush", 0.5)
    why = made.why()
    assert why.bottleneck is None
    assert not settled(why)
    assert "may be" in why.text[0]


def test_a_planted_delay_is_a_part_of_what_a_call_takes() -> None:
    """A call of 100 microseconds with 400 more: the resource takes 500."""
    made = Simulated()
    made.calls("flush", 0.8)
    for each in made.cells:
        for one in each.rounds:
            told = one.changes.get("sync")
            if told is not None:
                one.changes = {"sync": {"calls": 1000, "own_s": 0.02, "added_s": told["added_s"] + 0.08}}
    assert resource(made.why(), "flush").elasticity == pytest.approx(0.8, abs=0.05)


def test_without_the_cell_as_it_is_nothing_is_concluded() -> None:
    made = Simulated()
    made.calls("flush", 0.8)
    planned = Planned("single", PILOT, made.changes, [], 0.5, 0.1, [], {})
    assert conclude(planned, made.cells[2:]) is None
    assert not settled(None)


@pytest.mark.slow
def test_nothing_is_named_that_is_not_there() -> None:
    """Many runs of a system without a bottleneck: hardly any names one."""
    named = 0
    for seed in range(200):
        made = Simulated(noise=0.08, seed=seed)
        for each in ("flush", "read"):
            made.calls(each, 0.3)  # type: ignore[arg-type]
        made.processors(0.3)
        made.cache(0.0)
        named += made.why().bottleneck is not None
    assert named <= 10


def test_a_change_that_gains_nothing_does_not_settle_what_is_open() -> None:
    """One processor more was of no use by itself, while how much computing decides is not known."""
    made = Simulated(noise=0.03)
    made.free("processors", 0.9)
    noisy = Simulated(noise=0.6, seed=3)
    noisy.processors(0.6)
    made.changes += noisy.changes
    made.cells += noisy.cells[2:]
    found = resource(made.why(), "processors")
    assert {test.kind: test.verdict for test in found.tests} == {"free": "not", "slower": "inconclusive"}
    assert found.verdict == "inconclusive"


def test_a_mutex_is_named_where_who_holds_it_is_stopped_and_reads_are_made_under_it() -> None:
    """As with a shared cache: a competitor costs three times what it takes, and slow reads keep the mutex longer."""
    made = Simulated()
    made.processors(3.0)
    made.calls("read", 0.6)
    made.free("read", 1.84)
    made.free("locks", 2.25)
    why = made.why("mutex")
    assert why.bottleneck == "locks"
    assert resource(why, "processors").verdict == "inconclusive"
    assert resource(why, "read").verdict == "part"
    assert resource(why, "locks").inferred_right is True


def test_computing_is_not_named_where_the_rate_was_many_times_higher_without_flushes() -> None:
    """A competing program keeps waiting who is to hear that a flush has ended."""
    made = Simulated()
    made.processors(1.0)
    made.calls("flush", 0.9)
    made.free("flush", 19.0)
    why = made.why("device sync")
    assert why.bottleneck == "flush"
    assert resource(why, "processors").verdict == "inconclusive"
    assert resource(why, "flush").inferred_right is True


def test_computing_takes_no_more_than_waits_leave() -> None:
    """Flushes take 0.45 of the time: a competitor's loss of 0.9 is not all computing. Nothing is settled by that."""
    made = Simulated()
    made.processors(0.9)
    made.calls("flush", 0.45)
    made.free("flush", 1.9)
    why = made.why()
    assert why.bottleneck is None
    assert resource(why, "processors").verdict == "inconclusive"


def test_parsing_is_named_and_is_computing() -> None:
    made = Simulated()
    made.processors(1.0)
    made.free("parsing", 3.4)
    why = made.why("CPU")
    assert why.bottleneck == "parsing"
    assert resource(why, "processors").verdict == "part"
    assert resource(why, "processors").inferred_right is True


def test_a_processor_more_proves_computing_by_what_it_gained_of_what_it_could() -> None:
    """Twice as many processors are at most worth twice the rate, and not more than half of the time is saved."""
    made = Simulated(noise=0.03)
    made.free("processors", 1.9)
    made.changes = [replace(each, processors=(0, 1)) if each.kind == "free" else each for each in made.changes]
    made.calls("read", 0.4)
    why = made.why("CPU")
    assert why.bottleneck == "processors"
    assert why.text[0].startswith("Computing is the bottleneck: with one more CPU, throughput would be 1.9")
    assert resource(why, "processors").share == pytest.approx(0.93, abs=0.06)
