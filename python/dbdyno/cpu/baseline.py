"""Compares a count with a stored one, if they are comparable: changes by part, file and function, and a verdict."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from dbdyno.analysis.gate import Judgement
from dbdyno.base.errors import InputError
from dbdyno.cpu.document import CpuDocument, differing_results

# Names of the environment's properties in messages.
_NAMES = {
    "cpu": "the processor",
    "libc": "the C library",
    "machine": "the architecture",
    "valgrind": "valgrind",
    "caches": "the simulated caches",
    "compiler": "the compiler",
    "worker_sha256": "the worker",
}


class CountChange(NamedTuple):
    """Instructions of a part, a file or a function, before and after."""

    name: str
    before: int
    after: int

    @property
    def difference(self) -> int:
        """The increase in instructions."""
        return self.after - self.before

    @property
    def share(self) -> float | None:
        """The change as a share of the value before, or None if that was 0."""
        return self.difference / self.before if self.before else None


@dataclass(frozen=True)
class Changes:
    """All changes. ``files`` and ``functions`` contain only changed ones, largest change first."""

    total: CountChange
    parts: list[CountChange]
    files: list[CountChange]
    functions: list[CountChange]
    differing: list[str]


def check_comparable(before: CpuDocument, after: CpuDocument) -> None:
    """Raise InputError if two counts differ in their work or their environment."""
    if before["work_sha256"] != after["work_sha256"]:
        problem = f"this is a count of different work (`{before['work']}`, seed {before['seed']})"
        raise InputError("--baseline", problem, "count the same experiment with the same `--set` and `--seed`")
    differing = differing_surroundings(before, after)
    if differing:
        problem = f"counts from different environments cannot be compared: {'; '.join(differing)}"
        raise InputError("--baseline", problem, "save a baseline here, with the same tools")


def differing_surroundings(before: CpuDocument, after: CpuDocument) -> list[str]:
    """Return the differences between the environments of two counts: one clause each."""
    one, other = before["surroundings"], after["surroundings"]
    return [
        f"{_NAMES[name]} ({one.get(name)} and {other.get(name)})" for name in _NAMES if one.get(name) != other.get(name)
    ]


def changes(before: dict[str, Any], after: dict[str, Any]) -> Changes:
    """Compare two build objects of count documents."""
    return Changes(
        CountChange("all", before["i_refs"], after["i_refs"]),
        _changed({part["name"]: part["i_refs"] for part in before["parts"]}, after["parts"], "name"),
        _sorted(_changed({file["file"]: file["i_refs"] for file in before["files"]}, after["files"], "file")),
        _sorted(_functions(before, after)),
        differing_results(before, after),
    )


def _changed(before: dict[str, int], after: list[dict[str, Any]], key: str) -> list[CountChange]:
    now = {each[key]: each["i_refs"] for each in after}
    return [CountChange(name, before.get(name, 0), now.get(name, 0)) for name in dict.fromkeys([*before, *now])]


def _functions(before: dict[str, Any], after: dict[str, Any]) -> list[CountChange]:
    def named(build: dict[str, Any]) -> dict[str, int]:
        sums: dict[str, int] = {}
        for function in build["functions"]:
            name = f"{function['name']} ({function['file']})"
            sums[name] = sums.get(name, 0) + function["i_refs"]
        return sums

    one, other = named(before), named(after)
    return [CountChange(name, one.get(name, 0), other.get(name, 0)) for name in dict.fromkeys([*one, *other])]


def _sorted(found: list[CountChange]) -> list[CountChange]:
    return sorted((change for change in found if change.difference), key=lambda change: -abs(change.difference))


def judge_counts(found: Changes, margin: float) -> list[tuple[str, Judgement]]:
    """Judge the change of an instruction count since a baseline. Returns names and verdicts: the total and each part.

    Counts are exact, so a change is above the margin or not. Different results are always a regression.
    """
    judged: list[tuple[str, Judgement]] = []
    for each in [found.total, *(part for part in found.parts if len(found.parts) > 1)]:
        share = each.share
        change = f"{each.before:,} → {each.after:,} instructions"
        if share is None:
            judged.append((each.name, Judgement("not settled", f"{change}: the baseline counted none")))
        elif share > margin:
            reason = f"{change}, {share:+.3%}: more than {margin * 100:.3g} % above"
            judged.append((each.name, Judgement("regression", reason)))
        else:
            judged.append((each.name, Judgement("pass", f"{change}, {share:+.3%}")))
    judged += [("results", Judgement("regression", clause)) for clause in found.differing]
    return judged
