"""All findings, a line for each: the one place that names them. Documents have them in this order."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.analysis.findings import (
    backlog_full,
    beyond_the_device,
    busy_client,
    changes,
    cliff,
    connecting,
    connecting_behind,
    counts_vary,
    cut_short,
    disturbed,
    durability_contradicted,
    ended,
    estimates,
    failures,
    few_transactions,
    fits_in_cache,
    indexes_apart,
    interleaving_syncs_differ,
    key_order,
    limits_met,
    load_machine_lost,
    load_machines_apart,
    load_machines_differ,
    load_machines_shared,
    lost_updates,
    memory_limit,
    name_resolution,
    not_comparable,
    not_looked_at,
    not_measured,
    of_engines,
    one_at_a_time,
    other_counts,
    other_products,
    other_rows,
    outliers,
    overrun,
    plan_changed,
    prefix_scans,
    probe_failed,
    recommendations,
    settings_not_in_force,
    several_servers,
    skipped,
    slower_device,
    stalled,
    steps_left_out,
    tiers,
    two_levels,
    unreadable,
    unsettled,
    whole_tables,
    writes_allowed,
)
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

RULES: tuple[Rule, ...] = (
    # What was done is not the same.
    durability_contradicted.RULE,
    not_comparable.RULE,
    settings_not_in_force.RULE,
    memory_limit.RULE,
    other_rows.RULE,
    other_counts.RULE,
    # Searches, and what was tried against them.
    prefix_scans.RULE,
    whole_tables.RULE,
    estimates.RULE,
    recommendations.RULE,
    # What the run did, and saw.
    several_servers.RULE,
    indexes_apart.RULE,
    writes_allowed.RULE,
    probe_failed.RULE,
    ended.RULE,
    name_resolution.RULE,
    counts_vary.RULE,
    interleaving_syncs_differ.RULE,
    not_measured.RULE,
    load_machine_lost.RULE,
    not_looked_at.RULE,
    steps_left_out.RULE,
    # What only one engine's cells can show.
    of_engines.RULE,
    # Several cells together.
    key_order.RULE,
    cliff.RULE,
    changes.RULE,
    connecting.RULE,
    connecting_behind.RULE,
    tiers.RULE,
    other_products.RULE,
    # What did not end well.
    lost_updates.RULE,
    failures.RULE,
    limits_met.RULE,
    backlog_full.RULE,
    one_at_a_time.RULE,
    skipped.RULE,
    cut_short.RULE,
    # What warns of figures.
    beyond_the_device.RULE,
    slower_device.RULE,
    outliers.RULE,
    disturbed.RULE,
    unsettled.RULE,
    stalled.RULE,
    few_transactions.RULE,
    plan_changed.RULE,
    two_levels.RULE,
    busy_client.RULE,
    load_machines_differ.RULE,
    load_machines_apart.RULE,
    load_machines_shared.RULE,
    overrun.RULE,
    fits_in_cache.RULE,
    unreadable.RULE,
)

KINDS: Mapping[str, Kind] = {kind.name: kind for rule in RULES for kind in rule.kinds}
"""All kinds, by name."""


def find_all(material: Material) -> list[Finding]:
    """Give all that is worth a sentence about a run."""
    return [found for rule in RULES for found in rule.find(material)]
