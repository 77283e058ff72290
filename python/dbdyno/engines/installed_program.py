"""The user's own program instead of a database, timed as a whole process (:mod:`dbdyno.run.program`)."""

from collections.abc import Iterator

from dbdyno.engines.engine import Engine, Location


class Program(Engine):
    """A command line given by the user. It doesn't execute statements."""

    name = "exec"
    title = "a program"
    location: Location = "command"
    has_data = False
    runs_programs = True

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield one entry that represents every program."""
        yield "exec:PROGRAM", "", "", "any program, timed as a whole"
