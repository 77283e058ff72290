"""Types and helpers for plans, the JSON documents that a worker executes (crates/protocol/src/plan)."""
