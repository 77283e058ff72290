"""Other programs, or the host of a virtual machine, that took processors away."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.bottleneck.common import SHORTEST_S
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.measured.metrics import done
from dbdyno.engines.url import serves_here
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

DISTURBED = Kind("disturbed", ("warning", "trials"))


# Other programs and the host: shares of one processor from which a round counts as disturbed.
_OTHERS = 0.2

_STOLEN = 0.05


def disturbed(cells: Sequence[Cell], *, waited: bool, can_wait: bool = True) -> list[Finding]:
    """Other programs, or the host of a virtual machine, took processors away: one finding for the whole run.

    ``waited``: each trial waited for a quiet machine; ``can_wait``: it could have.
    """
    others, stolen, trials = [0.0], [0.0], 0
    hit: dict[str, int] = {}
    for cell in cells:
        here = serves_here(cell["system"]["name"])
        for each in done(cell):
            cpu = each["cpu_percent"]
            trials += 1
            if cpu["machine"] is None or cpu["client"] is None or (each["elapsed_s"] or 0.0) < SHORTEST_S:
                continue
            stolen.append((cpu["steal"] or 0.0) / 100)
            # What a server here used that nobody started for this is not known, and no other program's.
            known = cpu["server"] is not None or not here
            others.append((cpu["machine"] - cpu["client"] - (cpu["server"] or 0.0)) / 100 if known else 0.0)
            if others[-1] >= _OTHERS or stolen[-1] >= _STOLEN:
                hit[cell["id"]] = hit.get(cell["id"], 0) + 1
    if not hit:
        return []
    parts = []
    if max(others) >= _OTHERS:
        parts.append(f"other programs used up to {max(others) * 100:.0f} % of a processor")
    if max(stolen) >= _STOLEN:
        parts.append(f"the host took up to {max(stolen) * 100:.0f} %")
    text = " and ".join(parts)
    text = f"{text[0].upper()}{text[1:]}, in {sum(hit.values())} of {trials} trials"
    if waited:
        text += ", though each waited for a quiet machine."
    else:
        text += "; `--wait-idle` waits for a quiet machine." if can_wait else "."
    where = list(hit) if len(hit) < len(cells) else []
    return [DISTURBED.found(text, where, {"warning": DISTURBED.name, "trials": hit})]


def _of_run(material: Material) -> list[Finding]:
    options = material.run.options
    # Of load machines of a cluster none is waited for.
    return disturbed(material.cells, waited=bool(options.get("wait_idle")), can_wait=options.get("cluster") is None)


RULE = Rule(_of_run, (DISTURBED,))
