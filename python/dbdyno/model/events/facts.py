"""What an engine is, read back from itself."""

from typing import Literal

from pydantic import Field

from dbdyno.model.events.base import Count, Part
from dbdyno.model.events.catalog import Catalog

DurabilityClass = Literal["none", "process-safe", "torn-pages", "power-safe"]


class Durability(Part):
    """What an acknowledged commit survives, and the settings that make it so."""

    durability_class: DurabilityClass = Field(alias="class")
    because: str


class LostUpdates(Part):
    """Updates that several sessions made to one document at once: those acknowledged, and those that it had."""

    sessions: Count
    acknowledged: Count
    counted: Count


class Estimate(Part):
    """What the planner expected of a step of a plan, and what came of it.

    ``expected``, ``found``: rows of one execution; ``table``: null where it works on other steps' rows; ``depth``: how
    many steps lie above it; ``at_least``: it was ended early, and would have given as many rows or more.
    """

    step: str
    table: str | None
    depth: Count
    expected: float
    found: float
    executions: float
    at_least: bool


class Facts(Part):
    """An engine: its version and exact source, what it was compiled with, its settings in force.

    ``plans``: how it means to carry out each statement, by name, a step a line; ``passed_over``: the indexes by which
    it could look up rows of a statement, and does not; ``lost_updates``: null where they were not tried;
    ``estimates``: of the steps of a statement's plan, by name, left out where no statement was run for it.
    """

    engine: str
    version: str
    source_id: str | None
    compile_options: list[str]
    settings: dict[str, str]
    durability: Durability
    plans: dict[str, list[str]]
    passed_over: dict[str, list[str]]
    catalog: Catalog
    lost_updates: LostUpdates | None
    estimates: dict[str, list[Estimate]] = Field(default_factory=dict)
