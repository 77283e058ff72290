"""Data without behavior: an experiment, a plan, the events of a worker, the result of a run.

Types and their checks belong here, as do the greatest numbers that they may hold. What measures or concludes does not.
"""
