"""Annotated source, and the difference of two counts, on the terminal."""

from collections.abc import Iterator, Sequence

from dbdyno.cpu.annotate import AnnotatedFunction
from dbdyno.cpu.diff import FunctionChange, LineChange

# What is trimmed: lines below this share of all, in an annotated source.
_NOISE = 0.0001


def annotated_lines(functions: Sequence[AnnotatedFunction], total: int, most: int | None) -> Iterator[str]:
    """Write functions with the lines that cost something. ``most``: so many functions; ``total``: of the engine."""
    for each in functions[:most]:
        function = each.function
        yield f"── {function.name}  {function.file}  {each.i_refs:,} instructions, {each.share * 100:.2f} %"
        for line in each.trimmed(max(1, round(total * _NOISE))):
            if line is None:
                yield f"{'':>14} {'':>8} {'⋮':>7}"
            elif line.cost is None:
                yield f"{'':>14} {'':>8} {line.number:>7} {line.text}"
            else:
                share = 100 * line.cost.i_refs / total if total else 0.0
                yield f"{line.cost.i_refs:>14,} {share:>6.2f} % {line.number:>7} {line.text}"
        yield ""


def diff_lines(
    names: tuple[str, str], totals: tuple[int, int], changes: Sequence[FunctionChange], most: int
) -> Iterator[str]:
    """Write what differs: the functions by their change, and then their lines. ``most``: so many functions."""
    before, after = totals
    yield f"{names[0]} → {names[1]}: {before:,} → {after:,} instructions, {_signed(after - before, before)}"
    if not changes:
        yield "no function differs"
        return
    yield f"{'before':>14} {'after':>14} {'change':>12} {'of all':>9}  function"
    for each in changes[:most]:
        one = f"{each.before.i_refs:,}" if each.before else "-"
        other = f"{each.after.i_refs:,}" if each.after else "-"
        share = 100 * each.difference / before if before else 0.0
        yield f"{one:>14} {other:>14} {each.difference:>+12,} {share:>+7.3f} %  {each.name} ({each.file})"
    if len(changes) > most:
        yield f"and {len(changes) - most} more"
    for each in changes[:most]:
        lines = [line for line in each.lines if line.difference]
        if not lines:
            continue
        yield ""
        yield f"── {each.name}  {each.file}  {each.difference:+,}"
        lines.sort(key=lambda line: -abs(line.difference))
        for line in lines[:most]:
            yield f"{line.before:>14,} {line.after:>14,} {line.difference:>+12,}  {_place(line)} {line.text}"


def _place(line: LineChange) -> str:
    return f"{line.before_line or '-':>7} {line.after_line or '-':>7}"


def _signed(difference: int, before: int) -> str:
    return f"{difference:+,}" + (f" ({100 * difference / before:+.3f} %)" if before else "")
