"""Exports in the text format of OpenMetrics, read by the parser of Prometheus' client. All results are synthetic."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from dbdyno.base.errors import InputError
from dbdyno.model.result.shape import Document
from dbdyno.report.openmetrics import Family, exposition, label_names, openmetrics_text, write_openmetrics
from synthetic import lookup_document, update_document
from synthetic_cells import change

# Halves of characters as well, which JSON can name.
HOSTILE = st.text(st.characters(exclude_categories=())) | st.text('\\"\n\r{}=,#a \u2028')


@cache
def of_one_round() -> Document:
    return lookup_document(rounds=1)


def parsed(text: str) -> dict[str, Metric]:
    families = list(text_string_to_metric_families(text))
    assert len({each.name for each in families}) == len(families)
    return {each.name: each for each in families}


def test_throughput_has_its_interval_and_its_labels() -> None:
    document = lookup_document()
    families = parsed(openmetrics_text(document))
    mean, interval = families["dbdyno_throughput_per_second"], families["dbdyno_throughput_ci95_per_second"]
    assert (mean.type, mean.unit) == ("gauge", "per_second")
    assert [each.value for each in mean.samples] == [cell.throughput.mean for cell in document.cells]
    assert mean.samples[0].labels == {
        "run": "20260314-syn7",
        "experiment": "pk-lookup",
        "cell": "cache=private,threads=1",
        "system": "sqlite:",
        "factor_cache": "private",
        "factor_threads": "1",
        "counted": "lookups",
    }
    bounds = [(each.labels["bound"], each.value) for each in interval.samples]
    wanted = [(name, cell.throughput.ci95) for cell in document.cells for name in ("low", "high")]
    assert bounds == [(name, ends[name == "high"]) for name, ends in wanted if ends is not None]


def test_latencies_are_seconds_and_cpu_is_processors() -> None:
    document = lookup_document()
    families = parsed(openmetrics_text(document))
    quantiles = {
        (each.labels["cell"], each.labels["times"], each.labels["quantile"]): each.value
        for each in families["dbdyno_latency_seconds"].samples
    }
    for cell in document.cells:
        service = cell.latency_ms["service"]
        for name, quantile in (("p50", "0.5"), ("p99_9", "0.999"), ("max", "1")):
            told = getattr(service, name)
            assert quantiles[cell.id, "service", quantile] == pytest.approx(told / 1e3)
    clients = [each for each in families["dbdyno_cpu_processors"].samples if each.labels["process"] == "client"]
    told_cpu = [cell.cpu_percent.client for cell in document.cells]
    assert [each.value * 100 for each in clients] == pytest.approx(told_cpu)


def test_failures_are_counted_by_kind() -> None:
    document = update_document()
    families = parsed(openmetrics_text(document))
    failed = {
        (each.labels["cell"], each.labels["kind"]): each.value
        for each in families["dbdyno_failed_transactions"].samples
    }
    assert failed == {("system=sqlite:,rows_per_transaction=1000", "locked"): 15}
    outcomes = [each for each in families["dbdyno_transactions"].samples if each.labels["outcome"] == "failed"]
    assert [each.value for each in outcomes] == [0, 15, 0]
    lost = [
        each.value
        for each in parsed(openmetrics_text(lookup_document()))["dbdyno_trials"].samples
        if each.labels["status"] == "failed"
    ]
    assert sum(lost) == 1


def test_a_lower_bound_is_told() -> None:
    document = copy.deepcopy(lookup_document())
    assert "dbdyno_latency_at_least" not in parsed(openmetrics_text(document))
    document.cells[0].latency_ms["service"].at_least = ["p99"]
    (bound,) = parsed(openmetrics_text(document))["dbdyno_latency_at_least"].samples
    assert (bound.labels["cell"], bound.labels["quantile"], bound.value) == ("cache=private,threads=1", "0.99", 1)


def test_what_is_not_known_has_no_sample() -> None:
    document = copy.deepcopy(lookup_document())
    change(document.cells[0].throughput, mean=None, ci95=None)
    families = parsed(openmetrics_text(document))
    assert len(families["dbdyno_throughput_per_second"].samples) == len(document.cells) - 1
    assert not any(each.labels["process"] == "server" for each in families["dbdyno_cpu_processors"].samples)
    document.cells = []
    assert parsed(openmetrics_text(document)).keys() == {"dbdyno_run"}


def test_the_run_is_told_about() -> None:
    (sample,) = parsed(openmetrics_text(lookup_document()))["dbdyno_run"].samples
    assert sample.name == "dbdyno_run_info"
    assert (sample.labels["status"], sample.labels["run"]) == ("done", "20260314-syn7")


@given(st.dictionaries(st.sampled_from(["a", "b", "quantile"]), HOSTILE, min_size=1), HOSTILE, st.floats())
def test_any_text_comes_back_from_the_parser(labels: dict[str, str], words: str, value: float) -> None:
    family = Family("x_seconds", f"Help {words}", "seconds")
    family.add(labels, value)
    read = parsed(exposition([family]))["x_seconds"]
    (sample,) = read.samples
    assert sample.labels == {name: whole(text) for name, text in labels.items()}
    assert sample.value == value or value != value
    assert read.documentation == whole(f"Help {words}")


def whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@given(st.dictionaries(HOSTILE, HOSTILE, max_size=4), HOSTILE)
def test_any_factor_is_a_label_of_its_own(factors: dict[str, str], name: str) -> None:
    document = copy.copy(of_one_round())
    document.cells = [replace(document.cells[0], factors=factors, id=name)]
    (sample,) = parsed(openmetrics_text(document))["dbdyno_throughput_per_second"].samples
    told = {label: text for label, text in sample.labels.items() if label.startswith("factor_")}
    others = {factor: text for factor, text in factors.items() if factor != "system"}
    assert sorted(told.values()) == sorted(map(whole, others.values()))
    assert sample.labels["cell"] == whole(name)


def test_factors_that_look_alike_have_labels_of_their_own() -> None:
    assert label_names(["a-b", "a_b", "a.b"]) == {"a-b": "factor_a_b", "a_b": "factor_a_b_2", "a.b": "factor_a_b_3"}


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.txt"
    write_openmetrics(lookup_document(), target)
    before = target.read_text()
    assert before == openmetrics_text(lookup_document())

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"out\.txt: no space left on device"):
        write_openmetrics(update_document(), target)
    assert target.read_text() == before
    assert list(tmp_path.iterdir()) == [target]
