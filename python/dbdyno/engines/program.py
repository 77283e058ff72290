"""No database: a program of the user's own, timed as a whole process (:mod:`dbdyno.run.program`)."""

from collections.abc import Iterator

from dbdyno.engines.engine import Engine, Location


class Program(Engine):
    """A program on the user's command line. It has no statements."""

    name = "exec"
    title = "a program"
    location: Location = "command"
    has_data = False
    runs_programs = True

    def found_here(self) -> Iterator[tuple[str, str, str, str]]:
        """Any will do."""
        yield "exec:PROGRAM", "", "", "any program, timed as a whole"
