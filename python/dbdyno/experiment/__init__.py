"""Experiments: questions written down in TOML files, read and checked."""

from dbdyno.definition.validation import ValidationErrors
from dbdyno.experiment.experiment import Experiment, builtin_experiments, load_experiment, programs_experiment
from dbdyno.experiment.factors import SYSTEM, Exclusion, Factor
from dbdyno.experiment.published import PublishedFigure, PublishedFigures, load_published
from dbdyno.shipped import package_path


def template_text() -> str:
    """Give the commented experiment that ``dbdyno init`` writes."""
    return package_path("experiment", "template.toml").read_text(encoding="utf-8")


__all__ = [
    "SYSTEM",
    "Exclusion",
    "Experiment",
    "Factor",
    "PublishedFigure",
    "PublishedFigures",
    "ValidationErrors",
    "builtin_experiments",
    "load_experiment",
    "load_published",
    "package_path",
    "programs_experiment",
    "template_text",
]
