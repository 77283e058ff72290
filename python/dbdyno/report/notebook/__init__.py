"""Runs as objects for notebooks and scripts, returned by :func:`dbdyno.load` and :func:`dbdyno.runs`."""
