"""Load from several machines of a Ray cluster. Optional: Ray is the extra `cluster`."""
