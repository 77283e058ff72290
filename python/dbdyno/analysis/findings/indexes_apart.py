"""Indexes on a device that was not looked at."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

INDEXES_ON_ANOTHER_DEVICE = Kind("indexes on another device", ("system", "directory"))


def indexes_apart(material: Material) -> Iterator[Finding]:
    """Say that what is told of the device is not told of that of the indexes."""
    told = {each["system"]: each["directory"] for each in material.observed(INDEXES_ON_ANOTHER_DEVICE)}
    for system, directory in told.items():
        cells = [cell["id"] for cell in material.cells if cell["system"]["name"] == system]
        words = f"The indexes lay in {directory}, on another file system than the tables and the log: "
        words += "reads, writes, queue and latency of the device are those of the tables' and the log's."
        yield INDEXES_ON_ANOTHER_DEVICE.found(words, cells, {"system": system, "directory": directory})


RULE = Rule(indexes_apart, (INDEXES_ON_ANOTHER_DEVICE,))
