"""What is worth a sentence about a run."""
