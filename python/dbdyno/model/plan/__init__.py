"""What a trial is, as a plan says it (crates/protocol/src/plan): nothing here does anything."""
