"""The events that a worker writes, as types: those of ``dbdyno-worker schema event``.

Nothing is imported here: they are wanted where a worker is listened to or a run is shown, and nowhere before.
"""
