"""Make a workload of a trace: transactions from sequences of statements, and parameters from their values.

The result is a .sql file, as :mod:`dbdyno.experiment.mix` reads it. Questions to a database are passed in as functions.
"""
