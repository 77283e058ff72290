"""Interpret stored runs: metrics of trials, bottlenecks, findings, the answer, and comparisons of runs.

This package neither measures nor formats output.
"""
