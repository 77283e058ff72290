"""pgbench's scripts as experiments. ``dbdyno.experiment.pgbench.experiment`` makes them; nothing is imported here."""
