"""Supervised programs. Each runs under a small process, its keeper, which ends it when dbdyno ends, even by SIGKILL."""
