"""The worker's own instructions beside those of the engine that it measures."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from dbdyno.cpu.builds import build
from dbdyno.cpu.counting import count_twice
from dbdyno.cpu.valgrind import valgrind_version
from dbdyno.cpu.work import find_work
from dbdyno.errors import TrialFailed

# Look-ups that an engine answers in a few thousand instructions: what is added to them shows most.
USUAL_WORK, USUAL_LEVELS = "cpu-cost", ("part=point",)


@dataclass(frozen=True)
class OwnCost:
    """Instructions of one statement of a part: the ``engine``'s, and the ``worker``'s beside them."""

    part: str
    engine: float
    worker: float

    @property
    def ratio(self) -> float:
        """Both to the engine's alone, which a loop that records nothing cannot go below."""
        return (self.engine + self.worker) / self.engine


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
        record = part.task["record"] | {"io": True, "groups": None}
        ordinary = replace(part, task=part.task | {"record": record})
        first, second, more = count_twice(ordinary, library, seed)
        engine = second.attribution.engine[0] - first.attribution.engine[0]
        worker = second.attribution.harness[0] - first.attribution.harness[0]
        if more <= 0 or engine <= 0:
            raise TrialFailed(f"{part.name}: twice the transactions did no more, so that a statement has no cost")
        found.append(OwnCost(part.name, engine / more, worker / more))
    if not found:
        raise TrialFailed(f"{work} cannot be made longer, and what is done once cannot be told from what is not")
    return found
