"""Processes: the worker, what supervises servers, the workspace of a run, load machines.

Starting, ending and talking to processes belongs here. What to measure, and on which database, does not.
"""
