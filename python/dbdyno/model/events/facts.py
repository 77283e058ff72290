"""Facts about an engine, as the engine reports them."""

from typing import Literal

from pydantic import Field

from dbdyno.model.events.base import Count, Part
from dbdyno.model.events.catalog import Catalog

DurabilityClass = Literal["none", "process-safe", "torn-pages", "power-safe"]


class Durability(Part):
    """The durability class of acknowledged commits, and the settings that determine it."""

    durability_class: DurabilityClass = Field(alias="class")
    because: str


class LostUpdates(Part):
    """Concurrent updates to one document: acknowledged updates, and updates found in the document afterwards."""

    sessions: Count
    acknowledged: Count
    counted: Count


class Estimate(Part):
    """Expected and actual rows of a step of a query plan.

    ``expected``, ``found``: rows per execution; ``table``: null if the step reads the output of other steps; ``depth``:
    number of steps above it; ``at_least``: the step ended early or may have, so ``found`` is a lower bound.
    """

    step: str
    table: str | None
    depth: Count
    expected: float
    found: float
    executions: float
    at_least: bool


class PreparedPlans(Part):
    """The two plans of a prepared statement, with their estimated costs.

    ``generic``: for any values; ``custom``: for the statement's example or representative values; ``custom_cost``:
    without the cost of planning.
    """

    generic: list[str]
    generic_cost: float
    custom: list[str]
    custom_cost: float


class Facts(Part):
    """An engine: its version, exact source, compile options and settings in effect.

    ``plans``: query plans by statement name, one step per line; ``passed_over``: indexes that could serve a statement
    but that its plan doesn't use; ``lost_updates``: null if not tested; ``estimates``: row estimates by statement name,
    missing if no statement was run for them; ``prepared``: the plans of prepared statements whose two plans differ.
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
    prepared: dict[str, PreparedPlans] = Field(default_factory=dict)
