"""Experiments: questions written down in TOML files, read and checked."""

from dbdyno.experiment.definition import Definition
from dbdyno.experiment.experiment import Experiment, builtin_experiments, load_experiment
from dbdyno.experiment.factors import SYSTEM, Exclusion, Factor, Level
from dbdyno.experiment.mistakes import Mistakes

__all__ = [
    "SYSTEM",
    "Definition",
    "Exclusion",
    "Experiment",
    "Factor",
    "Level",
    "Mistakes",
    "builtin_experiments",
    "load_experiment",
]
