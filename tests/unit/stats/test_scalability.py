"""The scalability model: the fit, its intervals, and why it is refused. `benches/scalability.py` holds more of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest
from rich.console import Console
from scipy.optimize import least_squares

from dbdyno.analysis.document.build import build_document
from dbdyno.analysis.measured.scalability import scalability
from dbdyno.base.resources import package_path
from dbdyno.experiment.concurrency import factors_of_clients
from dbdyno.experiment.roles import read_definition
from dbdyno.model.result.convert import to_json
from dbdyno.model.result.scalability import Scalability
from dbdyno.model.result.shape import Document
from dbdyno.report.brief import brief_lines
from dbdyno.report.html import html_report
from dbdyno.report.table import details
from dbdyno.stats.scalability import NoSpreadError, fit
from experiment_files import result_schema
from simulated_scalability import RATE, Simulated, Told, tell
from synthetic import lookup_design, lookup_trials, run_of, run_record
from synthetic_cells import cell, change

CLIENTS = (1, 2, 4, 8, 16)


def law(clients: Any, contention: float, coherency: float, rate: float = RATE) -> Any:
    return rate * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def logs_of(rates: Sequence[float], blocks: int = 5, noise: float = 0.001, seed: int = 1) -> Any:
    random = numpy.random.default_rng(seed)
    return numpy.log(rates) + random.normal(0, noise, (blocks, len(rates)))


# The fit


@pytest.mark.parametrize(("contention", "coherency"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.01), (0.05, 0.002), (0.9, 0.3)])
def test_terms_are_found_again(contention: float, coherency: float) -> None:
    clients = numpy.array([2.0, 4.0, 8.0, 16.0, 32.0])
    found = fit(clients, logs_of(law(clients, contention, coherency), noise=1e-6))
    assert found.rate.value == pytest.approx(RATE, rel=1e-3)
    assert found.contention.value == pytest.approx(contention, abs=1e-3)
    assert found.coherency.value == pytest.approx(coherency, abs=1e-3)


def test_the_fit_is_the_least_squares_of_logarithms() -> None:
    random = numpy.random.default_rng(3)
    for _ in range(40):
        clients = numpy.sort(random.choice(numpy.arange(1.0, 65), random.integers(4, 8), replace=False))
        contention, coherency = random.choice([0, 0.05, 0.9]), random.choice([0, 1e-4, 0.2])
        logs = logs_of(
            law(clients, contention, coherency), 3, random.choice([0.01, 0.1, 0.3]), int(random.integers(99))
        )

        means = logs.mean(axis=0)

        def misfits(terms: Any, clients: Any = clients, means: Any = means) -> Any:
            return numpy.log(law(clients, terms[1], terms[2], 1.0)) + terms[0] - means

        found = fit(clients, logs)
        most = clients.max()
        best = least_squares(
            misfits,
            [math.log(found.rate.value), found.contention.value + 0.1 / most, found.coherency.value + 0.1 / most**2],
            bounds=([-numpy.inf, 0, 0], numpy.inf),
            x_scale=[1, 1 / most, 1 / most**2],
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        assert sum(each**2 for each in found.misfits) <= 2 * best.cost * (1 + 1e-6) + 1e-12
        assert found.contention.value >= 0 and found.coherency.value >= 0


def test_what_a_block_does_to_all_cells_is_no_error_of_the_terms() -> None:
    clients = numpy.array(CLIENTS, float)
    logs = logs_of(law(clients, 0.05, 0.002), noise=0.01)
    disturbed = logs + numpy.array([[0.2], [-0.2], [0.1], [-0.1], [0.0]])
    quiet, loud = fit(clients, logs), fit(clients, disturbed)
    for one, other in ((quiet.contention, loud.contention), (quiet.coherency, loud.coherency)):
        assert (other.low, other.high) == pytest.approx((one.low, one.high), rel=0.05, abs=1e-6)
    assert loud.rate.high / loud.rate.low > 1.2 > quiet.rate.high / quiet.rate.low


def test_few_transactions_do_not_look_certain() -> None:
    clients = numpy.array(CLIENTS, float)
    logs = logs_of(law(clients, 0.05, 0.002), noise=1e-5)
    sure, unsure = fit(clients, logs), fit(clients, logs, least=[0.05] * len(clients))
    assert unsure.contention.high - unsure.contention.low > 20 * (sure.contention.high - sure.contention.low)


def test_a_term_that_noise_puts_below_0_is_not_told_to_be_none_for_certain() -> None:
    clients = numpy.array(CLIENTS, float)
    # Somewhat more than in proportion.
    found = fit(clients, logs_of(law(clients, 0.0, 0.0) * clients**0.004, noise=0.0002))
    assert found.contention.value == 0
    assert found.contention.low == 0 < found.contention.high


def test_blocks_that_agree_to_the_last_digit_have_no_curve() -> None:
    logs = [numpy.log(law(numpy.array(CLIENTS, float), 0.05, 0.002))] * 5
    with pytest.raises(NoSpreadError):
        fit(CLIENTS, logs)


def test_the_same_rounds_give_the_same_interval() -> None:
    logs = logs_of(law(numpy.array(CLIENTS, float), 0.05, 0.002))
    assert fit(CLIENTS, logs).contention == fit(CLIENTS, logs).contention


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [3, 5])
@pytest.mark.parametrize("clients", [CLIENTS, (1, 5, 10, 25, 50)])
def test_intervals_hold_in_nine_of_ten_runs_at_least(clients: tuple[int, ...], blocks: int) -> None:
    told = Told()
    for place, terms in enumerate([(0.0, 0.0), (0.05, 0.0), (0.0, 0.002), (0.3, 0.01)]):
        told.add(tell(Simulated(clients, *terms, blocks, 0.03), 40, seed=place))
    assert told.curves > 150
    assert min(told.coverage.values()) >= 0.9, told.coverage


def test_runs_that_do_not_follow_the_law_are_refused() -> None:
    ceiling = Simulated(CLIENTS, 0, 0, 5, 0.01, form=lambda clients: RATE * min(clients, 4))
    superlinear = Simulated(CLIENTS, 0, 0, 5, 0.01, form=lambda clients: RATE * clients**1.3)
    for simulated in (ceiling, superlinear):
        told = tell(simulated, 5)
        assert told.refused == {"the rates contradict the model": 5}


# The peak


def test_a_peak_within_what_was_measured_is_told() -> None:
    curve = Simulated(CLIENTS, 0.1, 0.01, 5, 0.01).model(1).curve
    assert curve is not None
    peak = curve.peak
    assert peak.told == "peak" and peak.clients_ci95 is not None and peak.throughput is not None
    assert peak.clients == pytest.approx(math.sqrt(0.9 / 0.01), rel=0.1)
    assert peak.clients_ci95[0] < math.sqrt(0.9 / 0.01) < peak.clients_ci95[1]


def test_a_peak_far_outside_is_no_number() -> None:
    curve = Simulated(CLIENTS, 0.02, 0.00002, 5, 0.01).model(1).curve
    assert curve is not None
    peak = curve.peak
    assert (peak.told, peak.clients, peak.clients_ci95, peak.throughput) == ("beyond", None, None, None)
    assert 16 <= curve.peak.at_least <= 32


def test_a_peak_that_may_lie_anywhere_is_open() -> None:
    curve = Simulated(CLIENTS, 0.05, 0.002, 3, 0.08).model(4).curve
    assert curve is not None
    assert curve.peak.told == "open" and curve.peak.clients is None
    assert curve.peak.at_least < 16


# Refusals


def cells_of(clients: Sequence[int] = CLIENTS, blocks: int = 5, **changes: Any) -> list[Any]:
    random = numpy.random.default_rng(1)
    made = []
    for number in clients:
        rates = [float(each) for each in law(number, 0.05, 0.002) * numpy.exp(random.normal(0, 0.01, blocks))]
        made.append(cell(f"clients={number}", rates, {"clients": number}, window={"clients": number}, **changes))
    return made


def only(cells: list[Any], others: Sequence[str] = ()) -> Scalability:
    (model,) = scalability(cells, {"clients": list(others)}, 0.95)
    return model


def without_trials(cells: list[Any], place: int, lost: int) -> list[Any]:
    for each in cells[place].rounds[:lost]:
        each.status, each.throughput = "failed", None
    return cells


def with_last(**changes: Any) -> list[Any]:
    cells = cells_of()
    change(cells[-1], **changes)
    return cells


BUSY = {"harness": 0.8, "device_sync": None, "device_read": None}
CLIENT = {"resource": "client", "evidence": "a thread of the clients used 99 % of one CPU", "advice": ""}


def test_what_the_data_support_is_fitted() -> None:
    model = only(cells_of())
    assert model.refused == "" and model.curve is not None
    assert model.clients == list(CLIENTS)
    # Failures that are none worth a word, and a trial lost, leave enough.
    assert only(without_trials(cells_of(), 1, 2)).curve is not None
    assert only(cells_of(failed={"locked": 5})).curve is not None


@pytest.mark.parametrize(("cells", "others", "why"), [
    (cells_of((1, 4, 16)), (), "3 numbers of clients were measured, but the model has 3 parameters"),
    (cells_of((8, 9, 10, 11)), (), "the largest number of clients is 1.4 times the smallest; it must be 4 times"),
    (cells_of(blocks=2), (), "only 2 rounds have a result at all levels of clients"),
    (without_trials(cells_of(), 4, 5), (), "at clients=16 no trial gave a result"),
    (without_trials(cells_of(), 4, 3), (), "at clients=16 3 of 5 trials gave no result"),
    (without_trials(without_trials(cells_of(), 4, 2), 3, 2), (), None),
    (cells_of(failed={"locked": 50}), (), "at clients=1,2,4,8,16 5.0 % of the transactions failed"),
    (cells_of(latency_ms={"response": {}, "service": {}}), (), "at clients=1,2,4,8,16 transactions start by the clock"),
    (with_last(bottleneck=CLIENT | {"evidence": "it"}, share_of_ceiling=BUSY), (), "at clients=16 the client ran at"),
    (with_last(share_of_ceiling=BUSY), (), "at clients=16 the client ran at 80 % of its maximum rate (with an engine"),
    (with_last(bottleneck=CLIENT), (), "at clients=16 a thread of the clients used 99 % of one CPU"),
    (cells_of(), ["system.sqlite.cache"], "clients sets more than the number of clients: system.sqlite.cache"),
])  # fmt: skip
def test_what_the_data_do_not_support_is_refused(cells: list[Any], others: list[str], why: str | None) -> None:
    model = only(cells, others)
    if why is None:
        assert model.curve is not None
        return
    assert model.curve is None
    assert model.refused.startswith(why)
    assert model.advice


def test_each_level_is_refused_with_its_own_figures() -> None:
    cells = cells_of()
    for place, failed in ((3, 30), (4, 120)):
        for each in cells[place].rounds:
            each.failed = {"locked": failed}
    assert only(cells).refused == (
        "at clients=8 3.0 % of the transactions failed; at clients=16 12 % of the transactions failed"
    )


def test_rounds_that_differ_too_much_are_refused() -> None:
    model = Simulated(CLIENTS, 0.3, 0.01, 3, 0.3).model(1)
    assert model.refused.startswith("the rounds differ too much: contention may be anything from ")
    assert model.curve is None


def test_the_null_engine_is_measured_and_not_doubted() -> None:
    cells = cells_of()
    for each in cells:
        each.system.engine = "null"
        change(each, share_of_ceiling=BUSY)
    assert only(cells).curve is not None


# Factors


def test_factors_of_clients_are_those_that_the_file_puts_there() -> None:
    text = package_path("experiments", "pk-lookup.toml").read_text(encoding="utf-8")
    assert factors_of_clients(read_definition(text)) == {"threads": []}
    document = {
        "load": {"clients": "${mode.clients}", "stop": {"transactions": "${10 * mode.clients}"}, "prepare": "${how}"},
        "system": {"sqlite": {"cache": "${mode.cache}"}},
    }
    assert factors_of_clients(document) == {"mode": ["system.sqlite.cache"]}
    assert factors_of_clients(read_definition("no TOML")) == {}


def test_there_is_a_model_for_each_combination_of_the_others() -> None:
    cells: list[Any] = []
    for cache, contention in (("private", 0.01), ("shared", 0.3)):
        for each in cells_of():
            number = each.factors["clients"]
            for one in each.rounds:
                one.throughput *= law(number, contention, 0.002) / law(number, 0.05, 0.002)
            cells.append(replace(each, id=f"{cache} {number}", factors={"cache": cache, "clients": number}))
    private, shared = scalability(cells, {"clients": []}, 0.95)
    assert (private.at, shared.at) == ({"cache": "private"}, {"cache": "shared"})
    assert private.curve is not None and shared.curve is not None
    assert private.curve.contention.ci95[1] < shared.curve.contention.ci95[0]


def test_a_factor_with_one_level_has_no_model() -> None:
    assert scalability(cells_of((4,)), {"clients": []}, 0.95) == []


# In a document


DEFINITION = '[load]\nclients = "${threads}"\nstop = { seconds = 1 }\n'


def document_of(threads: Sequence[int] = CLIENTS) -> Document:
    """A run whose throughput follows the law."""
    random = numpy.random.default_rng(1)
    rates = {
        str(number): [float(each) for each in law(number, 0.1, 0.01) * numpy.exp(random.normal(0, 0.01, 5))]
        for number in threads
    }
    run, trials = run_of("20261125-usl1", rates)
    planned = [
        replace(each, plan={"task": {"clients": int(each.cell.partition("=")[2])}}, started="2026-01-01T00:00:00Z")
        for each in trials
    ]
    return build_document(replace(run, definition=DEFINITION), planned)


def text_of(renderable: Any) -> str:
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(renderable)
    return console.export_text()


def test_a_document_has_the_model_and_all_views_show_it() -> None:
    document = document_of()
    result_schema().validate(json.loads(json.dumps(to_json(document), allow_nan=False)))
    (model,) = document.scalability
    assert model.clients == list(CLIENTS) and model.at == {}
    assert model.curve is not None
    page, shown = html_report(document), text_of(details(document, 100))
    brief = "\n".join(line.plain for line in brief_lines(document, 200))
    assert "<h2>Scalability</h2>" in page and page.count("curve of the scalability model") == 1
    # What an axis or a band needs is there: an empty chart has none.
    assert page.count("mark-area") == 1 and page.count("mark-line") == 1
    for view in (brief, shown):
        assert "Scalability (by threads): predicted peak " in view


def test_all_views_but_the_first_say_why_there_is_no_model() -> None:
    document = document_of((1, 4, 16))
    page, shown = html_report(document), text_of(details(document, 100))
    assert "No scalability model: 3 numbers of clients" in page and "No scalability model: 3 numbers" in shown
    assert "curve of the scalability model" not in page
    assert "No scalability" not in "\n".join(line.plain for line in brief_lines(document, 200))


def test_the_first_view_says_why_there_is_none_where_enough_levels_were_measured() -> None:
    document = document_of()
    model = document.scalability[0]
    model.curve, model.refused = None, "the rates contradict the model"
    brief = "\n".join(line.plain for line in brief_lines(document, 200))
    assert "No scalability model: the rates contradict the model (by threads)." in brief


def test_a_run_without_a_factor_of_clients_has_no_section() -> None:
    design = lookup_design()
    document = build_document(run_record(design), lookup_trials(design, 3, 42))
    assert document.scalability == []
    assert "<h2>Scalability</h2>" not in html_report(document)
