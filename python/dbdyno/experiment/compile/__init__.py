"""Compile a cell of an experiment to plans for the worker."""

from dbdyno.experiment.compile.cell import compile_cell, refusal
from dbdyno.experiment.compile.describe import Description, TransactionText, describe
from dbdyno.experiment.compile.effects import outside_effects

__all__ = ["Description", "TransactionText", "compile_cell", "describe", "outside_effects", "refusal"]
