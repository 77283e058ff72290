"""Experiments: questions written down in TOML files, read and checked."""

from dbdyno.base.errors import InputError
from dbdyno.base.resources import package_path, template_names, template_path
from dbdyno.experiment.experiment import Experiment, builtin_experiments, load_experiment, programs_experiment
from dbdyno.experiment.factors import SYSTEM, Exclusion, Factor
from dbdyno.experiment.published import PublishedFigure, PublishedFigures, load_published
from dbdyno.model.experiment.validation import ValidationErrors


def template_text(name: str | None = None) -> str:
    """Give the commented experiment that ``dbdyno init`` writes, or the template of a name.

    Raises InputError where there is no such template.
    """
    if name is not None and name not in template_names():
        hint = f"the templates are {', '.join(template_names())}"
        raise InputError(f"--template {name}", "there is no such template", hint)
    path = package_path("experiment", "template.toml") if name is None else template_path(name)
    return path.read_text(encoding="utf-8")


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
