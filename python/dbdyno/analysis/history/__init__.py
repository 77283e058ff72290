"""The history of an experiment: a metric of each cell over the stored runs, and where it changed.

``read_history`` reads the store, ``build_history`` makes the document (``dbdyno.history/1``) that ``show`` and ``html``
are views of.
"""
