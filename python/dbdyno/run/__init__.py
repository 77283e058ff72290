"""Runs: trials in order, on this machine, each stored as it ends."""
