"""What a trial is, as a plan says it (crates/plan): nothing here does anything."""
