"""The names of the engines that experiments and URLs may use."""

ENGINES: tuple[str, ...] = ("sqlite", "postgresql", "mysql", "mongodb", "sqlserver", "null", "exec")

SERVERS: tuple[str, ...] = ("postgresql", "mysql", "mongodb", "sqlserver")
"""Those whose sessions wait for a process of its own."""

EXEC = "exec"
"""No database: a program of the user's own, timed as a whole process."""
