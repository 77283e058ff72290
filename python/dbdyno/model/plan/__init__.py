"""The types of plans, the JSON documents that a worker executes (crates/protocol/src/plan), and what cells need.

dbdyno.experiment.compile builds each plan once, and the worker gets its JSON once.
"""
