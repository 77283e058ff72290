"""pgbench's scripts as experiments. ``dbdyno.pgbench.experiment`` makes them; nothing is imported here."""
