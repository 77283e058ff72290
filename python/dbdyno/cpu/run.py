"""A count from the request to its document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dbdyno.cpu.builds import BUNDLED, Build, build
from dbdyno.cpu.costs import engine_costs
from dbdyno.cpu.counting import count_part
from dbdyno.cpu.document import BuildCount, CpuDocument, document
from dbdyno.cpu.source import read_source_map
from dbdyno.cpu.valgrind import valgrind_version
from dbdyno.cpu.work import find_work


@dataclass(frozen=True)
class CpuRequest:
    """What the user asked for.

    ``work``: an experiment or a file of SQL; ``sources``: versions and paths; ``cflags``: each set of options is a build of
    each source; ``once``: no second count of twice the work.
    """

    work: str
    chosen: Sequence[str] = ()
    sources: Sequence[str] = field(default=(BUNDLED,))
    cflags: Sequence[str] = field(default=("",))
    seed: int = 1
    once: bool = False


def count(request: CpuRequest, tell: Callable[[str], None]) -> tuple[CpuDocument, list[BuildCount]]:
    """Count. ``tell`` is told what is done next. Raises DbdynoError."""
    work = find_work(request.work, request.chosen)
    valgrind_version()
    builds: list[Build] = []
    for source in request.sources:
        for cflags in request.cflags:
            tell(f"building {source} {cflags}".strip())
            builds.append(build(source, cflags))
    counts = []
    for each_build in builds:
        counted = []
        for part in work.parts:
            tell(f"counting {part.name} on {each_build.label}")
            counted.append(count_part(part, each_build, request.seed, twice=not request.once))
        text = read_source_map(each_build.text)
        counts.append(BuildCount(each_build, counted, engine_costs((each.attribution for each in counted), text)))
    return document(work, counts, request.seed), counts
