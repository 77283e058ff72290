"""The sentences and the table rows of scalability models, for all views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.analysis.answer.short import named
from dbdyno.base.numbers import figure, percent
from dbdyno.model.result.scalability import IntervalEstimate, Scalability, ScalabilityCurve
from dbdyno.model.result.shape import Document

_SIGMA = "\N{GREEK SMALL LETTER SIGMA}"

NOTE = (
    f"The Universal Scalability Law: X(N) = C(1)·N / (1 + {_SIGMA}·(N-1) + κ·N·(N-1)). Contention {_SIGMA}: the share "
    "of the work that only one client can do at a time; coherency κ: the cost of each pair of clients. Brackets "
    "contain 95 % intervals over rounds."
)
HEADS = ("model", "peak at", "peak throughput", "one client", "contention", "coherency", "largest misfit")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why models have no curve, advice, and the names of these models."""

    why: str
    advice: str
    models: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The sentence."""
        return f"No scalability model: {self.why}."


def model_name(document: Document, model: Scalability) -> str:
    """Return a model's name: the levels of the other factors, or its own factor if no others vary."""
    several = len({scalability.factor for scalability in document.scalability}) > 1
    at = named(model.at, document.answer.systems)
    return " ".join(each for each in (at, f"by {model.factor}" if several or not at else "") if each)


def fitted(document: Document) -> list[tuple[Scalability, ScalabilityCurve]]:
    """Return the models that have a curve, with it."""
    return [(scalability, scalability.curve) for scalability in document.scalability if scalability.curve is not None]


def sentences(document: Document) -> list[str]:
    """Return one sentence per curve: its peak, as far as known, and its terms."""
    return [
        f"Scalability ({model_name(document, model)}): {peak_words(document, curve)}; contention "
        f"{interval(curve.contention)}, coherency {interval(curve.coherency)}."
        for model, curve in fitted(document)
    ]


def peak_words(document: Document, curve: ScalabilityCurve) -> str:
    """Return the number of clients at which throughput peaks, or a lower bound of it, as a clause."""
    peak = curve.peak
    least = math.floor(peak.at_least)
    if peak.clients is not None and peak.clients_ci95 is not None and peak.throughput is not None:
        where = f"{clients(peak.clients)} [{', '.join(clients(each) for each in peak.clients_ci95)}] clients"
        return f"predicted peak {interval(peak.throughput)} {_unit(document)} at {where}"
    if peak.told == "beyond":
        return f"no peak within N={least}"
    if peak.at_least <= curve.points[0].clients:
        return "unknown peak"
    return f"peak not determined: at {least} clients or more"


def rows(document: Document) -> list[list[str]]:
    """Return one row per curve, in the order of :data:`HEADS`."""
    made = []
    for model, curve in fitted(document):
        peak = curve.peak
        least = math.floor(peak.at_least)
        if peak.clients is not None and peak.clients_ci95 is not None:
            ends = ", ".join(clients(each) for each in peak.clients_ci95)
            where = f"{clients(peak.clients)} [{ends}]"
        else:
            unknown = peak.at_least <= curve.points[0].clients
            where = f"not within {least}" if peak.told == "beyond" else "" if unknown else f"open, from {least}"
        off = f"{percent(curve.misfit)} at {curve.misfit_clients:g}"
        of_peak = "" if peak.throughput is None else interval(peak.throughput)
        terms = [interval(getattr(curve, name)) for name in ("one_client", "contention", "coherency")]
        made.append([model_name(document, model), where, of_peak, *terms, off])
    return made


def refusals(document: Document, levels: int = 0) -> list[Refusal]:
    """Return each distinct reason for a missing curve, with its models.

    ``levels``: minimum number of cells of a model to include.
    """
    found: dict[tuple[str, str], Refusal] = {}
    for scalability in document.scalability:
        if scalability.refused and len(scalability.cells) >= levels:
            why, advice = scalability.refused, scalability.advice
            found.setdefault((why, advice), Refusal(why, advice)).models.append(model_name(document, scalability))
    return list(found.values())


def interval(estimated: IntervalEstimate) -> str:
    """Return a value with its interval: ``0.0312 [0.0287, 0.0345]``."""
    low, high = estimated.ci95
    return f"{figure(estimated.value)} [{figure(low)}, {figure(high)}]"


_WHOLE_FROM = 10


def clients(number: float) -> str:
    """Return a number of clients, which may be fractional."""
    return f"{number:.1f}" if number < _WHOLE_FROM else f"{number:,.0f}"


def _unit(document: Document) -> str:
    units: Sequence[str] = [cell.throughput.unit for cell in document.cells]
    return units[0] if units else "1/s"
