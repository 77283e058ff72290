"""Compiling: an experiment at one cell turned into the plans that a worker reads."""

from dbdyno.compile.cell import PLAN, CompiledCell, compile_cell, refusal
from dbdyno.compile.describe import Description, TransactionText, describe

__all__ = ["PLAN", "CompiledCell", "Description", "TransactionText", "compile_cell", "describe", "refusal"]
