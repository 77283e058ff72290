"""The worker's own instructions beside those of the engine it measures, and against a loop that records nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.base.errors import TrialFailed
from dbdyno.cpu.bare import bare_loop, count_bare_loop
from dbdyno.cpu.builds import Build, build
from dbdyno.cpu.counting import count_twice
from dbdyno.cpu.valgrind import valgrind_version
from dbdyno.cpu.work import Part, find_work

#: Look-ups that an engine answers in a few thousand instructions: what is added to them shows most.
USUAL_WORK = str(Path(__file__).with_name("own_cost.toml"))


@dataclass(frozen=True)
class OwnCost:
    """Instructions of one statement of a part: the ``engine``'s, and the ``worker``'s beside them.

    ``loop``: those of the bare loop, its engine's included; None where the part is more than such a loop can do.
    """

    part: str
    engine: float
    worker: float
    loop: float | None

    @property
    def of_engine(self) -> float:
        """Both to the engine's alone."""
        return (self.engine + self.worker) / self.engine

    @property
    def of_loop(self) -> float | None:
        """Both to the bare loop's."""
        return self.loop and (self.engine + self.worker) / self.loop

    @property
    def ratio(self) -> float:
        """What a margin is held against: the ratio to the loop, or where there is none to the engine."""
        return self.of_loop or self.of_engine


def own_costs(
    work: str, chosen: tuple[str, ...], source: str, cflags: str, seed: int, tell: Callable[[str], None]
) -> list[OwnCost]:
    """Count the worker as it measures: its ordinary session, with its layer over SQLite's files.

    The costs are the differences of runs of n and 2n transactions. Raises DbdynoError.
    """
    valgrind_version()
    parts = [each for each in find_work(work, list(chosen)).parts if not each.once]
    tell(f"building {source}")
    library = build(source, cflags)
    found = []
    for part in parts:
        tell(f"counting {part.name}")
        found.append(_own_cost(part, library, seed))
    if not found:
        raise TrialFailed(f"{work} cannot be made longer, and what is done once cannot be told from what is not")
    return found


def _own_cost(part: Part, library: Build, seed: int) -> OwnCost:
    record = part.task["record"] | {"io": True, "groups": None}
    first, second, more = count_twice(replace(part, task=part.task | {"record": record}), library, seed)
    engine = second.attribution.engine[0] - first.attribution.engine[0]
    worker = second.attribution.harness[0] - first.attribution.harness[0]
    if more <= 0 or engine <= 0:
        raise TrialFailed(f"{part.name}: twice the transactions did no more, so that a statement has no cost")
    loop = bare_loop(part)
    bare = None
    if loop is not None:
        once, twice = count_bare_loop(loop, part, library, (first.transactions, second.transactions))
        bare = (twice - once) / (second.transactions - first.transactions)
    return OwnCost(part.name, engine / more, worker / more, bare)
