"""Programs that end with dbdyno, whatever ends it: each runs under a small process of its own, its keeper."""
