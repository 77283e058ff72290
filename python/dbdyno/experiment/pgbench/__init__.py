"""Create experiments from pgbench scripts; see ``dbdyno.experiment.pgbench.experiment``."""
