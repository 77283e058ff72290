"""Carry out the stops of a tour as ordinary, stored runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.base.console import Console
from dbdyno.base.errors import DbdynoError
from dbdyno.engines import all_engines
from dbdyno.engines.url import parse_url
from dbdyno.experiment import load_experiment
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.result import Document
from dbdyno.model.run_options import RunOptions
from dbdyno.run.execute import execute
from dbdyno.run.request import Request
from dbdyno.run.tour.stops import LeftOut, Stop
from dbdyno.store import Store

_EMBEDDED = "sqlite:"
# Enough for a demonstration; reliable results need the full experiment.
_ROUNDS = 2


@dataclass(frozen=True)
class Visit:
    """A completed stop and its result."""

    stop: Stop
    document: Document


def systems_of(stop: Stop) -> list[SystemSpec]:
    """Return the systems of a stop: embedded SQLite, and installed SQL servers if the stop uses servers."""
    urls = [_EMBEDDED]
    for engine in all_engines() if stop.servers else ():
        found = [url for url, _, where, _ in engine.found_here() if where and url == f"{engine.name}:"]
        urls += found[:1] if engine.is_server and engine.grammar else []
    return [parse_url(url) for url in urls]


def visit(
    stops: Sequence[tuple[Stop, float]], store: Store, console: Console, directory: str | None
) -> Iterator[Visit | LeftOut]:
    """Run each stop for its seconds. A failed stop is reported with the reason, and the tour continues.

    An interruption ends the tour.
    """
    for stop, seconds in stops:
        try:
            document, interrupted = execute(_request(stop, seconds, directory), store, console)
        except DbdynoError as error:
            yield LeftOut(stop, str(error))
            continue
        yield Visit(stop, document)
        if interrupted:
            return


def _request(stop: Stop, seconds: float, directory: str | None) -> Request:
    experiment = load_experiment(stop.experiment)
    grows, systems = experiment.head.growth is not None, systems_of(stop)
    options = RunOptions(
        set=list(stop.chosen),
        rounds=1 if grows else "auto",
        directory=directory,
        min_rounds=_ROUNDS,
        budget_s=seconds,
    )
    return Request(experiment=experiment, systems=systems, options=options, command=command_of(stop, systems))


def command_of(stop: Stop, systems: Sequence[SystemSpec] = ()) -> list[str]:
    """Return the command that runs a stop's experiment in full."""
    chosen = [word for option in stop.chosen for word in ("--set", option)]
    named = [word for system in systems for word in ("--system", system.name)]
    return ["dbdyno", "run", stop.experiment, *chosen, *named]
