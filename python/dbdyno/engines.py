"""The names of the engines that experiments and URLs may use."""

ENGINES: tuple[str, ...] = ("sqlite", "postgresql", "mysql", "mongodb", "sqlserver", "null")
