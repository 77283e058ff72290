"""What follows from the trials of a run: its cells, their rounds, and what may be said of one against another."""
