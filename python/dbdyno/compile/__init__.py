"""Compiling: an experiment at one cell turned into the plans that a worker reads."""

from dbdyno.compile.cell import CompiledCell, compile_cell, refusal

__all__ = ["CompiledCell", "compile_cell", "refusal"]
