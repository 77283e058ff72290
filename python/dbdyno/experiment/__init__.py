"""Experiments: TOML files with a question about databases, read and checked."""

from dbdyno.base.errors import InputError
from dbdyno.base.resources import builtin_names, package_path, template_names, template_path
from dbdyno.experiment.experiment import Experiment, builtin_experiments, load_experiment, programs_experiment
from dbdyno.experiment.factors import SYSTEM, Exclusion, Factor
from dbdyno.experiment.published import PublishedFigure, PublishedFigures, load_published
from dbdyno.model.experiment.validation import ValidationErrors


def template_text(name: str | None = None) -> str:
    """Return the content of a template, by default the commented experiment that ``dbdyno init`` writes.

    A built-in experiment is a template, too. Raises InputError if the template doesn't exist.
    """
    if name is not None and name not in template_names():
        if name in builtin_names():
            return load_experiment(name).text
        hint = f"the templates are {', '.join(template_names())}, and all experiments of `dbdyno list`"
        raise InputError(f"--template {name}", "no such template", hint)
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
