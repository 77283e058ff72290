"""Types of the events that a worker writes. ``dbdyno-worker schema event`` prints their schema.

This file imports nothing, so that commands that neither run a worker nor show a run start faster.
"""
