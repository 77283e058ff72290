"""Comparing cells of runs: what is paired, what is refused, what differs, and what the gate makes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pytest

from dbdyno.analysis.bottleneck.common import MIN_WINDOW_S
from dbdyno.analysis.compare import Compared, Side
from dbdyno.analysis.compare import compare as compare_with_noise
from dbdyno.analysis.document import build_document
from dbdyno.analysis.gate import GateVerdict, Judgement, exit_code, judge, overall
from dbdyno.analysis.history.identity import definition_of, differing
from dbdyno.analysis.measured.comparisons import ASSUMED, RunNoise
from dbdyno.analysis.measured.metrics import gate_metric, values_by_block
from dbdyno.base.errors import InputError
from dbdyno.model.result import Document
from dbdyno.model.result.cell import Latency
from dbdyno.model.result.shape import Finding
from dbdyno.stats import Rate, paired_rates, t_quantile
from synthetic import run_of
from synthetic_cells import some

# A machine of which it is known that runs hardly differ.
QUIET = RunNoise(0.0005, 100, 101)


def equal_runs(_cell: str, _metric: str) -> list[float]:
    """The values of many earlier runs."""
    return [1.0, 1.0005] * 500


def compare(a: Side, b: Side, **options: Any) -> Compared:
    return compare_with_noise(a, b, **{"noise": QUIET, "earlier": equal_runs, **options})


def worst(judgements: list[Judgement]) -> GateVerdict:
    return overall([each.verdict for each in judgements])


def document(
    run_id: str, levels: dict[str, list[float]], *, host: dict[str, Any] | None = None, **engine: Any
) -> Document:
    """A run whose cells have these throughputs, a round each."""
    return build_document(*run_of(run_id, levels, host=host, **engine))


STEADY = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1000.0]


def scaled(factor: float) -> list[float]:
    # Not in proportion round by round: a ratio without any spread would be a special case.
    return [value * factor * (1 + 0.002 * (-1) ** index) for index, value in enumerate(STEADY)]


def test_cells_of_one_run_are_paired_within_blocks() -> None:
    drifting = [1000.0, 2000.0, 500.0, 1500.0]
    run = document("r1", {"1": drifting, "2": [value * 1.1 * (1 + 0.001 * i) for i, value in enumerate(drifting)]})
    compared = compare(Side(run, "threads=1"), Side(run, "threads=2"))
    (found,) = compared.comparisons
    assert found.verdict == "faster"
    assert found.ratio == pytest.approx(1.1, rel=0.01)
    assert compared.weaker == []
    assert [(each.what, each.a, each.b) for each in compared.differences] == [("threads", "1", "2")]


def test_two_runs_are_compared_cell_by_cell_and_said_to_be_weaker() -> None:
    a = document("r1", {"1": STEADY, "2": STEADY})
    b = document("r2", {"1": scaled(0.9), "2": scaled(1.0), "4": STEADY})
    compared = compare(Side(a), Side(b))
    assert [each.verdict for each in compared.comparisons] == ["slower", "equivalent"]
    assert "measures both sides together" in compared.weaker[0]


def test_what_runs_differ_by_without_a_change_is_in_the_interval() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(0.92)})
    # By their rounds, 8 % is a certainty.
    (found,) = compare(Side(a), Side(b)).comparisons
    assert found.verdict == "slower"
    for noise, said in ((RunNoise(0.04, 9, 10), "measured from 10 runs"), (None, "is unknown here")):
        compared = compare_with_noise(Side(a), Side(b), noise=noise)
        (wide,) = compared.comparisons
        assert wide.verdict == "inconclusive"
        allowed = noise or ASSUMED
        reach = t_quantile(0.975, allowed.freedom) * allowed.deviation * math.sqrt(2)
        assert (wide.ci95 or [0, 0])[1] == pytest.approx(0.92 * math.exp(reach), rel=0.01)
        assert said in compared.weaker[0]
        (judged,) = judge(compared, 0.03)
        assert judged.verdict == "not settled"
        assert "too large for more rounds to settle it: use `gate --against`" in judged.reason
    # Much slower is slower all the same.
    assert worst(judge(compare_with_noise(Side(a), Side(document("r3", {"1": scaled(0.6)}))), 0.03)) == "regression"
    # Within a run it has no part.
    one = document("r4", {"1": STEADY, "2": scaled(0.92)})
    assert compare_with_noise(Side(one, "threads=1"), Side(one, "threads=2")).comparisons[0].verdict == "slower"


@pytest.mark.parametrize("warning", ["disturbed", "unsettled", "stalled", "two levels"])
def test_a_run_with_a_warning_is_no_regression(warning: str) -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(0.8)})
    assert worst(judge(compare(Side(a), Side(b)), 0.03)) == "regression"
    for disturbed in (a, b):
        finding = Finding(kind=warning, text="!", cells=[], evidence={"warning": warning})
        disturbed.findings.append(finding)
        (judged,) = judge(compare(Side(a), Side(b)), 0.03)
        assert judged.verdict == "not settled"
        assert f"but {disturbed.id} was " in judged.reason and "measure again" in judged.reason
        # Of another cell, or of another kind, it says nothing of this one.
        finding.cells = ["threads=9"]
        assert worst(judge(compare(Side(a), Side(b)), 0.03)) == "regression"
        disturbed.findings.remove(finding)


def queued(made: Document, share: float) -> Document:
    """The run, whose clients waited for a CPU for this share of their time."""
    for cell in made.cells:
        for each in cell.rounds:
            each.client_s, each.segments["run_queue"] = 1.0, share
    return made


@pytest.mark.parametrize(("shares", "disturbed"), [((0.46, 0.7), "r1 r2"), ((0.02, 0.15), "r2"), ((0.15, 0.2), "")])
def test_a_run_whose_clients_waited_for_a_cpu_is_no_regression(shares: tuple[float, float], disturbed: str) -> None:
    a, b = (queued(document(name, {"1": STEADY}), share) for name, share in zip(("r1", "r2"), shares, strict=True))
    for each in b.cells[0].rounds:
        each.throughput = (each.throughput or 0.0) * 0.47
    compared = compare(Side(a), Side(b))
    (judged,) = judge(compared, 0.05)
    assert [
        name for name in ("r1", "r2") if f"{name} was disturbed: clients waited" in judged.reason
    ] == disturbed.split()
    assert judged.verdict == ("not settled" if disturbed else "regression")
    assert compared.comparisons[0].verdict == ("inconclusive" if disturbed else "slower")


def test_a_gate_judges_the_time_that_clients_did_not_wait_for_a_cpu() -> None:
    a, b = queued(document("r1", {"1": STEADY}), 0.1), queued(document("r2", {"1": STEADY}), 0.55)
    for each in b.cells[0].rounds:
        each.throughput = (each.throughput or 0.0) / 2
    (x,), (y,) = a.cells, b.cells
    assert gate_metric(x, y) == "active"
    first, second = (values_by_block(cell, "active") for cell in (x, y))
    assert first[0] == pytest.approx(0.9) and second == pytest.approx(first)
    # Where the wait was not recorded, throughput decides.
    y.rounds[0].segments["run_queue"] = None
    assert gate_metric(x, y) == "throughput"


def test_short_windows_are_said_not_to_show_disturbances() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": STEADY})
    said = f"windows under {MIN_WINDOW_S:g} s do not show"
    assert not any(said in each for each in compare(Side(a), Side(b)).weaker)
    b.cells[0].rounds[0].elapsed_s = 0.1
    assert any(said in each for each in compare(Side(a), Side(b)).weaker)


def test_earlier_runs_say_how_much_runs_differ() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(0.8)})
    assert compare_with_noise(Side(a), Side(b)).comparisons[0].verdict == "slower"
    asked = []

    def earlier(cell: str, metric: str) -> list[float]:
        asked.append((cell, metric))
        return [1000.0, 1300.0] * 10

    compared = compare_with_noise(Side(a), Side(b), earlier=earlier)
    assert asked == [("threads=1", "throughput")]
    assert compared.comparisons[0].verdict == "inconclusive"
    assert "measured from 20 runs" in compared.weaker[0]


def test_less_time_is_better() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(0.8)})
    compared = compare(Side(a), Side(b), metric="p99")
    (found,) = compared.comparisons
    assert found.metric == "p99"
    assert found.ratio == pytest.approx(1 / 0.8, rel=0.02)
    assert found.verdict == "slower"


def test_runs_of_different_machines_are_not_ranked() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(0.8)}, host={"cpu": "b", "cores": 64})
    compared = compare(Side(a), Side(b))
    assert compared.comparisons[0].verdict is None
    assert "different machines" in compared.not_comparable[0]
    assert ("host cpu", "a", "b") in [(each.what, each.a, each.b) for each in compared.differences]
    assert worst(judge(compared, 0.03)) == "not settled"
    ranked = compare(Side(a), Side(b), across_machines=True)
    assert ranked.comparisons[0].verdict == "slower"


def test_settings_that_differ_are_listed() -> None:
    a = document("r1", {"1": STEADY}, version="3.40.0", settings={"cache_size": "2000", "page_size": "4096"})
    b = document("r2", {"1": STEADY}, version="3.50.0", settings={"cache_size": "9000", "page_size": "4096"})
    differences = compare(Side(a), Side(b)).differences
    assert [(each.what, each.a, each.b) for each in differences] == [
        ("version", "3.40.0", "3.50.0"),
        ("cache_size", "2000", "9000"),
    ]


def test_another_durability_is_not_ranked() -> None:
    a = document("r1", {"1": STEADY}, durability={"class": "power-safe", "because": ""})
    b = document("r2", {"1": scaled(2)}, durability={"class": "none", "because": ""})
    assert compare(Side(a), Side(b)).comparisons[0].verdict is None


def failing(made: Document, shares: Sequence[float]) -> Document:
    """The run, of whose transactions these shares failed, by round."""
    for cell in made.cells:
        for each, share in zip(cell.rounds, shares, strict=True):
            each.failed, each.issued = {"locked": round(share * 1000)}, 1000
    return made


def test_where_more_transactions_fail_what_is_left_is_not_ranked() -> None:
    a = document("r1", {"1": STEADY})
    b = failing(document("r2", {"1": scaled(2.0)}), [0.5, 0.51, 0.49, 0.5, 0.5, 0.5])
    compared = compare(Side(a), Side(b))
    assert compared.comparisons[0].not_comparable == ["failed transactions: 0 % against 50 %"]
    (judged,) = judge(compared, 0.03)
    assert (judged.verdict, judged.reason) == ("not settled", "not ranked: failed transactions: 0 % against 50 %")
    # Few that fail, and shares that differ as much from round to round, are ranked.
    few = failing(document("r2", {"1": scaled(1.0)}), [0.009] * 6)
    assert compare(Side(a), Side(few)).comparisons[0].verdict == "equivalent"
    rough = [0.1, 0.3, 0.2, 0.1, 0.3, 0.2]
    more = failing(document("r2", {"1": scaled(1.0)}), [each + 0.03 for each in rough])
    assert compare(Side(failing(a, rough)), Side(more)).comparisons[0].verdict == "equivalent"


def test_where_both_did_little_but_fail_neither_is_ranked() -> None:
    """As on a disk that is full: what ended well says how much there was room for, and not how fast it was."""
    a, b = (failing(document(name, {"1": STEADY}), [0.95] * 6) for name in ("r1", "r2"))
    (found,) = compare(Side(a), Side(b)).comparisons
    assert found.verdict is None
    assert found.not_comparable == ["failed transactions: 95 % against 95 %, more than half"]
    a, b = (failing(document(name, {"1": STEADY}), [0.2] * 6) for name in ("r1", "r2"))
    assert compare(Side(a), Side(b)).comparisons[0].verdict == "equivalent"
    full = [{"start_s": at, "end_s": at + 1, "ok": 100 * (at < 4), "failed": 100} for at in range(5)]
    for each in b.cells[0].rounds:
        each.intervals = full
    (found,) = compare(Side(a), Side(b)).comparisons
    assert found.not_comparable == ["failed transactions: none succeeded for 20 % of the window"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ((None, None), "r1: a run cannot be compared with itself; name cells: `RUN/threads=1 RUN/threads=2`"),
        (("threads=1", "threads=9"), "r1/threads=9: no such cell; did you mean `threads=2`?"),
    ],
)
def test_what_cannot_be_compared_is_told(cells: tuple[str | None, str | None], message: str) -> None:
    run = document("r1", {"1": STEADY, "2": STEADY})
    with pytest.raises(InputError) as caught:
        compare(Side(run, cells[0]), Side(run, cells[1]))
    assert str(caught.value) == message


def test_runs_without_a_cell_in_common_are_told() -> None:
    with pytest.raises(InputError, match="have no cell in common"):
        compare(Side(document("r1", {"1": STEADY})), Side(document("r2", {"2": STEADY})))


def test_runs_of_one_system_each_are_compared_by_their_other_levels() -> None:
    a, b = document("r1", {"1": STEADY, "2": STEADY}), document("r2", {"2": scaled(0.5)})
    for each, name in ((a, "sqlite:a.db"), (b, "sqlite:b.db")):
        for one in each.cells:
            one.factors["system"] = one.system.name = name
            one.id = f"{one.id},system={name}"
    (found,) = compare(Side(a), Side(b)).comparisons
    assert (found.a, found.b) == ("threads=2,system=sqlite:a.db", "threads=2,system=sqlite:b.db")
    for one in b.cells:
        one.factors["threads"] = "9"
    with pytest.raises(InputError, match="have no cell in common"):
        compare(Side(a), Side(b))


def gated(factor: float, values: list[float] | None = None) -> Compared:
    return compare(Side(document("r1", {"1": STEADY})), Side(document("r2", {"1": values or scaled(factor)})))


@pytest.mark.parametrize(
    ("compared", "answer", "why"),
    [
        (gated(1.0), "pass", "a loss of more than 3 % is excluded"),
        (gated(1.2), "pass", "a loss of more than 3 % is excluded"),
        (gated(0.99), "pass", "a loss of more than 3 % is excluded"),
        (gated(0.9), "regression", "a loss of more than 3 %"),
        (gated(0.0, [900.0, 1100.0, 700.0, 1250.0]), "not settled", "more than 3 % is neither shown nor excluded"),
        (gated(0.0, [1000.0]), "not settled", "an interval needs at least two rounds on both sides"),
    ],
)
def test_the_gate(compared: Compared, answer: str, why: str) -> None:
    judgements = judge(compared, 0.03)
    assert [each.verdict for each in judgements] == [answer]
    assert why in judgements[0].reason
    assert worst(judgements) == answer


def test_the_worst_cell_decides() -> None:
    a = document("r1", {"1": STEADY, "2": STEADY})
    b = document("r2", {"1": STEADY, "2": scaled(0.8)})
    assert worst(judge(compare(Side(a), Side(b)), 0.03)) == "regression"
    assert overall([]) == "not settled"


@pytest.mark.parametrize(
    ("verdicts", "broken", "code", "strict_code"),
    [
        (["pass", "pass"], False, 0, 0),
        (["pass", "not settled"], False, 0, 4),
        (["pass", "not settled"], True, 1, 1),
        (["not settled", "regression"], True, 3, 3),
        ([], False, 0, 4),
    ],
)
def test_exit_codes(verdicts: list[GateVerdict], broken: bool, code: int, strict_code: int) -> None:
    judged = [Judgement(each, "", broken=broken) for each in verdicts]
    assert exit_code(judged, fail_if_not_settled=False) == code
    assert exit_code(judged, fail_if_not_settled=True) == strict_code


@pytest.mark.parametrize(
    ("share", "metric", "answer", "why"),
    [
        (0.62, "throughput", "pass", "a loss of more than 45 % is excluded"),
        (0.5, "throughput", "regression", "-50."),
        (1 / 1.42, "p50", "pass", "an increase of more than 45 % is excluded"),
        (1 / 1.6, "p50", "regression", "+60."),
    ],
)
def test_the_margin_is_a_share_of_the_baseline(share: float, metric: str, answer: GateVerdict, why: str) -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(share)})
    (judged,) = judge(compare(Side(a), Side(b), metric=metric), 0.45)
    assert judged.verdict == answer
    assert why in judged.reason


def test_a_cell_that_the_run_has_not_is_told() -> None:
    a, b = document("r1", {"1": STEADY, "2": STEADY}), document("r2", {"1": STEADY, "4": STEADY})
    compared = compare(Side(a), Side(b))
    assert (compared.only_a, compared.only_b) == (["threads=2"], ["threads=4"])
    one = compare(Side(a, "threads=1"), Side(b, "threads=1"))
    assert (one.only_a, one.only_b) == ([], [])


def test_another_experiment_of_the_same_name_is_not_ranked() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(2)})
    was, is_now = {"clients": 1, "warmup": {"seconds": 0}}, {"clients": 2, "warmup": {"seconds": 0}, "new": 1}
    compared = compare(Side(a, None, {"threads=1": was}), Side(b, None, {"threads=1": is_now}))
    assert compared.comparisons[0].not_comparable == ["the load is not the same (clients)"]
    assert compared.comparisons[0].verdict is None
    assert ("clients", "1", "2") in [(each.what, each.a, each.b) for each in compared.differences]
    assert worst(judge(compared, 0.03)) == "not settled"


def on_system(name: str, made: Document) -> Document:
    """The run of one cell as it were on another system, by which its cell is named."""
    (cell,) = made.cells
    cell.id, cell.factors = f"system={name}", cell.factors | {"system": name}
    return made


def test_cells_of_other_names_have_to_be_under_the_same_load_too() -> None:
    a = on_system("sqlite:?source=old", document("r1", {"1": STEADY}))
    b = on_system("sqlite:?source=new", document("r2", {"1": scaled(2)}))
    names = [side.cells[0].id for side in (a, b)]
    for clients, not_comparable in ((1, []), (2, ["the load is not the same (clients)"])):
        sides = Side(a, names[0], {names[0]: {"clients": 1}}), Side(b, names[1], {names[1]: {"clients": clients}})
        assert compare(*sides).comparisons[0].not_comparable == not_comparable
    # Other levels are another question, and the factors say so.
    b.cells[0].factors["threads"] = "2"
    sides = Side(a, names[0], {names[0]: {"clients": 1}}), Side(b, names[1], {names[1]: {"clients": 2}})
    assert compare(*sides).comparisons[0].not_comparable == []


def test_a_run_whose_trials_failed_does_not_pass() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(1)})
    assert worst(judge(compare(Side(a), Side(b)), 0.03)) == "pass"
    lost = b.cells[0].rounds[2]
    lost.status, lost.error, lost.throughput = "failed", "it ended with 139", None
    (judged,) = judge(compare(Side(a), Side(b)), 0.03)
    assert judged.verdict == "not settled"
    assert judged.reason.endswith(": 1 of 6 rounds of b failed: it ended with 139")
    # The baseline's were lost before the change.
    assert worst(judge(compare(Side(b), Side(a)), 0.03)) == "pass"
    slow = document("r3", {"1": scaled(0.5)})
    slow.cells[0].rounds[2] = lost
    assert worst(judge(compare(Side(a), Side(slow)), 0.03)) == "regression"


def test_a_cell_is_not_compared_with_itself() -> None:
    run = document("r1", {"1": STEADY, "2": STEADY})
    with pytest.raises(InputError, match="a cell cannot be compared with itself"):
        compare(Side(run, "threads=1"), Side(run, "threads=1"))
    with pytest.raises(InputError, match="a cell cannot be compared with itself"):
        compare(Side(run), Side(run, "threads=1"))


@pytest.mark.parametrize("factor", [0.975, 0.96])
def test_as_many_rounds_as_the_gate_asks_for_settle_it(factor: float) -> None:
    noisy = [1.0, 1.05, 0.95, 1.03, 0.97, 1.0]
    a = document("r1", {"1": [1000 * each for each in noisy]})
    b = document("r2", {"1": [1000 * factor * each for each in noisy]})
    (judged,) = judge(compare(Side(a), Side(b)), 0.03)
    found = re.search(r"about (\d+) times as many rounds would probably settle it", judged.reason)
    assert judged.verdict == "not settled" and found is not None
    more = int(found[1])
    a, b = (document(side.id, {"1": by_rounds(side) * more}) for side in (a, b))
    (judged,) = judge(compare(Side(a), Side(b)), 0.03)
    assert judged.verdict == ("pass" if factor > 0.97 else "regression")


def by_rounds(made: Document) -> list[float]:
    return [each.throughput or 0.0 for each in made.cells[0].rounds]


def test_of_an_open_loop_response_times_are_compared() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": STEADY})
    assert not any("the open loop keeps up" in each for each in compare(Side(a), Side(b)).weaker)
    for side, ms in ((a, 2.0), (b, 3.0)):
        (cell,) = side.cells
        for number, each in enumerate(cell.rounds):
            each.latency_ms["response"] = some(Latency, p99=ms * (1 + number / 1000))
    compared = compare(Side(a), Side(b))
    (found,) = compared.comparisons
    # Throughput, the rate that was offered, is the same.
    assert (found.metric, found.verdict) == ("p99", "slower")
    assert found.ratio == pytest.approx(1.5)
    assert any("the open loop keeps up" in each and "(p99) is compared" in each for each in compared.weaker)
    assert worst(judge(compared, 0.03)) == "regression"
    asked = compare(Side(a), Side(b), metric="throughput")
    assert asked.comparisons[0].verdict == "equivalent"
    assert any("its throughput equals the arrival rate" in each for each in asked.weaker)
    # One that cannot keep up is told by its throughput.
    for each in b.cells[0].rounds:
        each.skipped = 100
    assert compare(Side(a), Side(b)).comparisons[0].metric == "throughput"


def test_what_may_be_the_change_under_test_is_listed_and_ranked() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(2)})
    was, is_now = ({"clients": 1, "statements": [{"sql": sql}]} for sql in ("select 1", "select 2"))
    compared = compare(Side(a, None, {"threads=1": was}), Side(b, None, {"threads=1": is_now}))
    assert compared.comparisons[0].verdict == "faster"
    assert [each.what for each in compared.differences] == ["statement 1"]


def test_an_index_is_no_other_data() -> None:
    table = '[tables.t]\nrows = {}\n[tables.t.columns]\na = {{ type = "integer" }}\n'
    index = '[[tables.t.indexes]]\ncolumns = ["a"]\n'
    plain, indexed, larger = (
        definition_of({}, {}, text, "single") for text in (table.format(5), table.format(5) + index, table.format(6))
    )
    assert differing(plain, indexed) == ["indexes"]
    assert differing(plain, larger) == ["tables"]


def test_which_turn_a_trial_had_is_not_what_it_was() -> None:
    plan = {
        "task": {
            "clients": 1,
            "statements": [{"name": "select 1", "sql": "select 1"}],
            "interleaving": {"length_ms": 20, "index": 0, "of": 2, "cpu": 3},
            "record": {"io": True},
        }
    }
    other = {
        "task": {
            "clients": 1,
            "statements": [{"name": "one", "sql": "select 1"}],
            "interleaving": {"length_ms": 20, "index": 1, "of": 2, "cpu": 0},
            "record": {"io": True, "interval_ms": 100},
        }
    }
    alone = {"task": {"clients": 1, "statements": [{"name": "one", "sql": "select 2"}], "record": {"io": True}}}
    same, again, without = (definition_of(each, {}, "", "single") for each in (plan, other, alone))
    assert differing(same, again) == []
    assert differing(same, without) == ["statements", "interleaving"]


def test_other_values_that_were_sampled_from_a_column_are_no_other_work() -> None:
    def parts(samples: list[int], values: list[int], exponent: float = 1.0) -> dict[str, Any]:
        weights = [number**-exponent for number in range(1, len(values) + 1)]
        params = [{"kind": "pick", "values": samples}, {"kind": "pick", "values": values, "weights": weights}]
        plan = {"task": {"transactions": [{"name": "a", "steps": [{"do": "execute", "params": params}]}]}}
        return definition_of(plan, {}, f'[samples]\n"t.a" = {samples}\n', "single")

    same, again = parts([1, 2, 2], [1, 2]), parts([3, 4, 5, 4], [3, 4, 5])
    assert differing(same, again) == []
    assert differing(same, parts([1, 2, 2], [1, 2], 2.0)) == ["transactions"]
    # A list that the file itself has is what it is.
    assert differing(same, parts([1, 2, 2], [1, 3])) == ["transactions"]


def test_why_there_is_no_interval() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": STEADY})
    assert compare(Side(a), Side(b), metric="instructions").lacking == [
        "no instructions were counted in a; use `--instructions` to count them"
    ]
    for each in b.cells[0].rounds:
        each.status, each.error, each.throughput = "failed", "no such table: t", None
    (judged,) = judge(compare(Side(a), Side(b)), 0.03)
    assert (judged.verdict, judged.reason) == ("not settled", "6 of 6 rounds of b failed: no such table: t")


def test_a_run_that_decided_when_to_end_is_compared_with_a_wider_interval() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(1.01)})

    def width() -> float:
        low, high = compare(Side(a), Side(b)).comparisons[0].ci95 or (0, 0)
        return high / low

    fixed = width()
    b.confidence = 0.97
    assert width() > fixed * 1.001
    one = document("r3", {"1": STEADY, "2": scaled(1.01)})
    one.confidence = 0.97
    stopped = compare(Side(one, "threads=1"), Side(one, "threads=2")).comparisons[0].ci95
    ratio = paired_rates(*({i: Rate(value) for i, value in enumerate(each)} for each in (STEADY, scaled(1.01))), 0.97)
    assert ratio is not None
    # That of the rounds' own times, which differ by a hundredth.
    assert stopped == pytest.approx([ratio.low, ratio.high], rel=1e-4)


def test_of_long_texts_what_differs_is_shown() -> None:
    begins = "with recursive n(i) as (select 1 union all select i + 1 from n where i < "
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": STEADY})
    texts = [f"{begins}{limit}) select count(*) from n" for limit in (10, 400)]
    sides = [
        Side(each, definitions={each.cells[0].id: {"statements": [{"sql": text, "prepare": "once"}]}})
        for each, text in zip((a, b), texts, strict=True)
    ]
    (found,) = [each for each in compare(*sides).differences if "statement" in each.what]
    assert (found.what, found.a, found.b) == (
        "statement 1",
        "…+ 1 from n where i < 10) select count(*) from n",
        "…+ 1 from n where i < 400) select count(*) from n",
    )


def test_stored_noise_of_throughput_is_not_applied_to_response_times() -> None:
    a, b = document("r1", {"1": STEADY}), document("r2", {"1": scaled(1.0)})
    asked = []

    def earlier(cell: str, metric: str) -> list[float]:
        asked.append(metric)
        return [10.0, 11.0] * 10

    for metric in ("throughput", "p99"):
        compare_with_noise(Side(a), Side(b), metric=metric, noise=QUIET, earlier=earlier)
    assert asked == ["p99"]
