"""Traces: statements recorded from an application, with sessions and times; recording, reading and summing them up.

Applications import this package to record their own statements, so it imports nothing large by itself. What is made of
a trace, such as a workload, is in :mod:`dbdyno.experiment`.
"""
