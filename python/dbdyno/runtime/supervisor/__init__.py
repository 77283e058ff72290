"""Supervised programs. A small process, the supervisor, ends its program when dbdyno ends, even by SIGKILL."""
