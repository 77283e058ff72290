"""Processes and their files: the worker, supervised servers, the workspace of a run, load machines.

This package starts processes, talks to them and ends them. It doesn't decide what to measure or on which database.
"""
