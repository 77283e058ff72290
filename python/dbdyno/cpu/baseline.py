"""A count against one that was kept: whether they can be compared, and what has changed, where."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from dbdyno.analysis.gate import Judgement
from dbdyno.base.errors import InputError
from dbdyno.cpu.document import CpuDocument, differing_results

# Of the surroundings, in words.
_NAMES = {
    "cpu": "the processor",
    "libc": "the C library",
    "machine": "the architecture",
    "valgrind": "valgrind",
    "caches": "the simulated caches",
    "compiler": "the compiler",
    "worker_sha256": "the worker",
}


class Change(NamedTuple):
    """Instructions of one thing, before and after."""

    name: str
    before: int
    after: int

    @property
    def difference(self) -> int:
        """How many more."""
        return self.after - self.before

    @property
    def share(self) -> float | None:
        """The change as a share of what it was; None where that was nothing."""
        return self.difference / self.before if self.before else None


@dataclass(frozen=True)
class Changes:
    """All that changed. ``files`` and ``functions``: only those that did, the greatest change first."""

    total: Change
    parts: list[Change]
    files: list[Change]
    functions: list[Change]
    differing: list[str]


def check_comparable(before: CpuDocument, after: CpuDocument) -> None:
    """Raise InputError where two counts differ in more than the engine: in their work or their surroundings."""
    if before["work_sha256"] != after["work_sha256"]:
        problem = f"it is a count of other work (`{before['work']}`, seed {before['seed']})"
        raise InputError("--baseline", problem, "count the same experiment with the same `--set` and `--seed`")
    differing = differing_surroundings(before, after)
    if differing:
        problem = f"counts of different surroundings cannot be compared: {'; '.join(differing)}"
        raise InputError("--baseline", problem, "save a baseline here, with the same tools")


def differing_surroundings(before: CpuDocument, after: CpuDocument) -> list[str]:
    """Say in what else than the engine two counts differ, but for their work: a clause for each."""
    one, other = before["surroundings"], after["surroundings"]
    return [
        f"{_NAMES[name]} ({one.get(name)} and {other.get(name)})" for name in _NAMES if one.get(name) != other.get(name)
    ]


def changes(before: dict[str, Any], after: dict[str, Any]) -> Changes:
    """Compare two builds' objects of count documents."""
    return Changes(
        Change("all", before["i_refs"], after["i_refs"]),
        _changed({each["name"]: each["i_refs"] for each in before["parts"]}, after["parts"], "name"),
        _sorted(_changed({each["file"]: each["i_refs"] for each in before["files"]}, after["files"], "file")),
        _sorted(_functions(before, after)),
        differing_results(before, after),
    )


def _changed(before: dict[str, int], after: list[dict[str, Any]], key: str) -> list[Change]:
    now = {each[key]: each["i_refs"] for each in after}
    return [Change(name, before.get(name, 0), now.get(name, 0)) for name in dict.fromkeys([*before, *now])]


def _functions(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    def named(build: dict[str, Any]) -> dict[str, int]:
        sums: dict[str, int] = {}
        for each in build["functions"]:
            name = f"{each['name']} ({each['file']})"
            sums[name] = sums.get(name, 0) + each["i_refs"]
        return sums

    one, other = named(before), named(after)
    return [Change(name, one.get(name, 0), other.get(name, 0)) for name in dict.fromkeys([*one, *other])]


def _sorted(found: list[Change]) -> list[Change]:
    return sorted((each for each in found if each.difference), key=lambda each: -abs(each.difference))


def judge_counts(found: Changes, margin: float) -> list[tuple[str, Judgement]]:
    """Judge how a count of instructions changed since a baseline; give the name and the verdict, of all and each part.

    A count has no spread: it is above the margin or not. Other results are a regression whatever they cost.
    """
    judged: list[tuple[str, Judgement]] = []
    for each in [found.total, *(part for part in found.parts if len(found.parts) > 1)]:
        share = each.share
        change = f"{each.before:,} → {each.after:,} instructions"
        if share is None:
            judged.append((each.name, Judgement("not settled", f"{change}: there was nothing to compare with")))
        elif share > margin:
            reason = f"{change}, {share:+.3%}: more than {margin * 100:.3g} % above"
            judged.append((each.name, Judgement("regression", reason)))
        else:
            judged.append((each.name, Judgement("pass", f"{change}, {share:+.3%}")))
    judged += [("results", Judgement("regression", clause)) for clause in found.differing]
    return judged
