"""Data without behavior: an experiment, a plan, the events of a worker, the result of a run.

This package has the types with their checks and limits. Measuring and analysis belong in other packages.
"""
