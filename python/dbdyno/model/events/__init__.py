"""The events that a worker writes, as types: those of ``docs/event.schema.json``, which the worker's types give.

Nothing is imported here: they are wanted where a worker is listened to or a run is shown, and nowhere before.
"""
