"""The types of an experiment's definition for one cell: tables, transactions and load.

They are independent of engines. Checks that depend on an engine use the protocol ``Engines``, whose implementation the
caller passes to :func:`dbdyno.model.experiment.strict.validate`.
"""
