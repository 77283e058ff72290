"""Build the answer to a run's question."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from shlex import join, quote
from statistics import fmean
from typing import Any

from dbdyno.analysis.answer import decision, words
from dbdyno.analysis.answer.advice import Choice, advise
from dbdyno.analysis.answer.claims import judged_claims
from dbdyno.analysis.answer.configurations import Configuration, Ranking, rank
from dbdyno.analysis.answer.short import SYSTEM, short_systems
from dbdyno.analysis.measured.cell_groups import varied
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.metrics import ANSWERS, failing
from dbdyno.base.numbers import duration
from dbdyno.base.numbers import level as level_text
from dbdyno.engines.lookup import known_engine
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.effects import Advice, Answer, Effect, LoadComparison, RecommendedConfiguration
from dbdyno.model.result.effects import Configuration as ReportedConfiguration
from dbdyno.model.result.reading import JsonObject, number, objects, part, text, texts
from dbdyno.model.result.shape import Finding
from dbdyno.stats import Criteria


@dataclass(frozen=True)
class RunFacts:
    """The run to answer.

    ``definition``: the parsed experiment file, with claims to confirm or refute; ``command``: the command line.
    """

    experiment: str
    design: JsonObject = field(default_factory=dict)
    definition: JsonObject = field(default_factory=dict)
    command: Sequence[str] = ()


def build_answer(
    run: RunFacts,
    cells: Sequence[Cell],
    roles: Mapping[str, str],
    criteria: Criteria,
    *,
    effects: Sequence[Effect] = (),
    findings: Sequence[Finding] = (),
) -> Answer:
    """Answer the question of a run from the cells measured so far. ``effects``: the effects of its factors."""
    design, experiment = run.design, run.experiment
    systems = short_systems(list(dict.fromkeys(cell.system.name for cell in cells)))
    measured = [cell for cell in cells if cell.throughput.mean is not None]
    report, screening = part(design, "report"), part(design, "screening")
    if not measured:
        return _text_answer([], systems)
    if screening:
        own = [effect for effect in effects if effect.role == "choice" and not effect.at and effect.metric != ANSWERS]
        return _text_answer(words.screening_words(own, screening, systems, _whole(experiment, own)), systems)
    factors = {name: list(levels) for name, levels in part(design, "factors").items() if isinstance(levels, list)}
    claims = judged_claims(run.definition, measured, factors, systems, findings, criteria)
    missing = words.missing_words(measured, cells, systems)
    axis = _chained(report, measured)
    if axis is not None:
        return _text_answer(
            [*(claims or words.chain_words(measured, axis, criteria.confidence, criteria.family)), *missing], systems
        )
    ranking = rank(measured, cells, roles, systems, criteria)
    if len(ranking.configurations) <= 1:
        times = report.get("times") is True
        said = (
            words.times_words(measured, part(report, "weights"))
            if times
            else words.loads_words(measured, ranking.loads, systems)
        )
        hurting = decision.describe_problems(measured[-1], systems.get(measured[-1].system.name, ""), findings)
        # With one cell, the sentence above already reports failures and slow requests.
        said = [*said, *(each for each in hurting if len(measured) > 1 or not each.startswith("With "))]
        return _text_answer([*(claims or said), *missing], systems)
    engines = {cell.system.engine for cell in measured}
    advised = advise(
        ranking,
        effects,
        measured,
        systems,
        apply=lambda a, b: _lines(design, b, a),
        settle=lambda choices: _settling(choices, measured, run.command),
    )
    best = _best(ranking, advised.takes)
    text: list[str] = []
    if ranking.set_aside is not None:
        text.append(f"{decision.failing_words(ranking.set_aside, ranking.first)}.")
    # If settings of one system vary, the advice shows which ones matter.
    compared = len(engines) > 1 or (len(ranking.loads) > 1 and len(ranking.first.levels) == 1)
    if compared:
        text += decision.describe_leaders(ranking, systems)
    if not claims and len(engines) == 1:
        text += decision.describe_problems(list(ranking.first.cells.values())[-1], ranking.first.name, findings)
    others = [configuration for configuration in ranking.configurations[1:] if configuration is not ranking.set_aside]
    decided = decision.describe_decision(ranking, best, advised.rows, criteria.margin)
    # With several loads, the sentences above already report what is not settled.
    if others and len(engines) == 1 and not (compared and decided.startswith("Not settled")):
        text.append(decided)
    # Don't recommend an engine: that choice depends on more than performance.
    rows = [advice for advice in advised.rows if len(engines) == 1 or advice.action == "open" or _is_setting(advice)]
    return Answer(
        text=[*claims, *text][: 4 if claims else None] + missing,
        systems=systems,
        advice=rows,
        configurations=[_reported(configuration) for configuration in ranking.configurations],
        recommended=_recommended(
            ranking, best, advised.rows, margin=criteria.margin, design=design, experiment=experiment
        ),
    )


def _is_setting(row: Advice) -> bool:
    """Whether a row is about a setting, not about a system."""
    return bool(row.levels) and SYSTEM not in row.levels


def _best(ranking: Ranking, takes: Mapping[str, Any]) -> Configuration:
    """Return the configuration with all levels to take if it was measured and has no price, otherwise the first one."""
    wanted = {**dict(ranking.first.levels), **takes}
    return next(
        (configuration for configuration in ranking.free if dict(configuration.levels) == wanted), ranking.first
    )


def _settling(choices: Sequence[Choice], cells: Sequence[Cell], command: Sequence[str]) -> str:
    """Return the command that would probably settle open choices, and its duration."""
    rounds = max(len(cell.rounds) for cell in cells)
    known = [choice.more_rounds for choice in choices if choice.more_rounds]
    if not known and rounds > 1:
        return "1,000 more rounds would not settle it"
    wanted = rounds + max(known, default=_FIRST_ROUNDS - rounds)
    lengths = [fmean(seconds) for cell in cells if (seconds := _seconds(cell))]
    seconds_s = sum(lengths) * wanted
    if seconds_s > _MAX_SUGGESTED_S:
        return f"settling it would take more than {_MAX_SUGGESTED}"
    took = f"about {duration(seconds_s)}: " if lengths else ""
    return took + (f"`{_again(command, wanted, seconds_s)}`" if command else f"{wanted} rounds")


# Don't suggest longer measurements.
_MAX_SUGGESTED_S, _MAX_SUGGESTED = 3600.0, "an hour"
# Options that set the length of a measurement or the output files.
_ENDS = frozenset({"--rounds", "--budget", "--target", "--min-rounds", "--max-rounds"})
_OUTPUTS = frozenset({"--report", "--json", "--csv", "--markdown", "--parquet", "--openmetrics"})
_MINUTE_S = 60.0
# Commands whose budget decides the number of rounds.
_BY_BUDGET = frozenset({"try", "queries"})


def _again(command: Sequence[str], rounds: int, seconds_s: float) -> str:
    """Return the command with a new number of rounds, or with a sufficient budget."""
    words = without_options(command, _ENDS | _OUTPUTS)
    if _BY_BUDGET & set(words[1:2]):
        return join(
            [*words, "--budget", f"{ceil(seconds_s / _MINUTE_S)}m" if seconds_s > _MINUTE_S else f"{ceil(seconds_s)}s"]
        )
    return join([*words, "--rounds", str(rounds)])


def without_options(command: Iterable[str], options: Container[str]) -> list[str]:
    """Return a command line without the given options and their values."""
    kept: list[str] = []
    words = iter(command)
    for word in words:
        if word in options:
            next(words, None)
        elif word.partition("=")[0] not in options:
            kept.append(word)
    return kept


def _seconds(cell: Cell) -> list[float]:
    return [seconds for round_ in cell.rounds if (seconds := number(round_.durations, "total_s")) is not None]


def text_answer(sentences: list[str], cells: Sequence[Cell]) -> Answer:
    """Make an answer that consists of sentences only."""
    return _text_answer(sentences, short_systems(list(dict.fromkeys(cell.system.name for cell in cells))))


def _text_answer(sentences: list[str], systems: dict[str, str]) -> Answer:
    return Answer(text=sentences, systems=systems, advice=[], configurations=[], recommended=None)


def _chained(report: JsonObject, measured: Sequence[Cell]) -> str | None:
    """Return the factor whose levels are a chain of changes, if cells differ in no other factor."""
    axis = text(report, "x")
    return axis if report.get("chain") and len(measured) > 1 and varied(measured) == [axis] else None


# Matches the start of a statement that creates an index.
_INDEX = re.compile(r"\s*create\s+(unique\s+)?index\b", re.IGNORECASE)

# One round settles nothing; this many usually do.
_FIRST_ROUNDS = 5
# Inconclusive effects up to this ratio are ignored.
_AHEAD = 1.05


def _whole(experiment: str, effects: Sequence[Effect]) -> str:
    """Return the command that measures all combinations of the promising levels.

    ``effects``: effects of the choices on throughput.
    """
    command = ["dbdyno", "run", quote(experiment)]
    for factor in dict.fromkeys(effect.factor for effect in effects):
        own = [effect for effect in effects if effect.factor == factor]
        # Include the best inconclusive level too; otherwise keep the factor at its first level.
        ahead = [
            effect for effect in own if effect.verdict in ("faster", "inconclusive") and (effect.ratio or 0.0) > _AHEAD
        ]
        levels = [own[0].against, *([max(ahead, key=lambda effect: effect.ratio or 0.0).level] if ahead else [])]
        if factor == SYSTEM:
            command += [word for level in levels for word in ("--system", quote(str(level)))]
        else:
            command += ["--set", quote(f"{factor}={','.join(map(level_text, levels))}")]
    return " ".join(command)


def _reported(configuration: Configuration) -> ReportedConfiguration:
    ratio, cells = configuration.against, list(configuration.cells.values())
    classes = [class_of(cell) for cell in cells]
    return ReportedConfiguration(
        name=configuration.name,
        levels=dict(configuration.levels),
        cells=[cell.id for cell in cells],
        ratio=None if ratio is None else ratio.mean,
        ci95=None if ratio is None else ratio.ends,
        verdict=None if configuration.decision is None or configuration.not_ranked else configuration.decision.verdict,
        durability=classes[0] if len(set(classes)) == 1 else None,
        failed=fmean(failing(cell) for cell in cells),
        price=configuration.price,
        gain=configuration.gain,
        not_ranked=configuration.not_ranked,
        at=[
            LoadComparison(
                load=dict(standing.load),
                ratio=None if standing.ratio is None else standing.ratio.mean,
                ci95=None if standing.ratio is None else standing.ratio.ends,
                verdict=standing.decision.verdict,
                metric=standing.metric,
            )
            for standing in configuration.at
        ],
    )


def _recommended(
    ranking: Ranking,
    best: Configuration,
    rows: Sequence[Advice],
    *,
    margin: float,
    design: JsonObject,
    experiment: str,
) -> RecommendedConfiguration | None:
    """Return the configuration to use; None if choices are still open or need to be combined."""
    before = ranking.first if ranking.set_aside is None else ranking.set_aside
    if best is before:
        if any(advice.action in ("take", "open") for advice in rows):
            return None
        why = decision.explain_keeping(ranking, margin)
        return RecommendedConfiguration(configuration=best.name, why=why, changes={}, price=[], apply=[], command="")
    changed = {name: level for (name, level), (_, old) in zip(best.levels, before.levels, strict=True) if level != old}
    of_best, of_before = (next(iter(configuration.cells.values())) for configuration in (best, before))
    return RecommendedConfiguration(
        configuration=best.name,
        why=decision.describe_gain(ranking, best),
        changes=changed,
        price=list(best.price),
        apply=_lines(design, of_best, of_before),
        command=_command(experiment, changed),
    )


def _lines(design: JsonObject, best: Cell, first: Cell) -> list[str]:
    """Return the engine's statements that create the missing indexes and change the settings that differ."""
    planned = {text(cell, "id"): cell for cell in objects(design.get("cells"))}
    of_best, of_first = (planned.get(cell.id, {}) for cell in (best, first))
    engine = text(part(of_best, "system"), "engine")
    if engine is None or engine != text(part(of_first, "system"), "engine"):
        return []
    new, old = part(of_best, "asked"), part(of_first, "asked")
    differing = {name: str(value) for name, value in new.items() if old.get(name) != value}
    made = [change for change in texts(of_best.get("makes")) if change not in texts(of_first.get("makes"))]
    indexes = [f"{each};" for each in made if _INDEX.match(each)]
    return [*indexes, *(known_engine(engine).applying(differing) if differing else ())]


def _command(experiment: str, changed: Mapping[str, Any]) -> str:
    """Return a `run` command with the changed levels; empty if `run` cannot select them."""
    if not experiment and set(changed) != {SYSTEM}:
        return ""
    parts = ["dbdyno", "run", *([experiment] if experiment else [])]
    for name, level in changed.items():
        parts += ["--system", quote(str(level))] if name == SYSTEM else ["--set", quote(f"{name}={level_text(level)}")]
    return " ".join(parts)
