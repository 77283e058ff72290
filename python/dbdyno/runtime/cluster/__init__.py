"""Optional: the load comes from several machines of a Ray cluster. Ray is the extra `cluster`."""
