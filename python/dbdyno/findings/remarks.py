"""What a run has to say of what it did not do, or cannot promise, before anything is read from its figures."""

from dbdyno.compile import CompiledCell
from dbdyno.design import Cells
from dbdyno.document.finding import finding
from dbdyno.document.shape import Finding
from dbdyno.run.counting import unrepeatable


def unrepeatable_counts(compiled: list[CompiledCell]) -> list[Finding]:
    """Say of which cells the counts differ from one time to the next, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for each in compiled:
        words = unrepeatable(each)
        if words:
            reasons.setdefault("; ".join(words), []).append(each.cell.id)
    return [
        finding(
            "counts vary", f"The instructions counted are not the same each time: {words}.", ids, {"reasons": words}
        )
        for words, ids in reasons.items()
    ]


def left_out(cells: Cells) -> list[Finding]:
    """Say which combinations were not measured, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for each in cells.excluded:
        reasons.setdefault(each.reason, []).append(each.cell.id)
    return [
        finding("not measured", f"Not measured: {', '.join(ids)}: {reason}.", [], {"excluded": ids})
        for reason, ids in reasons.items()
    ]


def left_steps(compiled: list[CompiledCell]) -> list[Finding]:
    """Say which steps were not done on an engine because they are for others, once for each engine."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in compiled:
        if each.left_out:
            found.setdefault((each.cell.system.engine, each.left_out), []).append(each.cell.id)
    return [
        finding("steps left out", _without(engine, steps), ids, {"steps": list(steps)})
        for (engine, steps), ids in found.items()
    ]


def _without(engine: str, steps: tuple[str, ...]) -> str:
    named = " and ".join(f"`{step}`" for step in steps)
    text = f"On {engine} the steps {named} were left out: the experiment has them for other engines only"
    return f"{text}; each statement was a transaction of its own." if "begin" in steps else f"{text}."
