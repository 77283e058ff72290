"""The history of an experiment: a metric of each cell over the stored runs, with change points.

``read_history`` reads the store, and ``build_history`` builds the document (``dbdyno.history/1``) that ``show`` and
``html`` display.
"""
