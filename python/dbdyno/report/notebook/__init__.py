"""Runs as objects, for notebooks and scripts: what :func:`dbdyno.load` and :func:`dbdyno.runs` give."""
