"""A short version of every built-in experiment that the machine allows, beside what its source found."""
