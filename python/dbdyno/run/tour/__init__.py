"""A tour: short runs of built-in experiments, compared with the published results."""
