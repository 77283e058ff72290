"""Utilities for all other packages: errors, formatting, paths, and the files that are shipped with dbdyno.

This package imports no other dbdyno package. Code about databases, experiments or runs belongs elsewhere.
"""
