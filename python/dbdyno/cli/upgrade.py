"""`dbdyno upgrade`: what another version or other settings do to the statements of a file."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.gate import Judgement, judge
from dbdyno.analysis.upgrade import NOT_COMPARED, StatementUpgrade, Upgrade, by_harm, judge_rows, row_verdicts
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, RunInterrupted
from dbdyno.cli.gate import Gated, GateOptions, Sides, advice, measure_sides, of_compared
from dbdyno.cli.run import INTERRUPTED, RunCommand, report_store_errors, writing_store
from dbdyno.engines import engine_of
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.experiment.factors import QUERY_FACTOR
from dbdyno.model.experiment.validation import ValidationErrors
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.bisect import Bisection, Step, sqlite_steps, sqlite_version
from dbdyno.run.plan_tries import Budget, Tries, rejected_statements, statement_cells
from dbdyno.run.provisioners import Provisioners

_STYLES = {"regression": "bold red", "failed": "bold red", "not settled": "yellow"}


@dataclass(frozen=True)
class UpgradeOptions:
    """The options of an upgrade. ``budget_s``: seconds for measuring, and again for trying changes.

    ``bisect``: whether to find the first release that harms a statement; ``via``: the systems between both, in order.
    """

    old: str
    new: str
    budget_s: float
    bisect: bool = False
    via: Sequence[str] = ()


def upgrade_statements(
    run: RunCommand, upgrade: UpgradeOptions, *, store_location: str | None, options: GateOptions, command: list[str]
) -> int:
    """Measure the statements of a file on both systems, and judge them; return the exit code. Raises DbdynoError."""
    options.check()
    old, new = parse_url(upgrade.old), parse_url(upgrade.new)
    _check_systems(old, new, upgrade)
    console, progress = options.console, Console(stderr=True)
    experiment = run.source.experiment(run.options.systems)
    names = [level.name for level in experiment.factors[QUERY_FACTOR].levels]
    seed = random.SystemRandom().getrandbits(48) if run.options.seed is None else run.options.seed

    def note(text: str) -> None:
        progress.print(text, style="dim", soft_wrap=True)

    with Provisioners(run.options.directory, run.options.allow_writes) as provisioners:
        with provisioners.interrupted.handle_signals():
            of_both = {
                side: statement_cells(experiment, system, names) for side, system in (("old", old), ("new", new))
            }
            before, after = (rejected_statements(each, provisioners) for each in of_both.values())
        _check_accepted(before, after, run.source.experiments[0])
        rejected = {name: words for name, words in after.items() if name not in before}
    notes = [f"not measured, because {old.name} rejects it: {name}: {words}" for name, words in before.items()]
    measured = [name for name in names if name not in before and name not in after]
    statements = [_rejected(name, words) for name, words in rejected.items()]
    with writing_store(store_location) as store:
        sides = None
        if measured:
            chosen = [f"{QUERY_FACTOR}={','.join(map(json.dumps, measured))}"]
            limited = replace(run.options, seed=seed, budget_s=upgrade.budget_s, rounds="auto", set=chosen)
            sides = measure_sides(
                replace(run, options=limited),
                upgrade.old,
                None,
                store=store,
                store_location=store_location,
                options=options,
                command=command,
            )
            if sides is None:
                console.print("interrupted: no verdict")
                return INTERRUPTED
            statements += _of_sides(sides, options.share)
        statements, left_out = _Explainer(run, upgrade, (old, new), experiment, seed, note).explain(statements)
        notes += left_out
        done = Upgrade(run.source.experiments[0], *_names(statements, old, new), by_harm(statements), notes)
        code = _conclude(done, sides, options, console, command)
        if code:
            report_store_errors(store, console)
        return code


def _check_systems(old: SystemSpec, new: SystemSpec, upgrade: UpgradeOptions) -> None:
    """Raise InputError for systems that can't be compared."""
    if old.engine != new.engine:
        problem = f"`--from` is {engine_of(old.engine).title} and `--to` {engine_of(new.engine).title}"
        raise InputError("upgrade", problem, "name two versions or settings of one engine; `dbdyno queries` takes both")
    if engine_of(new.engine).grammar is None:
        raise InputError("upgrade", f"`{new.name}` takes no SQL", "name a database")
    if old == new:
        raise InputError("upgrade", "`--from` and `--to` name the same system", "name two versions or settings")
    if upgrade.bisect and not upgrade.via and not engine_of(new.engine).builds_releases:
        hint = "add the systems between both, oldest first: `--via SYSTEM --via SYSTEM`"
        raise InputError("--bisect", f"dbdyno can't find the releases of {engine_of(new.engine).title}", hint)
    if upgrade.via and not upgrade.bisect:
        raise InputError("--via", "it has no effect without `--bisect`", "add `--bisect`, or leave it out")


def _check_accepted(before: Mapping[str, str], after: Mapping[str, str], file: str) -> None:
    """Raise InputError for statements that both systems reject."""
    wrong = [InputError(f"{file}: {name}", words) for name, words in before.items() if name in after]
    if wrong:
        raise wrong[0] if len(wrong) == 1 else ValidationErrors(wrong)


def _rejected(name: str, words: str) -> StatementUpgrade:
    return StatementUpgrade(name, Judgement("failed", f"rejected: {words}"), NOT_COMPARED, rejected=words)


def _of_sides(sides: Sides, margin: float) -> list[StatementUpgrade]:
    """Judge the measured statements."""
    compared, document = sides.compared, sides.document
    cells = {cell.id: cell for cell in document.cells}
    rows = row_verdicts(sides.observations)
    statements = []
    judgements = judge(compared, margin)
    for comparison, judgement, changes in zip(compared.comparisons, judgements, compared.plan_changes, strict=True):
        old, new = cells[comparison.a], cells[comparison.b]
        verdict = rows.get((old.id, new.id), NOT_COMPARED)
        statements.append(
            StatementUpgrade(
                str(new.factors[STATEMENT]),
                judge_rows(judgement, verdict),
                verdict,
                old,
                new,
                changes[0] if changes else None,
                all(statement.plan_nodes for cell in (old, new) for statement in cell.statements),
            )
        )
    return statements


@dataclass(frozen=True)
class _Explainer:
    """Finds what brings old plans back and since when statements are harmed."""

    run: RunCommand
    upgrade: UpgradeOptions
    systems: tuple[SystemSpec, SystemSpec]
    experiment: Experiment
    seed: int
    note: Callable[[str], None]

    def explain(self, found: Sequence[StatementUpgrade]) -> tuple[list[StatementUpgrade], list[str]]:
        """Return the statements with remedies and releases, and notes on omissions. Raises DbdynoError."""
        statements, notes = list(found), list[str]()
        if not any(statement.is_harmed for statement in found):
            return statements, notes
        options = self.run.options
        with (
            Provisioners(options.directory, options.allow_writes) as provisioners,
            provisioners.interrupted.handle_signals(),
        ):
            try:
                tries = Tries(
                    self.experiment, *self.systems, provisioners, self.seed, Budget(self.upgrade.budget_s), self.note
                )
                statements, notes = tries.find(statements)
                if self.upgrade.bisect:
                    statements, skipped = self._bisect(statements, provisioners)
                    notes += skipped
            except RunInterrupted:
                notes.append("interrupted: not all changes and releases were tried")
        return statements, notes

    def _bisect(
        self, statements: Sequence[StatementUpgrade], provisioners: Provisioners
    ) -> tuple[list[StatementUpgrade], list[str]]:
        old, new = self.systems
        steps, ends = _steps(statements, old, new, self.upgrade), _names(statements, old, new)
        bisection = Bisection(self.experiment, old, steps, ends, provisioners, self.seed, self.note)
        made = bisection.find(statements)
        return made, [f"left out of the bisection: {name}: {why}" for name, why in bisection.skipped.items()]


def _steps(
    statements: Sequence[StatementUpgrade], old: SystemSpec, new: SystemSpec, upgrade: UpgradeOptions
) -> list[Step]:
    """Return the systems between both, oldest first. Raises InputError."""
    if upgrade.via:
        return [_named_step(parse_url(each)) for each in upgrade.via]
    first, last = _versions(statements) or (sqlite_version(old), sqlite_version(new))
    return sqlite_steps(new, first, last)


def _versions(statements: Sequence[StatementUpgrade]) -> tuple[str, str] | None:
    """Return the versions that both systems report; None if no statement was measured on both."""
    cells = ((statement.old, statement.new) for statement in statements)
    versions = ((old.system.version or "", new.system.version or "") for old, new in cells if old and new)
    return next(versions, None)


def _named_step(system: SystemSpec) -> Step:
    return Step(system.label or system.name, lambda: system)


def _names(statements: Sequence[StatementUpgrade], old: SystemSpec, new: SystemSpec) -> tuple[str, str]:
    """Return what to call both systems: by version if that distinguishes them, otherwise by their URLs."""
    versions = _versions(statements)
    if versions is None or versions[0] == versions[1]:
        return old.label or old.name, new.label or new.name
    title = engine_of(new.engine).title
    return f"{title} {versions[0]}", f"{title} {versions[1]}"


def _conclude(done: Upgrade, sides: Sides | None, options: GateOptions, console: Console, command: list[str]) -> int:
    """Print the statements, and write the files; return the exit code."""
    judged = [(statement.name, statement.judgement) for statement in done.statements]
    about = f"{done.file}: {done.old} -> {done.new}"
    notes = [f"{statement.name}: {words}" for statement in done.statements for words in statement.further] + list(
        done.notes
    )
    if sides is None:
        gated = Gated(done.file, about, "throughput", judged, options.fails, notes)
    else:
        gated = replace(of_compared(sides.compared, options), about=about, judged=judged, notes=notes)
        gated = replace(gated, advice=advice(gated, sides.document, command))
    gated = replace(gated, command="upgrade", statements=[statement.document for statement in done.statements])
    head = Text.assemble("upgrade  ", (f"{done.file}  {done.old} -> {done.new}", "bold"), f"   {done.counts}")
    console.print(head, soft_wrap=True)
    styles = {statement.name: _STYLES.get(statement.judgement.verdict, "") for statement in done.statements}
    for name, line in done.lines(console.width):
        console.print(Text(line, style=styles.get(name or "", "")), soft_wrap=True)
    if gated.advice:
        console.print(gated.advice, soft_wrap=True)
    options.write(gated, console)
    return gated.exit_code
